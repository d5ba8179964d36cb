"""The team `product-launch` on scripted replies: computed prices, copy that sees results alone, and its file."""

import re
from typing import Any

import httpx2

from app.llm.demo_material import queries_in
from tests.engine.test_findings import opening_of
from tests.support.service import report, synthesis
from tests.support.stub_answers import Answer, as_json, call, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest
from tests.teams.test_examples import EXAMPLES, parts_of

TASKS = ["market-1", "market-2", "market-3", "pricing-1", "copy"]
PILOT = {"brief.md": (40, 11, "claimed"), "pilot-report.md": (31, 5, "measured")}
PRICE = {"plan": "Practice", "price_eur": 24, "margin_percent": 66.3}
WHY = "13 of 20 would pay it"
CLAIM = {"claim": "Practice costs 24 euros per month.", "task": "pricing-1", "quote": WHY}
LEFT_OUT = {"claim": "the fastest", "reason": "only claimed"}
FILE = {"name": "launch-page.md", "media_type": "text/markdown", "text": "# Dunlin\n", "base64": None}


def fact(seen: SeenRequest) -> Answer:
    """What a document says of the pilot, if it does."""
    source = re.findall(r'from "([^"]+)" alone', opening_of(seen))[0]
    number, line, method = PILOT.get(source, (None, None, None))
    row = {"question": "pilot", "text": None if line is None else f"It had {number} customers.", "number": number}
    row |= {"method": method, "source": source, "line": line, "quote": None}
    return as_json(report("read", data={"facts": [row]}, sources=[source]))


def priced(seen: SeenRequest) -> Answer:
    if seen.call == 1:
        return tool_calls(*(call("query_data", {"sql": sql}) for sql in queries_in(opening_of(seen))))
    option = {"unit_cost_eur": 8.1, "buyers": 13, "asked": 20, "contribution_eur": 206.7}
    data = {"options": [PRICE | option], "prices": [PRICE | {"reason": WHY}]}
    return as_json(report("computed", data=data))


def accepted(seen: SeenRequest) -> Answer:
    criteria = seen.body["output_config"]["format"]["schema"]["properties"]["criteria"]
    names = criteria["items"]["properties"]["criterion"]["enum"]
    looks = [{"criterion": name, "met": True, "note": "so it is"} for name in names]
    return as_json({"verdict": "accepted", "criteria": looks, "notes": ""})


async def test_copy_sees_results_alone_and_contradicting_figures_are_conflicts(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    data: dict[str, Any] = {"prices": [PRICE], "claims": [CLAIM], "left_out": [LEFT_OUT]}
    said = "Practice costs 24 euros, with a margin of 66.3 percent. The pilot had 40 customers, or 31."
    told = synthesis(said, *TASKS, data=data, data_sources=[{"pointer": "/", "tasks": TASKS}])
    copied = report("A page of one claim.", data={"claims": [CLAIM], "left_out": [LEFT_OUT]}, artifacts=[FILE])
    stub.on("work:market", fact)
    stub.on("work:pricing", priced)
    stub.on("work:copy", as_json(copied))
    stub.on("synthesize", as_json(told))
    stub.on("review", accepted)

    answer = await client.post("/v1/jobs", files=parts_of(EXAMPLES / "product-launch"), headers={"prefer": "wait=30"})

    run = answer.json()
    assert (run["status"], stub.of("plan")) == ("succeeded", [])
    assert run["result"]["data"] == data
    [conflict] = run["result"]["conflicts"]
    assert (conflict["topic"], conflict["status"]) == ("number of pilot", "unresolved")
    assert {claim["task"]: claim["claim"] for claim in conflict["claims"]} == {"market-1": "40", "market-2": "31"}
    brought = str(stub.of("work:pricing")[1].body["messages"][-1]["content"])
    assert "| Practice | 24 | 66.3 | Highest contribution (206.7)" in brought.replace("24.0", "24")
    [asked] = stub.of("work:copy")
    assert "tools" not in asked.body
    assert WHY in opening_of(asked)
    assert "Finance wants" not in str(asked.body)
    [file] = run["result"]["artifacts"]
    assert (file["name"], file["task"], (await client.get(file["url"])).text) == (
        "launch-page.md",
        "copy",
        "# Dunlin\n",
    )
