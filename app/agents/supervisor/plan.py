"""Planning: from the objective to a graph of tasks, repaired at most once."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from app.agents.prompting import opening, render
from app.agents.reading import MOST_FLAWS, Unreadable, read_as, read_json, without_nulls
from app.agents.role import Offer, Role
from app.agents.shapes import FLAG, INTEGER, NUMBER, TEXT, Schema, closed, listed, one_of, or_null
from app.domain import events as ev
from app.domain.breaker_names import tool_breaker, worker_breaker
from app.domain.conversation import Prompt
from app.domain.enlisting import checked
from app.domain.events import Entry
from app.domain.flaws import Flaw
from app.domain.job import Limits
from app.domain.lint import RESULTS_HELD, serious_in
from app.domain.plan import Plan, Task
from app.domain.plan_strategy import candidates_of, following, with_optional
from app.domain.planned_worker import PlannedWorker
from app.domain.policy.routing import routed
from app.domain.snapshot import Snapshot
from app.domain.strategies import USUAL, Strategy, strategies_open
from app.domain.topics import Topic
from app.domain.worker import TIERS


def _open(run: Snapshot, _: Topic) -> Prompt:
    brief = run.brief
    return opening(
        "plan",
        team=brief.team,
        workers=_described(run),
        limits=brief.limits,
        tasks_allowed=_tasks_allowed(run),
        results_held=RESULTS_HELD,
        inputs=brief.inputs,
        objective=brief.objective,
        dynamic=brief.team.dynamic,
        dynamic_tools=_described_tools(run),
        out_of_order=_out_of_order(run),
        strategies=strategies_open(brief.crew.strategy),
        has_teams=any(worker.team is not None for worker in brief.team.workers),
    )


def _described(run: Snapshot) -> list[dict[str, Any]]:
    """The workers as the planner chooses among them."""
    crew = run.brief.crew
    return [
        {
            "name": worker.name,
            "description": worker.description,
            "tools": worker.tools,
            "acts_with": crew.acting_tools(worker),
        }
        | ({"team": True} if worker.team is not None else {})
        for worker in run.brief.team.workers
    ]


def _described_tools(run: Snapshot) -> list[dict[str, Any]]:
    """The tools that workers of the plan's own may have."""
    means = run.brief.means
    return [{"name": name, "acts": name in means and means[name].acts} for name in run.brief.team.dynamic_tools]


def _tasks_allowed(run: Snapshot) -> int:
    """Tasks that a plan may have: no more than one answer can be made from, unless results may be reduced first."""
    allowed = run.brief.limits.tasks
    return allowed if "reduce" in strategies_open(run.brief.crew.strategy) else min(allowed, RESULTS_HELD)


def _out_of_order(run: Snapshot) -> list[str]:
    """The workers and tools of the team that are left alone for a while, and may not be tried again yet."""
    team = run.brief.team
    workers = [worker.name for worker in team.workers if run.keeps_off(worker_breaker(team.name, worker.name))]
    tools = {tool for worker in team.workers for tool in worker.tools if run.keeps_off(tool_breaker(tool))}
    return [*(f"worker {name}" for name in workers), *(f"tool {name}" for name in sorted(tools))]


def _offer(run: Snapshot, _: Topic) -> Offer:
    strategies = strategies_open(run.brief.crew.strategy)
    schema = _schema(_workers(run), _dynamic_tools(run), tuple(strategies))
    return Offer(run.brief.team.supervisor.model, schema, visible_field="goal")


def _workers(run: Snapshot) -> tuple[str, ...]:
    return tuple(worker.name for worker in run.brief.team.workers)


def _dynamic_tools(run: Snapshot) -> tuple[str, ...] | None:
    """The tools for workers that the plan brings along; None where it may bring none."""
    return run.brief.team.dynamic_tools if run.brief.team.dynamic else None


@lru_cache(maxsize=64)
def _schema(workers: Sequence[str], dynamic_tools: Sequence[str] | None, strategies: Sequence[str]) -> Schema:
    """A plan whose tasks name only these workers, or those that it brings along."""
    task = closed(
        id=TEXT,
        title=TEXT,
        instruction=TEXT,
        context=TEXT,
        success_criterion=TEXT,
        worker=one_of(workers) if dynamic_tools is None else TEXT,
        depends_on=listed(TEXT),
        required=FLAG,
        on_missing_input=one_of(["skip", "proceed"]),
        budget=or_null(closed(tokens=or_null(INTEGER), steps=or_null(INTEGER), timeout_s=or_null(NUMBER))),
    )
    about = {"goal": TEXT, "strategy": one_of(strategies), "final_instruction": TEXT}
    if dynamic_tools is None:
        return closed(**about, tasks=listed(task))
    tools = listed(one_of(dynamic_tools) if dynamic_tools else TEXT)
    worker = closed(name=TEXT, description=TEXT, instructions=TEXT, model=one_of(TIERS), tools=tools)
    return closed(**about, workers=listed(worker), tasks=listed(task))


def _read(run: Snapshot, topic: Topic, text: str) -> Sequence[Entry]:
    crew = run.brief.crew
    plan = following(read_plan(text), crew)
    plan = bounded(routed(run, with_optional(plan, candidates_of(plan))), crew.limits)
    plan = checked(plan, crew)
    if not plan.validation.ok:
        raise Unreadable(plan.validation.errors)
    if (flaws := serious_in(plan)) and run.conversation(topic).may_be_repaired:
        return _reject(run, topic, flaws[:MOST_FLAWS], plan)
    return [topic.entry(ev.PlanCreated.made_by("supervisor", plan))]


def _reject(run: Snapshot, topic: Topic, flaws: Sequence[Flaw], sound: Plan | None = None) -> Sequence[Entry]:
    """`sound` is the plan where it could be carried out with what is wrong with it."""
    note = None
    if run.conversation(topic).may_be_repaired:
        note = render("plan_repair", flaws=flaws, tasks_allowed=_tasks_allowed(run), workers=_workers(run))
    return [topic.entry(ev.PlanInvalid(errors=tuple(flaws), note=note, sound=sound))]


class _PlanReply(BaseModel):
    goal: str = ""
    strategy: Strategy = USUAL
    final_instruction: str = ""
    workers: tuple[PlannedWorker, ...] = ()
    tasks: tuple[Task, ...]


def read_plan(text: str) -> Plan:
    """The plan in a reply; a bare list of tasks counts as one. Raises `Unreadable`."""
    value = without_nulls(read_json(text, "plan_unparseable"))
    if isinstance(value, list):
        value = {"tasks": value}
    if "tasks" not in value:
        raise Unreadable([Flaw(code="plan_unparseable", detail="the reply has no field tasks")])
    reply = read_as(_PlanReply, value, "field_invalid")
    return Plan(**{name: getattr(reply, name) for name in _PlanReply.model_fields})


def bounded(plan: Plan, limits: Limits) -> Plan:
    """The plan with no task's budget beyond what the whole run has."""
    most: Mapping[str, float | None] = {"tokens": limits.tokens, "timeout_s": limits.timeout_s}

    def within(task: Task) -> Task:
        beyond = {
            name: allowed
            for name, allowed in most.items()
            if allowed is not None and (getattr(task.budget, name) or 0) > allowed
        }
        return task.model_copy(update={"budget": task.budget.model_copy(update=beyond)}) if beyond else task

    return plan.model_copy(update={"tasks": tuple(map(within, plan.tasks))})


PLAN = Role(
    open=_open,
    offer=_offer,
    material=lambda run, _: [run.brief.objective],
    read=_read,
    reject=_reject,
    unreadable="plan_unparseable",
)
