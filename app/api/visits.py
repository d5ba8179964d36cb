"""A request and whom it comes from: whose runs it sees, and for how long."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, cast

from fastapi import Depends, Request

from app.api.keyring import KeyRing
from app.api.rate_limits import note
from app.api.shared_looks import SharedLooks
from app.domain.keys import Caller
from app.domain.trace_ids import trace_id_of
from app.runtime import Runtime
from app.store.acceptance import Accepted
from app.store.database import Database
from app.store.runs import Row


class Visit:
    """A request, with what this process holds open for it."""

    def __init__(self, runtime: Runtime, looks: SharedLooks, caller: Caller, keys: KeyRing) -> None:
        self.runtime = runtime
        self.caller = caller
        self.is_over = False
        """Whether its key may be used no longer."""
        self._looks = looks
        self._keys = keys

    @property
    def tenant(self) -> str:
        """Whose things it sees. What belongs to others is not there."""
        return self.caller.tenant

    @property
    def database(self) -> Database:
        return self.runtime.database

    async def look_at(self, run_id: str) -> Row | None:
        """The row of a run as it is now; None when the tenant has no such run."""
        return await self._looks.at(self.tenant, run_id)

    @contextmanager
    def as_reader(self, over: Callable[[], None]) -> Iterator[None]:
        """Take the room of one reader for as long as the block, and have `over` called when its key is taken back."""

        def end() -> None:
            self.is_over = True
            over()

        self.runtime.readers += 1
        try:
            with self._keys.watched(self.caller.key, end):
                yield
        finally:
            self.runtime.readers -= 1


async def _visit(request: Request) -> Visit:
    state = request.app.state
    return Visit(state.runtime, state.looks, cast(Caller, request.state.caller), state.keys)


VisitOf = Annotated[Visit, Depends(_visit)]


def tell_of_run(request: Request, accepted: Accepted) -> None:
    """Have the line of a request in the log name its run, and the answer say how it stands with limits."""
    request.state.run_id = accepted.run_id
    request.state.trace_id = trace_id_of(accepted.run_id)
    note(request, accepted.notes)
