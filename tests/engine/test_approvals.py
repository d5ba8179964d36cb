"""Plans that people approve, reject or edit over HTTP, through another process than the one that executes the run."""

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from app.domain import events as ev
from app.domain.team import Team
from app.domain.team_rules import ApprovalRules, Condition, Route
from tests.support.api import Api, client_of
from tests.support.fixtures import Services
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json
from tests.support.stub_provider import StubProvider

PLAN = plan_of(task("a"), task("b", needs=["a"]))


def ruled(**rules: Any) -> Team:
    return CREW.model_copy(update={"approval": ApprovalRules(**rules)})


def willing(stub: StubProvider) -> None:
    """A provider with nothing against any of it."""
    stub.on("plan", as_json(PLAN))
    stub.on("work", as_json(report("done")))
    stub.on("synthesize", as_json(synthesis("the answer", "b")))


async def parked(service: Service, team: Team = CREW, **job: Any) -> str:
    """A run that waits for approval of its plan."""
    run_id = await service.submit(team=team, **job)
    await service.until(run_id, lambda row: row["waiting_for"] == "plan_approval")
    return run_id


async def decide(api: Api, run_id: str, what: str, match: str | None = None, **body: Any) -> tuple[int, Any]:
    headers = {"if-match": match} if match else {}
    path = f"/v1/runs/{run_id}/plan/{what}"
    sent = await api.client.post(path, headers=headers, json=body or None)
    return sent.status_code, sent.json()


async def edit(api: Api, run_id: str, match: str | None = '"1"', **body: Any) -> tuple[int, Any]:
    headers = {"if-match": match} if match else {}
    sent = await api.client.patch(f"/v1/runs/{run_id}/plan", headers=headers, json=body)
    return sent.status_code, sent.json()


async def types_of(service: Service, run_id: str) -> list[str]:
    return [event.type for event in await service.events(run_id)]


async def test_a_plan_waits_without_a_slot_is_edited_and_approved_and_carried_out_as_edited(
    services: Services, stub: StubProvider, api: Api
) -> None:
    service = await services.start(runs_at_once=1)
    willing(stub)

    run_id = await parked(service, approval="plan")
    other = await service.submit(plan=plan_of(task("a")))
    assert (await service.ended(other))["status"] == "succeeded", "the only slot is free"
    shown = await api.get(f"/v1/runs/{run_id}")
    assert (shown["status"], shown["waiting_for"], shown["limits"]["approval"]) == ("waiting", "plan_approval", "plan")
    assert shown["progress"]["tasks"]["pending"] == 2
    read = await api.client.get(f"/v1/runs/{run_id}/plan")
    plan = read.json()
    assert (read.headers["etag"], plan["revision"]) == ('"1"', 1)
    plan["tasks"] = [task("c"), plan["tasks"][1] | {"depends_on": ["c"]}]
    status, edited = await edit(api, run_id, read.headers["etag"], **plan, reason="c is better")
    assert (status, edited["revision"], [each["id"] for each in edited["tasks"]]) == (200, 2, ["c", "b"])
    assert (await api.get(f"/v1/runs/{run_id}"))["status"] == "waiting"
    assert [each["id"] for each in (await api.get(f"/v1/runs/{run_id}/tasks"))["data"]] == ["c", "b"]
    assert len(stub.of("work")) == 1, "nothing of it has begun"
    status, run = await decide(api, run_id, "approve", '"2"')
    assert (status, run["status"]) == (200, "running")
    ended = await service.ended(run_id)

    assert (ended["status"], ended["plan_revision"]) == ("succeeded", 2)
    assert [each["id"] for each in (await api.get(f"/v1/runs/{run_id}/tasks"))["data"]] == ["c", "b"]
    decided = [kind for kind in await types_of(service, run_id) if kind.startswith(("plan.", "run."))]
    assert decided == [
        "run.queued", "run.started", "plan.created", "plan.approval_requested", "run.waiting", "plan.edited",
        "plan.approved", "run.resumed", "run.succeeded",
    ]  # fmt: skip
    first, second = (await api.get(f"/v1/runs/{run_id}/plan/revisions"))["data"]
    assert (first["revision"], first["reason"], first["difference"]) == (1, "The supervisor made it.", None)
    assert (second["revision"], second["reason"], second["tasks"]) == (2, "c is better", ["c", "b"])
    assert second["difference"] == {
        "fields": [],
        "added": ["c"],
        "removed": ["a"],
        "changed": [{"task": "b", "fields": [{"field": "depends_on", "before": ["a"], "after": ["c"]}]}],
    }
    trace = await api.get(f"/v1/runs/{run_id}/trace")
    assert [each["revision"] for each in trace["plan_revisions"]] == [1, 2]


