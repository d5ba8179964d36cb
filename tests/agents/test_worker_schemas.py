"""The data that a worker promises, in the words that a provider takes, and held against its own schema."""

import json

import pytest

from app.agents.reading import Unreadable
from app.agents.worker.report import read_report, report_schema
from tests.support.stub_rules import _of_schema

LOOSE = {
    "type": "object",
    "properties": {"differences": {"type": "integer", "minimum": 0}, "note": {"type": "string"}},
    "required": ["differences"],
}


def report(data: object) -> str:
    return json.dumps(
        {"summary": "Done.", "text": "Done.", "data": data, "confidence": 1, "sources": [], "escalation": None}
    )


def test_a_schema_with_bounds_is_asked_for_as_a_provider_takes_it() -> None:
    assert [*_of_schema(report_schema(LOOSE), "")] == []


def test_one_that_a_provider_takes_is_sent_as_it_is_written() -> None:
    plain = {
        "type": "object",
        "properties": {"sum": {"type": ["number", "null"]}},
        "required": ["sum"],
        "additionalProperties": False,
    }

    assert report_schema(plain)["properties"]["data"]["anyOf"][0] == plain


@pytest.mark.parametrize(
    ("data", "kept"), [({"differences": 2, "note": None}, {"differences": 2}), ({"differences": 0}, {"differences": 0})]
)
def test_what_may_be_left_out_comes_as_null_and_is_left_out(data: object, kept: object) -> None:
    assert read_report(report(data), LOOSE).data == kept  # type: ignore[union-attr]


def test_a_bound_that_no_provider_holds_is_held_here() -> None:
    with pytest.raises(Unreadable):
        read_report(report({"differences": -1, "note": None}), LOOSE)
