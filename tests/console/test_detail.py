"""The detail of what is selected: what was sent and what came back, what is different, and how one gets about."""

from datetime import UTC, datetime
from random import Random
from typing import Any

from playwright.async_api import expect

from app.domain import events as ev
from app.domain.contents import Contents
from app.domain.events import Entry
from app.domain.results import Problem
from tests.console.conftest import Desk
from tests.console.logs import many_logs
from tests.support.browser import violations
from tests.support.play import Play, playing

_DIFFERENCE = """async (pairs) => {
  const { difference } = await import("/console/run/detail/diff.js");
  return pairs.map(([before, after]) => {
    const pieces = difference(before, after);
    const text = (left) => pieces.filter(({ kind }) => kind !== left).map((piece) => piece.text).join("");
    return { pieces: pieces.map(({ kind, text }) => [kind, text]), back: [text("added"), text("removed")] };
  });
}"""
_REQUESTS = """async (logs) => {
  const { requestOf } = await import("/console/run/detail/conversation.js");
  return logs.map((log) => Object.fromEntries(
    log.filter(({ type }) => type.startsWith("llm.")).map(({ seq }) => [seq, requestOf(log, seq)])));
}"""


async def test_the_difference_of_two_texts_is_told_in_words_and_gives_both_back(quiet_desk: Desk) -> None:
    page = await quiet_desk.open("")
    told = [
        ("Find out the price.", "Look up the price, with dates.", [
            ["removed", "Find out"], ["added", "Look up"], ["same", " the price"],
            ["added", ", with dates"], ["same", "."],
        ]),
        ("the same", "the same", [["same", "the same"]]),
        ("", "all new", [["added", "all new"]]),
        ("all gone", "", [["removed", "all gone"]]),
        ("one\ntwo\n", "one\n2\n", [["same", "one\n"], ["removed", "two"], ["added", "2"], ["same", "\n"]]),
    ]  # fmt: skip
    random = Random(13)
    any_two = [tuple("".join(random.choices("ab cd\n.", k=random.randrange(40))) for _ in "12") for _ in range(300)]
    long = tuple(" ".join(random.choices(["red", "blue", "green"], k=9_000)) for _ in "12")
    pairs = [*((before, after) for before, after, _ in told), *any_two, long]

    found = await page.evaluate(_DIFFERENCE, pairs)

    assert [each["pieces"] for each in found[: len(told)]] == [pieces for _, _, pieces in told]
    assert [tuple(each["back"]) for each in found] == pairs


async def test_what_a_call_was_sent_is_what_the_trace_says(quiet_desk: Desk) -> None:
    page = await quiet_desk.open("")
    logs = [_with_openings(log) for log in many_logs()]

    found = await page.evaluate(_REQUESTS, logs)

    calls = 0
    for log, requests in zip(logs, found, strict=True):
        reader = Contents()
        for event in log:
            content = reader.take(event)
            if content is None:
                continue
            calls += 1
            sent, wanted = requests[str(event["seq"])], content["request"]
            assert (sent["system"], sent["messages"]) == (wanted["system"], wanted["messages"]), event["seq"]
    assert calls > 50


def _with_openings(log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The log with an opening for each call; a conversation has that of its first."""

    def opened(event: dict[str, Any]) -> dict[str, Any]:
        opening = {"system": f"system {event['seq']}", "message": f"message {event['seq']}", "tools": []}
        return event | {"data": event["data"] | {"opening": opening}} if event["type"].startswith("llm.") else event

    return [opened(event) for event in log]


async def test_the_detail_leads_from_the_run_to_a_prompt_and_back(quiet_desk: Desk) -> None:
    async with playing(quiet_desk.service.database) as player:
        run_id = await quiet_desk.service.submit()
        await _work(player.play(run_id))
        page = await quiet_desk.open(f"/runs/{run_id}?view=work")
        detail = page.get_by_role("complementary", name="Detail")

        await expect(detail.get_by_role("heading", name="The run at a glance")).to_be_visible()
        await detail.get_by_role("link", name="t1", exact=False).first.click()
        await expect(detail.get_by_role("heading", name="t1 · t1")).to_be_visible()
        await expect(detail).to_contain_text("output invalid: it has no sources")
        await detail.get_by_role("link", name="Attempt 2").click()
        await expect(detail.locator("ins")).to_have_text(["new", " on the web"])
        await expect(detail).to_contain_text("It is told where to look.")
        assert await violations(page) == []

        await detail.get_by_role("link", name="Previous attempt").click()
        await expect(detail.get_by_role("heading", name="t1 · attempt 1 of 2")).to_be_visible()
        await detail.get_by_role("link", name="look", exact=True).click()
        await expect(detail).to_contain_text('where: "there"')
        await expect(detail).to_contain_text("A long way off.")
        await detail.get_by_role("link", name="stub's reply").click()
        await detail.get_by_role("link", name="Next call").click()
        await expect(detail).to_contain_text("A tool brought")
        await detail.get_by_text("System, 6 characters").click()
        await expect(detail.get_by_text("system", exact=True)).to_be_visible()

        await page.keyboard.press("Escape")
        await expect(page).to_have_url(f"{quiet_desk.url}/console/runs/{run_id}?view=work")
        await expect(detail.get_by_role("heading", name="The run at a glance")).to_be_visible()


async def test_where_there_is_no_room_beside_it_lies_over_the_page(quiet_desk: Desk) -> None:
    async with playing(quiet_desk.service.database) as player:
        run_id = await quiet_desk.service.submit()
        await _work(player.play(run_id))
        page = quiet_desk.page
        await page.set_viewport_size({"width": 360, "height": 700})
        await quiet_desk.open(f"/runs/{run_id}?view=work")
        name = page.locator(".lane-name").first
        await name.click()

        over = page.get_by_role("dialog", name="Detail")
        await expect(over.get_by_role("heading", name="t1 · t1")).to_be_focused()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert await violations(page) == []
        await page.keyboard.press("Escape")
        await expect(over).to_have_count(0)
        await expect(name).to_be_focused()


async def _work(play: Play) -> None:
    """An attempt that has a tool called and comes to nothing, and another one that is told better."""
    await play.start()
    await play.plan("t1")
    await play.start_task("t1")
    call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"where": "there"}}
    asked_for = play.reply("work", "t1", 1)
    assert isinstance(asked_for.fact, ev.LlmCompleted)
    asks = asked_for.fact.model_copy(update={"content": [call], "stop_reason": "tool_use"})
    look = {"call_id": "toolu_1", "name": "look"}
    begun = ev.ToolStarted(**look, input={"where": "there"}, effect="read", key="key")
    ended = ev.ToolCompleted(**look, duration_ms=3, output="A long way off.")
    problem = Problem(code="output_invalid", message="it has no sources")
    again = ev.TaskRetrying(error=problem, next_attempt=2, not_before=datetime.now(UTC), refine=True)
    refined = ev.TaskRefined(instruction="Do t1 on the web.", refined_from=1, change="It is told where to look.")
    reply = play.reply("work", "t1", 1)
    assert isinstance(reply.fact, ev.LlmCompleted)
    second = ev.TaskStarted(worker="writer", model="stub", instruction="Do t1 on the web.")
    await play.record(
        Entry(asks, "t1", 1),
        Entry(begun, "t1", 1),
        Entry(ended, "t1", 1),
        Entry(reply.fact.model_copy(update={"opening": None}), "t1", 1),
        Entry(again, "t1", 1),
        play.reply("refine", "t1", 1),
        Entry(refined, "t1", 1),
        Entry(second, "t1", 2),
    )