async def test_a_rejected_plan_fails_its_run_at_once(service: Service, stub: StubProvider, api: Api) -> None:
    willing(stub)
    run_id = await parked(service, approval="plan")

    status, run = await decide(api, run_id, "reject", reason="Too broad.")
    again = [await decide(api, run_id, what) for what in ("approve", "reject")]

    assert (status, run["status"], run["stop_reason"], run["waiting_for"]) == (200, "failed", "plan_rejected", None)
    assert run["error"] == {"code": "plan_rejected", "message": "The plan was rejected: Too broad."}
    assert [(code, body["code"]) for code, body in again] == [(409, "plan_rejected")] * 2
    assert stub.of("work") == []


@pytest.mark.parametrize(("default", "reason"), [("approve", "completed"), ("reject", "plan_rejected")])
async def test_when_nobody_decides_the_default_is_taken(
    services: Services, stub: StubProvider, api: Api, default: str, reason: str
) -> None:
    service = await services.start(park_after_s=0.05)
    willing(stub)

    run_id = await service.submit(team=ruled(required=True, default=default, timeout_s=0.3))
    run = await service.ended(run_id)
    late = [await decide(api, run_id, "approve"), await edit(api, run_id, goal="more")]

    assert (run["stop_reason"], "run.waiting" in await types_of(service, run_id)) == (reason, True)
    assert [(code, body["code"]) for code, body in late] == [(409, "approval_expired")] * 2


async def test_of_several_decisions_at_once_one_is_taken(service: Service, stub: StubProvider, api: Api) -> None:
    willing(stub)
    run_id = await parked(service, approval="plan", plan=PLAN)

    edits = await asyncio.gather(*(edit(api, run_id, goal=f"goal {number}") for number in range(5)))
    decisions = await asyncio.gather(
        *(decide(api, run_id, ("approve", "reject")[number % 2]) for number in range(6)),
        *(edit(api, run_id, '"2"', goal=f"late {number}") for number in range(2)),
    )
    run = await service.ended(run_id)

    assert sorted(status for status, _ in edits) == [200] + [412] * 4
    assert {body["code"] for status, body in edits if status == 412} == {"plan_changed"}
    taken = [body for status, body in decisions if status == 200 and "status" in body]
    assert len(taken) == 1
    assert {body["code"] for status, body in decisions if status == 409} <= {"plan_approved", "plan_rejected"}
    assert {status for status, _ in decisions} <= {200, 409, 412}
    log = await types_of(service, run_id)
    assert len([kind for kind in log if kind in ("plan.approved", "plan.rejected")]) == 1
    assert run["stop_reason"] in ("completed", "plan_rejected")


async def test_what_is_not_taken_says_why_and_changes_nothing(service: Service, stub: StubProvider, api: Api) -> None:
    willing(stub)
    run_id = await parked(service, approval="plan")
    free = await service.submit()
    await service.ended(free)
    before = await service.events(run_id)

    refused = [
        await edit(api, run_id, None, goal="more"),
        await edit(api, run_id, '"7"', goal="more"),
        await edit(api, run_id, "what", goal="more"),
        await decide(api, run_id, "approve", '"7"'),
        await edit(api, run_id, tasks=[task("a", "nobody"), task("a", needs=["z"])]),
        await edit(api, run_id, tasks=[]),
        await edit(api, run_id, colour="red"),
        await edit(api, run_id, goal="x" * 20_001),
        await edit(api, run_id, tasks=[task("a") | {"shade": 1}]),
        await decide(api, run_id, "reject", reason="x" * 2_001),
        await decide(api, free, "approve"),
        await edit(api, free, goal="more"),
        await decide(api, "run_0", "approve"),
        await edit(api, "run_0", goal="more"),
    ]

    assert [(status, body["code"]) for status, body in refused] == [
        (428, "if_match_missing"), (412, "plan_changed"), (412, "plan_changed"), (412, "plan_changed"),
        (422, "plan_invalid"), (422, "plan_invalid"), (422, "request_invalid"), (422, "request_invalid"),
        (422, "request_invalid"), (422, "request_invalid"), (409, "run_ended"), (409, "run_ended"),
        (404, "run_not_found"), (404, "run_not_found"),
    ]  # fmt: skip
    report_of_it = [(each["pointer"], each["code"]) for each in refused[4][1]["errors"]]
    assert report_of_it == [
        ("/tasks/0/worker", "worker_unknown"),
        ("/tasks/1/id", "id_duplicate"),
        ("/tasks/1/depends_on/0", "dependency_unknown"),
    ]
    places = [[each["pointer"] for each in body["errors"]] for _, body in refused[6:10]]
    assert places == [["/colour"], ["/goal"], ["/tasks/0/shade"], ["/reason"]]
    assert await service.events(run_id) == before
    await service.cancel(run_id)
    run = await service.ended(run_id)
    assert (run["status"], [each["status"] for each in run["cancellation"]["tasks"]]) == (
        "cancelled",
        ["cancelled", "cancelled"],
    )


