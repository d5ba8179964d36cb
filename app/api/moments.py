"""Moments as clients write them in a query."""

from datetime import MINYEAR, UTC, date, datetime, time

from app.api.errors import Refusal

MOMENT = "A day (`2026-11-28`, in UTC) or a moment (`2026-11-28T09:00:00Z`)"


def moment_of(text: str, parameter: str) -> datetime:
    """A day means its first moment in UTC. Raises `Refusal`."""
    try:
        return parsed(text)
    except (ValueError, OverflowError):
        errors = [{"parameter": parameter, "detail": "This is a day or a moment with its time zone (RFC 3339)."}]
        raise Refusal(422, "request_invalid", "That is no moment.", errors=errors) from None


def parsed(text: str) -> datetime:
    """The same. Raises `ValueError` or `OverflowError`."""
    if len(text) == len("2026-11-28"):
        moment = datetime.combine(date.fromisoformat(text), time(), UTC)
    else:
        moment = datetime.fromisoformat(text)
    if moment.tzinfo is None or moment.year == MINYEAR:  # Nothing lies a month before that year.
        raise ValueError("it has no time zone, or lies before all time")
    return moment.astimezone(UTC)
