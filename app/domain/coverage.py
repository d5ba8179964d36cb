"""What an answer rests on, counted: the tasks that it needs, and the groups of results beneath it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from app.domain.plan_material import LeftOutReason


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class ReducedGroup(_Value):
    """Results that were put together on the way to the answer, or were to be."""

    level: int
    """1 for a group of results, else one more than the highest reduction in it."""
    group: int
    """Its place among the groups of its level, from 1."""
    tasks: tuple[str, ...]
    """Ids of the tasks whose results it holds."""
    skipped: Literal["rejected", "failed", "timeout", "budget"] | None = None
    """Why it was not put together, and stood for itself in short; null where it was."""


class Covered(_Value):
    """What has become of a thing that the plan's template is about."""

    input: str
    """Name of the input that it is in."""
    item: str
    """Its name: the path of a file, the name of an input or a function, a heading."""
    lines: str
    """Its lines in that input."""
    status: Literal["whole", "part", "missing", "left_out"]
    """`whole`: every task that was to look at it has delivered, and was shown all of it. `part`: some have, or were
    shown a part of it. `missing`: none has. `left_out`: no task was made for it; workers may have opened it by their
    tools all the same."""
    tasks: tuple[str, ...] = ()
    """Ids of the tasks that have looked at it."""
    missing: tuple[str, ...] = ()
    """Ids of those that were to, and delivered nothing."""
    cut: tuple[str, ...] = ()
    """Ids of those of `tasks` that were shown a part of it alone, or stopped before their end."""
    reason: LeftOutReason | None = None
    """Why it is left out; null where it is not."""
    pattern: str | None = None
    """The pattern of the template that leaves it out, where one does."""


class Coverage(_Value):
    """Required tasks against delivered ones."""

    required: int
    """How many tasks the plan requires. Of several tries of the same thing it is usually none, since any will do."""
    delivered: int
    """How many of them delivered."""
    missing: tuple[str, ...] = ()
    """Ids of the required tasks that did not."""
    substituted: tuple[str, ...] = ()
    """Ids of the tasks that another worker delivered than the plan names."""
    unverified: tuple[str, ...] = ()
    """Ids of the tasks whose result rests on nothing but the word of their worker: see the outputs' `unverified`."""
    shortened: tuple[str, ...] = ()
    """Ids of the tasks whose results were shown only in short where the answer was made from them, or one of them was
    chosen: there are more of them, or longer ones, than one call holds, or their group was not put together."""
    material: tuple[Covered, ...] = Field(default=(), exclude_if=lambda material: not material)
    """What the plan's template is about, each thing once: whether it was looked at, and by which tasks. It is not there
    for plans that no template has made."""
