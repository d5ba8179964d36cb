"""Runs without an engine: claimed by hand, and moved on with small facts."""

from collections.abc import Iterator
from itertools import count

from app.domain import events as ev
from app.domain.events import Entry
from app.domain.results import Problem
from app.domain.retries import Patience
from app.domain.usage import Usage
from app.store.ownership import Claimant, ClaimedRun, claim_if_free
from tests.support.service import Service

ME = "me"

_numbers: Iterator[int] = count(1)


async def try_claim(service: Service, run_id: str, owner: str = "another", lease_s: float = 60) -> ClaimedRun | None:
    """A claim of the run, if it may be taken."""
    return await claim_if_free(service.database, run_id, Claimant(owner, lease_s, Patience(), {"balanced": "m"}))


async def claimed(service: Service, run_id: str | None = None, *, lease_s: float = 60) -> ClaimedRun:
    """Our claim of the run, or of a new one."""
    claim = await try_claim(service, run_id or await service.submit(), ME, lease_s)
    assert claim is not None
    return claim


def started() -> Entry:
    """The start of a run."""
    return Entry(ev.RunStarted(engine=ME, epoch=1))


def spent() -> Entry:
    """A fact that may be recorded any number of times while a run is running; no two are the same."""
    call = ev.LlmFailed(
        purpose="plan",
        model="m",
        usage=Usage(llm_calls=1),
        duration_ms=next(_numbers),
        error=Problem(code="cancelled", message="stopped"),
    )
    return Entry(call)


def failed() -> Entry:
    """The end of a run."""
    problem = Problem(code="internal_error", message="It broke.")
    return Entry(ev.RunFailed(stop_reason="internal_error", error=problem))
