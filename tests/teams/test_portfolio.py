"""The team `portfolio` on scripted replies: trades are taken once code has found every constraint kept."""

import json
import re
from typing import Any

import httpx2
import pytest

from app.domain.job import JobInput
from app.llm.demo_evidence import grid_of
from app.llm.demo_material import queries_in
from app.team_files import BUILT_IN_TEAMS, teams_in
from app.tools.catalogue import catalogue
from app.tools.fetch_page import PageFetcher
from app.tools.sandbox import Sandbox
from tests.engine.test_artifacts import file
from tests.engine.test_findings import opening_of
from tests.llm.demo_driver import worked
from tests.support.service import report, synthesis
from tests.support.stub_answers import Answer, as_json, call, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest
from tests.teams.test_examples import EXAMPLES, parts_of

_SANDBOX = Sandbox()
_TOOLS = catalogue(_SANDBOX, PageFetcher(_SANDBOX))
NORD = {"symbol": "NORD", "side": "sell", "quantity": 304, "price": 201.4, "amount": 61225.6}
BETA = {"symbol": "BETA", "side": "buy", "quantity": 530, "price": 88.2, "amount": 46746}
ORKA = {"symbol": "ORKA", "side": "buy", "quantity": 423, "price": 52, "amount": 21996}
EVERYTHING_TO_TARGET = [NORD, BETA, ORKA]
TRADES = [NORD, BETA]
CSV = "symbol,side,quantity,price,amount\nNORD,sell,304,201.4,61225.6\nBETA,buy,530,88.2,46746\n"
ANSWER = "NORD is above its bound, BETA below. Sell 304 NORD for 61225.6, buy 530 BETA for 46746."


def queried(seen: SeenRequest) -> Answer | None:
    """The query of the plan, where it was not asked yet."""
    if len(seen.body["messages"]) > 1:
        return None
    [query] = queries_in(opening_of(seen))
    return tool_calls(call("query_data", {"sql": query}))


def read(seen: SeenRequest) -> Answer:
    if len(seen.body["messages"]) == 1:
        return tool_calls(call("read_input", {"action": "read", "name": "mandate.md"}))
    rule = {"number": "3", "source": "mandate.md", "line": 5, "end_line": 5, "quote": "ORKA must not be bought"}
    return as_json(report("No ORKA.", data={"restrictions": [rule | {"says": "ORKA may not be bought."}]}))


def rows_in(seen: SeenRequest) -> list[dict[str, Any]]:
    grid = grid_of(str(seen.body["messages"][2]["content"][0]["content"]))
    return [
        {name: value if name in ("symbol", "state", "side") else float(value) for name, value in row.items()}
        for row in (dict(zip(grid.header, cells, strict=True)) for cells in grid.rows)
    ]


def drifted(seen: SeenRequest) -> Answer:
    return queried(seen) or as_json(report("NORD is above, BETA below.", data={"drift": rows_in(seen)}))


def traded(*proposals: list[dict[str, Any]]) -> Any:
    """The trader: its proposals one after the other, and the last one for good."""

    def reply(seen: SeenRequest) -> Answer:
        if asked := queried(seen):
            return asked
        sent_back = len(seen.body["messages"]) // 2 - 1
        trades = proposals[min(sent_back, len(proposals) - 1)]
        return as_json(report("Two trades.", data={"trades": trades}, artifacts=[file("trades.csv", CSV, "text/csv")]))

    return reply


def prepare(stub: StubProvider, *proposals: list[dict[str, Any]]) -> None:
    stub.on("work:mandate-reader", read)
    stub.on("work:analyst", drifted)
    stub.on("work:trader", traded(*proposals))


def told(seen: SeenRequest) -> Answer:
    """The answer, with the rows of the results as data."""
    rows = re.search(r'"data": \{"drift": (\[.*?\])\}', opening_of(seen))
    assert rows is not None
    data = {"drift": json.loads(rows[1]), "trades": TRADES}
    sources = [{"pointer": "/drift", "tasks": ["drift"]}, {"pointer": "/trades", "tasks": ["trades"]}]
    return as_json(synthesis(ANSWER, "mandate-1", "drift", "trades", data=data, data_sources=sources))


