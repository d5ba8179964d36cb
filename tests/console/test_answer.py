"""The answer of a run: what its statements rest on, what stands beside it, and the files of the run."""

import re
from typing import Any

from playwright.async_api import Page, Route, expect

from tests.console.conftest import Desk
from tests.support.browser import violations
from tests.support.play import playing
from tests.support.service import CREW, plan_of, report, synthesis, task
from tests.support.stub_answers import Answer, as_json, refusal
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

ANSWER = """# Which van

**Buy the Alder.** It costs *41,200 euros*, and its [maker](https://alder.example) promises a range of 270 km.
Of the Birch one result says class 17, another one class 19.

1. The bakery drives 90 km a day.
2. <b>Nothing</b> is known of the [resale](javascript:alert(1)) value: Task t3 is missing.
"""
STATEMENTS = [
    {"text": "Buy the Alder.", "tasks": ["t1", "t2"]},
    {"text": "It costs 41,200 euros, and its maker promises a range of 270 km.", "tasks": ["t1"]},
    {"text": "Each day the bakery drives 90 km.", "tasks": ["t2"]},
    {"text": "Green is a colour that others may prefer.", "tasks": ["t1"]},
]
CLAIMS = [{"task": "t1", "claim": "class 17"}, {"task": "t2", "claim": "class 19"}]
CONFLICT = {"topic": "Class of the Birch", "claims": CLAIMS, "status": "unresolved"}
UNSETTLED = {"resolution": None, "method": None, "confidence": None}
FILE = {"name": "vans.csv", "media_type": "text/csv", "text": 'van,euros\nAlder,41200\n"Birch, long",47900\n'}
RESULT = "The Alder costs 41,200 euros and goes 270 km; the bakery drives 90 km a day. Class 17, or class 19."
WITH_FILES = CREW.model_copy(
    update={"name": "van-crew", "workers": tuple(each.model_copy(update={"artifacts": True}) for each in CREW.workers)}
)

PENDING = {
    "type": "run.partial", "host": "hooks.example", "webhook": "job", "status": "pending", "error": None,
    "response_status": None, "attempts": 0, "attempted_at": None, "next_attempt_at": None,
}  # fmt: skip
FINDING = {
    "id": "f1", "severity": "critical", "category": "bugs", "message": "It divides by `zero`.", "confidence": 92,
    "location": {"input": "change.diff", "path": "src/a.py", "line": 12, "end_line": 14, "side": "new"},
    "tasks": ["t1"],
    "evidence": "x / 0", "suggestion": "Do not.", "verdict": "confirmed", "note": "",
}  # fmt: skip
SUPPRESSED = FINDING | {"id": "f2", "severity": "info", "verdict": None, "reason": "below_threshold", "detail": "40"}

_PLACED = """async ([answer, statements]) => {
  const { markdown } = await import("/console/markdown.js");
  const { mark, placesOf, wordsOf } = await import("/console/run/statements.js");
  const article = document.createElement("article");
  article.append(...markdown(answer));
  const words = wordsOf(article);
  const places = placesOf(statements, words);
  mark(places, words, () => document.createElement("i"));
  const marked = (number) => [...article.querySelectorAll(`[data-statements~="${number}"]`)];
  return places.map((place, at) => place && [marked(at + 1).map((each) => each.textContent).join(""), place.exact]);
}"""
_WRITTEN = """async (texts) => {
  const { writtenAnswer } = await import("/console/run/draft.js");
  return texts.map(writtenAnswer);
}"""
TEXT = """The **Alder** costs `41,200` euros; the [Birch](https://b.example) is dearer. Nobody knows why, it seems.

- Range: 270 km
- It loads in 28 minutes at a charger of 150 kW

The Alder costs more in winter."""
PLACES: dict[str, Any] = {
    "The Alder costs 41,200 euros; the Birch is dearer.": ["The Alder costs 41,200 euros; the Birch is dearer.", True],
    "*The Birch* is dearer": ["the Birch is dearer.", True],
    "the Birch is dearer. Nobody knows why": ["the Birch is dearer. Nobody knows why,", True],
    "range 270 km": ["Range: 270 km", True],
    "It loads within 28 minutes at a charger of 150 kW.": ["It loads in 28 minutes at a charger of 150 kW", False],
    "It loads within 29 minutes at a charger of 150 kW.": None,
    "Cedars are trees that stand in Lebanon.": None,
    "": None,
    "***": None,
}
"""Statements, with what is marked for each of them, and whether it says the same word for word."""
WRITTEN = {
    "": "",
    '{"ans': None,
    '{"confidence": 1, "answer": "': "",
    '{"answer": "One \\"two\\"\\nthree \\u00e9 \\\\n", "statements": [': 'One "two"\nthree é \\n',
    '{"answer": "One \\': "One ",
    'es the rest.\\nAnd more", "confidence": 0.8}': "es the rest.\nAnd more",
}


async def test_statements_are_found_and_text_is_read_as_it_is_written(quiet_desk: Desk) -> None:
    page = await quiet_desk.open("/nowhere")

    placed = await page.evaluate(_PLACED, [TEXT, list(PLACES)])
    written = await page.evaluate(_WRITTEN, list(WRITTEN))

    assert dict(zip(PLACES, placed, strict=True)) == PLACES
    assert dict(zip(WRITTEN, written, strict=True)) == WRITTEN


