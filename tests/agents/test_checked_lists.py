"""Lists that code has checked in a result stand in the data as they were checked."""

from dataclasses import replace
from typing import Any

import pytest

from app.agents.supervisor.checked_lists import checked_lists, unlike_checked
from app.domain.results import Synthesis
from tests.support.story import Story, brief, task, with_team

SELL = {"symbol": "NORD", "side": "sell", "quantity": 304, "why": "above"}
BUY = {"symbol": "BETA", "side": "buy", "quantity": 530, "why": "below"}
TEXT, NUMBER = {"type": "string"}, {"type": "number"}


def listing(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"trades": {"type": "array", "items": {"properties": fields}}}}


OURS = listing(symbol=TEXT, side=TEXT, quantity=NUMBER)


def details(rows: Any, schema: dict[str, Any] = OURS, *delivered: list[Any]) -> list[str]:
    """What is said of such rows in an answer, where workers with a check have delivered these."""
    story = Story(replace(with_team(brief(), checks=("trades",), output_schema=OURS), own_schema=schema))
    story.begin(*(task(f"t{number}") for number, _ in enumerate(delivered)), task("other"))
    for number, held in enumerate(delivered):
        story.succeed(f"t{number}", data={"trades": held})
    story.succeed("other", data={"more": [SELL]})
    told = Synthesis(answer="a", data={"trades": rows})
    return [flaw.detail for flaw in unlike_checked(told, checked_lists(story.run))]


BAD: dict[str, tuple[list[Any], str]] = {
    "another side": (
        [SELL | {"side": "buy"}, BUY],
        "row 1 is {'quantity': 304, 'side': 'buy', 'symbol': 'NORD'}, and t0",
    ),
    "all of them twice": ([SELL, BUY, SELL, BUY], "it has 4 rows, and t0 has 2"),
    "one left out": ([BUY], "row 1 is"),
    "none": ([], "it has 0 rows, and t0 has 2"),
}


@pytest.mark.parametrize("case", BAD)
def test_other_rows_than_were_checked_are_named(case: str) -> None:
    rows, words = BAD[case]
    [said] = details(rows, OURS, [SELL, BUY])
    assert "data.trades has to be the rows that code has checked" in said
    assert words in said


def test_the_rows_of_one_result_pass_as_far_as_the_schema_has_their_fields() -> None:
    assert details([SELL, BUY], OURS, [SELL, BUY]) == []
    assert details([BUY | {"why": "other words"}], OURS, [SELL], [BUY]) == []
    assert details([{"symbol": "NORD"}], listing(symbol=TEXT), [SELL]) == []
    assert (
        details(["NORD"], {"type": "object", "properties": {"trades": {"type": "array", "items": TEXT}}}, [SELL]) == []
    )
    assert details(None, OURS, [SELL]) == []


def test_without_a_checked_result_there_are_no_rows() -> None:
    assert details([]) == []
    [said] = details([SELL])
    assert said.endswith("no task has delivered a row of it")
