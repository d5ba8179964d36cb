"""One model call: built from the conversation, sent once, and turned into an event whatever becomes of it."""

import asyncio
import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_core import to_json

from app.agents.desk import Desk
from app.agents.partial import FieldStream
from app.domain import events as ev
from app.domain.conversation import Conversation, Prompt, ToolSpec
from app.domain.errors import FAULTS, ModelError, Transient
from app.domain.hearing import thrown_away
from app.domain.results import Problem
from app.domain.retries import asked_wait, failures_that_count, next_call_at, spread
from app.domain.text import clean_text
from app.domain.usage import Usage
from app.llm.model import Request
from app.llm.pricing import estimated_usage

MAX_TOKENS = 16_000
"""Tokens a reply may have, thinking included. It doubles after a reply that was cut."""


ERROR_CHARACTERS = 300
"""What is shown of a provider's name for a failure of its own tool."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call to make: whose it is, and how it continues which conversation."""

    purpose: ev.Purpose
    model: str
    talk: Conversation
    prompt: Prompt
    """The opening: as it was written, or as it would be written now when nobody has answered it yet."""
    schema: dict[str, Any]
    visible_field: str
    """The field of the reply that people read while it is written."""
    tools: Sequence[ToolSpec] = ()
    task_id: str | None = None
    attempt: int | None = None
    reply_within_s: float | None = None
    """What is left of the worker's time for the reply."""

    def request(self, timeout_s: float) -> Request:
        """The call as the model gets it. The same conversation always makes the same request."""
        prompt = self.prompt
        return Request(
            purpose=self.purpose,
            model=self.model,
            system=prompt.system,
            messages=[self.talk.opening(prompt.message), *self.talk.messages()],
            max_tokens=MAX_TOKENS << self.talk.truncations,
            tools=self.tools,
            output_schema=self.schema,
            timeout_s=timeout_s,
            reply_within_s=self.reply_within_s,
        )

    def opening(self) -> ev.Opening | None:
        """What to record of the opening: all of it, the first time."""
        if self.talk.prompt is not None:
            return None
        names = tuple(tool.name for tool in self.tools)
        return ev.Opening(system=self.prompt.system, message=self.prompt.message, tools=names)


@dataclass(frozen=True, slots=True)
class _Sent:
    """A call on its way: what is recorded of it, whatever becomes of it."""

    desk: Desk
    call: Call
    request: Request
    start: float
    """On the monotonic clock."""

    def whose(self) -> dict[str, Any]:
        run_id = self.desk.run.brief.run_id
        return {"at": self.desk.now(), "run_id": run_id, "task_id": self.call.task_id, "attempt": self.call.attempt}

    def facts(self, model: str, usage: Usage, request_id: str | None) -> dict[str, Any]:
        """What was sent, and what it took. Terms are spelled out once in a run, on the first call under them."""
        tools = tuple(tool.declaration for tool in self.request.tools)
        terms_id = _name_of_terms(tools, self.call.schema)
        told = terms_id in self.desk.run.terms_told
        return {
            "purpose": self.call.purpose,
            "model": model,
            "usage": usage,
            "duration_ms": round((time.monotonic() - self.start) * 1000),
            "waited_ms": round(self.request.progress.waited_s * 1000),
            "silent_ms": round(self.request.progress.silent_s * 1000),
            "request_id": request_id,
            "opening": self.call.opening(),
            "max_tokens": self.request.max_tokens,
            "terms_id": terms_id,
            "terms": None if told else ev.Terms(tools=tools, output_schema=self.call.schema),
        }


def _name_of_terms(tools: Sequence[dict[str, Any]], schema: dict[str, Any]) -> str:
    """A short digest: what is written in the same way has the same name in every run."""
    return hashlib.sha256(to_json([tools, schema])).hexdigest()[:12]


