"""One model call: built from the conversation, sent once, and turned into a fact whatever becomes of it."""

import asyncio
import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from pydantic_core import to_json

from app.agents.aside import done_aside
from app.agents.desk import Desk, Door
from app.agents.field_stream import FieldStream
from app.agents.role import Offer, Role
from app.domain import events as ev
from app.domain.breaker_names import model_breaker, tool_breaker
from app.domain.conversation import Conversation, Prompt, ToolSpec
from app.domain.errors import FAULTS, AccountProblem, BudgetExceeded, Held, HeldBack, ModelError, Transient
from app.domain.events import Entry
from app.domain.fold_conversation import thrown_away
from app.domain.policy.agenda import sends_lost_before, time_left_s
from app.domain.policy.breakers import Breaker
from app.domain.results import Problem
from app.domain.retries import Patience, asked_wait, costs_again, next_call_at, spread
from app.domain.snapshot import Snapshot
from app.domain.text import clean_text
from app.domain.topics import Topic
from app.domain.usage import Usage
from app.llm.estimates import estimated_usage
from app.llm.model import Request
from app.tools.tool import Tool

MAX_TOKENS = 16_000
"""Tokens a reply may have, thinking included. It doubles after a reply that was cut."""
ERROR_CHARACTERS = 300
"""What is shown of a provider's name for a failure of its own tool."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call to make: which conversation it goes on with, and on what terms."""

    topic: Topic
    talk: Conversation
    prompt: Prompt
    """The opening: as it was written, or as it would be written now when nobody has answered it yet."""
    offer: Offer
    tools: Sequence[ToolSpec] = ()
    cap: int | None = None
    """Tokens that the reply may have where a budget leaves fewer than usual; 0 where it leaves too few to ask."""
    waited_s: float = 0
    """Seconds it waited for room in the budget."""

    def request(self, timeout_s: float = 0, reply_within_s: float | None = None) -> Request:
        """The call as the model gets it. The same conversation always makes the same request."""
        return Request(
            purpose=self.topic.purpose,
            model=self.offer.model,
            system=self.prompt.system,
            messages=[self.talk.opening(self.prompt.message), *self.talk.messages()],
            max_tokens=MAX_TOKENS << self.talk.truncations if self.cap is None else self.cap,
            tools=self.tools,
            output_schema=self.offer.schema,
            timeout_s=timeout_s,
            reply_within_s=reply_within_s,
        )

    def opening(self) -> ev.Opening | None:
        """What to record of the opening: all of it, the first time."""
        if self.talk.prompt is not None:
            return None
        names = tuple(tool.name for tool in self.tools)
        return ev.Opening(system=self.prompt.system, message=self.prompt.message, tools=names)


async def prepare(role: Role, run: Snapshot, topic: Topic, tools: Mapping[str, Tool]) -> Call:
    """The next call of a conversation. Tools that this process lacks are left out: a run keeps the team it had.

    What is offered stays the same for the whole conversation. A new one is not offered what is out of order, until that
    may be tried again: then its call may be the probe.
    """
    talk, offer = run.conversation(topic), role.offer(run, topic)
    prompt, offered = talk.prompt, offer.tools
    if prompt is None:
        prompt = await done_aside(role.material(run, topic), lambda: role.open(run, topic))
        offered = tuple(name for name in offered if not run.keeps_off(tool_breaker(name)))
    elif prompt.tools is not None:
        offered = prompt.tools
    return Call(topic, talk, prompt, offer, [tools[name].spec for name in offered if name in tools])


