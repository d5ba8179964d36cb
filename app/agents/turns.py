"""A turn of a conversation: one call, and what its reply leads to, as one commit."""

import asyncio
from collections.abc import Callable, Sequence

import structlog

from app.agents.aside import done_aside
from app.agents.calls import Call, ask, told_in_full
from app.agents.desk import Desk
from app.domain import events as ev
from app.domain.errors import FAULTS
from app.domain.fold import extended
from app.domain.results import Problem
from app.domain.snapshot import Snapshot

log = structlog.get_logger(__name__)


async def take_turn(desk: Desk, call: Call, follows: Callable[[Snapshot], Sequence[ev.Event]]) -> None:
    """Make the call, and record its reply together with what `follows` from it in the state after it.

    A reply that we are stopped over is recorded alone: it was paid for, and is not asked for again. One that breaks our
    own code counts as a failed call: it was paid for too, and whoever met it in the log would break as well.
    """
    ended = await ask(desk, call)
    happened: list[ev.Event] = [ended]
    try:
        happened = told_in_full(call, ended)
        ahead, _ = extended(desk.run, happened)
        outcome = await done_aside(_written(happened), lambda: follows(ahead))
    except asyncio.CancelledError:
        desk.note(*happened)
        raise
    except FAULTS as error:
        log.error("reply broke", purpose=call.purpose, exc_info=error)
        await desk.record(_unread(ended))
    else:
        await desk.record(*happened, *outcome)


def _written(happened: Sequence[ev.Event]) -> list[object]:
    return [event.data.content for event in happened if isinstance(event, ev.LlmCompleted)]


def _unread(event: ev.LlmCompleted | ev.LlmFailed) -> ev.LlmFailed:
    """The call as one that brought nothing, for what it cost."""
    if isinstance(event, ev.LlmFailed):
        return event
    problem = Problem(code="internal_error", message="An internal error kept the reply from being read.")
    facts = {name: getattr(event.data, name) for name in ev.ModelCall.model_fields}
    whose = {"at": event.at, "run_id": event.run_id, "task_id": event.task_id, "attempt": event.attempt}
    return ev.LlmFailed(**whose, data=ev.ModelFailed(**facts, error=problem))
