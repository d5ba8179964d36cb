"""Where a fact is looked for, and by which pattern: JSON paths and regular expressions, checked when a suite is read.

Both take time linear in what they search, whatever a suite says: expressions are matched by the engine that pydantic
has for fields, and paths know no functions that match by Python's.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from jsonpath import JSONPathEnvironment, JSONPathError
from pydantic_core import PydanticCustomError, SchemaError, SchemaValidator, ValidationError, core_schema

_PATTERN_CHARACTERS = 1000


class _Paths(JSONPathEnvironment):
    """RFC 9535, without the functions that take a regular expression."""

    def setup_function_extensions(self) -> None:
        super().setup_function_extensions()
        for name in ("match", "search"):
            self.function_extensions.pop(name, None)


_PATHS = _Paths(strict=True)


def checked_path(path: str) -> str:
    """The path, if it is one. Raises `PydanticCustomError`."""
    try:
        _PATHS.compile(path)
    except JSONPathError as error:
        told = {"why": str(error).partition("\n")[0]}
        raise PydanticCustomError("json_path", "this is no JSON path: {why}", told) from None
    return path


def values_at(path: str, document: Any) -> Sequence[Any]:
    """What a path finds in a JSON document."""
    return _PATHS.findall(path, document)


def checked_pattern(pattern: str) -> str:
    """The regular expression, if it is one. Raises `PydanticCustomError`."""
    if len(pattern) > _PATTERN_CHARACTERS:
        raise PydanticCustomError("pattern_long", "an expression may have at most {most} characters", _LONGEST)
    try:
        _matcher(pattern)
    except SchemaError as error:
        why = " ".join(str(error).split())
        told = {"why": why.rpartition("error: ")[2]}
        raise PydanticCustomError("pattern", "this expression cannot be used: {why}", told) from None
    return pattern


_LONGEST = {"most": _PATTERN_CHARACTERS}


def matches(pattern: str, text: str) -> bool:
    """Whether an expression matches a part of the text."""
    try:
        _matcher(pattern).validate_python(text)
    except ValidationError:
        return False
    return True


@cache
def _matcher(pattern: str) -> SchemaValidator:
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
