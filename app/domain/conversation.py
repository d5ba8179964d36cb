"""A conversation with a model: what was said so far. What comes next is `app.domain.protocol`'s affair.

Conversations of every purpose have this form. It is folded from events, so a resumed process asks exactly what the dead
one would have asked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from app.domain.errors import ErrorCode
from app.domain.reasoning import without_reasoning

Block = dict[str, Any]
"""A content block in the shape of the Messages API, kept as the provider sent it."""

Effect = Literal["read", "idempotent", "once"]
"""What a tool does: `read` may be repeated freely, `idempotent` only with the same key, `once` never."""

REPAIRS_ALLOWED = 1
"""How often a reply that was complete but unusable is asked for again."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn as it is sent to the model."""

    role: Literal["user", "assistant"]
    content: Sequence[Block]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it."""

    name: str
    description: str
    input_schema: dict[str, Any]
    server: dict[str, Any] | None = None
    """For a tool that the provider runs itself: its declaration, sent instead of the three fields above."""

    @property
    def declaration(self) -> dict[str, Any]:
        """The tool as a request declares it."""
        if self.server is not None:
            return self.server
        return {"name": self.name, "description": self.description, "input_schema": self.input_schema}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What one tool call brought back."""

    text: str
    error_code: str | None = None


EMPTY_REPLY: Block = {"type": "text", "text": "(empty reply)"}
"""What stands for a reply that holds nothing a provider would take back."""
CUT_SHORT: Block = {"type": "text", "text": "(An earlier reply was cut at the output cap. Be brief enough to finish.)"}
"""What is said after that: a server's cap may leave no room for a longer reply, and the same request ends the same."""
NOT_RUN = ToolResult("This call was not run: the reply did not stop for it.", "tool_call_invalid")


@dataclass(frozen=True)
class Turn:
    """One reply of the model, and what our side said to it."""

    content: Sequence[Block]
    stop_reason: str
    results: Mapping[str, ToolResult] = field(default_factory=dict)
    """Tool results by the id of the call."""
    intents: Mapping[str, Effect] = field(default_factory=dict)
    """Calls that were about to run, with what they were to do: without a result after a crash, nobody knows whether
    they did."""
    note: str | None = None
    """What we replied to it: why the reply was rejected."""

    def result_of(self, call: Block) -> ToolResult:
        """What the call brought back. Providers want a result for every call, also for one that was never run."""
        return self.results.get(call["id"], NOT_RUN)


@dataclass(frozen=True, slots=True)
class Prompt:
    """The opening of a conversation."""

    system: str
    message: str
    tools: tuple[str, ...] | None = None
    """Names of the tools that were offered with it; None before the first call."""


@dataclass(frozen=True)
class Conversation:
    """Everything said so far. Values are never changed; every step makes a new one."""

    prompt: Prompt | None = None
    """None until the first call has ended: an opening nobody has answered may still be written anew."""
    turns: tuple[Turn, ...] = ()
    truncations: int = 0
    """Replies that were cut at the output cap and thrown away; each doubles the cap of the next request."""
    pauses: int = 0
    """Replies that the provider broke off to be continued; each is joined with the one that continues it."""
    rejections: int = 0
    """Replies that were complete but unusable."""
    objection: str | None = None
    objection_code: str | None = None
    """What was wrong with the last of them, for people and for programs."""
    failures: int = 0
    """Calls that failed since the last reply."""
    paid_failures: int = 0
    """Those of them in which a reply broke off that is paid for."""
    retry_at: datetime | None = None
    not_before: datetime | None = None
    """When its provider, asked last, wanted to be asked again."""
    error: tuple[ErrorCode, str] | None = None
    """The call that failed for good."""
    tokens: int | None = None
    """Tokens that the newest request with a reply and that reply had together; None when the provider did not count."""
    stopped_seq: int = 0
    """Number of the event that tells of its last call which we broke off ourselves."""

    def waits(self, now: datetime) -> bool:
        """Whether its next call is still too early: the one before it failed."""
        return self.retry_at is not None and self.retry_at > now

    @property
    def may_be_repaired(self) -> bool:
        """Whether a reply that is unusable now may be asked for again."""
        return self.rejections < REPAIRS_ALLOWED

    @property
    def unusable(self) -> bool:
        """Whether its last reply was unusable, and is not asked for again."""
        return self.rejections > REPAIRS_ALLOWED

    @property
    def steps(self) -> int:
        """Replies received."""
        return len(self.turns) + self.truncations + self.pauses

    def opening(self, message: str) -> Message:
        """How it begins."""
        return Message("user", [{"type": "text", "text": message}, *([CUT_SHORT] if self.truncations else [])])

    def messages(self) -> list[Message]:
        """The conversation after its opening, in the form the provider takes."""
        said: list[Message] = []
        for turn in self.turns:
            said.append(Message("assistant", _sent_back(turn.content)))
            calls = [] if turn.stop_reason == "pause_turn" else tool_calls_of(turn.content)
            ours: list[Block] = [
                {
                    "type": "tool_result",
                    "tool_use_id": call["id"],
                    "content": turn.result_of(call).text,
                    "is_error": turn.result_of(call).error_code is not None,
                }
                for call in calls
            ]
            ours += [{"type": "text", "text": turn.note}] if turn.note is not None else []
            if ours:
                said.append(Message("user", ours))
        return said


def _sent_back(content: Sequence[Block]) -> Sequence[Block]:
    """A reply as providers take it back: unchanged, but with no blank text, and never of thoughts alone."""
    kept = [block for block in content if block.get("type") != "text" or block["text"].strip()]
    return kept if {block.get("type") for block in kept} - {"thinking", "redacted_thinking"} else [*kept, EMPTY_REPLY]


def text_of(content: Sequence[Block]) -> str:
    """The visible text of a reply: its text blocks, joined, without the reasoning that some models begin with."""
    return without_reasoning("".join(block["text"] for block in content if block.get("type") == "text"))


def tool_calls_of(content: Sequence[Block]) -> list[Block]:
    """The calls of our own tools in a reply, in order. Calls of provider-run tools are not among them."""
    return [block for block in content if block.get("type") == "tool_use"]
