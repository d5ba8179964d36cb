"""What long tests have to tell, at the end of the session: they record it as properties, which also leave a worker.

A `conftest.py` that imports the hook switches it on; however many do, everything is told once.
"""

import pytest
from _pytest.terminal import TerminalReporter

TOLD = "told"
"""The property whose value is printed as it is; may be recorded by any test."""
COUNTED = "counted: "
"""Start of the name of a property whose values are added up."""

_DONE = pytest.StashKey[bool]()


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Print what was told, and the sums of what was counted."""
    if terminalreporter.config.stash.get(_DONE, False):
        return
    terminalreporter.config.stash[_DONE] = True
    counts: dict[str, int] = {}
    for report in (*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")):
        for name, value in report.user_properties:
            if name == TOLD:
                terminalreporter.write_line(str(value))
            if name.startswith(COUNTED):
                counts[name] = counts.get(name, 0) + int(str(value))
    for name, count in counts.items():
        terminalreporter.write_line(f"{name.removeprefix(COUNTED)}: {count}")
