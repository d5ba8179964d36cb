"""The data that a worker promises, filled in from figures that were computed; nothing in it is made up."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import jsonschema_rs

from app.llm.demo_grid import ROWS, as_json, number_in

Figures = Mapping[str, str]
"""A row of what was computed, by name."""

_MEANS = {
    "total": "sum", "average": "mean", "avg": "mean", "count": ROWS, "number": ROWS, "max": "largest",
    "highest": "largest", "min": "smallest", "lowest": "smallest",
}  # fmt: skip
_SMALL = {"of", "the", "in", "usd", "eur"}


class NotComputed(Exception):
    """A value that the schema asks for stands in no figure, or in several."""


def promised(report: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The schema of the data in that of a report; None where a worker promises none."""
    data = ((report or {}).get("properties") or {}).get("data")
    return data and {**data["anyOf"][0], "$defs": (report or {}).get("$defs", {})}


def finds(report: Mapping[str, Any] | None) -> bool:
    """Whether the data are to be findings."""
    return "findings" in (promised(report) or {}).get("properties", {})


def filled(schema: Mapping[str, Any], rows: Sequence[Figures]) -> Any:
    """A value that fits the schema, from these rows. Raises `NotComputed`."""
    value = _value(schema, "", rows, schema)
    if not fits(value, schema):
        raise NotComputed
    return value


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value is as the schema has it, by the rules that replies are held to."""
    return jsonschema_rs.validator_for(dict(schema), offline=True, validate_formats=True).is_valid(value)


def _value(schema: Mapping[str, Any], name: str, rows: Sequence[Figures], root: Mapping[str, Any]) -> Any:
    if "const" in schema:
        return schema["const"]
    if reference := schema.get("$ref"):
        return _value(root.get("$defs", {}).get(reference.rpartition("/")[2], {}), name, rows, root)
    kinds = schema.get("type", "object" if "properties" in schema else "")
    match kinds:
        case "array":
            return [_value(schema.get("items", {}), name, [row], root) for row in rows]
        case "object":
            properties = schema.get("properties", {})
            required = schema.get("required", properties)
            return {each: _value(properties.get(each, {}), each, rows, root) for each in required}
        case _:
            return _cell(name, kinds, rows)


def _cell(name: str, kinds: str | Sequence[str], rows: Sequence[Figures]) -> Any:
    """The one figure of the one row that bears the name; null where that is allowed and there is none."""
    words = _words(name)
    found = [cell for row in rows for label, cell in row.items() if words and words <= _words(label)]
    if len(found) != 1 or len(rows) != 1:
        if "null" in kinds:
            return None
        raise NotComputed
    number = number_in(found[0])
    if number is None or "string" in kinds:
        return found[0]
    return as_json(number)


def _words(name: str) -> set[str]:
    parted = re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold())
    return {_MEANS.get(word, word) for word in parted} - _SMALL
