"""Figures from outside as exact decimals, bounded so that sums and products of them are exact too."""

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

_WRITTEN = re.compile(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,12})?")
EXACT = Context(prec=120)
"""Holds products of two such figures and sums of any number of them that fits into a job."""


def exact_figure(value: Any) -> Decimal | None:
    """A number of JSON, or a text that is one: up to 15 digits and 12 after the point; None for anything else.

    A float stands for the shortest text that reads as it, which is the one that was written.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value).strip() if isinstance(value, str) else format(_shortest(value), "f")
    return Decimal(text) if _WRITTEN.fullmatch(text) else None


def _shortest(value: int | float) -> Decimal:
    if isinstance(value, int):
        return Decimal(value) if abs(value) < 10**18 else Decimal("Infinity")
    return Decimal(repr(value))


def plain(value: Decimal, places: int = 2) -> str:
    """A figure for people, rounded, without zeros that say nothing."""
    rounded = value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN, EXACT)
    text = f"{rounded:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(part: Decimal, whole: Decimal) -> str:
    """A part of a whole in percent."""
    return f"{plain(EXACT.divide(part * 100, whole), 4)} %" if whole else "no part"
