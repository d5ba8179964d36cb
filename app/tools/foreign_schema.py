"""A JSON Schema that somebody else wrote: bounded before it is used, and never a reason to fetch or to reckon long.

It may refer to itself alone. One whose references go round, or unfold to very many parts, can take time exponential in
its size, so that it is shown and not held against anything.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import jsonschema_rs

from app.domain.text import clean, shorten
from app.tools.plain_words import plain

SCHEMA_CHARACTERS = 20_000
DEEPEST_SCHEMA = 30
LONGEST_CHAIN = 10
"""References of which each leads to the next. Each may lead as many levels down as a schema has."""
MOST_PARTS = 2_000
"""Parts that a schema may have with each of its references written out."""
WORDS_CHARACTERS = 1_000
"""Of one description within a schema."""
PROBLEMS_SHOWN = 5
PROBLEM_CHARACTERS = 300

_FIELD = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""Names of fields that the Messages API takes."""
_NOT_AT_THE_TOP = frozenset({"oneOf", "anyOf", "allOf"})
"""What the Messages API refuses there; arguments are held against it all the same."""
_NOT_SHOWN = frozenset({"$schema", "$id", "$comment"})
_WORDS = frozenset({"description", "title"})
_FOLLOWED = "$ref"
_NOT_FOLLOWED = frozenset({"$dynamicRef", "$recursiveRef", "$id", "$anchor", "$dynamicAnchor"})


class SchemaRefused(ValueError):
    """The schema cannot be used; the message says why and repeats nothing of it."""


class _Endless(Exception):
    """The references go round, or so far that nobody looks."""


@dataclass(frozen=True, slots=True, eq=False)
class ForeignSchema:
    """A schema that was looked at."""

    shown: Mapping[str, Any]
    """As a model may be given it."""
    validator: jsonschema_rs.Draft202012Validator | None
    """None where holding a value against it might take too long."""

    @classmethod
    def of(cls, schema: object) -> Self:
        """Raises `SchemaRefused`."""
        if not isinstance(schema, dict):
            raise SchemaRefused("it is no object")
        if _depth(schema) > DEEPEST_SCHEMA:
            raise SchemaRefused(f"it is nested more than {DEEPEST_SCHEMA} levels deep")
        if len(json.dumps(schema, ensure_ascii=False)) > SCHEMA_CHARACTERS:
            raise SchemaRefused(f"it has more than {SCHEMA_CHARACTERS} characters")
        known: dict[str, Any] = clean({name: part for name, part in schema.items() if name not in _NOT_SHOWN})
        try:
            validator = jsonschema_rs.Draft202012Validator(known, offline=True, mask="the value")
        except (jsonschema_rs.ReferencingError, ValueError):
            raise SchemaRefused("it is no JSON Schema of draft 2020-12, or refers to another document") from None
        return cls(_in_plain_words(known), validator if _is_quick(known) else None)

    @classmethod
    def of_arguments(cls, schema: object) -> Self:
        """A schema of a tool's input, in the form that the Messages API takes. Raises `SchemaRefused`."""
        found = cls.of(schema)
        if found.shown.get("type", "object") != "object":
            raise SchemaRefused("it describes no object")
        fields = found.shown.get("properties", {})
        if not all(_FIELD.fullmatch(name) for name in fields):
            raise SchemaRefused("a field has a name that models cannot be given")
        shown = {name: part for name, part in found.shown.items() if name not in _NOT_AT_THE_TOP}
        return cls({"type": "object", **shown}, found.validator)

    @classmethod
    def open(cls) -> Self:
        """The schema of any object."""
        return cls({"type": "object"}, None)

    def problems(self, value: object) -> list[str]:
        """What is wrong with a JSON value, which is not repeated; the first few."""
        if self.validator is None:
            return []
        errors = self.validator.iter_errors(value)
        return [_told(error) for error, _ in zip(errors, range(PROBLEMS_SHOWN), strict=False)]


def _told(error: jsonschema_rs.ValidationError) -> str:
    where = ".".join(map(str, error.instance_path)) or "input"
    return shorten(f"{where}: {error.message}", PROBLEM_CHARACTERS)[0]


def _parts(value: object) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _depth(value: object) -> int:
    """How deep a value is nested, no further than one level too deep."""
    level: list[Any] = [value]
    for depth in range(DEEPEST_SCHEMA + 2):
        level = [part for each in level for part in _parts(each)]
        if not level:
            return depth
    return DEEPEST_SCHEMA + 2


def _in_plain_words(part: Any) -> Any:
    """A part of a schema with its descriptions cleaned and cut."""
    if isinstance(part, list):
        return [_in_plain_words(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        name: plain(each, WORDS_CHARACTERS) if name in _WORDS and isinstance(each, str) else _in_plain_words(each)
        for name, each in part.items()
    }


def _is_quick(schema: dict[str, Any]) -> bool:
    """Whether holding a value against the schema takes time that is bounded by its size."""
    try:
        return _unfolded(schema, schema, {}, frozenset()) <= MOST_PARTS
    except _Endless:
        return False


def _unfolded(part: Any, root: dict[str, Any], known: dict[str, int], on_the_way: frozenset[str]) -> int:
    """How many parts a part has with its references written out."""
    count = 1 + sum(_unfolded(each, root, known, on_the_way) for each in _parts(part))
    if not isinstance(part, dict):
        return count
    if not _NOT_FOLLOWED.isdisjoint(part):
        raise _Endless
    reference = part.get(_FOLLOWED)
    if not isinstance(reference, str):
        return count
    if reference in on_the_way or len(on_the_way) >= LONGEST_CHAIN:
        raise _Endless
    if reference not in known:
        known[reference] = _unfolded(_target(reference, root), root, known, on_the_way | {reference})
    return count + known[reference]


def _target(reference: str, root: dict[str, Any]) -> Any:
    """What a JSON pointer within the document points at."""
    if not reference.startswith("#/"):
        raise _Endless
    target: Any = root
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        try:
            target = target[int(name)] if isinstance(target, list) else target[name]
        except (LookupError, TypeError, ValueError):
            raise _Endless from None
    return target
