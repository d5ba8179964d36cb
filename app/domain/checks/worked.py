"""A result that code checks."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.job import JobInput
from app.domain.plan import Task
from app.domain.results import Output


@dataclass(frozen=True, slots=True)
class Worked:
    """A result that is to be checked, and what it is held against."""

    task: Task
    """The task, as it was planned."""
    output: Output
    """What the worker handed back."""
    inputs: Sequence[JobInput]
    """The inputs of the job, with their contents."""
