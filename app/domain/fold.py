"""The fold: how one event changes the state of a run.

`after(run, event)` is the only way a run changes. The engine calls it while it executes and when it resumes, and the
trace is checked with it: whatever the log holds, there is one reading of it.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import assert_never

from app.domain import events as ev
from app.domain import (
    fold_answers,
    fold_approval,
    fold_calls,
    fold_children,
    fold_findings,
    fold_questions,
    fold_reductions,
    fold_rounds,
    fold_run,
    fold_stragglers,
    fold_tasks,
)
from app.domain.brief import Brief
from app.domain.errors import IllegalMove
from app.domain.events import Entry, Event
from app.domain.quoting import quoted
from app.domain.snapshot import Snapshot
from app.domain.states import check_allowed
from app.domain.values import changed


def fold(brief: Brief, events: Iterable[Event]) -> Snapshot:
    """The state after all `events` of a run. Raises `IllegalMove` when they cannot have happened in this order."""
    run = Snapshot(brief)
    for event in events:
        run = after(run, event)
    return run


def extend(run: Snapshot, entries: Iterable[Entry], at: datetime) -> tuple[Snapshot, list[Event]]:
    """The state after new `entries`, and these as the events that follow it. Raises `IllegalMove` when they cannot.

    Whoever makes a plan need not know what it will cost: its quote is reckoned here, once all before it is known. Nor
    need whoever asks a question know what time it is.
    """
    events: list[Event] = []
    for fact, task_id, attempt in entries:
        if isinstance(fact, ev.PlanCreated):
            fact = quoted(run, fact, at)
        elif isinstance(fact, ev.QuestionAsked):
            fact = fold_questions.dated(run, fact, task_id, at)
        event = Event(run.last_seq + 1, at, run.brief.run_id, task_id, attempt, fact)
        run = after(run, event)
        events.append(event)
    return run, events


def renumber(run: Snapshot, events: Iterable[Event]) -> tuple[Snapshot, list[Event]]:
    """The state after `events` that were numbered behind another state, and these as they follow this one."""
    renumbered: list[Event] = []
    for event in events:
        renumbered.append(replace(event, seq=run.last_seq + 1))
        run = after(run, renumbered[-1])
    return run, renumbered


def after(run: Snapshot, event: Event) -> Snapshot:
    """The state after one more event. Raises `IllegalMove` when it cannot follow."""
    if event.seq != run.last_seq + 1:
        raise IllegalMove(f"event {event.seq} cannot follow event {run.last_seq}")
    if run.ended:
        raise IllegalMove(f"{event.type} cannot follow the end of the run")
    if (event.type == "run.queued") != (event.seq == 1):
        raise IllegalMove(f"{event.type} cannot be event {event.seq}: run.queued comes first, and only then")
    if event.seq > 1:
        check_allowed(run.status, event.type)
    return changed(_folded(run, event), last_seq=event.seq, newest_at=event.at)


def _folded(run: Snapshot, event: Event) -> Snapshot:
    fact = event.data
    match fact:
        case ev.LlmCompleted():
            return fold_calls.fold_reply(run, event, fact)
        case ev.LlmFailed():
            return fold_calls.fold_failed_call(run, event, fact)
        case ev.ToolStarted():
            return fold_calls.fold_tool_start(run, event)
        case ev.ToolCompleted() | ev.ToolFailed():
            return fold_calls.fold_tool_end(run, event, fact)
        case ev.PlanInvalid():
            return fold_run.fold_plan_rejection(run, event, fact)
        case ev.TaskRejected() | ev.RulingRejected() | ev.ReviewRejected() | ev.JudgementRejected():
            return fold_calls.fold_rejection(run, event)
        case ev.SelectionRejected() | ev.ReductionRejected() | ev.VerificationRejected():
            return fold_calls.fold_rejection(run, event)
        case ev.PlanCreated():
            return fold_run.fold_plan(run, event, fact)
        case ev.PlanRevised():
            return fold_rounds.fold_round(fold_run.fold_revision(run, fact), fact)
        case ev.PlanApprovalRequested():
            return fold_approval.fold_approval_request(run, fact)
        case ev.PlanEdited():
            return fold_approval.fold_edit(run, event, fact)
        case ev.PlanApproved() | ev.PlanRejected():
            return fold_approval.fold_decision(run, event, fact)
        case ev.BudgetExhausted():
            return changed(run, exhausted=fact)
        case ev.ChildStarted():
            return fold_children.fold_begin(run, event, fact)
        case ev.ChildEnded():
            return fold_children.fold_end(run, event, fact)
        case ev.BreakerOpened():
            return fold_run.fold_opening(run, event, fact)
        case ev.BreakerClosed():
            return fold_run.fold_closing(run, event, fact)
        case ev.RunQueued():
            asks = fact.on_question or "ask"
            return changed(run, created_at=event.at, own_plan=fact.plan, plan_source=fact.plan_source, on_question=asks)
        case ev.ResultsReused():
            return fold_run.fold_reuse(run, event)
        case ev.RunStarted():
            return fold_run.fold_start(run, event)
        case ev.RunResumed():
            return fold_run.fold_resumption(run, event, fact)
        case ev.RunWaiting():
            return fold_run.fold_wait(run, event, fact)
        case ev.RunCancelRequested():
            return fold_run.fold_cancel_request(run, event, fact)
        case ev.RunSucceeded() | ev.RunPartial() | ev.RunFailed():
            return fold_run.fold_end(run, event, fact)
        case ev.RunCancelled():
            return fold_run.fold_cancellation(run, event, fact)
        case _:
            return _folded_answer(run, event, fact)


_OfAnswers = (
    ev.SynthesisRejected
    | ev.SelectionCompleted
    | ev.SelectionFailed
    | ev.ConflictFound
    | ev.ReductionCompleted
    | ev.ReductionSkipped
    | ev.ConflictJudged
    | ev.ConflictLeftOpen
    | fold_findings.Step
    | ev.GapFound
    | ev.ReviewCompleted
    | ev.SynthesisCompleted
)
_OfTasks = (
    ev.TaskStarted
    | ev.TaskSucceeded
    | ev.TaskFailed
    | ev.TaskSkipped
    | ev.TaskCancelled
    | ev.TaskRetrying
    | ev.TaskReassigned
    | ev.TaskSplit
    | ev.TaskRefined
    | ev.TaskEscalated
    | ev.TaskDropped
    | ev.AttemptFailed
    | ev.AttemptCancelled
    | fold_questions.AnyOfQuestions
)


def _folded_answer(run: Snapshot, event: Event, fact: _OfAnswers | _OfTasks) -> Snapshot:
    match fact:
        case ev.SynthesisRejected():
            return fold_answers.fold_rejection(fold_calls.fold_rejection(run, event), fact)
        case ev.SelectionCompleted() | ev.SelectionFailed():
            return fold_answers.fold_selection(run, fact)
        case ev.ConflictFound():
            return fold_answers.fold_conflict(run, fact)
        case ev.ReductionCompleted() | ev.ReductionSkipped():
            return fold_reductions.fold_outcome(run, fact)
        case ev.ConflictJudged():
            return fold_answers.fold_judgement(run, fact)
        case ev.ConflictLeftOpen():
            return fold_answers.fold_left_open(run, fact)
        case (
            ev.FindingsPlaced()
            | ev.FindingsMerged()
            | ev.FindingVerified()
            | ev.FindingsFiltered()
            | ev.FindingsRanked()
        ):
            return fold_findings.fold_step(run, fact)
        case ev.GapFound():
            return fold_rounds.fold_gap(run, fact)
        case ev.ReviewCompleted():
            return fold_rounds.fold_review(run, fact)
        case ev.SynthesisCompleted():
            return fold_answers.fold_answer(fold_stragglers.fold_answer(fold_reductions.fold_ground(run), fact))
        case _:
            return _folded_task(run, event, fact)


def _folded_task(run: Snapshot, event: Event, fact: _OfTasks) -> Snapshot:
    match fact:
        case ev.TaskStarted():
            return fold_tasks.fold_start(run, event, fact)
        case ev.TaskSucceeded():
            return fold_stragglers.fold_success(run, event, fact)
        case ev.TaskFailed() | ev.TaskCancelled():
            decision = fact.decision if isinstance(fact, ev.TaskFailed) else None
            run = changed(run, questions=fold_questions.questions_after(run.questions, event, fact))
            return fold_tasks.fold_end(run, event, fact.error, decision)
        case ev.TaskSkipped():
            return fold_tasks.fold_end(run, event, fact.error)
        case ev.TaskRetrying():
            return fold_tasks.fold_retry(run, event, fact)
        case ev.TaskReassigned():
            return fold_tasks.fold_reassignment(run, event, fact)
        case ev.TaskSplit():
            return fold_tasks.fold_split(run, event, fact)
        case ev.TaskRefined():
            return fold_tasks.fold_refinement(run, event, fact)
        case ev.TaskEscalated():
            return fold_tasks.fold_escalation(run, event, fact)
        case ev.TaskDropped():
            return fold_stragglers.fold_drop(run, event)
        case ev.AttemptFailed():
            return fold_tasks.fold_attempt_end(run, event, fact.error)
        case ev.AttemptCancelled():
            return fold_tasks.fold_attempt_end(run, event, None)
        case ev.QuestionAsked():
            return fold_questions.fold_question(run, event, fact)
        case ev.QuestionAnswered():
            return fold_questions.fold_answer(run, event, fact)
        case ev.QuestionExpired():
            return fold_questions.fold_expiry(run, event, fact)
        case _:
            assert_never(fact)
