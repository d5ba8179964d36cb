"""What happens between us and models, and between models and tools."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from app.domain.conversation import Effect
from app.domain.events.fact import Fact
from app.domain.results import Problem
from app.domain.usage import Usage

Purpose = Literal["plan", "work", "rule", "refine", "select", "reduce", "synthesize", "review", "arbitrate", "verify"]
"""Why a model is called."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Opening(_Part):
    """How a conversation was opened."""

    system: str
    """The system prompt."""
    message: str
    """The first message."""
    tools: tuple[str, ...] = ()
    """Names of the tools the model was offered."""


class Terms(_Part):
    """What a model is offered and held to beside its prompt: the same for all calls of a conversation."""

    tools: tuple[dict[str, Any], ...] = ()
    """The tools, as they are declared to the provider: name, description, input schema."""
    output_schema: dict[str, Any] | None = None
    """JSON schema that the final text must fit."""


class ModelCall(Fact):
    """A model call: why, of which model, and what it took."""

    purpose: Purpose
    """Why the model was called."""
    model: str
    """Id of the model."""
    usage: Usage
    """What the call consumed."""
    duration_ms: int
    """Milliseconds from the request to its end."""
    request_id: str | None = None
    """The provider's id of the request, where it gave one."""
    waited_ms: int = 0
    """How long it waited to be sent: for a slot, or since the provider had asked for a pause."""
    room_ms: int = 0
    """How long it had waited before that for room in the run's budget; this is no part of `duration_ms`."""
    silent_ms: int = 0
    """How long the provider then said nothing; the worker's own time begins with the first word of a reply."""
    opening: Opening | None = None
    """Set on the first call of a conversation; later calls send what the events before them hold."""
    max_tokens: int | None = None
    """The cap on the reply's tokens that was asked for; null where the call was recorded before this was."""
    number: int | None = None
    """The number of the group of results that is put together, or of the finding that is verified; null for calls for
    anything else."""
    terms_id: str | None = None
    """Names the tools and the output schema of the call; equal terms have equal names."""
    terms: Terms | None = None
    """The terms themselves: set on the first call of the run that is made under them."""

    def completed(
        self, *, stop_reason: str, content: list[dict[str, Any]], left_out: tuple[str, ...] = ()
    ) -> "LlmCompleted":
        """The call with its reply."""
        return LlmCompleted.model_construct(
            **self._facts(), stop_reason=stop_reason, content=content, left_out=left_out, thrown_away=None
        )

    def failed(
        self,
        error: Problem,
        *,
        retry_at: datetime | None = None,
        not_before: datetime | None = None,
        sent: bool = True,
    ) -> "LlmFailed":
        """The call as one that brought nothing, for what it cost."""
        return LlmFailed.model_construct(
            **self._facts(), error=error, retry_at=retry_at, not_before=not_before, sent=sent
        )

    def _facts(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in ModelCall.model_fields}


class LlmCompleted(ModelCall):
    """A model replied."""

    type = "llm.completed"

    stop_reason: str
    """Why the model stopped, in the words of the Messages API."""
    content: list[dict[str, Any]]
    """The content blocks of the reply, in the form of the Messages API."""
    left_out: tuple[str, ...] = ()
    """What the request went without, since the provider does not take it."""
    thrown_away: Problem | None = None
    """Why nothing of the reply is used: it was cut, refused, or ended otherwise than a reply may. Null for one that is
    read; when reading finds it unusable, the next event (`plan.invalid`, `task.rejected` and the like) says so."""


class LlmFailed(ModelCall):
    """A model call brought no usable reply."""

    type = "llm.failed"

    error: Problem
    """What went wrong."""
    retry_at: datetime | None = None
    """When the same request is sent again; null when it is not."""
    not_before: datetime | None = None
    """When the provider wanted to be asked again; null when it did not say."""
    sent: bool = True
    """False for a call that never left: it cost nothing, and counts as no failure."""


class ToolStarted(Fact):
    """A tool call is about to be carried out."""

    type = "tool.started"

    call_id: str
    """The model's id of the call."""
    name: str
    """Name of the tool."""
    input: Any = None
    """What the model passed to it."""
    effect: Effect
    """What a call of this tool does, and so whether it may be repeated after a crash."""
    key: str
    """The idempotency key: the same for every repetition of this call."""


class ToolEnd(Fact):
    """The end of a tool call."""

    call_id: str
    """The model's id of the call."""
    name: str
    """Name of the tool."""
    duration_ms: int
    """Milliseconds that the call took."""
    provider: bool = False
    """True for a tool that the model's provider ran."""
    input: Any = None
    """What the provider asked its own tool; null for our tools, whose `tool.started` has it."""


class ToolCompleted(ToolEnd):
    """A tool call brought a result."""

    type = "tool.completed"

    output: str
    """As the model sees it."""
    omitted: int = 0
    """Characters left out of the middle."""


class ToolFailed(ToolEnd):
    """A tool call failed; the worker reads why and goes on."""

    type = "tool.failed"

    error: Problem
    """What went wrong, as the model sees it."""
