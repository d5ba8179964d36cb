"""The envelope: a fact with its number, its time and whose it is. This is what is stored, streamed and traced."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, cast, get_args

from app.domain.events import (
    breakers,
    calls,
    children,
    conflicts,
    findings,
    limits,
    people,
    reductions,
    runs,
    supervisor,
    tasks,
)
from app.domain.events.fact import Fact
from app.domain.states import RUN_MOVES, TERMINAL_RUN

AnyFact = (
    runs.RunQueued
    | runs.ResultsReused
    | runs.RunStarted
    | runs.RunResumed
    | runs.RunWaiting
    | runs.RunCancelRequested
    | runs.RunSucceeded
    | runs.RunPartial
    | runs.RunFailed
    | runs.RunCancelled
    | supervisor.PlanCreated
    | supervisor.PlanRevised
    | supervisor.PlanInvalid
    | supervisor.PlanApprovalRequested
    | supervisor.PlanEdited
    | supervisor.PlanApproved
    | supervisor.PlanRejected
    | tasks.TaskStarted
    | tasks.TaskSucceeded
    | tasks.TaskFailed
    | tasks.TaskRetrying
    | tasks.TaskReassigned
    | tasks.TaskSplit
    | tasks.RulingRejected
    | tasks.TaskRefined
    | tasks.TaskRejected
    | tasks.TaskEscalated
    | tasks.TaskSkipped
    | tasks.TaskCancelled
    | tasks.TaskDropped
    | tasks.AttemptFailed
    | tasks.AttemptCancelled
    | children.ChildStarted
    | children.ChildEnded
    | calls.LlmCompleted
    | calls.LlmFailed
    | calls.ToolStarted
    | calls.ToolCompleted
    | calls.ToolFailed
    | supervisor.SynthesisCompleted
    | supervisor.SynthesisRejected
    | supervisor.SelectionCompleted
    | supervisor.SelectionRejected
    | supervisor.SelectionFailed
    | supervisor.ConflictFound
    | reductions.ReductionCompleted
    | reductions.ReductionRejected
    | reductions.ReductionSkipped
    | conflicts.ConflictJudged
    | conflicts.ConflictLeftOpen
    | conflicts.JudgementRejected
    | findings.FindingsPlaced
    | findings.FindingsMerged
    | findings.FindingVerified
    | findings.VerificationRejected
    | findings.FindingsFiltered
    | findings.FindingsRanked
    | supervisor.GapFound
    | supervisor.ReviewCompleted
    | supervisor.ReviewRejected
    | people.QuestionAsked
    | people.QuestionAnswered
    | people.QuestionExpired
    | limits.BudgetExhausted
    | breakers.BreakerOpened
    | breakers.BreakerClosed
)

FACTS: Mapping[str, type[Fact]] = {fact.type: fact for fact in get_args(AnyFact)}
"""Every kind of fact by its type."""
RUN_ENDS = frozenset(kind for (_, kind), status in RUN_MOVES.items() if status in TERMINAL_RUN)
"""The types that end a run, and its stream."""


class Entry(NamedTuple):
    """A fact to be added to a run's log, and whose it is. The log gives it its number and its time."""

    fact: AnyFact
    task_id: str | None = None
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """A durable fact about a run."""

    seq: int
    """Its number in the run: 1, 2, 3 … without gaps."""
    at: datetime
    """When it happened."""
    run_id: str
    """The run it belongs to."""
    task_id: str | None
    """The task it is about; None for the run as a whole."""
    attempt: int | None
    """The attempt at the task it belongs to; None for the task or the run as a whole."""
    data: AnyFact
    """What happened."""

    @property
    def type(self) -> str:
        return self.data.type

    @property
    def entry(self) -> Entry:
        """What it was before the log took it."""
        return Entry(self.data, self.task_id, self.attempt)


def event_from(stored: Mapping[str, Any]) -> Event:
    """The event that a row or a JSON object holds: `seq`, `type`, `at`, `run_id`, `task_id`, `attempt`, `data`.

    Raises `KeyError` for a type that this release does not know, `ValueError` for data that do not fit it.
    """
    at = stored["at"]
    return Event(
        seq=stored["seq"],
        at=datetime.fromisoformat(at) if isinstance(at, str) else at,
        run_id=stored["run_id"],
        task_id=stored["task_id"],
        attempt=stored["attempt"],
        data=cast(AnyFact, FACTS[stored["type"]].model_validate(stored["data"])),
    )
