"""The worker: does one task with its own tools, in a bounded loop, and ends in a result or an escalation."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from app.agents.aside import done_aside, outputs_of
from app.agents.calls import Call
from app.agents.desk import Desk
from app.agents.material import missing_of, results_of
from app.agents.prompting import opening, render
from app.agents.reading import Unreadable, final_text
from app.agents.report import read_report
from app.agents.schemas import report_schema
from app.agents.turns import take_turn
from app.domain import events as ev
from app.domain.conversation import Ask, Block, Prompt, Read, UseTools, tool_calls_of
from app.domain.decisions import max_steps, step_of, time_left_s
from app.domain.results import Escalation, Problem
from app.domain.snapshot import Attempt, Snapshot, TaskState
from app.domain.team import Worker
from app.llm.demo import MODEL_ID as DEMO_MODEL
from app.tools.tool import Tool, ToolContext, call

INPUT_TOOLS = {"read_input", "query_data"}
"""Tools that read the job's inputs: their workers are told what there is."""


CALLS_AT_ONCE = 8
"""Tool calls of one turn that run at the same time."""


async def work_on(desk: Desk, task_id: str) -> None:
    """Go on with the task's running attempt until it has ended or cannot go on."""
    await _settle_unknown(desk, desk.run.tasks[task_id])
    while (task := desk.run.tasks[task_id]).status == "running" and task.attempts[-1].escalation is None:
        unsettled = _consequences(desk, desk.run, task)
        step = step_of(desk.run, task)
        if unsettled:
            await desk.record(*unsettled)
        elif isinstance(step, Ask):
            await _ask(desk, task)
            if desk.run.tasks[task_id].attempts[-1].conversation.retry_at is not None:
                return  # Not now: whoever sent us here knows when.
        elif isinstance(step, UseTools):
            await _use_tools(desk, task, step.calls)
        else:
            return


async def _ask(desk: Desk, task: TaskState) -> None:
    needed = [desk.run.tasks[name] for name in task.task.depends_on]
    material = [task.attempts[-1].instruction, task.task.context, task.task.success_criterion, *outputs_of(needed)]
    call = await done_aside(material, lambda: _call(desk, task))
    await take_turn(desk, call, lambda ahead: _consequences(desk, ahead, ahead.tasks[task.task.id]))


def _worker(run: Snapshot, task: TaskState) -> Worker:
    worker = run.brief.team.worker(task.task.worker)
    assert worker is not None  # The plan was validated against this very team.
    return worker


def _call(desk: Desk, task: TaskState) -> Call:
    worker, attempt = _worker(desk.run, task), task.attempts[-1]
    return Call(
        "work",
        _answering(worker, attempt),
        attempt.conversation,
        attempt.conversation.prompt or _opening(desk.run, task, worker),
        report_schema(worker.output_schema),
        visible_field="text",
        tools=[tool.spec for tool in _own_tools(desk, worker).values()],
        task_id=task.task.id,
        attempt=attempt.number,
        reply_within_s=time_left_s(desk.run, task, desk.now()),
    )


def _answering(worker: Worker, attempt: Attempt) -> str:
    """The model that the attempt began with, so that a conversation never changes it, whatever its tier stands for now.

    What the demo model began goes on with the worker's own: no provider has a model of that name.
    """
    return worker.model if attempt.model == DEMO_MODEL else attempt.model


def _opening(run: Snapshot, task: TaskState, worker: Worker) -> Prompt:
    needed = [run.tasks[name] for name in task.task.depends_on]
    return opening(
        "work",
        worker=worker,
        max_steps=max_steps(run, task),
        task=task.task,
        instruction=task.attempts[-1].instruction,
        inputs=run.brief.inputs if INPUT_TOOLS & set(worker.tools) else (),
        results=results_of([other for other in needed if other.delivered]),
        missing=missing_of(other for other in needed if not other.delivered),
    )


def _own_tools(desk: Desk, worker: Worker) -> dict[str, Tool]:
    """Those of the worker's tools that there are: a run keeps its team, and a later release may lack a tool of it."""
    return {name: desk.tools[name] for name in worker.tools if name in desk.tools}


def _consequences(desk: Desk, run: Snapshot, task: TaskState) -> list[ev.Event]:
    """What follows from the newest reply without another call: intents of tools, a result, an escalation."""
    attempt = task.attempts[-1]
    match step_of(run, task):
        case UseTools(calls):
            intended = attempt.conversation.turns[-1].intents
            return [_tool_started(desk, task, block) for block in calls if block["id"] not in intended]
        case Read() as read:
            return _read_events(desk, run, task, read)
        case _:
            return []


