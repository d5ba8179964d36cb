"""Rules of a team that send jobs and tasks to fixed workers, so that no model is asked who does them."""

from app.domain.plan import TEXT_LIMITS, Plan, Task, validated
from app.domain.snapshot import Snapshot
from app.domain.strategies import USUAL
from app.domain.team import Team
from app.domain.text import shorten

TITLE_CHARACTERS = 80


def worker_by_rule(team: Team, objective: str) -> str | None:
    """The worker to whom a rule sends a job as a whole; None without such a rule, or for a job that is no one task."""
    return team.route_for(objective) if len(objective) <= TEXT_LIMITS["instruction"] else None


def plan_by_rule(run: Snapshot) -> Plan | None:
    """The plan of a job that a rule sends to one worker: the objective as its only task. None without such a rule."""
    brief = run.brief
    worker = worker_by_rule(brief.team, brief.objective)
    if worker is None or run.own_plan is not None:
        return None
    title = shorten(" ".join(brief.objective.split()), TITLE_CHARACTERS)[0]
    task = Task(id="t1", title=title, instruction=brief.objective, worker=worker)
    return validated(Plan(tasks=(task,), strategy=brief.crew.strategy or USUAL), [worker], 1)


def routed(run: Snapshot, plan: Plan) -> Plan:
    """A plan that a model wrote, with the workers that rules have for its tasks."""
    team = run.brief.team
    found = {task.id: team.route_for(task.title, task.instruction) for task in plan.tasks} if team.routing else {}
    tasks = tuple(task.model_copy(update={"worker": found.get(task.id) or task.worker}) for task in plan.tasks)
    return plan.model_copy(update={"tasks": tasks})