async def test_a_plan_of_a_run_that_works_takes_no_approval(services: Services, stub: StubProvider, api: Api) -> None:
    service = await services.start(engine=False)

    run_id = await service.submit()
    queued = await decide(api, run_id, "approve")

    assert (queued[0], queued[1]["code"]) == (409, "plan_not_waiting")
    await service.cancel(run_id)


@pytest.mark.parametrize(("above", "waits"), [("0.0001", True), ("100", False)])
async def test_a_team_may_want_dear_plans_approved_and_a_job_cannot_do_without(
    service: Service, stub: StubProvider, api: Api, above: str, waits: bool
) -> None:
    willing(stub)
    run_id = await service.submit(team=ruled(above_cost_usd=Decimal(above)), approval="none")
    if waits:
        [asked] = [
            event.data
            for event in await service.until_logged(run_id, "plan.approval_requested")
            if isinstance(event.data, ev.PlanApprovalRequested)
        ]
        assert asked.cause == "cost"
        before = (await api.get(f"/v1/runs/{run_id}"))["quote"]
        async with client_of(service.runtime) as client:  # A process with these models quotes by their prices.
            more = {"tasks": [task(name) for name in "abcdef"]}
            edited = await client.patch(f"/v1/runs/{run_id}/plan", headers={"if-match": "1"}, json=more)
        quote = (await api.get(f"/v1/runs/{run_id}"))["quote"]
        assert edited.status_code == 200
        assert Decimal(quote["cost_usd"]["likely"]) > Decimal(before["cost_usd"]["likely"])
        await decide(api, run_id, "approve")
    run = await service.ended(run_id)

    assert run["status"] == "succeeded"
    assert ("plan.approval_requested" in await types_of(service, run_id)) == waits


async def test_a_crash_neither_loses_nor_repeats_an_approval(services: Services, stub: StubProvider, api: Api) -> None:
    first = await services.start(park_after_s=3_600)  # So that it keeps the run while it waits.
    willing(stub)

    run_id = await first.submit(approval="plan", plan=PLAN)
    await first.until_logged(run_id, "plan.approval_requested")
    await services.crash(first)
    status, _ = await edit(api, run_id, goal="another")
    taken, _ = await decide(api, run_id, "approve", '"2"')
    second = await services.start()
    run = await second.ended(run_id)

    assert (status, taken, run["status"], run["plan_revision"]) == (200, 200, "succeeded", 2)
    log = await types_of(second, run_id)
    assert [log.count(f"plan.{what}") for what in ("approval_requested", "edited", "approved")] == [1, 1, 1]


async def test_a_plan_tells_where_each_revision_comes_from(service: Service, stub: StubProvider, api: Api) -> None:
    willing(stub)
    route = Route(when=Condition(contains=("find",)), worker="writer")
    routed = await service.submit(team=CREW.model_copy(update={"routing": (route,)}))
    own = await parked(service, approval="plan", plan=PLAN)

    await edit(api, own, goal="less", final_instruction="In brief.")
    await service.ended(routed)
    await decide(api, own, "approve")
    await service.ended(own)

    [made] = (await api.get(f"/v1/runs/{routed}/plan/revisions"))["data"]
    first, second = (await api.get(f"/v1/runs/{own}/plan/revisions"))["data"]
    assert (made["reason"], first["reason"], second["reason"]) == (
        "A rule of the team made it.",
        "The job brought it.",
        "A client has edited it.",
    )
    assert second["difference"]["fields"] == [
        {"field": "goal", "before": "the goal", "after": "less"},
        {"field": "final_instruction", "before": "", "after": "In brief."},
    ]


async def test_an_edit_of_a_run_that_its_owner_still_has_is_what_the_owner_carries_out(
    services: Services, stub: StubProvider, api: Api
) -> None:
    service = await services.start(park_after_s=3_600)
    willing(stub)

    run_id = await service.submit(approval="plan", plan=PLAN)
    await service.until_logged(run_id, "plan.approval_requested")
    status, _ = await edit(api, run_id, tasks=[task("z")])
    await decide(api, run_id, "approve")
    run = await service.ended(run_id)

    assert (status, run["status"], [each["task"] for each in run["result"]["outputs"]]) == (200, "succeeded", ["z"])
    assert "run.resumed" not in await types_of(service, run_id)
