"""Work that was done twice: the same tool call by several attempts, and outputs that are much alike."""

import json
from collections import Counter
from hashlib import blake2b
from heapq import nlargest
from itertools import combinations
from typing import Any

from app.domain.likeness import Sketch, likeness, sketch_of
from app.domain.report import Caller, Duplicates, LikeOutputs, RepeatedCall
from app.domain.text import shorten

CALLS_COMPARED = 2_000
"""Different tool calls of one run that are kept to be compared with later ones."""
CALLS_SHOWN = 10
CALLERS_SHOWN = 10
PAIRS_SHOWN = 10
INPUT_CHARACTERS = 200
ALIKE = 0.5
"""Likeness from which two outputs are told of."""


class _Call:
    __slots__ = ("by", "input", "tool")

    def __init__(self, tool: str, text: str) -> None:
        self.tool = tool
        self.input = shorten(text, INPUT_CHARACTERS)[0]
        self.by: Counter[tuple[str, int]] = Counter()


class DuplicateWork:
    """What a run's tools were asked, and what its tasks delivered."""

    def __init__(self) -> None:
        self._calls: dict[bytes, _Call] = {}
        self._complete = True
        self._sketches: dict[str, Sketch] = {}

    def called(self, tool: str, asked: Any, task_id: str, attempt: int) -> None:
        """An attempt has called a tool."""
        text = json.dumps(asked, sort_keys=True, ensure_ascii=False)
        key = blake2b(f"{tool}\0{text}".encode(errors="replace"), digest_size=16).digest()
        if key not in self._calls:
            if len(self._calls) >= CALLS_COMPARED:
                self._complete = False
                return
            self._calls[key] = _Call(tool, text)
        self._calls[key].by[task_id, attempt] += 1

    def delivered(self, task_id: str, text: str) -> None:
        """A task has delivered."""
        self._sketches[task_id] = sketch_of(text)

    def told(self) -> Duplicates:
        """What of it was done twice."""
        repeated = [call for call in self._calls.values() if len(call.by) > 1]
        return Duplicates(
            repeated_calls=sum(len(call.by) - 1 for call in repeated),
            tool_calls=tuple(map(_shown, nlargest(CALLS_SHOWN, repeated, key=lambda call: call.by.total()))),
            outputs=self._alike(),
            complete=self._complete,
        )

    def _alike(self) -> tuple[LikeOutputs, ...]:
        found = []
        for one, other in combinations(self._sketches, 2):
            alike = likeness(self._sketches[one], self._sketches[other])
            if alike >= ALIKE:
                found.append(LikeOutputs(tasks=(one, other), likeness=round(alike, 2)))
        return tuple(nlargest(PAIRS_SHOWN, found, key=lambda pair: pair.likeness))


def _shown(call: _Call) -> RepeatedCall:
    callers = [Caller(task=task, attempt=attempt) for task, attempt in list(call.by)[:CALLERS_SHOWN]]
    return RepeatedCall(tool=call.tool, input=call.input, calls=call.by.total(), by=tuple(callers))