@dataclass(frozen=True, slots=True)
class _Sent:
    """A call on its way: what is recorded of it, whatever becomes of it."""

    desk: Desk
    call: Call
    request: Request
    start: float
    """On the monotonic clock."""

    def told(self, model: str, usage: Usage, request_id: str | None) -> ev.ModelCall:
        """What was sent, and what it took. Terms are spelled out once in a run, on the first call under them."""
        tools, schema = tuple(tool.declaration for tool in self.request.tools), self.call.offer.schema
        terms_id = _name_of_terms(tools, schema)
        told = terms_id in self.desk.run.terms_told
        return ev.ModelCall(
            purpose=self.call.topic.purpose,
            model=model,
            usage=usage,
            duration_ms=round((time.monotonic() - self.start) * 1000),
            waited_ms=round(self.request.progress.waited_s * 1000),
            room_ms=round(self.call.waited_s * 1000),
            silent_ms=round(self.request.progress.silent_s * 1000),
            request_id=request_id,
            number=self.call.topic.number if self.call.topic.purpose in ("reduce", "verify") else None,
            opening=self.call.opening(),
            max_tokens=self.request.max_tokens,
            terms_id=terms_id,
            terms=None if told else ev.Terms(tools=tools, output_schema=schema),
        )


def _name_of_terms(tools: Sequence[dict[str, Any]], schema: dict[str, Any]) -> str:
    """A short digest: what is written in the same way has the same name in every run."""
    return hashlib.sha256(to_json([tools, schema])).hexdigest()[:12]


async def ask(desk: Desk, call: Call) -> ev.LlmCompleted | ev.LlmFailed:
    """Make the call and return its end, to be recorded by the caller.

    Raises `HeldBack` when a breaker holds it. A call that is cancelled, or breaks our own code, has its cost recorded,
    which is nothing when it was never sent, and lets the error pass.
    """
    await desk.admit()
    run, topic = desk.run, call.topic
    request = call.request(
        run.brief.patience.call_timeout_s, time_left_s(run, topic, desk.now() - timedelta(seconds=call.waited_s))
    )
    listen = desk.listener(topic)
    if listen is not None:
        request = replace(request, on_text=FieldStream(call.offer.visible_field, listen).feed)
    door = desk.door(model_breaker(run.model_of(topic)), about=run.brief.run_id)
    request = replace(request, before_sending=door.enter)
    sent = _Sent(desk, call, request, time.monotonic())
    if call.cap == 0:
        return _failure(sent, BudgetExceeded("The tokens that the task may have are spent, or leave no reply room."))
    try:
        reply = await desk.model.reply(request)
    except ModelError as error:
        return _failure_at(door, sent, error)
    except asyncio.CancelledError:
        stopped = Problem(code="cancelled", message="The call was stopped before it was answered.")
        desk.record_soon(topic.entry(_broken_off(sent, stopped)))
        raise
    except FAULTS:
        if request.progress.usage is not None:
            broken = Problem(code="internal_error", message="An internal error ended the call.")
            desk.record_soon(topic.entry(_broken_off(sent, broken)))
        raise
    else:
        door.answered()
    finally:
        door.leave()
    told = sent.told(reply.model, reply.usage, reply.request_id)
    return told.completed(stop_reason=reply.stop_reason, content=reply.content, left_out=reply.left_out)


def _failure_at(door: Door, sent: _Sent, error: ModelError) -> ev.LlmFailed:
    """The end of a call that failed, as it stands once the breaker of its model has heard of it.

    Raises `HeldBack` when the breaker has held the call, unless the run has no time to wait for it.
    """
    if isinstance(error, Held) and error.breaker is not None:
        now, deadline = sent.desk.now(), sent.desk.run.deadline
        if error.retry_after_s is None or deadline is None or now + asked_wait(error) < deadline:
            raise HeldBack(error.breaker) from error
        return _failure(sent, error)
    if not error.sent:
        return _failure(sent, error)
    if not isinstance(error, Transient | AccountProblem):
        door.answered()  # Whatever it said of this request, it did answer.
        return _failure(sent, error)
    asked_s = error.retry_after_s if isinstance(error, Transient) else None
    return _failure(sent, error, door.failed(error.code, asked_s))


