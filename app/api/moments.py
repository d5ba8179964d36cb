"""Moments as clients write them."""

import re
from datetime import MINYEAR, UTC, date, datetime, time

from app.api.errors import Refusal

MOMENT = "A day (`2026-11-28`, in UTC) or a moment (`2026-11-28T09:00:00Z`)"

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(
    rf"{_DAY.pattern}[Tt ][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(?:\.[0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
"""By RFC 3339. Python reads more as a moment: weeks, hours without minutes, all of it without a separator."""


def moment_of(text: str, parameter: str) -> datetime:
    """A day means its first moment in UTC. Raises `Refusal`."""
    try:
        return parsed(text)
    except (ValueError, OverflowError):
        errors = [{"parameter": parameter, "detail": "This is a day or a moment with its time zone (RFC 3339)."}]
        raise Refusal(422, "request_invalid", "That is no moment.", errors=errors) from None


def parsed(text: str) -> datetime:
    """The same. Raises `ValueError` or `OverflowError`."""
    if _DAY.fullmatch(text):
        return _within_time(datetime.combine(date.fromisoformat(text), time(), UTC))
    return read_moment(text)


def read_moment(text: str) -> datetime:
    """A moment, in UTC, and no day. Raises `ValueError` or `OverflowError`."""
    if not _MOMENT.fullmatch(text):
        raise ValueError("it is not written by RFC 3339, or has no time zone")
    return _within_time(datetime.fromisoformat(text.upper()))


def _within_time(moment: datetime) -> datetime:
    if moment.year == MINYEAR:  # Nothing lies a month before that year.
        raise ValueError("it lies before all time")
    return moment.astimezone(UTC)
