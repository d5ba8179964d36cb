"""Findings through the whole service: reported, placed, merged, looked at again, filtered, ranked, told."""

import json
from typing import Any

from app.domain import events as ev
from app.domain.spans import Spans
from app.domain.team import Team
from app.domain.worker import Worker
from tests.support.api import Api
from tests.support.documents import as_input, docx_of, pdf_of
from tests.support.found import DIFF, TEXT, in_diff
from tests.support.found import report as finding
from tests.support.service import Service, plan_of, report, synthesis, task
from tests.support.story import as_json as told
from tests.support.stub_answers import as_json, refusal, text
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

REVIEWERS = Team(
    name="reviewers",
    workers=(
        Worker(name="bugs", description="Finds bugs.", instructions="Find bugs.", output="findings"),
        Worker(name="style", description="Finds faults of style.", instructions="Find them.", output="findings"),
    ),
)
TWO = plan_of(task("a", "bugs"), task("b", "style"))
INPUTS = [given.model_dump() for given in (DIFF, TEXT)]
QUERY = 'query = "select " + rows'
SAID = "The rows go into the query as they are."
BUGS = [
    in_diff(7, QUERY, severity="critical", message=SAID, confidence=85),
    in_diff(10, "return sum(rows, 0)", message="This sums what is no number."),
    finding(3, message="The third line is a guess.", confidence=70),
]
STYLE = [
    in_diff(11, f"+    {QUERY}", severity="warning", message=f"Here too: {SAID}", confidence=80),
    finding(9, message="The ninth line is long.", severity="info", confidence=40),
    finding(12, message="The twelfth line says nothing.", severity="info", confidence=82),
]
ANSWER = "Critical: in src/a.py the rows go into the query as they are. The twelfth line says nothing."


def found(findings: list[dict[str, Any]]) -> dict[str, Any]:
    return report("looked at all of it", data={"findings": findings})


def verdict(verdict: str, confidence: int = 90) -> dict[str, Any]:
    said = {"reason": "It stands there.", "verdict": verdict, "confidence": confidence}
    return said | {"severity": None, "message": None, "suggestion": None}


def opening_of(seen: SeenRequest) -> str:
    return str(seen.body["messages"][0]["content"][0]["text"])


def reviewed(stub: StubProvider) -> None:
    stub.on("work:bugs", as_json(found(BUGS)))
    stub.on("work:style", as_json(found(STYLE)))
    stub.on("synthesize", as_json(synthesis(ANSWER, "a", "b")))


async def test_findings_from_the_reports_to_the_answer(service: Service, stub: StubProvider, api: Api) -> None:
    reviewed(stub)
    stub.on(
        "verify",
        lambda seen: as_json(verdict("confirmed" if SAID in opening_of(seen) else "refuted")),
    )

    run_id = await service.submit(team=REVIEWERS, plan=TWO, inputs=INPUTS)
    run = await service.ended(run_id)

    result = run["result"]
    assert (run["status"], run["stop_reason"]) == ("succeeded", "completed")
    assert [
        (each["id"], each["tasks"], each["confidence"], each["verdict"]) for each in result["data"]["findings"]
    ] == [
        ("f1", ["a", "b"], 95, "confirmed"),
        ("f6", ["b"], 82, None),
    ]
    assert result["data"]["findings"][0]["location"] == {
        "input": "change.diff", "path": "src/a.py", "line": 11, "end_line": 11, "side": "new",
    }  # fmt: skip
    assert [(each["id"], each["reason"]) for each in result["data"]["suppressed"]] == [
        ("f2", "not_at_location"), ("f3", "refuted"), ("f4", "duplicate"), ("f5", "below_threshold"),
    ]  # fmt: skip
    assert result["answer"].startswith(ANSWER)
    assert "Left out: 4 of 6 findings" in result["answer"]
    events = await service.events(run_id)
    steps = [event.type for event in events if event.type.startswith("finding")]
    assert steps == [
        "findings.placed", "findings.merged", "finding.verified", "finding.verified", "findings.filtered",
        "findings.ranked",
    ]  # fmt: skip
    [placed] = [event.data for event in events if isinstance(event.data, ev.FindingsPlaced)]
    assert (placed.reported, placed.placed, placed.moved) == (6, 5, ("f1",))
    assert len({event.at for event in events if event.type in ("findings.placed", "findings.merged")}) == 1
    for seen in stub.of("verify"):
        assert not any(word in opening_of(seen) for word in ("bugs", "style", '"confidence"', '"tasks"'))
        assert seen.body["model"] == service.runtime.model.model_id("deep")
    [asked] = stub.of("synthesize")
    assert "ninth line" not in opening_of(asked)
    spans = Spans()
    calls = [
        span for event in events for span in spans.take(told(event)) if span["attributes"].get("purpose") == "verify"
    ]
    assert [(span["parent_id"], span["status"]) for span in calls] == [("synthesis", "ok")] * 2


async def test_a_verifier_that_refuses_or_talks_leaves_its_finding_unverified(
    service: Service, stub: StubProvider
) -> None:
    reviewed(stub)
    stub.on("verify", lambda seen: refusal() if SAID in opening_of(seen) else text("I would rather not say."))

    run = await service.ended(await service.submit(team=REVIEWERS, plan=TWO, inputs=INPUTS))

    assert run["status"] == "succeeded"
    data = run["result"]["data"]
    assert [(each["id"], each["verdict"], each["note"]) for each in data["findings"]] == [
        ("f1", "unverified", "model_refusal"),
        ("f6", None, ""),
    ]
    third = next(each for each in data["suppressed"] if each["id"] == "f3")
    assert (third["reason"], third["verdict"], third["note"]) == ("below_threshold", "unverified", "output_invalid")
    assert len(stub.of("verify")) == 3


