"""People decide: on plans that wait for approval, and on questions."""

from collections.abc import Sequence
from typing import Any

import httpx2
from playwright.async_api import Page, expect

from app.domain.plan import Plan, validated
from tests.console.conftest import Desk
from tests.engine.test_escalations import EMPTY_HANDED, ONE, crew
from tests.engine.test_questions import DONE, asking
from tests.support.browser import violations
from tests.support.service import plan_of, report, synthesis, task
from tests.support.stub_answers import as_json
from tests.support.stub_provider import StubProvider

THREE = plan_of(task("north"), task("south"), task("sum", "analyst", ["north", "south"]))
FLAWED: Sequence[dict[str, Any]] = (
    plan_of(),
    plan_of(task("a"), task("b", needs=["a"])),
    plan_of(task("a.b"), task("a", needs=["a", "gone"]), task("a")),
    plan_of(task("a", "nobody"), task("b", ""), task("c") | {"instruction": " \u200b\n"}),
    plan_of(task("a", needs=["b"]), task("b", needs=["c"]), task("c", needs=["a"]), task("d", needs=["c"])),
    plan_of(*(task(f"t{number}") for number in range(13))),
)
_FLAWS = """async (plans) => {
  const { flawsOf } = await import("/console/decide/rules.js");
  const of = ({ tasks }) => flawsOf(tasks, ["researcher", "writer"], 12);
  return plans.map((plan) => of(plan).map(({ pointer, code }) => [pointer, code]));
}"""


async def waiting(desk: Desk, stub: StubProvider) -> tuple[str, Page]:
    """A run whose plan waits, and its page."""
    stub.on("work", as_json(report("done")))
    stub.on("synthesize", as_json(synthesis("All told.", "north", "sum")))
    run_id = await desk.service.submit(approval="plan", plan=THREE)
    page = await desk.open(f"/runs/{run_id}")
    await page.get_by_role("button", name="Edit…").click()
    await expect(page.locator(".plan-editor").get_by_label("Worker")).to_contain_text("researcher")
    return run_id, page


async def test_a_plan_is_edited_as_one_types_and_approved(desk: Desk, stub: StubProvider) -> None:
    run_id, page = await waiting(desk, stub)
    editor = page.locator(".plan-editor")

    await page.get_by_role("button", name="Add a task").click()
    await expect(editor.get_by_role("status")).to_contain_text("The task has no instruction.")
    await expect(editor.get_by_role("button", name="Save", exact=True)).to_be_disabled()
    await editor.get_by_label("Title").fill("West")
    await editor.get_by_role("textbox", name="Id").fill("The west")
    await expect(editor.get_by_role("textbox", name="Id")).to_have_attribute("aria-invalid", "true")
    await editor.get_by_role("textbox", name="Id").fill("west")
    await editor.get_by_label("Instruction").fill("Look at the west.")
    await editor.get_by_label("Worker").select_option("analyst")
    await editor.locator(".task", has_text="Task sum").click()
    await editor.get_by_role("group", name="Begins after").get_by_label("West").check()
    await editor.locator(".task", has_text="Task south").click()
    await expect(editor.get_by_role("group", name="Begins after").get_by_label("Task sum")).to_be_disabled()
    assert await violations(page) == []
    await editor.get_by_role("button", name="Remove").click()
    await editor.get_by_label("Why").fill("The west, not the south.")
    await editor.get_by_role("button", name="Save", exact=True).click()

    panel = page.get_by_role("region", name="Revision 2 of the plan waits for approval")
    await expect(panel).to_contain_text("The west, not the south.")
    await expect(panel.get_by_role("table")).to_contain_text("Tokens")
    await page.get_by_role("button", name="Approve").click()
    await expect(page.locator(".state.large")).to_contain_text("succeeded")
    assert sorted(await done(desk, run_id)) == ["north", "sum", "west"]


async def test_an_edit_is_not_lost_when_somebody_else_was_faster(desk: Desk, stub: StubProvider) -> None:
    run_id, page = await waiting(desk, stub)
    editor = page.locator(".plan-editor")
    await editor.get_by_label("Instruction").fill("Look at the north, closely.")
    await editor.get_by_label("Context").fill("It is \u202ecold.")
    await expect(editor).to_contain_text("It has characters that are not seen, and that are handed on: U+202E.")
    await page.reload()
    await expect(editor).to_contain_text("This is your edit as you left it.")

    async with httpx2.AsyncClient(base_url=desk.url) as client:
        theirs = {"goal": "another", "reason": "Faster."}
        answer = await client.patch(f"/v1/runs/{run_id}/plan", json=theirs, headers={"if-match": '"1"'})
        assert answer.status_code == 200
    await expect(editor.get_by_role("alert")).to_contain_text("Somebody has saved revision 2 meanwhile (Faster.)")
    await expect(editor.get_by_label("Instruction")).to_have_value("Look at the north, closely.")
    await editor.get_by_role("button", name="Put mine in place of theirs").click()
    await page.route("**/plan/approve", lambda route: route.fulfill(status=503, json={}))
    await editor.get_by_role("button", name="Save and approve").click()
    await expect(editor).to_contain_text("Saved as revision 3; not approved yet.")
    await expect(editor).not_to_contain_text("Somebody has saved")
    await page.unroute("**/plan/approve")
    await editor.get_by_role("button", name="Save and approve").click()

    await expect(page.locator(".state.large")).to_contain_text("succeeded")
    desk.complaints.forgive("503")
    plan = await read(desk, f"/v1/runs/{run_id}/plan")
    assert (plan["revision"], plan["tasks"][0]["instruction"]) == (3, "Look at the north, closely.")


