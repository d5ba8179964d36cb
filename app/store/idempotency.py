"""Idempotency keys: a repetition of a request is meant to be the same job."""

from dataclasses import dataclass

from app.domain.errors import JobRefused
from app.store.connections import ImpatientConnection

_FIND = """
    SELECT run_id, digest FROM idempotency_keys
    WHERE tenant = %(tenant)s AND key = %(key)s AND request = %(request)s
"""


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A client's word that a repetition of the same request is meant to be the same job."""

    key: str
    request: str
    """Method and path."""
    digest: str
    """SHA-256 of the canonical body."""

    def check(self, digest: str) -> None:
        """Raises `JobRefused` when an earlier request under the key, by its digest, had another body."""
        if digest != self.digest:
            raise JobRefused("idempotency_key_reused", "This Idempotency-Key was used before with a different body.")


async def run_under(connection: ImpatientConnection, tenant: str, key: IdempotencyKey) -> str | None:
    """The run that an earlier request under the key has made. Raises `JobRefused` when that had another body."""
    rows = await connection.rows(_FIND, {"tenant": tenant, "key": key.key, "request": key.request})
    if not rows:
        return None
    key.check(rows[0].digest)
    return str(rows[0].run_id)
