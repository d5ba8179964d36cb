"""What masking costs beside writing the same as JSON, and beside a run whose texts have credentials in them."""

import json
from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

from pydantic_core import to_json

from app.domain.credentials import without_credentials

PROSE = "The quarter's sales rose by 12.5 % in the north; see task-2 and https://example.org/report?q=3 for the sums.\n"
KEY = "sk-ant-api03-Ab0cDe1fGh2iJk3l"
ROUNDS = 50


class Figures(NamedTuple):
    """Nanoseconds for a character of JSON."""

    writing_ns: float
    masking_ns: float
    masking_keys_ns: float
    """Where there is a credential in each hundred characters."""


def measure() -> Figures:
    """Measure all of it on texts like those of a long run."""
    rows = [{"type": "llm.completed", "data": {"text": PROSE * 20}} for _ in range(20)]
    written = to_json(rows).decode()
    with_keys = json.dumps([PROSE + KEY] * (len(written) // len(PROSE + KEY)))
    return Figures(
        _ns(lambda: to_json(rows), len(written)),
        _ns(lambda: without_credentials(written), len(written)),
        _ns(lambda: without_credentials(with_keys), len(with_keys)),
    )


def _ns(work: Callable[[], object], characters: int) -> float:
    times = []
    for _ in range(ROUNDS):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return sorted(times)[ROUNDS // 2] / characters * 1e9
