"""Secrets at rest: sealed under a key of the operator, which stands in no table.

A sealed secret is a Fernet token: AES-128-CBC with HMAC-SHA256 (https://github.com/fernet/spec). The first of several
keys seals, and all of them open, so that keys can be exchanged.
"""

from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

_FOR_URLS = str.maketrans("+/", "-_")
"""Fernet wants a key in the alphabet of URLs; `openssl rand -base64 32` writes the other one."""


class Vault:
    """Seals secrets and opens them."""

    def __init__(self, keys: Sequence[str]) -> None:
        """Each key is the base64 of 32 random bytes; raises `ValueError` for anything else."""
        self._fernet = MultiFernet([Fernet(key.translate(_FOR_URLS)) for key in keys])

    def seal(self, secret: str) -> bytes:
        """The secret as it is stored."""
        return self._fernet.encrypt(secret.encode())

    def open(self, sealed: bytes) -> str | None:
        """The secret that was stored; None when no key opens it."""
        try:
            return self._fernet.decrypt(sealed).decode()
        except InvalidToken:
            return None