def _whose(desk: Desk, task: TaskState) -> dict[str, Any]:
    return {
        "at": desk.now(),
        "run_id": desk.run.brief.run_id,
        "task_id": task.task.id,
        "attempt": len(task.attempts),
    }


def _tool_started(desk: Desk, task: TaskState, block: Block) -> ev.ToolStarted:
    tool = desk.tools.get(block["name"])
    data = ev.ToolCalled(
        call_id=block["id"],
        name=block["name"],
        input=block.get("input"),
        effect=tool.effect if tool else "read",
        key=_key(desk, task, block),
    )
    return ev.ToolStarted(**_whose(desk, task), data=data)


def _key(desk: Desk, task: TaskState, block: Block) -> str:
    """The idempotency key of a call in the newest reply. Some servers number the calls of each reply anew."""
    earlier = [call for turn in task.attempts[-1].conversation.turns[:-1] for call in tool_calls_of(turn.content)]
    again = sum(call["id"] == block["id"] for call in earlier)
    key = f"{desk.run.brief.run_id}:{task.task.id}:{len(task.attempts)}:{block['id']}"
    return f"{key}:{again + 1}" if again else key


async def _use_tools(desk: Desk, task: TaskState, calls: Sequence[Block]) -> None:
    """Run the calls side by side, a few at a time. Their failures are results.

    What is raised all the same ends the attempt once the others have ended: none is cut off in the middle of what it
    does because its neighbour may not begin, or breaks.
    """
    places = asyncio.Semaphore(CALLS_AT_ONCE)
    ends = await asyncio.gather(*(_use_tool(desk, task, block, places) for block in calls), return_exceptions=True)
    for error in ends:
        if error is not None:
            raise error


async def _use_tool(desk: Desk, task: TaskState, block: Block, places: asyncio.Semaphore) -> None:
    async with places:
        await _used(desk, task, block)


async def _used(desk: Desk, task: TaskState, block: Block) -> None:
    tools = _own_tools(desk, _worker(desk.run, task))
    effect = tools[block["name"]].effect if block["name"] in tools else "read"
    inputs = await desk.inputs() if block["name"] in INPUT_TOOLS else ()
    await desk.ensure_owned(begun=effect == "once")
    start = time.monotonic()
    answer = await call(tools, block["name"], block.get("input"), ToolContext(inputs, _key(desk, task, block)))
    facts: dict[str, Any] = {
        "call_id": block["id"],
        "name": block["name"],
        "duration_ms": round((time.monotonic() - start) * 1000),
    }
    event: ev.Event
    if answer.error_code is None:
        returned = ev.ToolReturned(**facts, output=answer.text, omitted=answer.omitted)
        event = ev.ToolCompleted(**_whose(desk, task), data=returned)
    else:
        broke = ev.ToolBroke(**facts, error=Problem(code=answer.error_code, message=answer.text))
        event = ev.ToolFailed(**_whose(desk, task), data=broke)
    if effect != "read":
        await desk.record(event)
    else:
        desk.note(event)


async def _settle_unknown(desk: Desk, task: TaskState) -> None:
    """Answer calls that a process before us had begun, and that must not be repeated: nobody knows what they did."""
    step = step_of(desk.run, task)
    if not isinstance(step, UseTools):
        return
    intended = task.attempts[-1].conversation.turns[-1].intents
    for block in step.calls:
        tool = desk.tools.get(block["name"])
        if block["id"] in intended and tool is not None and tool.effect == "once":
            message = (
                f"{tool.name} had begun when the process ended; whether it took effect is not known. Find out first."
            )
            problem = Problem(code="tool_outcome_unknown", message=message)
            broke = ev.ToolBroke(call_id=block["id"], name=tool.name, error=problem, duration_ms=0)
            await desk.record(ev.ToolFailed(**_whose(desk, task), data=broke))


def _read_events(desk: Desk, run: Snapshot, task: TaskState, read: Read) -> list[ev.Event]:
    """A result, an escalation, or the rejection of the text; nothing once there is no repair left."""
    talk = task.attempts[-1].conversation
    if talk.unusable:
        return []
    try:
        outcome = read_report(final_text(read, "output_invalid"), _worker(run, task).output_schema)
    except Unreadable as error:
        note = render("work_repair", findings=error.findings) if talk.may_be_repaired else None
        return [ev.TaskRejected(**_whose(desk, task), data=ev.Rejected(errors=error.findings, note=note))]
    if isinstance(outcome, Escalation):
        return [ev.TaskEscalated(**_whose(desk, task), data=outcome)]
    return [ev.TaskSucceeded(**_whose(desk, task), data=outcome)]