def tell_in_full(call: Call, ended: ev.LlmCompleted | ev.LlmFailed) -> list[Entry]:
    """The end of a call, with whether its reply is thrown away, and the calls that the provider ran itself."""
    if isinstance(ended, ev.LlmFailed):
        return [call.topic.entry(ended)]
    tools = None if call.topic.purpose == "work" else ()
    problem = thrown_away(call.talk, ended.content, ended.stop_reason, tools)
    judged = ended.model_copy(update={"thrown_away": problem}) if problem else ended
    return [call.topic.entry(judged), *map(call.topic.entry, _provider_tools(call, ended))]


def _failure(sent: _Sent, error: ModelError, breaker: Breaker | None = None) -> ev.LlmFailed:
    run, topic, now = sent.desk.run, sent.call.topic, sent.desk.now()
    talk = sent.call.talk
    patience = _patience(run, topic).after(talk.paid_failures + costs_again(error.code, error.usage))
    if breaker is not None and breaker.state != "closed" and isinstance(error, Transient):
        patience, error = patience.while_open(), _until_probe(error, breaker, now)
    failures = talk.failures + 1
    assert run.deadline is not None
    retry_at = next_call_at(
        patience,
        error,
        failures=failures,
        now=now,
        deadline=run.deadline,
        jitter=spread(run.brief.run_id, topic.purpose, topic.task_id, topic.attempt, failures),
    )
    told = sent.told(sent.desk.model.model_id(sent.call.offer.model), error.usage, error.request_id)
    return told.failed(
        Problem(code=error.code, message=clean_text(error.message)),
        retry_at=retry_at,
        not_before=now + asked_wait(error) if isinstance(error, Transient) and error.retry_after_s else None,
        sent=error.sent,
    )


def _patience(run: Snapshot, topic: Topic) -> Patience:
    patience = run.brief.patience.towards(topic.purpose)
    return patience.in_attempt(topic.number, sends_lost_before(run, topic)) if topic.purpose == "work" else patience


def _until_probe(error: Transient, breaker: Breaker, now: datetime) -> Transient:
    """The failure as one that asks to be left alone until the next probe."""
    left_s = (breaker.probe_at - now).total_seconds() if breaker.state == "open" and breaker.probe_at else 0
    return replace(error, retry_after_s=max(error.retry_after_s or 0, left_s))


def _broken_off(sent: _Sent, problem: Problem) -> ev.LlmFailed:
    model = sent.desk.model.model_id(sent.call.offer.model)
    progress = sent.request.progress
    usage = progress.usage
    if usage is None:
        usage = estimated_usage(sent.desk.model.prices, sent.request, model)
    return sent.told(model, usage, None).failed(problem, sent=not progress.held)


def _said_before(talk: Conversation) -> Sequence[dict[str, Any]]:
    """What the provider had said when it broke off the turn that it now goes on with."""
    return talk.turns[-1].content if talk.turns and talk.turns[-1].stop_reason == "pause_turn" else ()


def _provider_tools(call: Call, reply: ev.LlmCompleted) -> list[ev.ToolCompleted | ev.ToolFailed]:
    """The calls that the provider ran itself: the reply holds both the call and what came back."""
    said = [*_said_before(call.talk), *reply.content]
    asked = {block["id"]: block for block in said if block.get("type") == "server_tool_use"}
    return [
        _provider_tool(asked[block["tool_use_id"]], block.get("content"))
        for block in reply.content
        if block.get("tool_use_id") in asked and block.get("type") != "tool_result"
    ]


def _provider_tool(asked: dict[str, Any], found: Any) -> ev.ToolCompleted | ev.ToolFailed:
    call_id, name, given = asked["id"], asked["name"], asked.get("input")
    if isinstance(found, dict) and "error_code" in found:
        problem = Problem(code="tool_failed", message=str(found["error_code"])[:ERROR_CHARACTERS])
        return ev.ToolFailed(call_id=call_id, name=name, duration_ms=0, provider=True, input=given, error=problem)
    shown = f"{len(found)} results" if isinstance(found, list) else "done"
    return ev.ToolCompleted(call_id=call_id, name=name, duration_ms=0, provider=True, input=given, output=shown)
