"""What was chosen among results that are tries of the same thing, and by what."""

from pydantic import BaseModel, ConfigDict


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Preference(_Value):
    """By one criterion: which candidate is best."""

    criterion: str
    """What a result is held against."""
    best: str | None
    """Id of the task whose result meets it best; null where the judge sees no difference, or did not say."""
    note: str = ""
    """What the judge says to that."""


class Selection(_Value):
    """Which result the answer is made from, out of several that are tries of the same thing."""

    task: str | None
    """Id of the task whose result was chosen; null where no choice could be had, and the answer is made from all."""
    reason: str
    """Why. The judge speaks of the candidates as A, B, C …"""
    candidates: tuple[str, ...]
    """Ids of the tasks that had delivered, in the order in which the judge saw their results: A is the first."""
    criteria: tuple[Preference, ...] = ()
    """What it went by."""
    judged: bool = True
    """False where nobody was asked, since there was one candidate only."""
