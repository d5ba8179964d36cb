"""How a run ends, and what it hands over: the part of the result that code vouches for."""

from datetime import datetime
from typing import Any

from app.domain import events as ev
from app.domain.coverage import Coverage
from app.domain.events import Entry
from app.domain.nested import ChildStopped
from app.domain.policy.chosen import basis_told, choice_of, heard_in, strategy_of
from app.domain.policy.conflicts import is_unused_tie, refuses, rejected_answer
from app.domain.policy.covered import material_covered
from app.domain.policy.files import with_files
from app.domain.policy.gaps import Errors, gaps_in
from app.domain.policy.handed_up import gap_handed_up, half_done, lacks_half
from app.domain.policy.reduced import groups_beneath, shortened_in, why_shortened
from app.domain.questions import Assumption
from app.domain.results import Problem, Result, Statement, TaskReport
from app.domain.reviews import Review
from app.domain.sifting import findings_told, said_of_suppressed
from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState
from app.domain.text import shorten
from app.domain.tool_use import claims_deed, says_deed, says_own_deed

MESSAGE_CHARACTERS = 1_000
"""What a message may quote of a model's words: events, rows and later prompts repeat it."""
TEXT_CHARACTERS = 20_000
"""What a run's result repeats of each task's text: it is stored with the run, and sent whenever that is read."""

WITHOUT_IT = Problem(code="timeout", message="The run went on to its answer without it.")
"""Why a dropped task ends with its run."""


def deadline_of(run: Snapshot) -> datetime:
    """The deadline of a run that has started."""
    assert run.deadline is not None
    return run.deadline


def result_of(run: Snapshot, errors: Errors | None = None) -> Result:
    """The result of a run in which something was delivered. The answer is null when there was no synthesis."""
    errors = errors or {}
    required = [task for task in run.tasks.values() if task.task.required]
    missing = tuple(task.task.id for task in required if not task.delivered)
    substituted = tuple(task.task.id for task in run.delivered if task.worker != task.task.worker)
    answer, confidence, statements = answer_of(run)
    reductions = groups_beneath(run)
    return Result(
        answer=answer,
        rejected_answer=None if answer is not None else rejected_answer(run),
        data=_data(run),
        data_sources=run.synthesis.data_sources if run.synthesis and answer is not None else (),
        confidence=confidence,
        statements=statements,
        conflicts=run.synthesis.conflicts if run.synthesis else (),
        gaps=(*run.answering.closed, *gaps_in(run, errors), *map(gap_handed_up, half_done(run))),
        assumptions=_assumed(run),
        coverage=Coverage(
            required=len(required),
            delivered=len(required) - len(missing),
            missing=missing,
            substituted=substituted,
            unverified=_unverified(run),
            shortened=shortened_in(run, reductions),
            material=material_covered(run),
        ),
        strategy=strategy_of(run),
        selection=choice_of(run),
        reductions=reductions,
        rounds=run.answering.round,
        review=review_of(run),
        outputs=tuple(_report(task, errors) for task in run.tasks.values()),
        free_form=_is_free_form(run),
    )


def answer_of(run: Snapshot) -> tuple[str | None, float | None, tuple[Statement, ...]]:
    """The answer there is, how far it can be trusted, and what its sentences rest on."""
    if run.synthesis is not None and refuses(run):
        return None, None, ()
    if run.synthesis is not None:
        return _naming(run, run.synthesis.answer), run.synthesis.confidence, run.synthesis.statements
    if not run.answers_alone:
        return None, None, ()
    [only] = run.delivered
    output = only.output
    assert output is not None  # It delivered.
    answer = output.text if output.text.strip() else output.summary
    statement = Statement(text=output.summary if output.summary.strip() else answer, tasks=(only.task.id,))
    return _naming(run, answer), output.confidence, (statement,)


def _data(run: Snapshot) -> Any:
    """What fits the schema of the job or the team, or what was found; without such what the only task has to show."""
    sifting = run.answering.sifting
    if sifting.order is not None:
        return findings_told(sifting)
    if sifting.tasks or (run.plan is not None and run.brief.reports_findings(run.plan)):
        return None  # Nobody has looked at what was reported: it stands among the outputs.
    if run.brief.output_schema is not None:
        return run.synthesis.data if run.synthesis is not None and not refuses(run) else None
    choice = choice_of(run)
    chosen = run.tasks[choice.task] if choice is not None and choice.task is not None else None
    only = chosen or (run.delivered[0] if len(run.tasks) == 1 else None)
    return only.output.data if only is not None and only.output else None


