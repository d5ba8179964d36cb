"""The supervisor: plans, rewrites what failed, reconciles. It acts only through structured replies that code checks."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from app.agents.aside import done_aside, outputs_of
from app.agents.calls import Call
from app.agents.desk import Desk
from app.agents.material import in_short, missing_of, results_of
from app.agents.prompting import opening, render
from app.agents.reading import Unreadable, final_text
from app.agents.replies import read_plan, read_refinement, read_synthesis
from app.agents.schemas import plan_schema, refinement_schema, synthesis_schema
from app.agents.turns import take_turn
from app.domain import events as ev
from app.domain.conversation import Ask, Conversation, Prompt, Read, text_of
from app.domain.decisions import supervisor_step, unrefined
from app.domain.plan import FindingCode, validated
from app.domain.snapshot import Snapshot, TaskState


@dataclass(frozen=True, slots=True)
class _Errand:
    """What the supervisor is asked for: a conversation, its next call, and what a reply leads to."""

    talk: Callable[[Snapshot], Conversation | None]
    """The conversation; None once what was asked for is there, or no longer wanted."""
    call: Callable[[Snapshot], Call]
    material: Callable[[Snapshot], Iterable[object]]
    """What the opening of the conversation is written from."""
    follows: Callable[[Desk, Snapshot], list[ev.Event]]
    """What the newest reply amounts to; nothing when it is not a final one, or has been dealt with."""


async def _run(desk: Desk, errand: _Errand) -> None:
    """Ask until there is something to act on, nothing more to say, or a failed call that may be sent again later."""
    while (talk := errand.talk(run := desk.run)) is not None:
        if unsettled := errand.follows(desk, run):
            await desk.record(*unsettled)
        elif isinstance(supervisor_step(talk), Ask):
            call = await done_aside(errand.material(run), partial(errand.call, run))
            await take_turn(desk, call, lambda ahead: errand.follows(desk, ahead))
            heard = errand.talk(desk.run)
            if heard is not None and heard.retry_at is not None:
                return
        else:
            return


def _final_text(talk: Conversation, code: FindingCode) -> str | None:
    """What the newest reply says; None when it is not a final one. Raises `Unreadable` for one that means to go on."""
    step = supervisor_step(talk)
    return final_text(step, code) if isinstance(step, Read) and not talk.unusable else None


async def make_plan(desk: Desk) -> None:
    """Have a plan made, repaired at most once, and recorded; or record why there is none."""
    await _run(desk, _Errand(_planning_talk, _planning_call, lambda run: [run.brief.objective], _plan_events))


def _planning_talk(run: Snapshot) -> Conversation | None:
    return run.planning if run.plan is None else None


def _planning_call(run: Snapshot) -> Call:
    brief = run.brief
    prompt = run.planning.prompt or opening(
        "plan", team=brief.team, tasks_allowed=brief.limits.tasks, inputs=brief.inputs, objective=brief.objective
    )
    schema = plan_schema([worker.name for worker in brief.team.workers])
    return Call("plan", brief.team.supervisor.model, run.planning, prompt, schema, visible_field="goal")


def _plan_events(desk: Desk, run: Snapshot) -> list[ev.Event]:
    """A plan, or a rejection."""
    workers = [worker.name for worker in run.brief.team.workers]
    whose: dict[str, Any] = {"at": desk.now(), "run_id": run.brief.run_id}
    try:
        text = _final_text(run.planning, "plan_unparseable")
        if text is None or run.plan is not None:
            return []
        plan = validated(read_plan(text), workers, run.brief.limits.tasks)
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


async def refine(desk: Desk, task_id: str) -> None:
    """Have a task's instruction rewritten in view of its failures; an unchanged one ends the task."""
    await _run(
        desk,
        _Errand(
            talk=lambda run: _refining_talk(run.tasks[task_id]),
            call=lambda run: _refining_call(run, run.tasks[task_id]),
            material=lambda run: [run.tasks[task_id].task.context, *_instructions(run.tasks[task_id])],
            follows=lambda desk, run: _refined_events(desk, run, run.tasks[task_id]),
        ),
    )


def _instructions(task: TaskState) -> list[str]:
    return [attempt.instruction for attempt in task.attempts]


def _refining_talk(task: TaskState) -> Conversation | None:
    return task.refining if task.refine_first and not task.ended else None


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


def _refined_events(desk: Desk, run: Snapshot, task: TaskState) -> list[ev.Event]:
    """A new instruction, or the end of the task."""
    try:
        text = _final_text(task.refining, "output_invalid")
        if text is None or not task.refine_first or task.ended:
            return []
        reply = read_refinement(text)
    except Unreadable as error:
        return [unrefined(run, task, str(error), desk.now())]
    tried = {" ".join(instruction.split()) for instruction in _instructions(task)}
    if " ".join(reply.instruction.split()) in tried:
        return [unrefined(run, task, "it was the same as before", desk.now())]
    number = len(task.attempts)
    data = ev.Refined(
        instruction=reply.instruction, refined_from=number, change=reply.change, free_form=reply.free_form
    )
    whose: dict[str, Any] = {"at": desk.now(), "run_id": run.brief.run_id}
    return [ev.TaskRefined(**whose, task_id=task.task.id, attempt=number + 1, data=data)]


async def synthesize(desk: Desk) -> None:
    """Have the results reconciled, checked and recorded; repaired at most once."""
    await _run(desk, _Errand(_synthesis_talk, _synthesis_call, _results, _synthesis_events))


def _synthesis_talk(run: Snapshot) -> Conversation | None:
    return run.reconciling if run.synthesis is None else None


def _results(run: Snapshot) -> list[object]:
    return [run.brief.objective, run.plan.final_instruction if run.plan else "", *outputs_of(run.delivered)]


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


def _synthesis_events(desk: Desk, run: Snapshot) -> list[ev.Event]:
    """An answer, or a rejection."""
    delivered, missing = _by_outcome(run)
    whose: dict[str, Any] = {"at": desk.now(), "run_id": run.brief.run_id}
    try:
        text = _final_text(run.reconciling, "output_invalid")
        if text is None or run.synthesis is not None:
            return []
        return [ev.SynthesisCompleted(**whose, data=read_synthesis(text, delivered, missing))]
    except Unreadable as error:
        note = None
        if run.reconciling.may_be_repaired:
            note = render("synthesis_repair", findings=error.findings, delivered=delivered)
        return [ev.SynthesisRejected(**whose, data=ev.Rejected(errors=error.findings, note=note))]
