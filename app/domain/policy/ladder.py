"""What may follow a failed attempt at a task: the rungs of the team's ladder, and what a supervisor may rule."""

from app.domain.breaker_names import worker_breaker
from app.domain.policy.repetition import fruitless
from app.domain.policy.splitting import parts_allowed
from app.domain.results import EscalationDecision
from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState
from app.domain.team import Rung
from app.domain.text import is_blank
from app.domain.topics import Topic
from app.domain.worker import TIERS


def is_last(run: Snapshot, task: TaskState) -> bool:
    """Whether the task may have no attempt after the latest."""
    return len(task.attempts) >= run.brief.limits.attempts


def next_rung(run: Snapshot, task: TaskState) -> Rung:
    """What follows the failure of the latest attempt: the next rung that is possible, or what stands for the rest.

    What has led to the same words again is passed over too.
    """
    ladder, in_vain = run.brief.team.ladder, fruitless(run, task)
    above = list(ladder)
    for rung in task.next.climbed:
        if rung in above:
            above = above[above.index(rung) + 1 :]
    possible: dict[Rung, bool] = {
        "refine": True,
        "stronger_model": stronger_model(run, task) is not None,
        "fallback_worker": fallback_of(run, task) is not None,
        "ask_human": not task.dropped and task.attempt.escalation is not None and run.on_question == "ask",
        "give_up": True,
    }
    rest: Rung = "refine" if "refine" in ladder and "give_up" not in ladder else "give_up"
    return next((rung for rung in (*above, rest) if possible[rung] and rung not in in_vain), "give_up")


def stronger_model(run: Snapshot, task: TaskState) -> str | None:
    """The tier above the one that plays the worker; None above the highest, and for models that are no tier.

    Tiers that stand for a model on which the worker has tried are passed over.
    """
    worker, models = run.brief.team.worker(task.next.worker), run.brief.models
    if worker is not None and worker.team is not None:
        return None
    tier = task.next.model or (worker.model if worker else "")
    if tier not in TIERS:
        return None
    tried = {attempt.model for attempt in task.attempts if attempt.worker == task.next.worker}
    above = TIERS[TIERS.index(tier) + 1 :]
    return next((name for name in above if models.get(name, name) not in tried | {models.get(tier, tier)}), None)


def fallback_of(run: Snapshot, task: TaskState) -> str | None:
    """The worker that the present one names as its fallback, unless it has tried already."""
    worker = run.brief.team.worker(task.next.worker)
    return worker.fallback if worker and worker.fallback in others_for(run, task) else None


def others_for(run: Snapshot, task: TaskState) -> list[str]:
    """The workers of the team that have not tried the task yet, and whom no breaker keeps from it."""
    tried, team = {task.next.worker, *(attempt.worker for attempt in task.attempts)}, run.brief.team
    untried = [worker.name for worker in team.workers if worker.name not in tried]
    return [name for name in untried if not run.keeps_off(worker_breaker(team.name, name))]


def rulings(run: Snapshot, task: TaskState) -> list[EscalationDecision]:
    """What the supervisor may make of the escalation of the latest attempt."""
    escalation, in_vain = task.attempt.escalation, fruitless(run, task)
    found: list[EscalationDecision] = []
    if not is_last(run, task):
        found += ["retry_stronger_model"] if stronger_model(run, task) and "stronger_model" not in in_vain else []
        found += ["reassign"] if others_for(run, task) and "fallback_worker" not in in_vain else []
        found += ["split"] if parts_allowed(run, task) else []
        found += ["ask_human"] if not task.dropped and ("ask_human" not in task.next.climbed or not in_vain) else []
    worker = run.brief.team.worker(task.attempt.worker)
    has_form = worker is not None and worker.output_schema is not None  # That nothing partial can keep to.
    if escalation is not None and escalation.partial is not None and not is_blank(escalation.partial) and not has_form:
        found.append("accept_partial")
    return [*found, "give_up"]


def ruling_on(run: Snapshot, task: TaskState) -> Topic | None:
    """The conversation in which an escalation is ruled on; None without one, or when there is nothing to choose."""
    if task.attempt.escalation is None or rulings(run, task) == ["give_up"]:
        return None
    return Topic("rule", task.task.id, task.attempt.number)
