"""Connections that give up on a network which is dead, and on a server which has gone silent.

TCP itself notices a dead network, once it is told to do so soon. A frozen server, or a frozen proxy before it, still
acknowledges every packet and answers none of them, and whoever waits for the answer would wait for good.
"""

from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import pq
from psycopg.abc import PQGen
from psycopg.rows import TupleRow

CONNECTION_DEFAULTS: Mapping[str, str] = {
    "application_name": "chargehand",
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
    "options": "-c idle_in_transaction_session_timeout=3000",
}
"""How soon we notice a dead network, and Postgres a process that stands still in a transaction, and all its locks with
it: in seconds, the last two in milliseconds. Left alone, both take minutes."""

_FOR_AN_ANSWER = -1.0

ResultT = TypeVar("ResultT")


def with_defaults(url: str) -> str:
    """`url` with the connection parameters it does not set itself taken from `CONNECTION_DEFAULTS`."""
    parts = urlsplit(url)
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    query = urlencode({**CONNECTION_DEFAULTS, **given}, quote_via=quote, safe="/")
    return urlunsplit(parts._replace(scheme="postgresql", query=query))


class ImpatientConnection(psycopg.AsyncConnection[TupleRow]):
    """A connection that breaks when the server has not answered within `answer_seconds`."""

    answer_seconds = 15.0
    """Waiting for notices is not bounded by it."""

    def __del__(self, *_: object) -> None:
        """Close what was dropped: a task that is cancelled twice while it gives a connection back gets no further."""
        if hasattr(self, "pgconn"):
            self.pgconn.finish()

    async def wait(
        self,
        gen: PQGen[ResultT],
        interval: float = 0.1,
        timeout: float | None = _FOR_AN_ANSWER,  # noqa: ASYNC109
    ) -> ResultT:
        """See `psycopg`. Who waits for notices names a timeout, if only None; everybody else asks for an answer."""
        if timeout != _FOR_AN_ANSWER:
            return await super().wait(gen, interval, timeout)
        try:
            return await super().wait(gen, interval, self.answer_seconds)
        except psycopg.OperationalError:
            if self.pgconn.transaction_status == pq.TransactionStatus.ACTIVE:
                self.pgconn.finish()
            raise
        except psycopg.errors.IdleInTransactionSessionTimeout as error:
            raise psycopg.OperationalError("the transaction stood still for too long") from error
        except psycopg.DatabaseError as error:
            # Errors are logged, and the details of this one repeat the row or the text that was refused.
            if error.diag.message_primary:
                error.args = (error.diag.message_primary,)
            raise
