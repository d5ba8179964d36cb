"""What a critic says of an answer."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Verdict = Literal["accepted", "needs_revision"]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Criterion(_Value):
    """One thing that an answer must be like, and whether it is."""

    criterion: str
    """What it must be like."""
    met: bool
    """Whether the critic finds that it is."""
    note: str = ""
    """What the critic says to that."""


class Review(_Value):
    """A critic's judgement of the answer."""

    verdict: Literal["accepted", "needs_revision", "none"]
    """What the critic decided of the newest answer; `none` when no judgement of it could be had."""
    rounds: int
    """How often it looked."""
    notes: str = ""
    """What it remarked last."""
    criteria: tuple[Criterion, ...] = ()
    """What it went by."""

    @property
    def unmet(self) -> list[dict[str, str]]:
        """What it went by that the answer is not like, and what it says to that."""
        return [{"criterion": each.criterion, "note": each.note} for each in self.criteria if not each.met]
