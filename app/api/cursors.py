"""Cursors of run lists: opaque to clients, and refused when they are not exactly what we gave out."""

import base64
import binascii
import hashlib
from datetime import UTC, datetime

from app.api.deps import RUN_ID
from app.api.errors import Refusal
from app.store.runs import PageStart

_CHECK_BYTES = 6
_YEARS = (2000, 9000)


def cursor_of(place: PageStart) -> str:
    """The cursor of the page behind `place`."""
    text = f"{place.created_at.astimezone(UTC).isoformat()} {place.run_id}".encode()
    return base64.urlsafe_b64encode(_check(text) + text).decode().rstrip("=")


def page_start_of(cursor: str) -> PageStart:
    """The place that a cursor names. Raises `Refusal` when it was edited or is not ours."""
    try:
        decoded = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        check, text = decoded[:_CHECK_BYTES], decoded[_CHECK_BYTES:]
        created_at, run_id = text.decode().split(" ")
        place = PageStart(datetime.fromisoformat(created_at), run_id)
        # The check keeps slips out, not forgers: a place must be one that can be asked the database for.
        sound = check == _check(text) and cursor_of(place) == cursor and bool(RUN_ID.fullmatch(run_id))
        sound = sound and _YEARS[0] <= place.created_at.year <= _YEARS[1]
    except (ValueError, OverflowError, binascii.Error):
        sound = False
    if not sound:
        raise Refusal(400, "cursor_invalid", "The cursor is not one that this service gave out.")
    return place


def _check(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=_CHECK_BYTES, person=b"run list").digest()
