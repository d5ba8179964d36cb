"""The shapes of what happened: events and their stream, spans, and the trace that holds them all."""

from datetime import datetime
from typing import Any, Literal

from app.api.schemas.events import Event
from app.api.schemas.runs import Run, RunTask
from app.api.schemas.shape import Shape
from app.domain.events import Purpose
from app.domain.plan import Plan
from app.domain.report import Report


class EventPage(Shape):
    """Events of a run, in order."""

    data: list[Event]
    """The events of this page."""
    has_more: bool
    """Whether there are more events behind this page by now."""
    next_cursor: str | None
    """Send it as `after` to get the next page; null behind the last one."""
    next_after: int
    """Send it as `after` to go on behind this page, now or later."""


class TextPiece(Shape):
    """Text that a model has just written."""

    purpose: Purpose
    """Why the model was called."""
    text: str
    """The piece, to be put behind the ones before it."""


class TextDelta(Shape):
    """A piece of text while it is written, for streams with `deltas=true`: without a number, and never stored.

    The event that completes the call (`llm.completed` or `llm.failed`) supersedes all pieces of it.
    """

    type: Literal["text.delta"]
    """Always `text.delta`."""
    at: datetime
    """When it was written."""
    run_id: str
    """The run it belongs to."""
    task_id: str | None
    """The task it belongs to; null for the supervisor."""
    attempt: int | None
    """The attempt it belongs to; null for the supervisor."""
    data: TextPiece
    """The piece."""


class SentMessage(Shape):
    """A turn of a conversation as it was sent."""

    role: Literal["user", "assistant"]
    """Who said it: our side or the model."""
    content: list[dict[str, Any]]
    """Content blocks in the form of the Messages API."""


class SentRequest(Shape):
    """What a model was sent in one call."""

    model: str
    """Id of the model that answered, or that was asked."""
    max_tokens: int | None
    """Tokens that the reply might have; null in logs that do not tell."""
    system: str | None
    """The system prompt."""
    messages: list[SentMessage]
    """The conversation up to this call."""
    tools: list[dict[str, Any]] | None
    """The tools on offer, as they were declared; null in logs that do not tell."""
    output_schema: dict[str, Any] | None
    """JSON Schema that the final text had to fit."""


class SpanContent(Shape):
    """What went to and fro in one model call."""

    request: SentRequest
    """What was sent."""
    reply: list[dict[str, Any]] | None
    """The content blocks that came back; null when none did."""


class Span(Shape):
    """A stretch of a run's time.

    `attributes` by kind. All that ended badly: `error_code`, `error_message`.
    `run`: `team`, `status`, `stop_reason`. `plan`: `tasks`, their number. `task`: `task_id`, `status`, `free_form`.
    `attempt`: `number`, `worker`, `model`, `tools`, `escalation`.
    `llm`: `purpose`, `model`, `max_tokens`, `request_id`, tokens and cost, `stop_reason`, `retry_at`, `free_form`, and
    `outcome`: `used`, `continued` (the provider paused), `cut` (at `max_tokens`, thrown away), `refused`, `unusable`,
    `rejected` (read and found wanting; `asked_again`), `failed`, `cancelled`.
    `tool`: `call_id`, `input`, `output`, `omitted`, `effect`, `key`, `provider`.
    """

    id: str
    """Its id in the trace."""
    parent_id: str | None
    """The span it is a part of; null for the run."""
    kind: Literal["run", "plan", "task", "attempt", "llm", "tool", "synthesis", "review"]
    """What was going on."""
    name: str
    """The same in a few words."""
    started_at: datetime
    """When it began."""
    finished_at: datetime | None
    """When it ended; null while it goes on."""
    duration_ms: int | None
    """Milliseconds between the two; null while it goes on."""
    status: Literal["ok", "error", "cancelled", "running"]
    """How it ended."""
    attributes: dict[str, Any]
    """What else there is to know; the keys depend on `kind`."""
    content: SpanContent | None = None
    """Of a model call, and only with `include=content`: what was sent and what came back."""


class Trace(Shape):
    """The whole execution of a run."""

    run: Run
    """The run."""
    plan_revisions: list[Plan]
    """Every plan it had, oldest first."""
    tasks: list[RunTask]
    """Its tasks with every attempt."""
    report: Report
    """Was the team worth it? What bounded the run, what its parts took, what was done twice, and one agent instead."""
    spans: list[Span]
    """What took how long, as a tree."""
    events: list[Event]
    """Every event, in order."""
    thinned_at: datetime | None
    """When the run had ended so long ago that long texts of its calls were cut; null while all is kept."""


class OtlpTraces(Shape):
    """The spans of a run as OTLP/JSON: ids are hex, enums numbers, 64-bit numbers texts."""

    resourceSpans: list[dict[str, Any]]
    """One resource with one scope, which has the spans."""
