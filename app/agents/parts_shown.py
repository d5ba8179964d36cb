"""What an answer is made from as its model gets it: results, and reductions of more results than one call holds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from app.agents.results_shown import result_within, results_of
from app.domain.reduction_tree import ROOM_CHARACTERS, Part, Unreduced, reduces, shares_of, tree_of
from app.domain.reductions import Reduction
from app.domain.snapshot import Snapshot
from app.domain.text import shorten


@dataclass(slots=True)
class Shown:
    """The parts of an answer, or of a reduction."""

    results: list[dict[str, Any]] = field(default_factory=list)
    reductions: list[dict[str, Any]] = field(default_factory=list)


def shown_to_answer(run: Snapshot) -> Shown:
    """What the answer in the making rests on. Groups that nobody has put together show their members, in short."""
    return shown_of(tree_of(run).parts) if reduces(run) else Shown(results_of(run.reconcilable))


def shown_of(parts: Sequence[Part], room: int = ROOM_CHARACTERS) -> Shown:
    """The parts, each with a fair share of the room: what wants less leaves the others more."""
    shown = Shown()
    for part, share in shares_of(parts, room):
        if isinstance(part, Unreduced):
            inside = shown_of(part.group.members, share)
            shown.results += inside.results
            shown.reductions += inside.reductions
        elif isinstance(part, Reduction):
            shown.reductions.append(_reduction(part, share))
        else:
            shown.results.append(result_within(part, share))
    return shown


def _reduction(part: Reduction, share: int) -> dict[str, Any]:
    """The reduction with the tasks under it. Where it is too long, its text is cut, and says so."""
    told = part.model_dump(include={"tasks", "text", "statements", "contradictions", "uncertain"})
    text, omitted = shorten(part.text, max(share - (part.characters - len(part.text)), 0))
    return told | {"text": text} | ({"truncated": True, "omitted_characters": omitted} if omitted else {})