def turned_round(seen: SeenRequest) -> Answer:
    """The same with the sides of the trades exchanged."""
    reply = json.loads(str(told(seen).content[0]["text"]))
    for each in reply["data"]["trades"]:
        each["side"] = "buy" if each["side"] == "sell" else "sell"
    return as_json(reply)


async def test_trades_that_break_a_constraint_go_back_with_the_figure_and_are_taken_once_they_keep_it(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    prepare(stub, EVERYTHING_TO_TARGET, TRADES)
    stub.on("synthesize", told, replies=[turned_round])

    answer = await client.post("/v1/jobs", files=parts_of(EXAMPLES / "portfolio"), headers={"prefer": "wait=30"})

    run = answer.json()
    assert (run["status"], stub.of("plan")) == ("succeeded", []), run["result"]
    assert run["result"]["data"]["trades"] == TRADES
    states = {row["symbol"]: row["state"] for row in run["result"]["data"]["drift"]}
    assert [symbol for symbol, state in states.items() if state != "within"] == ["BETA", "NORD"]
    assert "data.trades has to be the rows that code has checked" in str(stub.of("synthesize")[-1].body)
    sent_back = stub.of("work:trader")[-1].body["messages"][-1]
    assert "129967.6 are bought and sold, 12.9947 % of 1000155" in str(sent_back)
    assert "constraints.csv line 11 allows 12 % at most" in str(sent_back)
    assert "ORKA may not be bought." in opening_of(stub.of("work:trader")[0])
    [orders] = run["result"]["artifacts"]
    assert (orders["name"], (await client.get(orders["url"])).text) == ("trades.csv", CSV)


async def test_trades_that_keep_breaking_one_are_never_taken(client: httpx2.AsyncClient, stub: StubProvider) -> None:
    prepare(stub, EVERYTHING_TO_TARGET)
    stub.on("refine", as_json({"instruction": "Trade less than last time.", "change": "Less."}))
    stub.on("rule", as_json({"decision": "give_up", "worker": None, "instruction": None, "reason": "No use."}))
    said = synthesis("No trades could be made.", "mandate-1", "drift", without=["trades"], data=None, data_sources=[])
    stub.on("synthesize", as_json(said))

    answer = await client.post("/v1/jobs", files=parts_of(EXAMPLES / "portfolio"), headers={"prefer": "wait=30"})

    run = answer.json()
    task = (await client.get(f"/v1/runs/{run['id']}/tasks/trades")).json()
    assert run["status"] != "succeeded"
    assert (task["status"], task["attempts"][0]["error"]["code"]) == ("failed", "result_rejected")
    assert "12.9947 %" in task["attempts"][0]["error"]["message"]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (
            "NORD,201.40,USD,2026-03-12",
            "The prices are in several currencies, EUR, USD, and nothing here converts them.",
        ),
        ("NORDE,201.40,EUR,2026-03-12", "There is no price for NORD."),
    ],
)
async def test_positions_that_cannot_be_added_up_are_escalated_with_what_is_wrong(changed: str, why: str) -> None:
    [team] = [each for each in teams_in(BUILT_IN_TEAMS, tools=_TOOLS) if each.name == "portfolio"]
    [drift] = [each for each in team.plan_template.tasks if each.id == "drift"] if team.plan_template else []
    analyst = team.worker("analyst")
    assert analyst is not None
    inputs = [
        JobInput(name=name, media_type="text/csv", content=(EXAMPLES / "portfolio" / name).read_text().replace(
            "NORD,201.40,EUR,2026-03-12", changed
        ))
        for name in ("positions.csv", "prices.csv", "constraints.csv")
    ]  # fmt: skip

    done = await worked(analyst, drift.instruction, inputs=inputs)

    assert why in done.escalation.message
