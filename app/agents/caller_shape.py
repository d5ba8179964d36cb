"""The form that a caller, or a worker of a team, promises data in: how a provider is asked for it, and how what comes
back is taken.

Providers hold a model to a part of JSON Schema: closed objects, every property required, no bounds. A schema is brought
into that form where it can be, and is the measure of what comes back in any case. Where it cannot be, the data are
asked for as JSON in a text.
"""

import json
from collections.abc import Mapping
from typing import Any

from app.agents.shapes import TEXT, Schema, closed, listed, or_null
from app.domain.json_shape import misfits

_PLAIN = ("type", "enum", "const", "description")
_UNSAYABLE = frozenset({
    "allOf", "not", "if", "then", "else", "patternProperties", "propertyNames", "prefixItems", "contains",
    "dependentSchemas", "dependentRequired", "dependencies", "unevaluatedProperties", "unevaluatedItems",
    "$dynamicRef", "$recursiveRef", "$id", "$anchor", "definitions",
})  # fmt: skip


_BOUNDS = frozenset({
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems",
    "minItems", "uniqueItems", "minProperties", "maxProperties", "minContains", "maxContains", "pattern", "oneOf",
})  # fmt: skip
"""What providers do not take, and what comes back is held against all the same."""


class _Unsayable(Exception):
    """A provider cannot be asked for this."""


def data_schema(schema: Mapping[str, Any]) -> tuple[Schema, Schema]:
    """What the reply is held to for `data` and, in the whole, for definitions; a text where there is no other way."""
    try:
        definitions = {name: _said(part) for name, part in schema.get("$defs", {}).items()}
        return _said({name: part for name, part in schema.items() if name != "$defs"}), definitions
    except (_Unsayable, TypeError, AttributeError, RecursionError):
        return TEXT | {"description": "JSON that fits the schema"}, {}


def as_asked(schema: Schema) -> Schema:
    """The schema of a worker's data as a provider takes it: as it is written, if it is one already."""
    if _is_sayable(schema):
        return schema
    said, definitions = data_schema(schema)
    return said | ({"$defs": definitions} if definitions else {})


def _is_sayable(part: Any) -> bool:
    if not isinstance(part, dict) or part.keys() & (_UNSAYABLE | _BOUNDS):
        return False
    properties = part.get("properties", {})
    if (part.get("type") == "object" or properties) and (
        part.get("additionalProperties") is not False or {*part.get("required", ())} != {*properties}
    ):
        return False
    within = [*properties.values(), *part.get("$defs", {}).values(), *part.get("anyOf", ())]
    return all(map(_is_sayable, within + ([part["items"]] if "items" in part else [])))


def sources_schema(delivered: list[str]) -> Schema:
    """Where the values of the data come from."""
    return listed(closed(pointer=TEXT, tasks=listed({"type": "string", "enum": delivered})))


def _said(schema: Any) -> Schema:
    if not isinstance(schema, dict) or not schema or schema.keys() & _UNSAYABLE:
        raise _Unsayable
    if "$ref" in schema:
        if not str(schema["$ref"]).startswith("#/$defs/"):
            raise _Unsayable
        return {"$ref": schema["$ref"]}
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return {"anyOf": [_said(choice) for choice in choices]}
    kinds = schema.get("type")
    if isinstance(kinds, list):
        rest = {name: part for name, part in schema.items() if name != "type"}
        return {"anyOf": [_said(rest | {"type": kind}) for kind in kinds]}
    plain = {name: schema[name] for name in _PLAIN if name in schema}
    if kinds == "object" or (kinds is None and "properties" in schema):
        return _object(schema)
    if kinds == "array":
        return plain | {"items": _said(schema.get("items"))}
    if kinds is None and not plain.keys() & {"enum", "const"}:
        raise _Unsayable
    return plain


def _object(schema: Mapping[str, Any]) -> Schema:
    properties, required = schema.get("properties"), schema.get("required", ())
    if not properties or schema.get("additionalProperties", False) not in (False, True):
        raise _Unsayable
    said = {name: _said(part) if name in required else or_null(_said(part)) for name, part in properties.items()}
    return closed(**said) | ({"description": schema["description"]} if "description" in schema else {})


def taken(data: Any, schema: Mapping[str, Any]) -> Any:
    """The data as the caller gets them: read from a text where they came as one, without what was left open.

    What the caller may leave out is asked for as null, so a null goes where the schema has no place for it.
    """
    if isinstance(data, str) and any(misfits(data, schema)):
        try:
            data = json.loads(data)
        except (ValueError, RecursionError):
            return data
    if not any(misfits(data, schema)):
        return data
    without = _without_nulls(data)
    return data if any(misfits(without, schema)) else without


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
