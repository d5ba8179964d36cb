"""The lanes: their time axis, what bounded the run, and what one can do with them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from playwright.async_api import Page, expect

from app.domain import events as ev
from app.domain.events import Entry
from app.domain.plan import Plan, Task, validated
from app.domain.reporting import Reporter
from app.domain.results import Problem
from tests.console.conftest import Desk
from tests.console.logs import many_logs
from tests.console.test_fold import asked, hedged, nested, reassigned
from tests.support.browser import violations
from tests.support.long_run import LongRun
from tests.support.play import Play, playing
from tests.support.story import as_json

_AXIS = """async (cases) => {
  const { Axis, breaksOf, scaleToFit } = await import("/console/run/axis.js");
  return cases.map(({ busy, to, width }) => {
    const time = { from: 0, to, breaks: breaksOf(busy.map(([from, to]) => ({ from, to })), 0, to) };
    const axis = new Axis(time, scaleToFit(time, width));
    const there = [0, to / 3, to / 2, to].map((at) => axis.at(axis.x(at)));
    return {
      breaks: time.breaks.map((each) => [each.from, each.to]),
      width: Math.round(axis.width),
      back: there.map(Math.round),
      rising: [...Array(101).keys()].every((n) => n === 0 || axis.x((to * n) / 100) >= axis.x((to * (n - 1)) / 100)),
      ticks: axis.ticks(0, axis.width).map(({ text }) => text),
      apart: axis.ticks(0, axis.width).every(({ x }, n, all) => n === 0 || x - all[n - 1].x > 20),
    };
  });
}"""
_ELAPSED = """async (cases) => {
  const { elapsed } = await import("/console/run/axis.js");
  return cases.map(([ms, step]) => elapsed(ms, step));
}"""
_PATH = """async (logs) => {
  const { CriticalPath } = await import("/console/run/critical_path.js");
  return logs.map((log) => new CriticalPath().take(log).told(Date.parse(log.at(-1).at)));
}"""
_ITEMS = """async ([log, task]) => {
  const { RunFold } = await import("/console/run/fold.js");
  const { LaneModel } = await import("/console/run/lane_model.js");
  const fold = new RunFold();
  fold.apply(log);
  const model = new LaneModel(fold);
  const look = model.look(fold.until(0));
  const row = look.rows.find(({ key }) => key === `task:${task}`);
  const items = model.items(row, look).filter(({ kind }) => kind !== "call");
  return items.map(({ kind, track, state }) => `${kind} ${track} ${state}`);
}"""
_DAY = 86_400_000


async def test_the_axis_shows_what_is_busy_and_breaks_what_is_long_and_quiet(quiet_desk: Desk) -> None:
    page = await quiet_desk.open("")
    cases = [
        {"busy": [[0, 10_000]], "to": 10_000, "width": 900},
        {"busy": [[0, 4_000], [4_500, 9_000]], "to": 10_000, "width": 900},
        {"busy": [[0, 5_000], [2 * _DAY, 2 * _DAY + 5_000]], "to": 2 * _DAY + 5_000, "width": 900},
        {"busy": [[0, 5_000]], "to": _DAY, "width": 400},
        {"busy": [], "to": 60_000, "width": 300},
        {"busy": [[0, 1], [5, 6]], "to": 7, "width": 300},
    ]

    found = await page.evaluate(_AXIS, cases)

    assert [each["breaks"] for each in found] == [[], [], [[5_000, 2 * _DAY]], [[5_000, _DAY]], [], []]
    for case, axis in zip(cases, found, strict=True):
        assert axis["width"] == case["width"]
        assert axis["rising"]
        assert axis["apart"]
        assert axis["back"] == [round(case["to"] * part) for part in (0, 1 / 3, 1 / 2, 1)]  # type: ignore[operator]
    assert found[0]["ticks"] == ["0 s", "1 s", "2 s", "3 s", "4 s", "5 s", "6 s", "7 s", "8 s", "9 s", "10 s"]
    assert found[2]["ticks"][-1] == "2 d 0:00:05"
    assert await page.evaluate(_ELAPSED, [[250, 50], [61_000, 1_000], [3_725_500, 500], [_DAY + 1_000, 1_000]]) == [
        "0.25 s",
        "1:01",
        "1:02:05.5",
        "1 d 0:00:01",
    ]


async def test_the_critical_path_is_that_of_the_report(quiet_desk: Desk) -> None:
    page = await quiet_desk.open("")
    logs = many_logs()

    found = await page.evaluate(_PATH, logs)

    for log, path in zip(logs, found, strict=True):
        wanted = _reported(log)
        assert path["tasks"] == [*wanted.tasks], log
        sums = (wanted.planning_ms, wanted.tasks_ms, wanted.synthesis_ms)
        assert (path["planningMs"], path["tasksMs"], path["synthesisMs"]) == sums, log
        steps = path["steps"]
        assert all(before["to"] <= after["from"] for before, after in pairwise(steps)), steps


def _reported(log: Sequence[dict[str, Any]]) -> Any:
    reporter = Reporter()
    for event in log:
        reporter.take(event)
    return reporter.report(datetime.fromisoformat(log[-1]["at"])).critical_path


async def test_a_lane_has_waits_and_retries_apart_and_what_is_side_by_side_beneath(quiet_desk: Desk) -> None:
    page = await quiet_desk.open("")
    cases = [
        (asked(answered=False), "a", ["attempt 1 failed", "question 1 waiting", "attempt 1 succeeded"]),
        (asked(answered=False), "b", ["before 1 pending", "queue 1 pending"]),
        (reassigned(), "a", ["attempt 1 failed", "pause 1 pending", "attempt 1 succeeded"]),
        (hedged(), "a", ["attempt 1 cancelled", "attempt 2 succeeded"]),
        (nested(), "north", ["attempt 1 succeeded"]),
    ]

    for story, task, wanted in cases:
        found = await page.evaluate(_ITEMS, [[as_json(event) for event in story.log], task])
        assert sorted(found) == sorted(wanted)


async def test_lanes_show_attempts_and_calls_and_open_what_is_chosen(quiet_desk: Desk) -> None:
    async with playing(quiet_desk.service.database) as player:
        run_id = await quiet_desk.service.submit()
        await _begin(player.play(run_id))
        page = await quiet_desk.open(f"/runs/{run_id}?view=work")
        lanes = page.get_by_role("region", name="Lanes over time")

        await expect(lanes.get_by_role("listitem")).to_have_count(3)
        await expect(lanes.get_by_role("button", name="find, attempt 1: failed", exact=False)).to_be_visible()
        await expect(lanes.get_by_role("button", name="write waits for find", exact=False)).to_be_visible()
        assert await violations(page) == []

        call = lanes.get_by_role("button", name="stub for its task", exact=False).first
        await call.focus()
        await expect(page.locator(".lane-tip")).to_contain_text("100 + 10 tokens")
        await page.keyboard.press("Enter")
        assert f"task=find&attempt=1&call={await _number_of(page, 'find', 'llm.completed')}" in page.url
        await expect(page.get_by_role("complementary", name="Detail")).to_contain_text("Model call")

        await page.keyboard.press("Home")
        await page.keyboard.press("ArrowRight")
        await page.keyboard.press("Enter")
        await expect(page).to_have_url(f"{quiet_desk.url}/console/runs/{run_id}?view=work&task=find&attempt=1")
        await page.keyboard.press("+")
        await expect(page.get_by_role("button", name="Show all of it")).to_have_attribute("aria-pressed", "false")
        await page.keyboard.press("0")
        await expect(page.get_by_role("button", name="Show all of it")).to_have_attribute("aria-pressed", "true")


async def _number_of(page: Page, task: str, kind: str) -> int:
    events = await page.evaluate("() => fetch(`/v1${location.pathname.slice(8)}/events`).then((each) => each.json())")
    return int(next(each["seq"] for each in events["data"] if (each["task_id"], each["type"]) == (task, kind)))


async def _begin(play: Play) -> None:
    """A task that fails and is tried again, and one that waits for it."""
    await play.start()
    tasks = (
        Task(id="find", title="Find it", instruction="Find it.", worker="writer"),
        Task(id="write", title="Write it", instruction="Write it.", worker="writer", depends_on=("find",)),
    )
    plan = validated(Plan(goal="the goal", tasks=tasks), ["writer"], 10)
    await play.record(play.reply("plan", text="{}"), Entry(ev.PlanCreated.of(plan)))
    await play.start_task("find")
    problem = Problem(code="output_invalid", message="it has no sources")
    soon = datetime.now(UTC) + timedelta(milliseconds=1)
    again = ev.TaskRetrying(error=problem, next_attempt=2, not_before=soon, refine=False)
    await play.record(play.reply("work", "find", 1), Entry(again, "find", 1))
    await play.start_task("find", 2)


async def test_of_a_hundred_lanes_those_are_there_that_are_seen(quiet_desk: Desk) -> None:
    async with playing(quiet_desk.service.database) as player:
        run_id = await quiet_desk.service.submit()
        long = LongRun(player.play(run_id))
        await long.begin()
        await long.go_on(300)
        page = await quiet_desk.open(f"/runs/{run_id}?view=work")
        lanes = page.get_by_role("region", name="Lanes over time")

        await expect(lanes.get_by_role("button", name="t1 ", exact=False).first).to_be_visible()
        assert await lanes.locator(".lane").count() < 60
        await lanes.evaluate("(element) => element.scrollTo(0, element.scrollHeight)")
        await expect(lanes.locator('[data-row="task:t100"]')).to_be_visible()
        await expect(lanes.locator('[data-row="task:t1"]')).to_have_count(0)
