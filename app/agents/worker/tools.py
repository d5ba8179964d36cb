"""The tool calls of a worker's turn: intended, carried out, and answered, each recorded before the next depends on it.

A call is recorded as an intent before it runs. After a crash it is repeated where it may be; one that may have taken
effect is answered by saying that nobody knows.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from app.agents.desk import Desk, Door
from app.domain import events as ev
from app.domain.breaker_names import tool_breaker
from app.domain.conversation import Block, Conversation, tool_calls_of
from app.domain.credentials import has_mark
from app.domain.errors import Held
from app.domain.events import Entry
from app.domain.failures import OF_TOOLS
from app.domain.policy.agenda import attempt_in, is_open, step_in, worker_of
from app.domain.protocol import UseTools
from app.domain.results import Problem
from app.domain.snapshot import Snapshot
from app.domain.topics import Topic
from app.tools.tool import Tool, ToolAnswer, ToolContext, call

INPUT_TOOLS = frozenset({"read_input", "query_data"})
"""Tools that read the job's inputs: their workers are told what there is."""
HOST_CHARACTERS = 253
"""As long as a name in the DNS may be."""
CALLS_AT_ONCE = 8
"""Tool calls of one turn that run at the same time."""


def intend(
    run: Snapshot, topic: Topic, talk: Conversation, calls: Sequence[Block], tools: Mapping[str, Tool]
) -> list[Entry]:
    """The intents of those calls of the newest reply that have none yet."""
    intended = talk.turns[-1].intents
    return [topic.entry(_intent(run, topic, talk, block, tools)) for block in calls if block["id"] not in intended]


def _intent(run: Snapshot, topic: Topic, talk: Conversation, block: Block, tools: Mapping[str, Tool]) -> ev.ToolStarted:
    tool = tools.get(block["name"])
    return ev.ToolStarted(
        call_id=block["id"],
        name=block["name"],
        input=block.get("input"),
        effect=tool.effect if tool else "read",
        key=_key(run, topic, talk, block),
    )


def _key(run: Snapshot, topic: Topic, talk: Conversation, block: Block) -> str:
    """The idempotency key of a call in the newest reply. Some servers number the calls of each reply anew."""
    earlier = [call for turn in talk.turns[:-1] for call in tool_calls_of(turn.content)]
    again = sum(call["id"] == block["id"] for call in earlier)
    key = f"{run.brief.run_id}:{topic.task_id}:{topic.number}:{block['id']}"
    return f"{key}:{again + 1}" if again else key


async def use_tools(desk: Desk, topic: Topic, calls: Sequence[Block]) -> None:
    """Run the calls side by side, a few at a time. Their failures are results.

    What is raised all the same ends the attempt once the others have ended: none is cut off in the middle of what it
    does because its neighbour may not begin, or breaks.
    """
    places = asyncio.Semaphore(CALLS_AT_ONCE)
    ends = await asyncio.gather(*(_use_in_turn(desk, topic, block, places) for block in calls), return_exceptions=True)
    for error in ends:
        if error is not None:
            raise error


async def _use_in_turn(desk: Desk, topic: Topic, block: Block, places: asyncio.Semaphore) -> None:
    async with places:
        await _use(desk, topic, block)


async def _use(desk: Desk, topic: Topic, block: Block) -> None:
    run, name, tools = desk.run, block["name"], _own_tools(desk, topic)
    effect = tools[name].effect if name in tools else "read"
    inputs = await desk.inputs() if name in INPUT_TOOLS else ()
    key = _key(run, topic, run.conversation(topic), block)
    await desk.admit(even_when_leaving=effect == "once")
    start = time.monotonic()
    door = desk.door(tool_breaker(name), about=_about(run, block.get("input")))
    answer = await _answer(door, tools, block, ToolContext(inputs, key))
    took = round((time.monotonic() - start) * 1000)
    end: ev.ToolCompleted | ev.ToolFailed
    if answer.error_code is None:
        end = ev.ToolCompleted(
            call_id=block["id"], name=name, duration_ms=took, output=answer.text, omitted=answer.omitted
        )
    else:
        problem = Problem(code=answer.error_code, message=answer.text)
        end = ev.ToolFailed(call_id=block["id"], name=name, duration_ms=took, error=problem)
    if effect != "read":
        await desk.record(topic.entry(end))
    else:
        desk.record_soon(topic.entry(end))


_MASKED = (
    "A value in this call was masked when it was stored, as [secret:…]: what it was is not known here, and this tool "
    "acts. The call was not made; do without it."
)


async def _answer(door: Door, tools: Mapping[str, Tool], block: Block, context: ToolContext) -> ToolAnswer:
    """What a call brings. One whose tool is left alone for a while is answered at once."""
    name = block["name"]
    if name in tools and tools[name].effect != "read" and has_mark(str(block.get("input"))):
        return ToolAnswer(f"tool_call_invalid: {_MASKED}", error_code="tool_call_invalid")
    try:
        await door.enter()
    except Held:
        message = f"{name} has failed so often that it is left alone for a while; this call was not made."
        return ToolAnswer(f"breaker_open: {message} Do without it.", error_code="breaker_open")
    try:
        answer = await call(tools, name, block.get("input"), context)
        if answer.error_code in OF_TOOLS:
            door.failed(answer.error_code)
        elif answer.error_code != "tool_call_invalid":
            door.answered()
        return answer
    finally:
        door.leave()


def _about(run: Snapshot, given: object) -> str:
    """What a call is about that may be to blame for its failure: the host of a page, else the job."""
    url = given.get("url") if isinstance(given, dict) else None
    try:
        host = urlsplit(url).hostname if isinstance(url, str) else None
    except ValueError:
        host = None
    return host[:HOST_CHARACTERS] if host else run.brief.run_id


def _own_tools(desk: Desk, topic: Topic) -> dict[str, Tool]:
    """Those of the worker's tools that there are: a run keeps its team, and a later release may lack a tool of it."""
    worker = worker_of(desk.run, attempt_in(desk.run, topic))
    return {name: desk.tools[name] for name in worker.tools if name in desk.tools}


async def settle_unknown(desk: Desk, topic: Topic) -> None:
    """Answer calls that a process before us had begun, and that must not be repeated: nobody knows what they did.

    What a call was to do counts, and what its tool does now: a server may have come to say something else of it.
    """
    run = desk.run
    step = step_in(run, topic) if is_open(run, topic) else None
    if not isinstance(step, UseTools):
        return
    intended = run.conversation(topic).turns[-1].intents
    for block in step.calls:
        name, meant = block["name"], intended.get(block["id"])
        if meant is not None and "once" in (meant, desk.tools[name].effect if name in desk.tools else meant):
            message = f"{name} had begun when the process ended; whether it took effect is not known. Find out first."
            problem = Problem(code="tool_outcome_unknown", message=message)
            end = ev.ToolFailed(call_id=block["id"], name=name, duration_ms=0, error=problem)
            await desk.record(topic.entry(end))
