"""Connections that give up on a server which has gone silent.

TCP itself notices a dead network. A frozen server, or a frozen proxy before it, still acknowledges every packet and
answers none of them, and whoever waits for the answer would wait for good.
"""

from typing import TypeVar

import psycopg
from psycopg import pq
from psycopg.abc import PQGen
from psycopg.rows import TupleRow

_FOR_AN_ANSWER = -1.0

ResultT = TypeVar("ResultT")


class ImpatientConnection(psycopg.AsyncConnection[TupleRow]):
    """A connection that breaks when the server has not answered within `answer_seconds`."""

    answer_seconds = 15.0
    """Waiting for notices is not bounded by it."""

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
