import time
from typing import Any

import pytest

from app.tools.foreign_schema import DEEPEST_SCHEMA, LONGEST_CHAIN, ForeignSchema, SchemaRefused

TEXT = {"type": "string"}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = TEXT
    for _ in range(levels):
        schema = {"properties": {"a": schema}}
    return schema


def doubling(levels: int) -> dict[str, Any]:
    """A schema that takes time exponential in its size."""
    parts = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"type": "object", "$defs": parts | {f"d{levels}": {}}, "$ref": "#/$defs/d0"}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (None, "no object"),
        (True, "no object"),
        ({"type": "banana"}, "no JSON Schema"),
        ({"properties": {"a": {"pattern": "("}}}, "no JSON Schema"),
        ({"properties": {"a": {"pattern": "((a{1000}){1000}){1000}"}}}, "no JSON Schema"),
        ({"$ref": "http://169.254.169.254/latest"}, "refers to another document"),
        ({"$ref": "file:///etc/passwd"}, "refers to another document"),
        (nested(DEEPEST_SCHEMA), "levels deep"),
        ({"description": "x" * 30_000}, "characters"),
        ({"type": "array"}, "describes no object"),
        ({"properties": {"a b": TEXT}}, "name that models cannot be given"),
        ({"properties": {"\u202eevil": TEXT}}, "name that models cannot be given"),
    ],
)
def test_what_no_model_may_be_given_is_refused(schema: object, reason: str) -> None:
    with pytest.raises(SchemaRefused, match=reason):
        ForeignSchema.of_arguments(schema)


def test_what_the_messages_api_refuses_at_the_top_is_not_shown_but_holds() -> None:
    taken = ForeignSchema.of_arguments(
        {"$schema": "x", "properties": {"a": TEXT, "b": TEXT}, "oneOf": [{"required": ["a"]}]}
    )

    assert taken.shown == {"type": "object", "properties": {"a": TEXT, "b": TEXT}}
    assert taken.problems({"a": "x"}) == []
    assert taken.problems({"b": "x"}) != []


def test_a_problem_names_its_place_and_repeats_no_value() -> None:
    taken = ForeignSchema.of_arguments({"properties": {"a": {"items": {"type": "integer"}}}, "required": ["a"]})

    [problem] = taken.problems({"a": [1, "sk-secret"]})

    assert problem.startswith("a.1: ")
    assert "sk-secret" not in problem


def chained(links: int, levels: int) -> dict[str, Any]:
    """A schema of parts that lead to each other, each so many levels further down."""
    parts: dict[str, Any] = {f"d{links}": TEXT}
    for link in range(links):
        part: dict[str, Any] = {"$ref": f"#/$defs/d{link + 1}"}
        for _ in range(levels):
            part = {"not": part}
        parts[f"d{link}"] = part
    return {"type": "object", "$defs": parts, "properties": {"a": {"$ref": "#/$defs/d0"}}}


@pytest.mark.parametrize(
    "schema",
    [
        doubling(40),
        chained(400, 0),
        chained(30, 26),
        {
            "type": "object",
            "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}},
            "$ref": "#/$defs/node",
        },
        {"type": "object", "allOf": [{"$dynamicRef": "#x"}], "$dynamicAnchor": "x"},
    ],
)
def test_a_schema_that_may_take_for_ever_is_shown_and_not_reckoned_with(schema: dict[str, Any]) -> None:
    begun = time.perf_counter()
    taken = ForeignSchema.of_arguments(schema)

    assert taken.problems({"next": {"next": 7}}) == []
    assert taken.shown["type"] == "object"
    assert time.perf_counter() - begun < 0.5


def test_a_chain_of_references_is_followed_for_a_while() -> None:
    assert ForeignSchema.of_arguments(chained(LONGEST_CHAIN, 24)).problems({"a": 7}) != []
    assert ForeignSchema.of_arguments(chained(LONGEST_CHAIN + 1, 24)).problems({"a": 7}) == []


def test_references_within_the_document_are_held_against() -> None:
    taken = ForeignSchema.of_arguments({"$defs": {"t": TEXT}, "properties": {"a": {"$ref": "#/$defs/t"}}})

    assert taken.problems({"a": 7}) != []


def test_descriptions_within_are_cut_and_show_what_they_say() -> None:
    taken = ForeignSchema.of_arguments(
        {"properties": {"a": {"description": "Ignore\u200b\U000e0041 this.\x1b[0m" + "x" * 5_000}, "description": TEXT}}
    )

    described = taken.shown["properties"]["a"]["description"]
    assert described.startswith("Ignore this.[0m")
    assert len(described) <= 1_000
    assert taken.shown["properties"]["description"] == TEXT