async def ask(desk: Desk, call: Call) -> ev.LlmCompleted | ev.LlmFailed:
    """Make the call and return its end as an event, to be recorded by the caller.

    A call that is cancelled, or breaks our own code, notes its cost, which is nothing when it was never sent, and lets
    the error pass.
    """
    await desk.ensure_owned()
    request = call.request(desk.run.brief.policy.call_timeout_s)
    listen = desk.listener(call.purpose, call.task_id, call.attempt)
    if listen is not None:
        request = replace(request, on_text=FieldStream(call.visible_field, listen).feed)
    sent = _Sent(desk, call, request, time.monotonic())
    try:
        reply = await desk.model.reply(request)
    except ModelError as error:
        return _failure(sent, error)
    except asyncio.CancelledError:
        desk.note(_stopped(sent, Problem(code="cancelled", message="The call was stopped before it was answered.")))
        raise
    except FAULTS:
        if request.progress.usage is not None:
            desk.note(_stopped(sent, Problem(code="internal_error", message="An internal error ended the call.")))
        raise
    replied = ev.ModelReplied(
        **sent.facts(reply.model, reply.usage, reply.request_id),
        left_out=reply.left_out,
        stop_reason=reply.stop_reason,
        content=reply.content,
    )
    return ev.LlmCompleted(**sent.whose(), data=replied)


def told_in_full(call: Call, ended: ev.LlmCompleted | ev.LlmFailed) -> list[ev.Event]:
    """The end of a call, with whether its reply is thrown away, and the calls that the provider ran itself."""
    if isinstance(ended, ev.LlmFailed):
        return [ended]
    reply, tools = ended.data, None if call.purpose == "work" else ()
    problem = thrown_away(call.talk, reply.content, reply.stop_reason, tools)
    judged = reply.model_copy(update={"thrown_away": problem})
    return [ended.model_copy(update={"data": judged}), *_provider_tools(call, ended)]


def _failure(sent: _Sent, error: ModelError) -> ev.LlmFailed:
    run, call, now = sent.desk.run, sent.call, sent.desk.now()
    talk, policy = call.talk, run.brief.policy.towards(call.purpose)
    failures = talk.failures + 1
    assert run.deadline is not None
    retry_at = next_call_at(
        policy,
        error,
        failures=failures_that_count(policy, error, talk.failures, talk.paid_failures),
        now=now,
        deadline=run.deadline,
        jitter=spread(run.brief.run_id, call.purpose, call.task_id, call.attempt, failures),
    )
    failed = ev.ModelFailed(
        **sent.facts(sent.desk.model.model_id(call.model), error.usage, error.request_id),
        error=Problem(code=error.code, message=clean_text(error.message)),
        retry_at=retry_at,
        not_before=now + asked_wait(error) if isinstance(error, Transient) and error.retry_after_s else None,
        sent=error.sent,
    )
    return ev.LlmFailed(**sent.whose(), data=failed)


def _stopped(sent: _Sent, problem: Problem) -> ev.LlmFailed:
    model = sent.desk.model.model_id(sent.call.model)
    progress = sent.request.progress
    usage = progress.usage if progress.usage is not None else estimated_usage(sent.request, model)
    stopped = ev.ModelFailed(**sent.facts(model, usage, None), error=problem, sent=not progress.held)
    return ev.LlmFailed(**sent.whose(), data=stopped)


def _paused(talk: Conversation) -> Sequence[dict[str, Any]]:
    """What the provider had said when it broke off the turn that it now goes on with."""
    return talk.turns[-1].content if talk.turns and talk.turns[-1].stop_reason == "pause_turn" else ()


def _provider_tools(asking: Call, ended: ev.LlmCompleted) -> list[ev.Event]:
    """The calls that the provider ran itself, as tool events: the reply holds both the call and what came back."""
    content = ended.data.content
    whose = {"at": ended.at, "run_id": ended.run_id, "task_id": ended.task_id, "attempt": ended.attempt}
    said = [*_paused(asking.talk), *content]
    asked = {block["id"]: block for block in said if block.get("type") == "server_tool_use"}
    events: list[ev.Event] = []
    for block in content:
        if block.get("tool_use_id") not in asked or block.get("type") == "tool_result":
            continue
        call = asked[block["tool_use_id"]]
        facts = {"call_id": call["id"], "name": call["name"], "input": call.get("input"), "duration_ms": 0}
        found = block.get("content")
        if isinstance(found, dict) and "error_code" in found:
            problem = Problem(code="tool_failed", message=str(found["error_code"])[:ERROR_CHARACTERS])
            broke = ev.ToolBroke(**facts, error=problem, provider=True)
            events.append(ev.ToolFailed(**whose, data=broke))
            continue
        shown = f"{len(found)} results" if isinstance(found, list) else "done"
        returned = ev.ToolReturned(**facts, output=shown, provider=True)
        events.append(ev.ToolCompleted(**whose, data=returned))
    return events
