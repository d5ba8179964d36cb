"""The part of the fold that concerns further rounds of work, and the critic: why a run goes on after its answer."""

from collections.abc import Mapping

from app.domain import events as ev
from app.domain.conversation import Conversation
from app.domain.events import Purpose
from app.domain.results import Gap
from app.domain.reviews import Review
from app.domain.snapshot import Snapshot
from app.domain.topics import Topic
from app.domain.values import changed


def fold_gap(run: Snapshot, found: ev.GapFound) -> Snapshot:
    """What a task that delivered nothing leaves open is told once; its task may leave the plan for another one."""
    if run.tasks[found.task].delivered:
        return run
    gap = Gap.model_construct(**found.__dict__)
    return changed(run, answering=changed(run.answering, gaps={**run.answering.gaps, found.task: gap}))


def fold_round(run: Snapshot, revised: ev.PlanRevised) -> Snapshot:
    if revised.round is None:
        return run
    first, later = len(run.every_task) - len(revised.added), run.answering.later | frozenset(revised.added)
    answering = changed(run.answering, round=revised.round, round_from=first, later=later)
    if revised.ties:
        tried = answering.tried | {("tie_break", conflict) for conflict in revised.ties}
        answering = changed(answering, ties={**answering.ties, **revised.ties}, tried=tried)
    return changed(run, answering=answering)


def fold_review(run: Snapshot, said: ev.ReviewCompleted) -> Snapshot:
    """An answer that the critic does not accept is made anew, as often as the team has it."""
    review = Review(verdict=said.verdict, rounds=said.round, notes=said.notes, criteria=said.criteria)
    answering = changed(run.answering, reviews=(*run.answering.reviews, review), is_reviewed=True)
    run = changed(run, answering=answering)
    return changed(run, conversations=without(run, "synthesize")) if run.is_refused else run


def without(run: Snapshot, *purposes: Purpose) -> Mapping[Topic, Conversation]:
    """The conversations but for those that are to be held anew."""
    return {topic: talk for topic, talk in run.conversations.items() if topic.purpose not in purposes}
