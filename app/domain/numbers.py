"""Numbers taken at their word: neither truth values nor texts count as some."""

from typing import Any

from pydantic_core import PydanticCustomError

AMOUNT_CHARACTERS = 40


def exact(value: Any) -> Any:
    """`value`, which must not be a number in disguise."""
    if isinstance(value, bool | str | bytes):
        raise PydanticCustomError("number_type", "This must be a number.")
    return value


def exact_amount(value: Any) -> Any:
    """`value`, which may be a number or the text of a decimal one, as money is sent in JSON."""
    if isinstance(value, bool | bytes) or (isinstance(value, str) and not _is_short_ascii(value)):
        raise PydanticCustomError("amount_type", "This must be an amount of money, as a text or a number.")
    return value


def _is_short_ascii(text: str) -> bool:
    return text.isascii() and len(text) <= AMOUNT_CHARACTERS and text == text.strip() and "_" not in text
