"""What becomes of conflicts that the supervisor left open, as the team has it: shown, refused, or asked about."""

from collections.abc import Sequence
from datetime import datetime

from app.domain import events as ev
from app.domain.answering import LEFT_OPEN
from app.domain.events import Entry
from app.domain.flaws import Flaw
from app.domain.questions import (
    CHOICE_CHARACTERS,
    CHOICES_ALLOWED,
    QUESTION_CHARACTERS,
    Default,
    Question,
    conflict_question_id,
)
from app.domain.results import Conflict, RejectedAnswer
from app.domain.snapshot import Snapshot
from app.domain.text import shorten

QUESTIONS_ALLOWED = 10
"""Conflicts of one run that people are asked about; what goes beyond them is shown as unresolved."""


def unresolved_in(run: Snapshot) -> Sequence[Conflict]:
    """The conflicts that the newest answer leaves open."""
    conflicts = run.synthesis.conflicts if run.synthesis is not None else ()
    return [conflict for conflict in conflicts if conflict.status == "unresolved"]


def is_unused_tie(run: Snapshot, name: str) -> bool:
    """Whether a task was to decide a conflict, has delivered, and the answer there is was made without its result."""
    return name in run.answering.ties.values() and name in run.unheard and name in run.tasks


def refuses(run: Snapshot) -> bool:
    """Whether the team takes no answer that leaves conflicts open, and the newest does."""
    return run.brief.team.conflicts == "fail" and bool(unresolved_in(run))


def rejected_answer(run: Snapshot) -> RejectedAnswer | None:
    """The best answer that was turned down, and why."""
    if run.synthesis is None or not refuses(run):
        return run.answering.rejected
    errors = tuple(
        Flaw(code="conflict_unresolved", detail=shorten(f"results contradict each other: {conflict.topic}", 300)[0])
        for conflict in unresolved_in(run)
    )
    return RejectedAnswer(answer=run.synthesis.answer, errors=errors)


def open_questions(run: Snapshot) -> list[Question]:
    """The questions about conflicts that wait for an answer."""
    return [run.questions[name] for name, _ in run.answering.asked if name in run.answering.waiting]


def asks_people(run: Snapshot) -> bool:
    """Whether the newest answer is not to go out yet: people are asked about its conflicts, or have settled one."""
    return run.answering.is_overtaken or bool(run.answering.waiting) or bool(_unasked(run))


def _unasked(run: Snapshot) -> list[Conflict]:
    if run.brief.team.conflicts != "ask_human" or run.on_question == "default":
        return []
    asked = {conflict for _, conflict in run.answering.asked} | {each.conflict.id for each in run.answering.settled}
    room = max(QUESTIONS_ALLOWED - len(run.answering.asked), 0)
    return [conflict for conflict in unresolved_in(run) if conflict.id not in asked][:room]


def questions_to_ask(run: Snapshot, now: datetime) -> list[Entry]:
    """A question for each conflict that nobody was asked about yet."""
    return [Entry(_question(run, conflict, now)) for conflict in _unasked(run)]


def _question(run: Snapshot, conflict: Conflict, now: datetime) -> ev.QuestionAsked:
    claims = dict.fromkeys(claim.claim for claim in conflict.claims)
    told = "\n".join(f"- {claim.claim} ({claim.task})" for claim in conflict.claims)
    words = f"Results contradict each other about this: {conflict.topic}\n{told}\nWhat holds?"
    is_short = len(claims) < CHOICES_ALLOWED and all(len(claim) <= CHOICE_CHARACTERS for claim in claims)
    return ev.QuestionAsked(
        id=conflict_question_id(run.brief.run_id, conflict.id),
        question=shorten(words, QUESTION_CHARACTERS)[0],
        choices=(*claims, LEFT_OPEN) if is_short else (),
        default=Default(action="fail" if run.on_question == "fail" else "proceed"),
        expires_at=now,
        conflict=conflict.id,
    )