def _assumed(run: Snapshot) -> tuple[Assumption, ...]:
    """What the answer there is rests on that was taken for granted."""
    return run.assumed_by(basis_told(run, heard_in(run)))


def _naming(run: Snapshot, answer: str) -> str:
    """The answer with each assumption that it rests on and does not name itself, and what nothing bears out."""
    unnamed = [each for each in _assumed(run) if each.assumption not in answer]
    notes = [f"- {each.assumption} (nobody answered: {each.question})" for each in unnamed]
    parts = [answer, "", "Assumed for this answer:", "", *notes] if notes else [answer]
    says = says_deed(answer) or says_own_deed(answer)
    outputs = [(task.task.id, task.output) for task in basis_told(run, run.delivered)]
    if doubtful := [name for name, output in outputs if output and output.unverified and (claims_deed(output) or says)]:
        parts += ["", f"Not borne out by any tool call: what these tasks say they did: {', '.join(doubtful)}."]
    if left_out := said_of_suppressed(run.answering.sifting):
        parts += ["", left_out]
    return "\n".join(parts)


def _unverified(run: Snapshot) -> tuple[str, ...]:
    return tuple(task.task.id for task in run.delivered if task.output and task.output.unverified)


def _is_free_form(run: Snapshot) -> bool:
    if run.synthesis is not None:
        return run.synthesis.free_form
    only = run.delivered[0].output if run.answers_alone else None
    return only is not None and only.free_form


def review_of(run: Snapshot) -> Review | None:
    """What the critic says of the answer that goes out; None where no critic was asked for."""
    if not run.brief.wants_review or run.brief.is_dry:
        return None
    reviews = run.answering.reviews
    if reviews and run.answering.is_reviewed:
        return reviews[-1]
    return Review(verdict="none", rounds=len(reviews), notes=reviews[-1].notes if reviews else "")


def _report(task: TaskState, errors: Errors) -> TaskReport:
    status = "cancelled" if task.task.id in errors else task.status
    report = TaskReport(
        task=task.task.id, worker=task.worker, status=status, error=task.error or errors.get(task.task.id)
    )
    output = task.output
    if output is None:
        return report
    text, omitted = shorten(output.text, TEXT_CHARACTERS)
    told = output.model_dump(exclude={"text", "artifacts"})
    return report.model_copy(update=told | {"text": text, "omitted": omitted})


def ends_unanswered(run: Snapshot) -> str | None:
    """Why a run is to fail for lack of an answer, in words; None when it is not."""
    for question in run.questions.values():
        if question.status == "expired" and question.default.action == "fail":
            return shorten(f"Nobody has answered the question: {question.question}", MESSAGE_CHARACTERS)[0]
    return None


def _receipt(run: Snapshot, now: datetime) -> ev.RunCancelled:
    """What a cancellation stopped, and what was still spent after it was asked for."""
    assert run.cancellation is not None
    return ev.RunCancelled(
        requested_at=run.cancellation.requested_at,
        completed_at=now,
        reason=run.cancellation.reason,
        tasks=tuple(
            ev.TaskStopped(
                task=task.task.id,
                status=task.status if task.ended else "cancelled",
                stopped_at=None if task.ended else now,
            )
            for task in run.tasks.values()
        ),
        children=tuple(
            ChildStopped(run=child.run, task=task.task.id, status=child.status)
            for task, child in run.children
            if child.run not in run.ended_before_cancel
        ),
        cost_usd_after_request=run.usage.cost_usd - run.usage_at_cancel.cost_usd,
    )


def cancel(run: Snapshot, now: datetime) -> list[Entry]:
    """The end of a run whose client asked for it."""
    return [*stop_tasks(run), Entry(_receipt(run, now))]


