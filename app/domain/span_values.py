"""A span as a JSON value: how it ends, and how long it took."""

from datetime import datetime, timedelta
from typing import Any

from app.domain.outcomes import Told

Span = dict[str, Any]


def ended(span: Span, at: str, status: str, attributes: Told) -> Span:
    span["finished_at"], span["status"] = at, status
    span["attributes"] |= attributes
    return span


def timed(span: Span) -> Span:
    start, end = span["started_at"], span["finished_at"]
    return span | {"duration_ms": _ms(start, end) if end else None}


def status_when_holder_ends(status: str) -> str:
    """How that ends which is open when what holds it ends."""
    return "cancelled" if status == "ok" else status


def begun_before(at: str, duration_ms: int) -> str:
    started = datetime.fromisoformat(at) - timedelta(milliseconds=duration_ms)
    return started.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _ms(start: str, end: str) -> int:
    elapsed = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    return round(elapsed / timedelta(milliseconds=1))
