"""Keys of the API: whose they are, what they allow, and how one is written."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Self, get_args

from app.domain.quotas import UNBOUND, Quotas

Scope = Literal["jobs:write", "runs:read", "teams:write", "admin"]
"""What a key allows: sending and steering jobs; reading what its tenant has; teams; and all of this, with keys."""
SCOPES: tuple[Scope, ...] = get_args(Scope)

DEFAULT_TENANT = "default"
"""Whom everything belongs to while keys are not asked for."""
TENANT_PATTERN = r"[a-z0-9][a-z0-9_-]{0,62}"

KEY_ID = re.compile(r"[0-9a-z]{16}")
_KEY = re.compile(rf"chk_({KEY_ID.pattern})_([0-9a-f]{{64}})")
_ID_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class SentKey:
    """A key as a client sends it. Its secret has 256 random bits, so that a plain hash of it is enough to keep."""

    id: str
    secret: str = field(repr=False)

    @classmethod
    def new(cls) -> Self:
        """One that nobody has."""
        return cls("".join(secrets.choice(_ID_LETTERS) for _ in range(16)), secrets.token_hex(32))

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The key that `text` is; None when it cannot be one."""
        found = _KEY.fullmatch(text)
        return cls(found[1], found[2]) if found else None

    @property
    def text(self) -> str:
        """As it is shown, once."""
        return f"chk_{self.id}_{self.secret}"

    @property
    def digest(self) -> bytes:
        """SHA-256 of its secret: what is kept of it."""
        return hashlib.sha256(self.secret.encode()).digest()


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key as it is kept."""

    id: str
    tenant: str
    name: str
    """What it is for, for people."""
    scopes: frozenset[Scope]
    digest: bytes
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None

    quotas: Quotas
    """What it may use, and what its tenant may."""
    usable: bool
    """Whether it was neither revoked nor expired when it was read, by the database's clock."""

    def opens_for(self, sent: SentKey) -> bool:
        """Whether `sent` is this key, and may be used; compared in constant time."""
        return hmac.compare_digest(self.digest, sent.digest) and self.usable


@dataclass(frozen=True, slots=True)
class Caller:
    """Whom a request comes from."""

    tenant: str
    scopes: frozenset[Scope]
    key: str | None = None
    """Id of the key; None where keys are not asked for."""
    quotas: Quotas = UNBOUND
    """What it may use, and what its tenant may."""

    def may(self, scope: Scope) -> bool:
        """Whether that is allowed. Who administers a tenant may do everything in it."""
        return scope in self.scopes or "admin" in self.scopes

    @property
    def is_operator(self) -> bool:
        """Whether it is the operator's own: of the tenant to whom everything belongs while there are no keys."""
        return self.tenant == DEFAULT_TENANT


ANYBODY = Caller(DEFAULT_TENANT, frozenset(SCOPES))
"""Whoever comes while keys are not asked for."""


def in_order(scopes: Iterable[Scope]) -> list[Scope]:
    """Scopes as they are listed."""
    wanted = set(scopes)
    return [scope for scope in SCOPES if scope in wanted]
