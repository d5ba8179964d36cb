"""Reductions: several results put together in one text, where there are more than one answer can be made from."""

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from app.domain.results import Claim, Statement

REDUCED_CHARACTERS = 8_000
"""What a reduction may say: as many as one answer is made from fit side by side."""

SkipReason = Literal["rejected", "failed", "timeout", "budget"]
"""Why a group was not put together: what was made of it was `rejected`, a call has `failed`, or nothing was left of the
`timeout` or the `budget`."""


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Contradiction(_Value):
    """What results of a group contradict each other in, as far as whoever put them together saw it."""

    topic: str
    """What they disagree about."""
    claims: tuple[Claim, ...]
    """What each of them says."""


class Grouped(_Value):
    """A group of results, and where it stands in the tree by which they become an answer."""

    number: int
    """Names the group in its run by what is in it: the same results make the same number."""
    level: int
    """1 for a group of results, else one more than the highest reduction in it."""
    group: int
    """Its place among the groups of its level, from 1."""
    tasks: tuple[str, ...]
    """Ids of the tasks whose results it holds, in plan order."""
    holds: tuple[int, ...] = ()
    """The numbers of the groups in it; empty for one of results alone."""


class Reduction(Grouped):
    """A group of results, put together."""

    text: str
    """What they say together, Markdown."""
    statements: tuple[Statement, ...] = ()
    """What the text says, and the tasks of the group that each of it rests on."""
    contradictions: tuple[Contradiction, ...] = ()
    """Where they contradict each other."""
    uncertain: tuple[str, ...] = ()
    """What is missing in them, or not sure."""

    @property
    def characters(self) -> int:
        """All that it says, counted."""
        return sum(map(len, self._texts()))

    def _texts(self) -> Iterator[str]:
        yield self.text
        yield from self.uncertain
        for statement in self.statements:
            yield from (statement.text, *statement.tasks)
        for each in self.contradictions:
            yield each.topic
            for claim in each.claims:
                yield from (claim.claim, claim.task)


def divided(sizes: Sequence[int], held: int, room: int) -> list[int]:
    """How many of things of these sizes go into each group, in their order: at most `held`, which take up no more than
    `room`. There are as few groups as may be, and they are as even as may be. What is too large is a group of its own.
    """
    fewest = len(_cut(sizes, held, room))
    held = next(each for each in range(1, held + 1) if len(_cut(sizes, each, room)) <= fewest)
    least, most = 1, room
    while least < most:
        between = (least + most) // 2
        if len(_cut(sizes, held, between)) <= fewest:
            most = between
        else:
            least = between + 1
    return _cut(sizes, held, most)


def _cut(sizes: Sequence[int], held: int, room: int) -> list[int]:
    counts: list[int] = []
    left = 0
    for size in sizes:
        if not counts or counts[-1] == held or size > left:
            counts.append(0)
            left = room
        counts[-1] += 1
        left -= size
    return counts
