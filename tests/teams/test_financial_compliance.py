"""The hierarchy of `financial-compliance` on scripted replies: its checks, and what comes up from them."""

from collections.abc import Mapping
from typing import Any

import httpx2

from app.llm.demo_material import queries_in
from tests.engine.test_findings import opening_of
from tests.support.service import report, synthesis
from tests.support.stub_answers import Answer, as_json, call, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest, system_of
from tests.teams.test_examples import EXAMPLES, parts_of

DECIDED = {
    "sign-offs": {"O-1001": "approve", "O-1004": "approve", "O-1008": "reject"},
    "limits": {"O-1001": "approve", "O-1004": "approve", "O-1008": "approve"},
    "screening": {"O-1001": "approve", "O-1004": "reject", "O-1008": "approve"},
    "disclosures": {"O-1005": "reject"},
}
BREACH: dict[str, Any] = {"severity": "critical", "evidence": "as it stands there", "message": "broken"}
BREACHES = {
    "sign-offs": [BREACH | {"rule": "four eyes", "about": "O-1008", "source": "approvals.csv", "line": 9}],
    "screening": [BREACH | {"rule": "sanctions list", "about": "O-1004", "source": "sanctions.csv", "line": 2}],
    "disclosures": [BREACH | {"rule": "D1", "about": "O-1005", "source": "letters.md", "line": 6}],
}


def decisions(decided: Mapping[str, str | None]) -> list[dict[str, Any]]:
    return [{"subject": order, "decision": said, "reason": "So it is."} for order, said in decided.items()]


def check(seen: SeenRequest) -> Answer:
    """A worker that runs the queries of its task first, and says then what was scripted for it."""
    name = seen.role.partition(":")[2]
    if seen.call == 1 and (queries := queries_in(opening_of(seen))):
        return tool_calls(*(call("query_data", {"sql": sql}) for sql in queries))
    data = {"decisions": decisions(DECIDED[name]), "breaches": BREACHES.get(name, [])}
    return as_json(report(f"{name} looked", data=data))


def told(seen: SeenRequest) -> Answer:
    """The inner supervisor leaves O-1004 open; the outer one adds O-1008, where the two lines differ."""
    outer = 'team "financial-compliance"' in system_of(seen.body)
    tasks = ["sign-offs-1", "compliance-1"] if outer else ["limits-1", "screening-1", "disclosures-1"]
    open_now: dict[str, str | None] = {"O-1004": None, "O-1005": "reject"} | (
        {"O-1008": None} if outer else {"O-1008": "approve"}
    )
    names = ["screening", "disclosures"] + ["sign-offs"] * outer
    data = {
        "decisions": decisions({"O-1001": "approve", **open_now}),
        "breaches": [breach for name in names for breach in BREACHES[name]],
    }
    sources = [{"pointer": "/", "tasks": tasks}]
    said = "Hold O-1004: the checks say approve and reject."
    said = f"Hold O-1008, which its own trader has signed. {said}" if outer else said
    return as_json(synthesis(said, *tasks, data=data, data_sources=sources))


async def test_checks_that_disagree_come_up_as_conflicts_and_every_breach_with_its_line(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    stub.on("work", check)
    stub.on("synthesize", told)

    answer = await client.post(
        "/v1/jobs", files=parts_of(EXAMPLES / "financial-compliance"), headers={"prefer": "wait=30"}
    )

    run = answer.json()
    assert (run["status"], stub.of("plan")) == ("succeeded", [])
    [child] = (await client.get("/v1/runs", params={"parent": run["id"], "include": "result"})).json()["data"]
    assert (child["team"]["name"], child["status"], child["parent_task"]["task"]) == (
        "compliance-validation", "succeeded", "compliance-1",
    )  # fmt: skip
    sides = {
        each["topic"]: sorted((claim["task"], claim["claim"]) for claim in each["claims"])
        for each in run["result"]["conflicts"]
    }
    assert sides == {
        "decision of O-1004": [("compliance-1", "approve"), ("compliance-1", "reject")],
        "decision of O-1008": [("compliance-1", "approve"), ("sign-offs-1", "reject")],
    }
    places = {(each["about"], each["source"], each["line"]) for each in run["result"]["data"]["breaches"]}
    assert places == {("O-1004", "sanctions.csv", 2), ("O-1005", "letters.md", 6), ("O-1008", "approvals.csv", 9)}
    for name in ("limits", "screening", "sign-offs"):
        brought = str(stub.of(f"work:{name}")[1].body["messages"][-1]["content"])
        assert "is_error': True" not in brought
        assert "| subject | decision | reason |" in brought
        others = [each for each in DECIDED if each != name]
        assert not any(f"{other} looked" in str(seen.body) for seen in stub.of(f"work:{name}") for other in others)
