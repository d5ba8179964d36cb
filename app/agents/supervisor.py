"""The supervisor: plans, rewrites what failed, reconciles. It acts only through structured replies that code checks."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from app.agents.calls import Call, ask
from app.agents.desk import Desk
from app.agents.material import in_short, missing_of, results_of
from app.agents.prompting import opening, render
from app.agents.reading import Unreadable, final_text, read_as, read_json, read_json_or_prose
from app.agents.schemas import plan_schema, refinement_schema, synthesis_schema
from app.domain import events as ev
from app.domain.conversation import Ask, Conversation, Prompt, Read, text_of
from app.domain.decisions import supervisor_step, unrefined
from app.domain.fold import extended
from app.domain.plan import Finding, Plan, Task, validated
from app.domain.results import Claim, Conflict, Statement, Synthesis
from app.domain.snapshot import Snapshot, TaskState


async def make_plan(desk: Desk) -> None:
    """Have a plan made, repaired at most once, and recorded; or record why there is none."""
    while _may_ask(desk, desk.run.planning):
        happened = await ask(desk, _planning_call(desk.run))
        ahead, _ = extended(desk.run, happened)
        await desk.record(*happened, *_plan_events(desk, ahead))


def _may_ask(desk: Desk, talk: Conversation) -> bool:
    return isinstance(supervisor_step(talk), Ask) and not talk.waits(desk.now())


def _planning_call(run: Snapshot) -> Call:
    brief = run.brief
    prompt = run.planning.prompt or opening(
        "plan", team=brief.team, tasks_allowed=brief.limits.tasks, inputs=brief.inputs, objective=brief.objective
    )
    schema = plan_schema([worker.name for worker in brief.team.workers])
    return Call("plan", brief.team.supervisor.model, run.planning, prompt, schema, visible_field="goal")


def _plan_events(desk: Desk, run: Snapshot) -> list[ev.Event]:
    """What the newest reply amounts to: a plan, or a rejection; nothing when it is not a final text."""
    step = supervisor_step(run.planning)
    if not isinstance(step, Read):
        return []
    workers = [worker.name for worker in run.brief.team.workers]
    whose: dict[str, Any] = {"at": desk.now(), "run_id": run.brief.run_id}
    try:
        plan = validated(read_plan(final_text(step, "plan_unparseable")), workers, run.brief.limits.tasks)
        findings = plan.validation.errors
    except Unreadable as error:
        findings = error.findings
    else:
        if plan.validation.ok:
            return [ev.PlanCreated(**whose, data=plan)]
    note = None
    if run.planning.may_be_repaired:
        note = render("plan_repair", findings=findings, tasks_allowed=run.brief.limits.tasks, workers=workers)
    return [ev.PlanInvalid(**whose, data=ev.Rejected(errors=findings, note=note))]


class _PlanReply(BaseModel):
    goal: str = ""
    final_instruction: str = ""
    tasks: tuple[Task, ...]


def read_plan(text: str) -> Plan:
    """The plan in a reply; a bare list of tasks counts as one. Raises `Unreadable`."""
    value = read_json(text, "plan_unparseable")
    if isinstance(value, list):
        value = {"tasks": value}
    if "tasks" not in value:
        raise Unreadable([Finding(code="plan_unparseable", detail="the reply has no field tasks")])
    reply = read_as(_PlanReply, value, "field_invalid")
    return Plan(goal=reply.goal, final_instruction=reply.final_instruction, tasks=reply.tasks)


async def refine(desk: Desk, task_id: str) -> None:
    """Have a task's instruction rewritten in view of its failures; an unchanged one ends the task."""
    while desk.run.tasks[task_id].refine_first and _may_ask(desk, desk.run.tasks[task_id].refining):
        happened = await ask(desk, _refining_call(desk.run, desk.run.tasks[task_id]))
        ahead, _ = extended(desk.run, happened)
        await desk.record(*happened, *_refined_events(desk, ahead, ahead.tasks[task_id]))


def _refining_call(run: Snapshot, task: TaskState) -> Call:
    return Call(
        "refine",
        run.brief.team.supervisor.model,
        task.refining,
        task.refining.prompt or _refining_prompt(run, task),
        refinement_schema(),
        visible_field="instruction",
        task_id=task.task.id,
        attempt=len(task.attempts) + 1,
    )


def _refining_prompt(run: Snapshot, task: TaskState) -> Prompt:
    attempts = [
        {
            "number": attempt.number,
            "instruction": attempt.instruction,
            "error": attempt.error,
            "last_words": last_words(attempt.conversation),
        }
        for attempt in task.attempts
    ]
    return opening(
        "refine",
        team=run.brief.team,
        worker=run.brief.team.worker(task.task.worker),
        task=task.task,
        dependencies=in_short(run.tasks[name] for name in task.task.depends_on),
        inputs=run.brief.inputs,
        attempts=attempts,
    )


def last_words(talk: Conversation) -> str:
    """What a worker said last, shortened: it helps to see what went wrong, and is no result."""
    said = text_of(talk.turns[-1].content) if talk.turns else ""
    return said[:1_000]


class _RefinementReply(BaseModel):
    instruction: str = Field(min_length=1)
    change: str = ""


