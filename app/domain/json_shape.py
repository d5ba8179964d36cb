"""JSON Schemas that others bring: whether they are some, and whether a value fits. References are never fetched."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import jsonschema_rs

MISFITS_SHOWN = 20
LONGEST_SCHEMA = 50_000
"""Characters of a schema, written as JSON."""

Path = tuple[str | int, ...]
"""Where in a value, step by step."""


class SchemaInvalid(Exception):
    """This is no JSON Schema; `path` is the place in it."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raises `SchemaInvalid` when nothing can be held against it."""
    try:
        _validator(schema)
    except jsonschema_rs.ValidationError as error:
        raise SchemaInvalid(tuple(error.instance_path), error.message) from None
    except (jsonschema_rs.ReferencingError, ValueError) as error:
        raise SchemaInvalid((), str(error)) from None


def misfits(value: Any, schema: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """What keeps a value from fitting a schema: places and reasons, a bounded number of them."""
    for error in islice(_validator(schema).iter_errors(value), MISFITS_SHOWN):
        yield tuple(error.instance_path), error.message


def _validator(schema: Mapping[str, Any]) -> Any:
    # Patterns run in linear time, whatever they and the value are.
    return jsonschema_rs.validator_for(
        dict(schema), offline=True, validate_formats=True, pattern_options=jsonschema_rs.RegexOptions()
    )
