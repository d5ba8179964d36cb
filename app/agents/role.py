"""What a role is: how to open a conversation of one purpose, what to hold the model to, and how to read its answer."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.conversation import Prompt
from app.domain.events import Entry
from app.domain.flaws import Flaw, FlawCode
from app.domain.snapshot import Snapshot
from app.domain.topics import Topic


@dataclass(frozen=True, slots=True)
class Offer:
    """What a model is offered in a conversation, and held to."""

    model: str
    """A tier or a model id."""
    schema: dict[str, Any]
    """JSON schema of the final text."""
    visible_field: str
    """The field of the reply that people read while it is written."""
    tools: tuple[str, ...] = ()
    """Names of the tools it may call, where they exist."""


@dataclass(frozen=True, slots=True)
class Role:
    """One purpose of model calls. Its functions are pure: the same state always makes the same words."""

    open: Callable[[Snapshot, Topic], Prompt]
    """How the conversation begins."""
    offer: Callable[[Snapshot, Topic], Offer]
    material: Callable[[Snapshot, Topic], Iterable[object]]
    """Texts and values that the opening is written from, so that a long one is written beside the event loop."""
    read: Callable[[Snapshot, Topic, str], Sequence[Entry]]
    """What the final text of a reply amounts to. Raises `Unreadable`."""
    reject: Callable[[Snapshot, Topic, Sequence[Flaw]], Sequence[Entry]]
    """What comes of a reply that could not be read."""
    unreadable: FlawCode = "output_invalid"
    """The code of what is wrong with a reply that does not even mean to be final."""
