"""Tasks that a whole team does: nested runs are begun, waited for without a place, and stopped with their parent."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple, TypeVar

from app.domain import events as ev
from app.domain.artifacts import Artifact, names_within_bounds
from app.domain.errors import ErrorCode
from app.domain.events import Entry
from app.domain.instruction_like import is_instruction_like
from app.domain.job import Limits
from app.domain.nested import Allowance
from app.domain.policy.agenda import timeout_s
from app.domain.policy.commands import Decision, DecisionBuilder, RunChild
from app.domain.policy.endings import MESSAGE_CHARACTERS
from app.domain.results import NestedResult, Output, Problem, Result
from app.domain.snapshot import Snapshot
from app.domain.task_state import Attempt, TaskState
from app.domain.text import shorten
from app.domain.topics import Topic

HAND_OVER_SHARE = 0.1
HAND_OVER_CEILING_S = 10.0
"""The last part of an attempt's time is kept for its nested run to hand over what it has."""
MOST_NESTED = 100
"""Nested runs that one job may have, all levels together, those that have ended included: a team that delegates to
itself would otherwise multiply until its money is spent. Those begun at the same moment may pass it by a few."""
CANCEL_PATIENCE_S = 30.0
"""How long a run that is to end waits for the ends of its nested runs, which are cancelled first."""

NumberT = TypeVar("NumberT", int, Decimal)

_AS_FAILURE: Mapping[str, ErrorCode] = {
    "budget_exhausted": "budget_exceeded",
    "deadline_exceeded": "timeout",
    "internal_error": "internal_error",
    "model_refusal": "model_refusal",
    "request_rejected": "request_rejected",
    "provider_auth": "provider_auth",
    "provider_billing": "provider_billing",
    "provider_unavailable": "provider_unavailable",
    "cancelled": "cancelled",
    "plan_rejected": "cancelled",
    "question_expired": "cancelled",
}
"""What a nested run that failed means for the attempt, by its `stop_reason`. Of any other another attempt may come to
more, once the supervisor has rewritten the instruction: `no_progress`. What people have said no to, or not answered in
time, is not asked again."""


def go_on_with_child(run: Snapshot, task: TaskState, attempt: Attempt, draft: DecisionBuilder) -> None:
    """Have the nested run of an attempt begun, and wait for its end."""
    ends_at = attempt.since + timedelta(seconds=timeout_s(run, Topic("work", task.task.id, attempt.number)))
    if attempt.child is None:
        draft.commands.append(RunChild(task.task.id, attempt.number))
        draft.wakes.append(ends_at)
    elif not attempt.child.ended:
        draft.wait("children", ends_at)


def wants_child(run: Snapshot, topic: Topic) -> bool:
    """Whether an attempt still needs its nested run to be begun."""
    task = run.tasks.get(topic.task_id or "")
    if task is None or run.ended or topic.number > len(task.attempts):
        return False
    attempt = task.tried(topic.number)
    return attempt.status == "running" and attempt.child is None


def why_child_over(run: Snapshot, task: TaskState, attempt: Attempt, now: datetime) -> Problem | None:
    """Why an attempt whose work a nested run does has failed; None while that goes on."""
    allowed = timeout_s(run, Topic("work", task.task.id, attempt.number))
    if attempt.child is not None and attempt.child.ended:
        lost = Problem(code="internal_error", message=f"The nested run {attempt.child.run} ended, and left nothing.")
        return attempt.child.error or lost
    if now >= attempt.since + timedelta(seconds=allowed):
        return Problem(code="timeout", message=f"The nested run did not end within {allowed:g} s.")
    return None


def ends_by(run: Snapshot, topic: Topic) -> datetime:
    """When the nested run of an attempt ends at the latest: in time for its parent to hear of it."""
    attempt = run.tasks[topic.task_id or ""].tried(topic.number)
    assert run.wrap_up_at is not None
    latest = min(attempt.since + timedelta(seconds=timeout_s(run, topic)), run.wrap_up_at)
    left_s = max((latest - attempt.since).total_seconds(), 0.0)
    return latest - timedelta(seconds=min(left_s * HAND_OVER_SHARE, HAND_OVER_CEILING_S))


def limits_of_child(run: Snapshot, team: Limits, allowance: Allowance, left_s: float) -> Limits:
    """What the nested run is done within: the limits of its team, and what its parent has left."""
    return team.model_copy(
        update={
            "depth": min(team.depth, run.brief.limits.depth - 1),
            "timeout_s": min(team.timeout_s, max(left_s, 1.0)),
            "tokens": _least(team.tokens, allowance.tokens),
            "cost_usd": _least(team.cost_usd, allowance.cost_usd),
        }
    )


def _least(of_team: NumberT | None, allowed: NumberT | None) -> NumberT | None:
    return min((limit for limit in (of_team, allowed) if limit is not None), default=None)


