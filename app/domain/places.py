"""Places in values that others sent, step by step from the outside in."""

from collections.abc import Sequence
from typing import Any

from pydantic_core import ErrorDetails


def known_part(path: Sequence[str | int], value: Any, *, missing: bool) -> tuple[str | int, ...]:
    """The part of a validator's path that there is in the value: what the validator adds for itself is left out.

    `missing` says that the last step is a name that should be there and is not.
    """
    known: list[str | int] = []
    for part in path:
        inner = _inner(value, part)
        if not inner and not (missing and part == path[-1]):
            break
        known.append(part)
        value = inner[0] if inner else None
    return tuple(known)


def causes_of(errors: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """A validator's errors without those that follow from others: what is wrong inside of something also makes it too
    short, which is no news."""
    around = {each["loc"][:length] for each in errors for length in range(len(each["loc"]))}
    return [each for each in errors if each["type"] != "too_short" or each["loc"] not in around]


def _inner(value: Any, part: str | int) -> tuple[Any, ...]:
    """What a value holds at one step of a path, or nothing."""
    if isinstance(value, dict):
        return (value[part],) if part in value else ()
    if isinstance(value, list) and isinstance(part, int):
        return tuple(value[part : part + 1])
    return ()
