"""Parts of the JSON schemas that models are held to.

Providers accept a subset of JSON Schema: closed objects, every property required, no limits on lengths or numbers. The
limits are checked by us after.
"""

from collections.abc import Sequence
from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}


def closed(**properties: Schema) -> Schema:
    """An object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def listed(items: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": items}


def one_of(values: Sequence[str]) -> Schema:
    """One of these texts."""
    return {"type": "string", "enum": list(values)}


def or_null(schema: Schema) -> Schema:
    """That, or null."""
    return {"anyOf": [schema, {"type": "null"}]}
