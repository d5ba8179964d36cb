"""The part of the fold that concerns the approval of plans."""

from app.domain import events as ev
from app.domain.approvals import Approval, ApprovalStatus
from app.domain.errors import IllegalMove
from app.domain.events import Event
from app.domain.fold_run import new_tasks
from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState
from app.domain.values import changed


def fold_approval_request(run: Snapshot, asked: ev.PlanApprovalRequested) -> Snapshot:
    if run.plan is None or asked.revision != run.plan.revision or run.approval is not None:
        raise IllegalMove(f"approval of revision {asked.revision} cannot be requested")
    if any(task.attempts for task in run.tasks.values()):
        raise IllegalMove("approval of a plan cannot be requested once its tasks have begun")
    approval = Approval(cause=asked.cause, expires_at=asked.expires_at, default=asked.default)
    return changed(run, approval=approval)


def fold_edit(run: Snapshot, event: Event, edited: ev.PlanEdited) -> Snapshot:
    """None of the tasks has begun: those of the new plan take their places. What the run has begun with, from another
    one, stays where its task is as it was.
    """
    _open_for(run, event, edited.revision - 1)
    tasks = {name: _kept(run, task) for name, task in new_tasks(edited.tasks).items()}
    return changed(run, plan=edited.alone, quote=edited.quote, tasks=tasks)


def _kept(run: Snapshot, task: TaskState) -> TaskState:
    before = run.tasks.get(task.task.id)
    return changed(before, position=task.position) if before is not None and before.task == task.task else task


def fold_decision(run: Snapshot, event: Event, decided: ev.PlanApproved | ev.PlanRejected) -> Snapshot:
    approval = _open_for(run, event, decided.revision)
    status: ApprovalStatus = "approved" if isinstance(decided, ev.PlanApproved) else "rejected"
    reason = decided.reason if isinstance(decided, ev.PlanRejected) else None
    return changed(run, approval=changed(approval, status=status, by=decided.by, reason=reason))


def _open_for(run: Snapshot, event: Event, revision: int) -> Approval:
    """The approval that the plan waits for. Raises `IllegalMove` when it does not, or not in that revision."""
    if run.plan is None or run.approval is None or not run.approval.is_open:
        raise IllegalMove(f"{event.type} needs a plan that waits for approval")
    if run.plan.revision != revision:
        raise IllegalMove(f"{event.type} is about revision {revision}, and the plan is at {run.plan.revision}")
    return run.approval
