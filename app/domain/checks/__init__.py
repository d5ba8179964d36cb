"""Checks of results by code: what a worker's `checks` name. A result that fails one goes back to its worker."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from app.domain.checks.python_tests import python_tests
from app.domain.checks.trades import trades
from app.domain.checks.worked import Worked as Worked
from app.domain.flaws import Flaw
from app.domain.team_rules import CheckName

Check = Callable[[Worked], Iterable[Flaw]]
"""What is wrong with a result. It is pure, and never fails: whatever was written, it says what is wrong with it."""
CHECKS: Mapping[CheckName, Check] = {"python_tests": python_tests, "trades": trades}
"""One for each name that a worker may have under `checks`."""


def flaws_of(worked: Worked, names: Iterable[CheckName]) -> Iterator[Flaw]:
    """What the checks of these names find."""
    for name in names:
        yield from CHECKS[name](worked)
