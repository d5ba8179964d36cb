from collections.abc import Iterator

import pytest
from _pytest.terminal import TerminalReporter

from tests.crash.doomed import Zygote
from tests.support.fixtures import _plain_logs, _settled_heap, stub

__all__ = ["_plain_logs", "_settled_heap", "stub"]

TALLIES = ("deaths", "repeated calls")
"""What tests of crashes record as properties, to be added up at the end."""


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """Where doomed engines come from."""
    with Zygote() as zygote:
        yield zygote


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Say how large the matrix was, and what the deaths have cost."""
    told = [each for report in terminalreporter.getreports("passed") for each in report.user_properties]
    sums = {name: sum(int(str(value)) for key, value in told if key == name) for name in TALLIES}
    if sums["deaths"]:
        terminalreporter.write_line("crash matrix: " + ", ".join(f"{sums[name]} {name}" for name in TALLIES))