async def test_an_answer_that_tells_of_what_was_left_out_is_sent_back(service: Service, stub: StubProvider) -> None:
    reviewed(stub)
    stub.on("verify", as_json(verdict("confirmed")))
    stub.on(
        "synthesize",
        replies=[as_json(synthesis(f"{ANSWER} The ninth line is long. See notes.txt:9.", "a", "b"))],
        reply=as_json(synthesis("All is well.", "a", "b")),
    )

    run_id = await service.submit(team=REVIEWERS, plan=TWO, inputs=INPUTS)
    run = await service.ended(run_id)

    events = await service.events(run_id)
    rejected = [event.data for event in events if isinstance(event.data, ev.SynthesisRejected)]
    assert [flaw.code for each in rejected for flaw in each.errors] == ["finding_suppressed"]
    assert run["status"] == "succeeded"
    assert "Critical findings:\n\n- src/a.py:11: The rows go" in run["result"]["answer"]


async def test_a_single_task_with_findings_goes_through_the_same_steps(service: Service, stub: StubProvider) -> None:
    stub.on("work:style", as_json(found([])))
    stub.on("synthesize", as_json(synthesis("Nothing was found.", "b")))

    run = await service.ended(await service.submit(team=REVIEWERS, plan=plan_of(task("b", "style")), inputs=INPUTS))

    assert run["result"]["data"] == {"findings": [], "suppressed": []}
    assert run["result"]["answer"] == "Nothing was found."


async def test_a_finding_that_is_none_is_repaired_like_any_reply(service: Service, stub: StubProvider) -> None:
    bad = finding(9, confidence=300)
    stub.on("work:style", replies=[as_json(found([bad]))], reply=as_json(found([STYLE[2]])))
    stub.on("synthesize", as_json(synthesis("The twelfth line says nothing.", "b")))

    run_id = await service.submit(team=REVIEWERS, plan=plan_of(task("b", "style")), inputs=INPUTS)
    run = await service.ended(run_id)

    assert [each["id"] for each in run["result"]["data"]["findings"]] == ["f1"]
    rejected = [event.data for event in await service.events(run_id) if isinstance(event.data, ev.TaskRejected)]
    assert [flaw.pointer for each in rejected for flaw in each.errors] == ["/data/findings/0/confidence"]


async def test_another_answer_made_from_the_same_results_has_the_same_findings(
    service: Service, stub: StubProvider, api: Api
) -> None:
    reviewed(stub)
    stub.on("verify", as_json(verdict("confirmed")))
    run_id = await service.submit(team=REVIEWERS, plan=TWO, inputs=INPUTS)
    first = await service.ended(run_id)

    answer = await api.client.post(f"/v1/runs/{run_id}/resynthesize", headers={"Prefer": "wait=20"})

    again = answer.json()
    assert again["result"]["data"] == json.loads(json.dumps(first["result"]["data"]))


async def test_a_job_cannot_want_other_data_of_a_team_whose_workers_report_findings(
    service: Service, stub: StubProvider, api: Api
) -> None:
    stub.on("work:style", as_json(found([])))
    stub.on("synthesize", as_json(synthesis("Nothing was found.", "b")))
    await service.ended(await service.submit(team=REVIEWERS, plan=plan_of(task("b", "style")), inputs=INPUTS))

    job = {"objective": "Look.", "team": "reviewers", "output_schema": {"type": "object"}}
    answer = await api.client.post("/v1/jobs", json=job)

    assert (answer.status_code, answer.json()["code"]) == (422, "request_invalid")
    [error] = answer.json()["errors"]
    assert error["pointer"] == "/output_schema"
    assert "report findings" in error["detail"]


async def test_findings_in_documents_are_placed_in_the_text_that_workers_read(
    service: Service, stub: StubProvider
) -> None:
    pdf = as_input(pdf_of("The fees may rise at any time,", "by notice of five days."), "terms.pdf")
    docx = as_input(docx_of("# Liability", "The Supplier is liable without limit."), "order.docx")
    broken = as_input(b"%PDF-1.7 and no more", "annex.pdf")

    def at(name: str, line: int, evidence: str, **changes: Any) -> dict[str, Any]:
        return finding(line, evidence, location={"input": name, "line": line, "end_line": line}, **changes)

    stub.on(
        "work:bugs",
        as_json(
            found([
                at("terms.pdf", 2, "at any time, by notice of five days.", severity="critical", message="Fees float."),
                at("order.docx", 1, "liable without limit", message="Liability has no limit."),
                at("annex.pdf", 1, "Something.", message="The annex is wrong."),
            ])
        ),
    )  # fmt: skip
    stub.on("work:style", as_json(found([])))
    stub.on("verify", as_json(verdict("confirmed")))
    stub.on("synthesize", as_json(synthesis("Critical: fees float. Liability has no limit.", "a")))

    inputs = [each.model_dump() for each in (pdf, docx, broken)]
    run = await service.ended(await service.submit(team=REVIEWERS, plan=TWO, inputs=inputs))

    data = run["result"]["data"]
    places = [(each["location"]["input"], each["location"]["line"], each["location"]["end_line"]) for each in
              data["findings"]]  # fmt: skip
    assert places == [("terms.pdf", 2, 4), ("order.docx", 2, 2)]
    [gone] = data["suppressed"]
    assert (gone["reason"], gone["detail"]) == (
        "not_at_location", "annex.pdf is a PDF: places in it are not looked up.",
    )  # fmt: skip
    [seen] = stub.of("verify")
    assert ">  4: by notice of five days." in opening_of(seen)
    assert "   3: [page 2 of 2]" not in opening_of(seen)
    assert ">  3: [page 2 of 2]" in opening_of(seen)
