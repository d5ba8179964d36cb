"""Secrets that a server was given, and that it says again: nobody else gets to see them."""

from collections.abc import Collection
from typing import Any

SHORTEST_SECRET = 6
"""Characters; what is shorter may stand in a text by chance."""
MASK = "[redacted]"


def masked(value: Any, secrets: Collection[str]) -> Any:
    """A JSON value without secrets of ours that its sender repeats."""
    match value:
        case str():
            for secret in sorted(secrets, key=len, reverse=True):  # One may be a part of another.
                if len(secret) >= SHORTEST_SECRET:
                    value = value.replace(secret, MASK)
            return value
        case dict():
            return {masked(name, secrets): masked(part, secrets) for name, part in value.items()}
        case list():
            return [masked(part, secrets) for part in value]
        case _:
            return value
