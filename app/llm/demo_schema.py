"""A value for a JSON schema, so that the demo model's data fits what a worker promises."""

from collections.abc import Mapping
from typing import Any


def smallest(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Any:
    """The plainest value that fits. Formats and patterns of strings are not looked at."""
    root = root or schema
    if reference := schema.get("$ref"):
        return smallest(root["$defs"][reference.rpartition("/")[2]], root)
    if "const" in schema or "enum" in schema:
        return schema["const"] if "const" in schema else schema["enum"][0]
    if choices := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return smallest(choices[0], root)
    kind = schema.get("type", "object")
    match kind if isinstance(kind, str) else kind[0]:
        case "object":
            return {name: smallest(schema["properties"][name], root) for name in schema.get("required", ())}
        case "array":
            return [smallest(schema["items"], root) for _ in range(schema.get("minItems", 0))]
        case "string":
            return "demo model".ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength")]
        case "integer" | "number":
            return schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
        case "boolean":
            return False
        case _:
            return None
