"""What an answer rests on, counted: the tasks that it needs, and the groups of results beneath it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


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
