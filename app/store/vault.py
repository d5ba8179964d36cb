"""Secrets at rest: sealed under a key of the operator, which stands in no table.

A sealed secret is a Fernet token: AES-128-CBC with HMAC-SHA256 (https://github.com/fernet/spec). The first of several
keys seals, and all of them open, so that keys can be exchanged.
"""

import base64
import binascii
from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

KEY_BYTES = 32


class Vault:
    """Seals secrets and opens them."""

    def __init__(self, keys: Sequence[str]) -> None:
        """Each key is the base64 of 32 random bytes; raises `ValueError` for anything else."""
        self._fernet = MultiFernet([Fernet(_as_fernet_key(key)) for key in keys])

    def seal(self, secret: str) -> bytes:
        """The secret as it is stored."""
        return self._fernet.encrypt(secret.encode())

    def open(self, sealed: bytes) -> str | None:
        """The secret that was stored; None when no key opens it."""
        try:
            return self._fernet.decrypt(sealed).decode()
        except InvalidToken:
            return None


def _as_fernet_key(key: str) -> bytes:
    """A key in the alphabet of URLs, in which Fernet wants it; `openssl rand -base64 32` writes the other one."""
    try:
        raw = base64.b64decode(key.translate(str.maketrans("-_", "+/")), validate=True)
    except binascii.Error:
        raw = b""
    if len(raw) != KEY_BYTES:
        raise ValueError("a key for secrets is the base64 of 32 random bytes")
    return base64.urlsafe_b64encode(raw)
