"""Cursors of run lists: opaque to clients, and refused when they are not exactly what we gave out for this list."""

import base64
import binascii
import hashlib
import json
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation

from app.api.deps import RUN_ID
from app.api.errors import Refusal
from app.store.run_lists import Listing, Place, Sort

_CHECK_BYTES = 6
_YEARS = (2000, 9000)
_DEAREST = Decimal(10) ** 12
_FINEST = -50
"""Exponent of the finest amount that is read."""


def cursor_of(place: Place, listing: Listing) -> str:
    """The cursor of the page behind `place`."""
    text = f"{_written(place.value)} {place.run_id}".encode()
    return base64.urlsafe_b64encode(_check(text, listing) + text).decode().rstrip("=")


def place_of(cursor: str, listing: Listing) -> Place:
    """The place that a cursor names. Raises `Refusal` when it was edited, is not ours, or is of another list."""
    try:
        decoded = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        check, text = decoded[:_CHECK_BYTES], decoded[_CHECK_BYTES:]
        value, run_id = text.decode().split(" ")
        place = Place(_read(value, listing.sort), run_id)
        # The check keeps slips out, not forgers: a place must be one that can be asked the database for.
        sound = check == _check(text, listing) and cursor_of(place, listing) == cursor
        sound = sound and bool(RUN_ID.fullmatch(run_id)) and _is_possible(place.value)
    except (ValueError, OverflowError, InvalidOperation, binascii.Error):
        sound = False
    if not sound:
        raise Refusal(400, "cursor_invalid", "The cursor is not one that this service gave out for this list.")
    return place


def _written(value: datetime | Decimal) -> str:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else format(value, "f")


def _read(text: str, sort: Sort) -> datetime | Decimal:
    return Decimal(text) if sort == "cost_usd" else datetime.fromisoformat(text)


def _is_possible(value: datetime | Decimal) -> bool:
    if isinstance(value, datetime):
        return _YEARS[0] <= value.year <= _YEARS[1]
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= _FINEST and 0 <= value < _DEAREST


def _check(text: bytes, listing: Listing) -> bytes:
    """A cursor of the plain list is what it was in earlier releases."""
    about = [listing.sort, listing.order, listing.which.said()]
    is_plain = about == ["created_at", "desc", []]
    of = b"" if is_plain else hashlib.sha256(json.dumps(about, default=str).encode()).digest()
    return hashlib.blake2b(text, digest_size=_CHECK_BYTES, person=b"run list", key=of).digest()
