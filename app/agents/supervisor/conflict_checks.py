"""What is checked about conflicts: that they have sides, are decided by something, and are not smoothed over."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.agents.supervisor.ground import Ground
from app.domain.answer_figures import strange_figures
from app.domain.answering import claims_alike
from app.domain.figures import Seen, figures_in
from app.domain.flaws import Flaw
from app.domain.results import Claim, Conflict, Synthesis
from app.domain.text import plain_words, shorten

METHODS = ("evidence", "majority")
"""By what a supervisor may always say that a conflict is decided. `human` and `judge` are what a person or a judge has
said, `tie_break` what a task has found that was planned for it; each needs that behind it."""
SHOWN_CHARACTERS = 80
STEM = 5
"""Letters by which words are told apart: their endings change with the sentence."""


@dataclass(frozen=True)
class Side:
    """What some tasks claim alike against others."""

    claims: tuple[Claim, ...]
    figures: frozenset[float]
    """Figures that no other side claims."""
    words: frozenset[str]
    """Words that no other side claims, by their stems."""

    @property
    def shown(self) -> str:
        return f"{shorten(self.claims[0].claim, SHOWN_CHARACTERS)[0]} ({', '.join(each.task for each in self.claims)})"

    @property
    def tasks(self) -> frozenset[str]:
        return frozenset(claim.task for claim in self.claims)

    def stands_in(self, text: str) -> bool:
        """Whether a text tells this side: a figure of its own, or without one a word of its own."""
        if self.figures:
            told = Seen(_figures(text))
            return any(told.within(value * (1 - 1e-9), value * (1 + 1e-9)) for value in self.figures)
        return not self.words or not self.words.isdisjoint(word[:STEM] for word in plain_words(text).split())


def sides_of(claims: Sequence[Claim]) -> list[Side]:
    """The sides of a conflict: claims with the same figures are one side, without figures those with the same words."""
    groups: dict[object, list[Claim]] = {}
    for claim in claims:
        groups.setdefault(_figures(claim.claim) or plain_words(claim.claim), []).append(claim)
    sides = []
    for key, own in groups.items():
        others = [claim.claim for other, theirs in groups.items() if other != key for claim in theirs]
        figures = _figures(own[0].claim) - {value for text in others for value in _figures(text)}
        words = _stems(own[0].claim) - {stem for text in others for stem in _stems(text)}
        sides.append(Side(tuple(own), figures, words))
    return sides


def _figures(text: str) -> frozenset[float]:
    return frozenset(
        figure.readings[0].value for figure in figures_in(text) if figure.readings and not _is_named(text, figure.start)
    )


def _is_named(text: str, start: int) -> bool:
    """Whether a number is a part of a name, such as that of a source or of a task."""
    return text[max(start - 1, 0) : start].isalpha()


def _stems(text: str) -> frozenset[str]:
    words = plain_words(text).split()
    return frozenset(word[:STEM] for word in words if len(word) > 3) or frozenset(words)


def have_sides(told: Synthesis, ground: Ground) -> Iterator[Flaw]:
    """A conflict has two sides at least, and each claim says what its task has delivered."""
    for index, conflict in enumerate(told.conflicts):
        pointer = f"/conflicts/{index}/claims"
        if len(sides_of(conflict.claims)) < 2:
            detail = (
                "a conflict needs two claims that contradict each other, each with its task; leave it out otherwise"
            )
            yield Flaw(code="conflict_unfounded", pointer=pointer, detail=detail)
        for claim in conflict.claims:
            alien = strange_figures(claim.claim, ground.figures_of(claim.task)) if claim.task in ground.outputs else []
            if alien:
                figures = ", ".join(figure.written for figure in alien)
                detail = f"{claim.task} does not say that: {figures} stands nowhere in its result"
                yield Flaw(code="conflict_unfounded", pointer=pointer, detail=detail)


def are_decided_by_something(told: Synthesis, ground: Ground) -> Iterator[Flaw]:
    """What is called resolved says how, by a method there is, for what somebody claims, and the answer has that."""
    for index, conflict in enumerate(told.conflicts):
        if conflict.status == "resolved" and not _is_settled(conflict, ground):
            for detail in _undecided(conflict, told, ground):
                yield Flaw(code="conflict_unfounded", pointer=f"/conflicts/{index}", detail=detail)


def _undecided(conflict: Conflict, told: Synthesis, ground: Ground) -> Iterator[str]:
    sides, resolution = sides_of(conflict.claims), conflict.resolution or ""
    if not plain_words(resolution):
        yield "a conflict that is resolved says in resolution what the answer holds to be right; else it is unresolved"
        return
    if conflict.method == "tie_break":
        yield from _unbroken(conflict, ground)
    elif conflict.method not in METHODS:
        yield f"a conflict is resolved by one of the methods {', '.join(METHODS)}; else its status is unresolved"
    chosen = [side for side in sides if side.stands_in(resolution)]
    if not chosen and any(side.figures for side in sides):
        yield f"the resolution is what nobody claims; the claims are: {_shown(sides)}"
        return
    if conflict.method == "majority" and not _has_majority(chosen or sides, sides):
        yield f"no majority of tasks claims it; the claims are: {_shown(sides)}"
    if not any(side.stands_in(told.answer) for side in chosen or sides):
        yield "the answer does not say what the conflict was resolved to"


def _unbroken(conflict: Conflict, ground: Ground) -> Iterator[str]:
    """Why a conflict was not decided by a task of its own: that is not among the claims, or says otherwise."""
    tasks = _tasks(conflict)
    of_this = {task for task, known in ground.ties.items() if task in tasks and len(tasks & _tasks(known)) > 1}
    found = {claim.task: claim.claim for claim in conflict.claims if claim.task in of_this}
    if not found:
        planned = ", ".join(ground.ties) or "there are none"
        yield f"method tie_break needs the claim of the task that was planned to decide this conflict: {planned}"
        return
    [*chosen] = (side for side in sides_of(conflict.claims) if side.stands_in(conflict.resolution or ""))
    if chosen and not any(side.tasks & found.keys() for side in chosen):
        said = "; ".join(f"{task}: {shorten(claim, SHOWN_CHARACTERS)[0]}" for task, claim in found.items())
        yield f"the task that was to decide this conflict says otherwise than the resolution: {said}"


def _has_majority(chosen: Iterable[Side], sides: Sequence[Side]) -> bool:
    """Whether more tasks claim one of the chosen sides than any other."""
    most = max(len(side.tasks) for side in sides)
    return (
        most > 1 and sum(len(side.tasks) == most for side in sides) == 1 and any(len(s.tasks) == most for s in chosen)
    )


def _is_settled(conflict: Conflict, ground: Ground) -> bool:
    topic = plain_words(conflict.topic)
    return any(plain_words(each.topic) == topic or claims_alike(each.conflict, conflict) for each in ground.settled)


def show_both_sides(told: Synthesis, _: Ground) -> Iterator[Flaw]:
    """What is unresolved stands in the answer with every side: no average, and none of them alone."""
    for index, conflict in enumerate(told.conflicts):
        hidden = [side for side in sides_of(conflict.claims) if not side.stands_in(told.answer)]
        if conflict.status == "unresolved" and hidden:
            detail = (
                f"this conflict is unresolved, and the answer does not have: {_shown(hidden)}. Give every side in it"
            )
            yield Flaw(code="conflict_hidden", pointer=f"/conflicts/{index}", detail=detail)


def hide_nothing_known(told: Synthesis, ground: Ground) -> Iterator[Flaw]:
    """A contradiction between structured results is listed, or both values stand in the answer."""
    for conflict in untold(told, ground):
        sides = sides_of(conflict.claims)
        if not all(side.stands_in(told.answer) for side in sides):
            topic = shorten(conflict.topic, SHOWN_CHARACTERS)[0]
            detail = f"results contradict each other about {topic}: {_shown(sides)}. List it under conflicts"
            yield Flaw(code="conflict_hidden", pointer="/conflicts", detail=detail)


def heed_people(told: Synthesis, ground: Ground) -> Iterator[Flaw]:
    """What a person or a judge has said about a conflict stands in the answer."""
    for each in ground.settled:
        said = _figures(each.answer)
        if said and said.isdisjoint(_figures(told.answer)):
            topic, answer = (shorten(text, SHOWN_CHARACTERS)[0] for text in (each.topic, each.answer))
            who = "a person" if each.method == "human" else "a judge"
            detail = f"{who} was asked about {topic} and has answered: {answer}. The answer does not have it"
            yield Flaw(code="conflict_hidden", pointer="/answer", detail=detail)


def untold(told: Synthesis, ground: Ground) -> list[Conflict]:
    """The contradictions known to code that are not among the conflicts of the answer."""
    return [known for known in ground.known if not any(_covers(conflict, known) for conflict in told.conflicts)]


def _covers(conflict: Conflict, known: Conflict) -> bool:
    """Whether a conflict of the answer has two sides of a known one."""
    claimed = {task: " ".join(each.claim for each in conflict.claims if each.task == task) for task in _tasks(conflict)}
    told = [
        side
        for side in sides_of(known.claims)
        if any(side.stands_in(claimed[task]) for task in side.tasks if task in claimed)
    ]
    return len(told) > 1


def _tasks(conflict: Conflict) -> set[str]:
    return {claim.task for claim in conflict.claims}


def _shown(sides: Iterable[Side]) -> str:
    return "; ".join(side.shown for side in sides)


CONFLICT_CHECKS = (have_sides, are_decided_by_something, show_both_sides, hide_nothing_known, heed_people)
