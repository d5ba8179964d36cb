"""Rules of a team that send jobs and tasks to fixed workers, so that no model is asked who does them."""

from collections.abc import Iterator

from app.domain.plan import TEXT_LIMITS, Plan, Task, validated
from app.domain.snapshot import Snapshot
from app.domain.strategies import USUAL
from app.domain.team import Team
from app.domain.team_rules import Route
from app.domain.text import shorten

TITLE_CHARACTERS = 80


def rule_for(team: Team, objective: str, *, has_inputs: bool) -> Route | None:
    """The rule that sends a job as a whole somewhere; None without one, or for an objective that is no instruction."""
    fits = len(objective) <= TEXT_LIMITS["instruction"]
    return team.rule_for_job(objective, has_inputs=has_inputs) if fits else None


def plan_by_rule(run: Snapshot) -> Plan | None:
    """The plan of a job that a rule sends somewhere: the objective as one task, and what a second worker makes of it.

    None without such a rule, and for a plan of the client's own.
    """
    brief = run.brief
    rule = rule_for(brief.team, brief.objective, has_inputs=bool(brief.inputs))
    if rule is None or run.own_plan is not None:
        return None
    first = Task(id="t1", title=_title(brief.objective), instruction=brief.objective, worker=rule.worker)
    tasks = (first, *_tasks_after(first, rule)) if brief.limits.tasks > 1 else (first,)
    return validated(Plan(tasks=tasks, strategy=brief.crew.strategy or USUAL), rule.workers, len(tasks))


def _tasks_after(first: Task, rule: Route) -> Iterator[Task]:
    if (secondary := rule.secondary) is None:
        return
    yield Task(
        id="t2",
        title=_title(secondary.instruction),
        instruction=secondary.instruction,
        context=shorten(first.instruction, TEXT_LIMITS["context"])[0],
        worker=secondary.worker,
        depends_on=(first.id,),
    )


def _title(text: str) -> str:
    title = " ".join(text.split())
    return title if len(title) <= TITLE_CHARACTERS else f"{title[: TITLE_CHARACTERS - 1]}…"


def routed(run: Snapshot, plan: Plan) -> Plan:
    """A plan that a model wrote, with the workers that rules have for its tasks."""
    if not run.brief.team.routing:
        return plan
    tasks = (task.model_copy(update={"worker": worker_by_rule(run, task) or task.worker}) for task in plan.tasks)
    return plan.model_copy(update={"tasks": tuple(tasks)})


def worker_by_rule(run: Snapshot, task: Task) -> str | None:
    """The worker that a rule has for a task; None without one."""
    return run.brief.team.worker_by_rule(task.title, task.instruction, has_inputs=bool(run.brief.inputs))


def is_sent_by_rule(run: Snapshot, task: Task) -> bool:
    """Whether the task is with its worker because a rule says so. Its title may be of an earlier release."""
    made = plan_by_rule(run)
    tasks = () if made is None else made.tasks
    sent = {(each.id, each.instruction, each.worker) for each in tasks}
    return worker_by_rule(run, task) == task.worker or (task.id, task.instruction, task.worker) in sent