def _refined_events(desk: Desk, run: Snapshot, task: TaskState) -> list[ev.Event]:
    step = supervisor_step(task.refining)
    if not isinstance(step, Read):
        return []
    try:
        value = read_json_or_prose(final_text(step, "output_invalid"), "output_invalid", {"instruction"})
        reply = read_as(_RefinementReply, {"instruction": value} if isinstance(value, str) else value, "output_invalid")
    except Unreadable as error:
        return [unrefined(run, task, str(error), desk.now())]
    tried = {" ".join(attempt.instruction.split()) for attempt in task.attempts}
    if " ".join(reply.instruction.split()) in tried:
        return [unrefined(run, task, "it was the same as before", desk.now())]
    number = len(task.attempts)
    data = ev.Refined(
        instruction=reply.instruction, refined_from=number, change=reply.change, free_form=isinstance(value, str)
    )
    whose: dict[str, Any] = {"at": desk.now(), "run_id": run.brief.run_id}
    return [ev.TaskRefined(**whose, task_id=task.task.id, attempt=number + 1, data=data)]


async def synthesize(desk: Desk) -> None:
    """Have the results reconciled, checked and recorded; repaired at most once."""
    while _may_ask(desk, desk.run.reconciling):
        happened = await ask(desk, _synthesis_call(desk.run))
        ahead, _ = extended(desk.run, happened)
        await desk.record(*happened, *_synthesis_events(desk, ahead))


def _synthesis_call(run: Snapshot) -> Call:
    delivered, missing = _by_outcome(run)
    prompt = run.reconciling.prompt or opening(
        "synthesis",
        team=run.brief.team,
        objective=run.brief.objective,
        plan=run.plan,
        results=results_of(run.delivered),
        missing=missing_of(task for task in run.tasks.values() if not task.delivered),
    )
    schema = synthesis_schema(delivered, missing)
    return Call("synthesize", run.brief.team.supervisor.model, run.reconciling, prompt, schema, visible_field="answer")


def _by_outcome(run: Snapshot) -> tuple[list[str], list[str]]:
    missing = [task.task.id for task in run.tasks.values() if not task.delivered]
    return [task.task.id for task in run.delivered], missing


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore")


def _or_empty(value: Any) -> Any:
    return () if value is None else value


class _ConflictReply(_Reply):
    topic: str
    claims: tuple[Claim, ...]
    status: str = "unresolved"
    resolution: str | None = None
    method: str | None = None
    confidence: float | None = None


class _GapReply(_Reply):
    task: str
    impact: str = ""


class _SynthesisReply(_Reply):
    answer: str = Field(min_length=1)
    confidence: float | None = None
    statements: Annotated[tuple[Statement, ...], BeforeValidator(_or_empty)] = ()
    conflicts: Annotated[tuple[_ConflictReply, ...], BeforeValidator(_or_empty)] = ()
    gaps: Annotated[tuple[_GapReply, ...], BeforeValidator(_or_empty)] = ()


def _synthesis_events(desk: Desk, run: Snapshot) -> list[ev.Event]:
    step = supervisor_step(run.reconciling)
    if not isinstance(step, Read):
        return []
    delivered, missing = _by_outcome(run)
    whose: dict[str, Any] = {"at": desk.now(), "run_id": run.brief.run_id}
    try:
        synthesis = read_synthesis(final_text(step, "output_invalid"), delivered, missing)
        return [ev.SynthesisCompleted(**whose, data=synthesis)]
    except Unreadable as error:
        note = None
        if run.reconciling.may_be_repaired:
            note = render("synthesis_repair", findings=error.findings, delivered=delivered)
        return [ev.SynthesisRejected(**whose, data=ev.Rejected(errors=error.findings, note=note))]


def read_synthesis(text: str, delivered: Sequence[str], missing: Sequence[str]) -> Synthesis:
    """The answer in a reply; prose is an answer without statements.

    Raises `Unreadable`, also when the answer rests on tasks that delivered nothing.
    """
    value = read_json_or_prose(text, "output_invalid", {"answer"})
    reply = read_as(_SynthesisReply, {"answer": value} if isinstance(value, str) else value, "output_invalid")
    named = [task for statement in reply.statements for task in statement.tasks]
    named += [claim.task for conflict in reply.conflicts for claim in conflict.claims]
    if unknown := sorted(set(named) - set(delivered)):
        listed = ", ".join(unknown)
        detail = f"statements and claims may rest only on tasks that delivered; these did not: {listed}"
        raise Unreadable([Finding(code="task_unknown", detail=detail)])
    return Synthesis(
        answer=reply.answer,
        confidence=min(max(reply.confidence, 0.0), 1.0) if reply.confidence is not None else None,
        statements=reply.statements,
        conflicts=tuple(_conflict(number, found) for number, found in enumerate(reply.conflicts, 1)),
        impacts={gap.task: gap.impact for gap in reply.gaps if gap.task in missing},
        free_form=isinstance(value, str),
    )


def _conflict(number: int, found: _ConflictReply) -> Conflict:
    return Conflict(
        id=f"c{number}",
        topic=found.topic,
        claims=found.claims,
        status="resolved" if found.status == "resolved" else "unresolved",
        resolution=found.resolution,
        method=found.method,
        confidence=found.confidence,
    )