async def test_an_answer_with_a_gap_and_a_conflict(desk: Desk, stub: StubProvider) -> None:
    page = await _answered(desk, stub)
    answer = page.locator(".answer")

    await expect(answer.get_by_role("heading", name="Which van")).to_be_visible()
    await expect(answer.get_by_text("2 of 3 required tasks delivered.")).to_be_visible()
    await expect(answer.locator("[data-gap=t3]")).to_contain_text("the model declined to do it")
    await expect(answer.locator("[data-conflict=c1]")).to_contain_text("class 19")
    await expect(answer.get_by_text("1 statement in other words than the answer's")).to_be_visible()
    assert await answer.locator("a[href^=javascript], b").count() == 0
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        assert await violations(page) == []

    await _statement_by_keyboard(page)
    await page.set_viewport_size({"width": 360, "height": 780})
    await page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    await page.set_viewport_size({"width": 1280, "height": 900})
    await _files(page)
    await _findings(page)


async def _answered(desk: Desk, stub: StubProvider) -> Page:
    """The page of a run that has ended with one task missing, and with a file."""

    def work(seen: SeenRequest) -> Answer:
        return as_json(report(RESULT, artifacts=[FILE] if "Do t1." in str(seen.body["messages"]) else []))

    stub.on("plan", as_json(plan_of(task("t1"), task("t2"), task("t3", "researcher"))))
    stub.on("work:writer", work)
    stub.on("work:researcher", refusal())
    made = synthesis(ANSWER, without=["t3"]) | {"statements": STATEMENTS, "conflicts": [CONFLICT | UNSETTLED]}
    stub.on("synthesize", as_json(made))
    notes = {"name": "a/notes.md", "content": "# Notes\n\n- 90 km"}
    plain = {"name": "a/plain.txt", "content": "One line & <b>another</b>"}
    run_id = await desk.service.submit(
        "Which van?", WITH_FILES, inputs=[notes, plain], limits={"rounds": 1, "attempts": 1}
    )
    run = await desk.service.ended(run_id)
    assert run["stop_reason"] == "gaps", run["error"]
    return await desk.open(f"/runs/{run_id}")


async def _statement_by_keyboard(page: Page) -> None:
    """A statement shows what it rests on, has its own address, and leads to its tasks."""
    reference = page.get_by_role("link", name="Statement 1 rests on 2 tasks")
    card = page.get_by_role("group", name="Statement 1 rests on")
    await reference.focus()
    await expect(card.get_by_role("link", name="Task t2")).to_be_visible()
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile("statement=1"))
    await expect(page.locator(".stated[data-chosen]").first).to_have_text("Buy the Alder.")
    assert await violations(page) == []
    await page.keyboard.press("Tab")
    await expect(card.get_by_role("link", name="Task t1")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(card).to_be_hidden()
    await expect(page).not_to_have_url(re.compile("statement="))
    await page.locator(".stated").first.hover()
    await card.get_by_role("link", name="Task t2").click()
    await expect(page).to_have_url(re.compile("task=t2"))


async def _files(page: Page) -> None:
    """What went in and what came out: shown, and saved."""
    await page.route("**/deliveries", lambda route: route.fulfill(json={"data": [PENDING]}), times=1)
    await page.goto(page.url.partition("?")[0] + "?view=files&artifact=vans.csv")
    await expect(page.get_by_role("row", name="hooks.example")).to_contain_text("pending")
    preview = page.locator(".preview")
    await expect(preview.get_by_role("rowheader", name="Birch, long")).to_be_visible()
    async with page.expect_download() as downloading:
        await page.get_by_role("button", name="Download vans.csv").click()
    assert (await (await downloading.value).path()).read_text() == FILE["text"]
    await page.get_by_role("link", name="a/notes.md").click()
    await expect(preview.get_by_role("listitem")).to_have_text("90 km")
    await page.get_by_role("link", name="a/plain.txt").click()
    await expect(preview.get_by_role("group")).to_have_text("One line & <b>another</b>")
    assert await violations(page) == []
    await expect(page.get_by_text("No webhook is told of this run.")).to_be_visible()  # It has looked again.


async def test_what_there_is_while_the_run_goes_on(quiet_desk: Desk) -> None:
    async with playing(quiet_desk.service.database) as player:
        play = player.play(await quiet_desk.service.submit())
        await play.start()
        await play.plan("t1", "t2")
        await play.start_task("t1")
        await play.finish_task("t1")
        page = await quiet_desk.open(f"/runs/{play.run_id}?view=answer")
        answer = page.locator(".answer")
        await expect(answer.get_by_text("1 of 2 have delivered.")).to_be_visible()
        await expect(answer.locator(".output")).to_contain_text("done")
        assert await violations(page) == []

        await play.start_task("t2")
        await play.finish_task("t2")
        await play.synthesize()
        await expect(answer.get_by_text("not final: the run goes on")).to_be_visible()
        await expect(answer.locator(".answer-text")).to_have_text("the answer")


async def _findings(page: Page) -> None:
    """The same run, had its workers brought findings."""

    async def with_findings(route: Route) -> None:
        response = await route.fetch()
        run = await response.json()
        run["result"]["data"] = {"findings": [FINDING], "suppressed": [SUPPRESSED]}
        await route.fulfill(response=response, json=run)

    await page.route("**/v1/runs/run_*", with_findings)
    await page.goto(page.url.partition("?")[0])
    finding = page.locator("[data-finding=f1]")
    await expect(finding).to_contain_text("src/a.py:12")
    await page.get_by_role("button", name="1 critical").click()
    await expect(finding).to_have_count(0)
    await page.get_by_text("1 finding left out").click()
    await expect(page.locator("[data-finding=f2]")).to_contain_text("the worker is not sure enough")
    assert await violations(page) == []
