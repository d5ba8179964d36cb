from collections.abc import Iterator

import pytest

from tests.crash.doomed import Zygote
from tests.support.fixtures import _plain_logs, _settled_heap, stub
from tests.support.summary import pytest_terminal_summary

__all__ = ["_plain_logs", "_settled_heap", "pytest_terminal_summary", "stub"]


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """Where doomed engines come from."""
    with Zygote() as zygote:
        yield zygote
