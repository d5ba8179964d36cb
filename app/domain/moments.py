"""Moments as clients read them."""

from datetime import UTC, datetime


def written(at: datetime) -> str:
    """A moment by RFC 3339, in UTC: `2026-11-28T09:06:35.740320Z`."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