async def test_what_the_service_finds_wrong_stands_at_its_place_and_a_plan_is_rejected(
    desk: Desk, stub: StubProvider
) -> None:
    _, page = await waiting(desk, stub)
    editor = page.locator(".plan-editor")
    found = {"pointer": "/tasks/0/instruction", "detail": "This is not for people.", "code": "instruction_blank"}
    refused = {"status": 422, "code": "plan_invalid", "detail": "It could not be carried out.", "errors": [found]}
    await page.route("**/plan", lambda route: route.fulfill(status=422, json=refused))

    await editor.get_by_label("Instruction").fill("Look!")
    await editor.get_by_role("button", name="Save", exact=True).click()
    await expect(editor.get_by_label("Instruction")).to_have_attribute("aria-invalid", "true")
    await expect(editor.get_by_role("status")).to_contain_text("This is not for people.")
    await editor.get_by_role("button", name="Leave without saving").click()
    await page.get_by_role("dialog").get_by_role("button", name="Leave it").click()
    await page.get_by_role("button", name="Reject…").click()
    await page.get_by_label("Reason").fill("Not now.")
    await page.get_by_role("button", name="Reject the plan").click()

    await expect(page.locator(".run-head")).to_contain_text("The plan was rejected: Not now.")
    desk.complaints.forgive("422")


async def test_a_question_is_answered(desk: Desk, stub: StubProvider) -> None:
    stub.on("work:junior", replies=[EMPTY_HANDED], reply=DONE)
    stub.on("rule", asking("proceed", "calendar year", "business year"))
    run_id = await desk.service.submit(team=crew(), plan=ONE)
    page = await desk.open(f"/runs/{run_id}")

    form = page.get_by_role("form", name="Which year?")
    await expect(form).to_contain_text("it goes on unless somebody answers, taking for granted: The calendar year")
    await expect(page.locator(".state.large")).to_contain_text("waits for an answer")
    assert await violations(page) == []
    await form.get_by_label("business year").focus()
    await page.keyboard.press("Space")
    await page.keyboard.press("Enter")

    await expect(page.locator(".state.large")).to_contain_text("succeeded")
    await expect(form).to_have_count(0)
    await page.get_by_text("1 question to people").click()
    await expect(page.locator(".asked")).to_contain_text("business year")


async def test_a_typed_answer_stays_when_somebody_else_was_faster(desk: Desk, stub: StubProvider) -> None:
    stub.on("work:junior", replies=[EMPTY_HANDED], reply=DONE)
    stub.on("rule", asking("proceed"))
    run_id = await desk.service.submit(team=crew(), plan=ONE)
    page = await desk.open(f"/runs/{run_id}")
    form = page.get_by_role("form", name="Which year?")

    await form.get_by_label("The answer").fill("The year of the shop.")
    await desk.open("/teams")
    await desk.open(f"/runs/{run_id}")
    await expect(form.get_by_label("The answer")).to_have_value("The year of the shop.")
    [question] = (await read(desk, f"/v1/runs/{run_id}/questions"))["data"]
    async with httpx2.AsyncClient(base_url=desk.url) as client:
        path = f"/v1/runs/{run_id}/questions/{question['id']}/answer"
        assert (await client.post(path, json={"answer": "1999"})).status_code == 200

    await expect(form).to_contain_text("It has been answered meanwhile: 1999")
    await expect(form.get_by_label("The answer")).to_have_value("The year of the shop.")
    assert await violations(page) == []
    await form.get_by_role("button", name="Put it away").click()
    await expect(form).to_have_count(0)


async def test_plans_are_held_to_the_rules_of_the_service_while_they_are_written(quiet_desk: Desk) -> None:
    page = await quiet_desk.open("")

    plans = [Plan.model_validate(plan) for plan in FLAWED]
    found = await page.evaluate(_FLAWS, [plan.model_dump(mode="json") for plan in plans])

    for plan, flaws in zip(plans, found, strict=True):
        told = validated(plan, ["researcher", "writer"], 12).validation.errors
        assert sorted(map(tuple, flaws)) == sorted((flaw.pointer, flaw.code) for flaw in told)


async def done(desk: Desk, run_id: str) -> list[str]:
    return [each["id"] for each in (await read(desk, f"/v1/runs/{run_id}/tasks"))["data"]]


async def read(desk: Desk, path: str) -> Any:
    async with httpx2.AsyncClient(base_url=desk.url) as client:
        return (await client.get(path)).json()
