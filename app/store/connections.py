"""Connections that give up on a network which is dead, and on a server which has gone silent or only lets us read.

TCP itself notices a dead network, once it is told to do so soon. A frozen server, or a frozen proxy before it, still
acknowledges every packet and answers none of them, and whoever waits for the answer would wait for good. A server that
was demoted answers, and refuses whatever we write: to us it is as good as away.
"""

import re
import time
from collections.abc import Mapping
from typing import Any, LiteralString, Self, TypeVar

import psycopg
from psycopg import pq
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow, namedtuple_row

CONNECTION_DEFAULTS: Mapping[str, str] = {
    "application_name": "chargehand",
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
    "target_session_attrs": "read-write",
}
"""How soon we notice a dead network: in seconds, the last time in milliseconds; left alone it takes minutes. Of several
hosts the one is taken that can be written to."""

SESSION_SETTINGS: Mapping[str, str] = {
    "client_encoding": "UTF8",
    "DateStyle": "ISO, MDY",
    "TimeZone": "UTC",
    "default_transaction_isolation": "read committed",
    "idle_in_transaction_session_timeout": "3s",
    "statement_timeout": "20s",
    "lock_timeout": "0",
}
"""What we rest on, whatever the server, the database or the role is set to. Postgres ends a process of ours that stands
still in a transaction, and all its locks with it, and a statement that we have given up. Said once the connection is
there: poolers refuse the startup parameter `options`, and the operator may have use for it."""

_SET_UP = """
    SELECT set_config(setting.name, setting.value, false)
    FROM unnest(CAST(%s AS text[]), CAST(%s AS text[])) AS setting(name, value)
"""
IS_READ_ONLY = "SELECT current_setting('transaction_read_only')::bool"
"""Asks a session whether it takes no writes."""

IDLE_SECONDS = 1.0
"""How long a session may have said nothing before it is asked whether it still takes writes."""

_SCHEME = re.compile(r"postgres(ql)?(\+\w+)?://")
"""What the tools of other libraries write names a driver behind a plus."""
_CONNECTION_IS_OF_NO_USE = (
    psycopg.errors.IdleInTransactionSessionTimeout,
    psycopg.errors.TransactionTimeout,
    psycopg.errors.ReadOnlySqlTransaction,
)
_FOR_AN_ANSWER = -1.0

ResultT = TypeVar("ResultT")


class UrlUnreadable(ValueError):
    """The database's URL cannot be read; the message names no part of it, since any may be one of the password."""


def with_defaults(url: str) -> str:
    """What `url` says, in libpq's own form, with the parameters it lacks from `CONNECTION_DEFAULTS`.

    Whatever libpq reads is read as it reads it. Raises `UrlUnreadable`.
    """
    try:
        read = conninfo_to_dict(_SCHEME.sub("postgresql://", url.strip(), count=1))
    except psycopg.Error:
        raise UrlUnreadable("it is no URL that libpq can read") from None
    given: dict[str, Any] = {name: value for name, value in read.items() if value is not None}
    if any("@" in str(given.get(name, "")) for name in ("host", "hostaddr", "dbname")) or not _are_ports(given):
        raise UrlUnreadable("it has an @, / or ? too many")
    return make_conninfo(**{**CONNECTION_DEFAULTS, **given})


def _are_ports(given: Mapping[str, Any]) -> bool:
    return all(not port or port.isdecimal() for port in str(given.get("port", "")).split(","))


class ImpatientConnection(psycopg.AsyncConnection[TupleRow]):
    """A connection that breaks when the server has not answered within `answer_seconds`, or takes no writes."""

    answer_seconds = 15.0
    """Waiting for notices is not bounded by it."""
    answered_at = 0.0
    """When the server last answered, on the monotonic clock."""

    def __del__(self, *_: object) -> None:
        """Close what was dropped: a task that is cancelled twice while it gives a connection back gets no further."""
        if hasattr(self, "pgconn"):
            self.pgconn.finish()

    @classmethod
    async def connect(cls, conninfo: str = "", *, autocommit: bool = False, **options: Any) -> Self:
        """See `psycopg`. The session has our settings."""
        connection = await super().connect(conninfo, autocommit=True, **options)
        # Whatever keeps it from that, the connection is dropped then, and closed with it.
        await connection.execute(_SET_UP, [list(SESSION_SETTINGS), list(SESSION_SETTINGS.values())], prepare=False)
        await connection.set_autocommit(autocommit)
        return connection

    async def rows(self, query: LiteralString, values: Mapping[str, Any], *, prepare: bool | None = None) -> list[Any]:
        """What a query finds; columns are attributes. One that is not prepared is planned for its values each time."""
        async with self.cursor(row_factory=namedtuple_row) as cursor:
            await cursor.execute(query, values, prepare=prepare)
            return list(await cursor.fetchall())

    async def ensure_writable(self) -> None:
        """One round trip. Raises `psycopg.OperationalError` when the session takes no writes, and ends it then."""
        autocommit = self.autocommit
        await self.set_autocommit(True)
        try:
            found = await (await self.execute(IS_READ_ONLY)).fetchone()
        finally:
            if not self.closed:
                await self.set_autocommit(autocommit)
        if found is None or found[0]:
            self.pgconn.finish()
            raise psycopg.OperationalError("the session is read-only")

    async def ensure_writable_after_idling(self) -> None:
        """The same for one that lay idle; a busy one has just shown it."""
        if self.lay_idle:
            await self.ensure_writable()

    @property
    def lay_idle(self) -> bool:
        """Whether nothing has come from the server for a while."""
        return time.monotonic() - self.answered_at > IDLE_SECONDS

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
            answer = await super().wait(gen, interval, self.answer_seconds)
        except psycopg.OperationalError:
            if self.pgconn.transaction_status == pq.TransactionStatus.ACTIVE:
                self.pgconn.finish()
            raise
        except _CONNECTION_IS_OF_NO_USE as error:
            self.pgconn.finish()
            raise psycopg.OperationalError(error.diag.message_primary or type(error).__name__) from error
        except psycopg.DatabaseError as error:
            # Errors are logged, and the details of this one repeat the row or the text that was refused.
            if error.diag.message_primary:
                error.args = (error.diag.message_primary,)
            raise
        self.answered_at = time.monotonic()
        return answer
