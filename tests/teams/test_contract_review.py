"""The team `contract-review` on scripted replies: clauses go in with their place, and come out as findings."""

from typing import Any

import httpx2

from tests.engine.test_findings import opening_of, verdict
from tests.support.service import report, synthesis
from tests.support.stub_answers import Answer, as_json, call, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest
from tests.teams.test_examples import EXAMPLES, parts_of

FEES = "at any time, by whatever amount it considers appropriate, upon written notice of 5 days"
ANSWER = (
    "It cannot be signed as it stands. Critical: in services-agreement.pdf the fees may rise at any time. "
    "The term is 36 months there and 24 in the order form. The playbook asks for an audit."
)


def passage(source: str, number: str, line: int, end_line: int, quote: str) -> dict[str, Any]:
    place = {"source": source, "line": line, "end_line": end_line, "mark": None}
    return {"number": number, "heading": None, "quote": quote, "says": "Somebody must do it."} | place


PASSAGES = {
    "playbook.md": [passage("playbook.md", "R11", 36, 36, "We may audit security once a year")],
    "services-agreement.pdf": [passage("services-agreement.pdf", "3.1", 12, 15, FEES)],
    "order-form.docx": [passage("order-form.docx", "2", 8, 8, "The initial term is 24 months")],
}


def read(seen: SeenRequest) -> Answer:
    task = opening_of(seen)
    source = next(name for name in PASSAGES if name in task.partition("</task>")[0])
    if len(seen.body["messages"]) == 1:
        return tool_calls(call("read_input", {"action": "read", "name": source}))
    return as_json(report("read all of it", data={"passages": PASSAGES[source]}, sources=[source]))


def finding(source: str, line: int, evidence: str, **said: Any) -> dict[str, Any]:
    place = {"input": source, "path": None, "line": line, "end_line": line}
    told = {"severity": "warning", "category": "term", "confidence": 95, "suggestion": "Ask for it."}
    return told | {"message": "It deviates.", "location": place, "evidence": evidence} | said


def checked(seen: SeenRequest) -> Answer:
    task = opening_of(seen)
    found = []
    if "fees, payment, increases" in task:
        said = "3.1 lets fees rise at any time, and R2 allows 3 % a year."
        found.append(finding("services-agreement.pdf", 12, FEES, severity="critical", message=said))
        found.append(
            finding("services-agreement.pdf", 17, "It ends whenever we like.", message="A clause that is not there.")
        )
    if "security, audit" in task:
        found.append(
            finding("playbook.md", 36, "We may audit security once a year", message="No clause lets us audit.")
        )
    return as_json(report("held against the rules", data={"findings": found}))


async def test_findings_about_a_pdf_and_a_word_document_stand_at_their_clauses(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    reading = [f"{group}-{n}" for group in ("money", "risk", "rest") for n in (1, 2)]
    whole = finding("order-form.docx", 7, "initial term is 24 months", message="36 months there, 24 months here.")
    stub.on("work:reader", read)
    stub.on("work:checker", checked)
    stub.on("work:risk-reviewer", as_json(report("compared", data={"findings": [whole]})))
    stub.on("verify", as_json(verdict("confirmed", 97)))
    stub.on(
        "synthesize",
        as_json(synthesis(ANSWER, *reading, "rules-1", "check-money", "check-risk", "check-rest", "whole")),
    )

    answer = await client.post("/v1/jobs", files=parts_of(EXAMPLES / "contract-review"), headers={"prefer": "wait=30"})

    run = answer.json()
    assert (run["status"], stub.of("plan")) == ("succeeded", [])
    assert [
        (each["location"]["input"], each["location"]["line"], each["location"]["end_line"], each["verdict"])
        for each in run["result"]["data"]["findings"]
    ] == [
        ("services-agreement.pdf", 12, 15, "confirmed"),
        ("order-form.docx", 8, 8, None),
        ("playbook.md", 36, 36, None),
    ]
    [gone] = run["result"]["data"]["suppressed"]
    assert (gone["reason"], gone["message"]) == ("not_at_location", "A clause that is not there.")
    [looked] = stub.of("verify")
    assert "> 15: notice of 5 days" in opening_of(looked).replace(">  ", "> ")
    for seen in (*stub.of("work:checker"), *stub.of("work:risk-reviewer")):
        assert "tools" not in seen.body or not seen.body["tools"]
        assert all(text in opening_of(seen) for text in ("<result>", "Brightwater Foods, the customer"))
    assert all("R11" in opening_of(seen) for seen in stub.of("work:checker"))
    assert all("R11" not in opening_of(seen) for seen in stub.of("work:risk-reviewer"))
