"""The shapes of events for the OpenAPI description: the envelope around each kind of fact."""

from datetime import datetime
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model
from typing_extensions import TypeAliasType

from app.domain.events import FACTS, Fact


class Envelope(BaseModel):
    """The envelope of every event."""

    # Docstrings of the fields would be looked for anew for each of the models below: seconds at every start.
    seq: int = Field(description="Its number in the run: 1, 2, 3 … without gaps.")
    type: str = Field(description="What happened.")
    at: datetime = Field(description="When it happened.")
    run_id: str = Field(description="The run it belongs to.")
    task_id: str | None = Field(description="The task it is about; null for the run as a whole.")
    attempt: int | None = Field(
        description="The attempt at the task it belongs to; null for the task or the run as a whole."
    )


def _shape(fact: type[Fact]) -> Any:
    kind: Any = Literal[fact.type]
    return create_model(
        f"{fact.__name__}Event",
        __base__=Envelope,
        __doc__=fact.__doc__,
        type=(kind, ...),
        data=(fact, Field(description="What there is to know about it.")),
    )


if TYPE_CHECKING:
    Event = Envelope
else:
    _ANY = reduce(or_, map(_shape, FACTS.values()))
    Event = TypeAliasType("Event", Annotated[_ANY, Field(discriminator="type")])
"""A durable fact about a run: the same form in the stream, the page and the trace. `type` says which."""