def deliver(run: Snapshot) -> list[Entry]:
    """Succeeded, or partial when a required task is missing, or the budget cut any: code decides that, not a model."""
    heard = heard_in(run)
    undelivered = [task for task in run.tasks.values() if task.task.required and task not in heard]
    if refuses(run) or run.answering.is_overtaken:
        return end_partially(run, "synthesis_failed", WITHOUT_IT)
    review = review_of(run)
    unaccepted = review is not None and review.verdict != "accepted"
    choice = choice_of(run)
    unchosen = choice is not None and choice.task is None
    if run.exhausted is not None and (unaccepted or unchosen or len(heard) < len(run.tasks)):
        return end_partially(run, "budget_exhausted", WITHOUT_IT)
    if unchosen or any(is_unused_tie(run, name) for name in run.tasks):
        is_late = unchosen and run.answering.unchosen == "timeout"
        return end_partially(run, "deadline_exceeded" if is_late else "synthesis_failed", WITHOUT_IT)
    if unaccepted:
        return end_partially(run, "review_failed", WITHOUT_IT)
    is_whole = not undelivered and not lacks_half(run)
    if is_whole and (shortened := why_shortened(run)) is not None:
        return end_partially(run, shortened, WITHOUT_IT)
    if is_whole:
        stops = stop_tasks(run, WITHOUT_IT)
        result, files = with_files(run, result_of(run, _errors_of(run, WITHOUT_IT)))
        return [*stops, Entry(ev.RunSucceeded(stop_reason="completed", result=result, artifacts=files))]
    cut = any(task.status == "cancelled" and not task.dropped for task in undelivered)
    return end_partially(run, "deadline_exceeded" if cut else "gaps", WITHOUT_IT)


def end_planned(run: Snapshot) -> Entry:
    """The end of a dry run: there is a plan, and nothing was executed."""
    return Entry(ev.RunSucceeded(stop_reason="planned", result=result_of(run)))


def end_partially(run: Snapshot, reason: str, problem: Problem) -> list[Entry]:
    """The end of a run that has something to hand over, and lacks something. What is left ends with `problem`."""
    result, files = with_files(run, result_of(run, _errors_of(run, problem)))
    return [*stop_tasks(run, problem), Entry(ev.RunPartial(stop_reason=reason, result=result, artifacts=files))]


def _errors_of(run: Snapshot, problem: Problem | None) -> Errors:
    """The errors of the tasks that have not ended, when they end with the run."""
    return {name: problem for name, task in run.tasks.items() if not task.ended}


def run_out(run: Snapshot, reason: str, message: str) -> list[Entry]:
    """The end when time or money has run out: what is there is handed over, without another call."""
    if not run.delivered:
        return fail(run, reason, message)
    code = "budget_exceeded" if reason == "budget_exhausted" else "timeout"
    return end_partially(run, reason, Problem(code=code, message=message))


def time_out(run: Snapshot) -> list[Entry]:
    """The end when time has run out. A run that has nothing since it was held from its provider says so."""
    if not run.delivered and any(name.startswith("model:") for name in run.breakers):
        return fail(run, "provider_unavailable", "The provider could not be reached for as long as the run had time.")
    return run_out(run, "deadline_exceeded", "The run's time is up.")


def fail(run: Snapshot, reason: str, message: str) -> list[Entry]:
    """The end of a run that brings no answer; what was delivered is shown all the same."""
    problem, stops = Problem(code=reason, message=message), stop_tasks(run)
    if not run.delivered:
        return [*stops, Entry(ev.RunFailed(stop_reason=reason, error=problem))]
    result, files = with_files(run, result_of(run, _errors_of(run, None)))
    return [*stops, Entry(ev.RunFailed(stop_reason=reason, error=problem, result=result, artifacts=files))]


def stop_tasks(run: Snapshot, problem: Problem | None = None) -> list[Entry]:
    """Every task that has not ended, cancelled, and every attempt that is left."""
    return [entry for task in run.tasks.values() for entry in _stop_task(task, problem)]


def stop_attempts(task: TaskState) -> list[Entry]:
    """The attempts of a task that need not go on, cancelled: all of one that has ended, else all but the latest."""
    left = task.running if task.ended else task.running[:-1]
    if not left:
        return []
    stopped = ev.AttemptCancelled(delivered=task.attempt.number if task.delivered else None)
    return [Entry(stopped, task.task.id, attempt.number) for attempt in left]


def _stop_task(task: TaskState, problem: Problem | None) -> list[Entry]:
    if task.ended:
        return stop_attempts(task)
    number = task.attempt.number if task.status == "running" else None
    return [*stop_attempts(task), Entry(ev.TaskCancelled(error=problem), task.task.id, number)]
