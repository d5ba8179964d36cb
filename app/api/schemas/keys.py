"""The shapes of keys."""

from datetime import datetime
from typing import Literal

from app.api.schemas.shape import Page, Shape
from app.domain.keys import Scope
from app.domain.quotas import Quota


class Key(Shape):
    """A key of the API, without its secret."""

    id: str
    """Its id, which stands in the key itself and in the log."""
    object: Literal["key"]
    """Always `key`."""
    name: str
    """What it is for, for people."""
    tenant: str
    """Whose runs and teams it opens."""
    scopes: list[Scope]
    """What it allows."""
    limits: Quota
    """What may be used with it. What its tenant may use holds too."""
    created_at: datetime
    """When it was made."""
    expires_at: datetime | None
    """From when it opens nothing more; null for never."""
    revoked_at: datetime | None
    """When it was taken back; null where it was not."""


class NewKey(Key):
    """A key as it is answered once, with its secret."""

    key: str
    """The key itself, for `Authorization: Bearer`. It is kept nowhere: it cannot be shown again."""


class KeyPage(Page):
    """Keys, newest first."""

    data: list[Key]
    """Keys."""
