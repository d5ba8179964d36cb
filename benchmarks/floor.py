"""The floor: the reference job by a bare asyncio program on the same SDK, which stores nothing and forgets everything.

Run as a process: `python -m benchmarks.floor URL RUNS AT_ONCE aiohttp|httpx2`; prints its figures as JSON.
"""

import asyncio
import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import uvloop

from benchmarks.reference_job import PLAN

SYSTEM = 'You are the worker "worker". ' + "Do the task with your tool and report. " * 20
ALONE = 6
"""Runs that are measured one at a time."""

Step = tuple[str, str | None, Any]
"""Kind of a step of a run, its task, and what came of it."""
Record = Callable[..., Awaitable[None]]
"""Takes steps of one run, and returns once they are as safe as they are to be."""


async def forget(*_steps: Step) -> None:
    """Keep nothing."""


async def run(client: anthropic.AsyncAnthropic, record: Record) -> float:
    """One reference job; seconds."""
    start = time.perf_counter()
    await record(("started", None, PLAN["goal"]))
    plan = await _ask(client, "You are the supervisor.", [_user("Plan.")], "tasks")
    await record(("model", None, plan))
    await asyncio.gather(*(_work(client, record, task) for task in PLAN["tasks"]))
    answer = await _ask(client, "You are the supervisor.", [_user("Reconcile.")], "answer")
    await record(("model", None, answer), ("ended", None, "succeeded"))
    return time.perf_counter() - start


async def _work(client: anthropic.AsyncAnthropic, record: Record, task: dict[str, Any]) -> None:
    messages = [_user(task["instruction"])]
    reply = await _ask(client, SYSTEM, messages, "summary")
    blocks = [block.model_dump(exclude_unset=True) for block in reply.content]
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": str(7 * 7)}
        for block in blocks
        if block["type"] == "tool_use"
    ]
    await record(("model", task["id"], reply), *(("tool", task["id"], result) for result in results))
    messages += [{"role": "assistant", "content": blocks}, {"role": "user", "content": results}]
    await record(("model", task["id"], await _ask(client, SYSTEM, messages, "summary")))


async def _ask(client: anthropic.AsyncAnthropic, system: str, messages: list[dict[str, Any]], field: str) -> Any:
    schema = {"type": "object", "properties": {field: {"type": "string"}}, "additionalProperties": False}
    tool = {
        "name": "calculate",
        "description": "Calculates.",
        "input_schema": {"type": "object", "properties": {"expression": {"type": "string"}}},
    }
    return await client.messages.create(
        model="claude-sonnet-5-5",
        max_tokens=16_000,
        system=system,
        messages=messages,  # type: ignore[arg-type]
        tools=[tool] if field == "summary" else anthropic.omit,  # type: ignore[list-item]
        output_config={"format": {"type": "json_schema", "schema": schema}},
    )


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


async def measured(
    url: str, runs: int, at_once: int, transport: str, recorder: Callable[[], Record] = lambda: forget
) -> dict[str, Any]:
    """The figures of `runs` jobs, `at_once` at a time; each is recorded by what `recorder` makes for it."""
    kinds = {"aiohttp": anthropic.DefaultAioHttpClient, "httpx2": anthropic.DefaultAsyncHttpxClient}
    async with anthropic.AsyncAnthropic(
        api_key="sk-test", base_url=url, max_retries=0, timeout=60, http_client=kinds[transport]()
    ) as client:
        alone = [await run(client, recorder()) for _ in range(ALONE)][1:]  # The first one opens connections.
        slots, times = asyncio.Semaphore(at_once), []

        async def one() -> None:
            async with slots:
                times.append(await run(client, recorder()))

        before, start = cpu_seconds(), time.perf_counter()
        await asyncio.gather(*(one() for _ in range(runs)))
        wall, cpu = time.perf_counter() - start, cpu_seconds() - before
    return {"alone": sorted(alone)[len(alone) // 2], "extra_runs": ALONE, "times": times, "wall": wall, "cpu": cpu}


def cpu_seconds() -> float:
    """CPU that this process has used, user and system."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    _, url, runs, at_once, transport = sys.argv
    print(json.dumps(uvloop.run(measured(url, int(runs), int(at_once), transport))))
