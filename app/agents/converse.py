"""The one loop in which every conversation with a model is held, whatever it is for.

A turn is one call and what its reply leads to, recorded as one commit. What a purpose asks and how its answers are read
is its role's affair (`app.agents.roles`).
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

import structlog

from app.agents.allowance import within_budget
from app.agents.aside import done_aside
from app.agents.ask import Call, ask, prepare, tell_in_full
from app.agents.desk import Desk
from app.agents.reading import Unreadable, final_text
from app.agents.roles import ROLES
from app.agents.worker.tools import intend, settle_unknown, use_tools
from app.domain import events as ev
from app.domain.conversation import Conversation
from app.domain.errors import FAULTS, BudgetSpent
from app.domain.events import Entry
from app.domain.fold_conversation import conversation_after
from app.domain.policy.agenda import is_beside_another, is_open, step_in
from app.domain.policy.budget import spent_problem
from app.domain.protocol import Ask, Read, UseTools
from app.domain.results import Problem
from app.domain.snapshot import Snapshot
from app.domain.topics import Topic
from app.domain.values import changed
from app.tools.tool import Tool

log = structlog.get_logger(__name__)


async def converse(desk: Desk, topic: Topic) -> None:
    """Go on until the conversation is over, nothing more can be said, or a failed call may be sent again only later."""
    await settle_unknown(desk, topic)
    while is_open(run := desk.run, topic):
        step = step_in(run, topic)
        if follows := consequences(run, topic, run.conversation(topic), desk.tools):
            await desk.record(*follows)
        elif isinstance(step, Ask):
            try:
                await _take_turn(desk, topic)
            except BudgetSpent as spent:
                await _tell_of(desk, topic, spent)
                return
            if desk.run.conversation(topic).retry_at is not None:
                return  # Not now: whoever sent us here knows when.
        elif isinstance(step, UseTools):
            await use_tools(desk, topic, step.calls)
        else:
            return


def consequences(run: Snapshot, topic: Topic, talk: Conversation, tools: Mapping[str, Tool]) -> Sequence[Entry]:
    """What the newest reply in `talk` amounts to without another call: intents of tools, or what its role reads in it.

    Nothing when it is not a final one, or has been dealt with.
    """
    if talk is not run.conversation(topic):
        run = changed(run, conversations={**run.conversations, topic: talk})
    match step_in(run, topic, talk):
        case UseTools(calls):
            return intend(run, topic, talk, calls, tools)
        case Read() as read if not talk.unusable:
            role = ROLES[topic.purpose]
            try:
                return role.read(run, topic, final_text(read, role.unreadable))
            except Unreadable as error:
                return role.reject(run, topic, error.flaws)
        case _:
            return ()


async def _tell_of(desk: Desk, topic: Topic, spent: BudgetSpent) -> None:
    """Record that the budget is exhausted: once, and once more when not even the answer fits.

    A second attempt that does not fit beside the first ends alone.
    """
    told = ev.BudgetExhausted(
        limit=spent.limit, call=topic.purpose, allowed=spent.allowed, needed=spent.needed, left=spent.left
    )
    if desk.run.exhausted is None and is_beside_another(desk.run, topic):
        await desk.record(topic.entry(ev.AttemptFailed(error=spent_problem(told))))
    elif desk.run.exhausted is None or topic.purpose in ("select", "synthesize"):
        await desk.record(topic.entry(told))


async def _take_turn(desk: Desk, topic: Topic) -> None:
    """Make the next call, and record its reply together with what follows from it.

    A reply that we are stopped over is recorded alone: it was paid for, and is not asked for again. One that breaks our
    own code counts as a failed call: it was paid for too, and whoever met it in the log would break as well.
    """
    prepared = await prepare(ROLES[topic.purpose], desk.run, topic, desk.tools)
    async with within_budget(desk, prepared) as call:
        await _make(desk, call)


async def _make(desk: Desk, call: Call) -> None:
    topic, ended = call.topic, await ask(desk, call)
    happened = [topic.entry(ended)]
    try:
        happened = tell_in_full(call, ended)
        run = desk.run
        outcome = await _outcome(run, desk.tools, topic, ended)
    except asyncio.CancelledError:
        desk.record_soon(*happened)
        raise
    except FAULTS as error:
        log.error("reply broke", purpose=topic.purpose, exc_info=error)
        problem = Problem(code="internal_error", message="An internal error kept the reply from being read.")
        await desk.record(topic.entry(ended if isinstance(ended, ev.LlmFailed) else ended.failed(problem)))
    else:
        if not is_open(desk.run, topic):
            happened, outcome = _too_late(topic, ended), ()
        elif desk.run.plan is not run.plan:
            outcome = ()  # It is read anew: what it says of the plan may no longer be so.
        await desk.record(*happened, *outcome)


def _too_late(topic: Topic, ended: ev.LlmCompleted | ev.LlmFailed) -> list[Entry]:
    """The end of a call that came when its conversation was over: it was paid for, and nothing of it is used."""
    if isinstance(ended, ev.LlmCompleted):
        problem = Problem(code="cancelled", message="What this was asked for had been settled meanwhile.")
        ended = ended.model_copy(update={"thrown_away": problem})
    return [topic.entry(ended)]


async def _outcome(
    run: Snapshot, tools: Mapping[str, Tool], topic: Topic, ended: ev.LlmCompleted | ev.LlmFailed
) -> Sequence[Entry]:
    if isinstance(ended, ev.LlmFailed):
        return ()
    talk = conversation_after(run.conversation(topic), ended)
    held_against: Iterable[object] = ()
    if topic.purpose in ("synthesize", "reduce"):
        held_against = ROLES[topic.purpose].material(run, topic)
    elif topic.purpose == "work":
        held_against = [each.content for each in run.brief.given]
    return await done_aside([*ended.content, *held_against], lambda: consequences(run, topic, talk, tools))
