"""Checks of results by code: what a worker's `checks` name. A result that fails one goes back to its worker."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.domain.flaws import Flaw
from app.domain.job import JobInput
from app.domain.plan import Task
from app.domain.results import Output
from app.domain.team_rules import CheckName


@dataclass(frozen=True, slots=True)
class Worked:
    """A result that is to be checked, and what it is held against."""

    task: Task
    """The task, as it was planned."""
    output: Output
    """What the worker handed back."""
    inputs: Sequence[JobInput]
    """The inputs of the job, with their contents."""


Check = Callable[[Worked], Iterable[Flaw]]
"""What is wrong with a result. It is pure, and never fails: whatever was written, it says what is wrong with it."""
CHECKS: Mapping[CheckName, Check] = {}
"""One for each name that a worker may have under `checks`."""


def flaws_of(worked: Worked, names: Iterable[CheckName]) -> Iterator[Flaw]:
    """What the checks of these names find."""
    for name in names:
        yield from CHECKS[name](worked)