def has_orphans(run: Snapshot) -> bool:
    """Whether nested runs go on for which the run does not wait any more."""
    if run.cancel_requested:
        return bool(run.open_children)
    left = (
        each for task in run.every_task for each in task.attempts if each.child is not None and not each.child.ended
    )
    return any(attempt.status != "running" for attempt in left)


def waits_to_cancel(run: Snapshot, now: datetime) -> Decision | None:
    """What a cancelled run does while its nested runs are being stopped: nothing but wait, for a while."""
    assert run.cancellation is not None
    until = run.cancellation.requested_at + timedelta(seconds=CANCEL_PATIENCE_S)
    if not run.open_children or now >= until:
        return None
    return Decision(wake_at=until)


def stop_children_first(run: Snapshot, ends: Sequence[Entry], now: datetime) -> Decision | None:
    """What comes before the end of a run whose nested runs are under way: they are stopped, and their ends heard of, so
    that what they have spent is counted. None once that has happened, or has taken too long, or there is no time."""
    if not run.open_children or run.deadline is None or now >= run.deadline:
        return None
    names = {task.task.id for task, _ in run.open_children}
    stops = [entry for entry in ends if entry.task_id in names and entry.fact.type.endswith(".cancelled")]
    if stops:
        return Decision(entries=tuple(stops))
    tried = (each for task, _ in run.open_children for each in task.attempts if each.child and not each.child.ended)
    stopped_at = max(attempt.finished_at or now for attempt in tried)
    until = min(stopped_at + timedelta(seconds=CANCEL_PATIENCE_S), run.deadline)
    return Decision(wake_at=until) if now < until else None


def heard_of(run: Snapshot, topic: Topic, ended: ev.ChildEnded, output: Output | None) -> list[Entry]:
    """What the end of a nested run says in its parent's log: nothing where that is known."""
    task = run.tasks.get(topic.task_id or "") or run.replaced.get(topic.task_id or "")
    if task is None or topic.number > len(task.attempts):
        return []
    attempt = task.tried(topic.number)
    if attempt.child is not None and attempt.child.ended:
        return []
    told = [topic.entry(ended)]
    if output is not None and attempt.status == "running" and not task.ended:
        told.append(topic.entry(ev.TaskSucceeded.of(output)))
    return told


def files_to_hand_up(result: Result) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the files that a nested run hands its parent, and of those that it keeps: there is room for as many
    as any result may have, and those that came with its answer go first."""
    answers_first = sorted(result.artifacts, key=lambda each: each.task is not None)
    return names_within_bounds([(each.name, each.bytes) for each in answers_first])


class HandedUp(NamedTuple):
    """The files of a nested run, as its parent gets them."""

    artifacts: tuple[Artifact, ...] = ()
    left: tuple[str, ...] = ()
    """Names of those for which there was no room."""


NO_FILES = HandedUp()


def output_of(
    run_id: str, status: str, stop_reason: str, result: Result | None, files: HandedUp = NO_FILES
) -> Output | None:
    """What a nested run hands its parent: its answer as one result, with its own gaps and conflicts, and the files that
    are handed up. None without an answer."""
    if result is None or status not in ("succeeded", "partial"):
        return None
    text = result.answer or _in_pieces(result)
    if not text.strip():
        return None
    said = result.statements[0].text if len(result.statements) == 1 else text
    nested = NestedResult(
        run=run_id,
        status="partial" if status == "partial" else "succeeded",
        stop_reason=stop_reason,
        gaps=result.gaps,
        conflicts=result.conflicts,
        assumptions=result.assumptions,
        files_left=files.left,
    )
    return Output(
        summary=shorten(said, MESSAGE_CHARACTERS)[0],
        text=text,
        data=result.data,
        confidence=result.confidence,
        sources=tuple(dict.fromkeys(source for output in result.outputs for source in output.sources)),
        free_form=result.free_form,
        partial=status == "partial",
        tool_calls=sum(output.tool_calls or 0 for output in result.outputs),
        unverified=bool(result.coverage.unverified),
        instruction_like=is_instruction_like(text) or any(output.instruction_like for output in result.outputs),
        nested=nested,
        artifacts=files.artifacts,
    )


def _in_pieces(result: Result) -> str:
    """What its tasks delivered, where they were not put together into an answer."""
    pieces = [f"{output.task}: {output.text or output.summary}" for output in result.outputs if output.summary]
    return "\n\n".join(["These results were not put together into an answer.", *pieces]) if pieces else ""


def problem_of(run_id: str, stop_reason: str, message: str) -> Problem:
    """The failure of a nested run as that of its attempt, with the reason it gave."""
    said = f"The nested run {run_id} ended with {stop_reason}. {message}".strip()
    return Problem(code=_AS_FAILURE.get(stop_reason, "no_progress"), message=shorten(said, MESSAGE_CHARACTERS)[0])
