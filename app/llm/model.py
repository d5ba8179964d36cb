"""The port to language models: what is asked, what comes back, and what it costs.

Content blocks are dictionaries in the shape of the Messages API and stay as the provider sent them: a later request of
the same conversation must repeat them unchanged (thinking blocks are bound to the prefix they were written after).
Failures are `ModelError`s of `app.domain.errors`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from app.domain.conversation import Block, Message, ToolSpec
from app.domain.events import Purpose
from app.domain.usage import Usage
from app.llm.pricing import Prices

STAND_IN = "demo"
"""The id of the model that answers where there is no key. No provider has one of that name."""


@dataclass(slots=True)
class Progress:
    """How far a call has come, kept up to date by the model, for whoever breaks it off or asks where the time went."""

    held: bool = False
    """Whether it still waits to be sent: for a slot, or since the provider asked for a pause."""
    waited_s: float = 0
    """Seconds it waited for that."""
    silent_s: float = 0
    """Seconds from its sending to the first word of the reply."""
    usage: Usage | None = None
    """Set when it is broken off, or breaks our own code: what it has cost. None when the model cannot tell."""


@dataclass(frozen=True, slots=True)
class Request:
    """One call. `system` and `tools` are the stable prefix that providers cache."""

    purpose: Purpose
    model: str
    """A tier (`fast`, `balanced`, `deep`) or a model id."""
    system: str
    messages: Sequence[Message]
    max_tokens: int
    tools: Sequence[ToolSpec] = ()
    output_schema: dict[str, Any] | None = None
    """JSON schema that the final text must fit; objects in it are closed (`additionalProperties: false`)."""
    timeout_s: float = 600
    """Seconds from the sending to the end of the reply."""
    reply_within_s: float | None = None
    """Seconds from the reply's first word to its end. The provider's silence before it is nobody's work."""
    on_text: Callable[[str], None] | None = field(default=None, compare=False)
    """Set when somebody listens: receives the visible text as it is written."""
    before_sending: Callable[[], Awaitable[None]] | None = field(default=None, compare=False, repr=False)
    """The door: awaited once the call's turn has come, right before it is sent. It may raise a `ModelError`."""
    progress: Progress = field(default_factory=Progress, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model answered. It may be acted on only after a look at `stop_reason`."""

    content: list[Block]
    stop_reason: str
    """`end_turn`, `tool_use`, `max_tokens`, `refusal`, `pause_turn`, … as the provider named it."""
    usage: Usage
    """Of this call, with its cost. `llm_calls` is above 1 when the server refused it in other forms before."""
    model: str
    """The model id that answered."""
    request_id: str | None = None
    """The provider's id of the request, for its support."""
    left_out: tuple[str, ...] = ()
    """Names of what the request went without, since the server does not take it."""


class Model(Protocol):
    """A language model, or a stand-in for one."""

    async def reply(self, request: Request) -> Reply:
        """Send the request once. Raises `ModelError`; never sends the same request again by itself."""

    def model_id(self, model: str) -> str:
        """The id that a tier or an id stands for."""

    def brakes(self) -> Mapping[str, datetime]:
        """Models that are to be left alone until then, by id, since their provider asked for a pause."""

    def lift(self, model: str) -> None:
        """Forget that the provider asked for a pause of this model, by id: it is known to answer again."""

    @property
    def prices(self) -> Prices:
        """What calls cost."""

    async def close(self) -> None:
        """Let go of connections."""
