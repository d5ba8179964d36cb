"""Where a run comes from that begins with what another one has brought."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from app.domain.results import Output, Problem

OriginKind = Literal["resynthesis", "fork", "retry"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class RunOrigin(_Part):
    """The run that another one comes from."""

    run: str
    """Its id. It may be deleted while the other is kept."""
    kind: OriginKind
    """`resynthesis`: only the answer is made anew; `fork`: a part of the tasks is done again; `retry`: those that had
    not delivered."""


class ReusedTask(_Part):
    """What became of a task in the run that it was done in."""

    task: str
    """Id of the task, which is the same in both runs."""
    status: Literal["succeeded", "failed", "skipped", "cancelled"]
    """What it ended as."""
    worker: str
    """The worker that did it, or was to do it."""
    output: Output | None = None
    """What it delivered; null unless it succeeded."""
    error: Problem | None = None
    """Why it delivered nothing; null when it did, or ended with a run that was cancelled around it."""
