"""Planning: from the objective to a graph of tasks, repaired at most once."""

from collections.abc import Sequence
from functools import lru_cache

from pydantic import BaseModel

from app.agents.prompting import opening, render
from app.agents.reading import Unreadable, read_as, read_json, without_nulls
from app.agents.role import Offer, Role
from app.agents.shapes import FLAG, TEXT, Schema, closed, listed, one_of
from app.domain import events as ev
from app.domain.breaker_names import tool_breaker, worker_breaker
from app.domain.conversation import Prompt
from app.domain.events import Entry
from app.domain.plan import Finding, Plan, Task, validated
from app.domain.policy.routing import routed
from app.domain.snapshot import Snapshot
from app.domain.topics import Topic


def _open(run: Snapshot, _: Topic) -> Prompt:
    brief = run.brief
    return opening(
        "plan",
        team=brief.team,
        tasks_allowed=brief.limits.tasks,
        inputs=brief.inputs,
        objective=brief.objective,
        out_of_order=_out_of_order(run),
    )


def _out_of_order(run: Snapshot) -> list[str]:
    """The workers and tools of the team that are left alone for a while, and may not be tried again yet."""
    team = run.brief.team
    workers = [worker.name for worker in team.workers if run.keeps_off(worker_breaker(team.name, worker.name))]
    tools = {tool for worker in team.workers for tool in worker.tools if run.keeps_off(tool_breaker(tool))}
    return [*(f"worker {name}" for name in workers), *(f"tool {name}" for name in sorted(tools))]


def _offer(run: Snapshot, _: Topic) -> Offer:
    return Offer(run.brief.team.supervisor.model, _schema(_workers(run)), visible_field="goal")


def _workers(run: Snapshot) -> tuple[str, ...]:
    return tuple(worker.name for worker in run.brief.team.workers)


@lru_cache(maxsize=64)
def _schema(workers: Sequence[str]) -> Schema:
    """A plan whose tasks name only these workers."""
    task = closed(
        id=TEXT,
        title=TEXT,
        instruction=TEXT,
        context=TEXT,
        success_criterion=TEXT,
        worker=one_of(workers),
        depends_on=listed(TEXT),
        required=FLAG,
    )
    return closed(goal=TEXT, final_instruction=TEXT, tasks=listed(task))


def _read(run: Snapshot, topic: Topic, text: str) -> Sequence[Entry]:
    plan = validated(routed(run, read_plan(text)), _workers(run), run.brief.limits.tasks)
    if not plan.validation.ok:
        raise Unreadable(plan.validation.errors)
    return [topic.entry(ev.PlanCreated.of(plan))]


def _reject(run: Snapshot, topic: Topic, findings: Sequence[Finding]) -> Sequence[Entry]:
    note = None
    if run.conversation(topic).may_be_repaired:
        note = render("plan_repair", findings=findings, tasks_allowed=run.brief.limits.tasks, workers=_workers(run))
    return [topic.entry(ev.PlanInvalid(errors=tuple(findings), note=note))]


class _PlanReply(BaseModel):
    goal: str = ""
    final_instruction: str = ""
    tasks: tuple[Task, ...]


def read_plan(text: str) -> Plan:
    """The plan in a reply; a bare list of tasks counts as one. Raises `Unreadable`."""
    value = without_nulls(read_json(text, "plan_unparseable"))
    if isinstance(value, list):
        value = {"tasks": value}
    if "tasks" not in value:
        raise Unreadable([Finding(code="plan_unparseable", detail="the reply has no field tasks")])
    reply = read_as(_PlanReply, value, "field_invalid")
    return Plan(goal=reply.goal, final_instruction=reply.final_instruction, tasks=reply.tasks)


PLAN = Role(
    open=_open,
    offer=_offer,
    material=lambda run, _: [run.brief.objective],
    read=_read,
    reject=_reject,
    unreadable="plan_unparseable",
)
