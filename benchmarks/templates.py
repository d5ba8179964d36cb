"""One review planned by a template, against the same review planned by the supervisor's model.

A diff of forty files becomes ten tasks and a summary. The template's tasks show their workers the part of the diff that
they are about; a supervisor never sees what an input holds, so that the tasks it plans have their workers read the same
lines, in one call more each. Both are done by one service in turn, each call as long as any other. Real planning is
slower than that: its reply, a plan, is the longest of all.

Run as a process: `python -m benchmarks.templates DATABASE_URL`; prints its figures as JSON.
"""

import asyncio
import json
import re
import statistics
import sys
from time import perf_counter
from typing import Any

import httpx2

from app.domain.keys import DEFAULT_TENANT
from app.domain.plan import Plan
from app.store.teams import put_team
from benchmarks.reference_job import REPORT
from tests.support.api import client_of
from tests.support.service import running_service, synthesis
from tests.support.stub_answers import Answer, as_json, call, delayed, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest
from tests.support.templates import REVIEW, SUMMARY, WORKERS, diff_of, given, plan_for, team_of

RUNS = 21
"""Of each kind; the first of them only warms up."""
CALL_S = 0.05
DIFF = diff_of(*((f"src/part_{number % 8}/module_{number}.py", 10 + number % 30) for number in range(40)))
READERS = [WORKERS[0] | {"tools": ["read_input"]}, WORKERS[1]]
READ = "Read these lines, and no others."
TOLD = "Review the change to {{path}} for bugs: lines {{lines}} of the diff."
TEAM = team_of(
    REVIEW | {"most": 10, "instruction": TOLD}, SUMMARY, workers=READERS, limits={"tasks": 12, "concurrency": 12}
)
BY_TEMPLATE: Plan = plan_for(TEAM, [given("change.diff", DIFF)])
KINDS = ("template", "model")


def planned() -> dict[str, Any]:
    """The plan as the supervisor would write it: with where to look, and without what is there."""
    tasks = [task.model_dump(mode="json") | {"context": "" if task.depends_on else READ} for task in BY_TEMPLATE.tasks]
    return {"goal": "A review of the change", "strategy": "merge", "final_instruction": "One review.", "tasks": tasks}


async def main(url: str) -> None:
    """Run both kinds in turn, now one first and now the other."""
    told: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    async with StubProvider() as stub, running_service(url, stub, lease_seconds=10, poll_seconds=2) as service:
        stub.on("plan", delayed(as_json(planned()), CALL_S))
        stub.on("work", _worked)
        stub.on("synthesize", delayed(as_json(synthesis("One review.", *BY_TEMPLATE.by_id)), CALL_S))
        await put_team(service.database, DEFAULT_TENANT, TEAM)
        async with client_of(service.runtime) as client:
            for number in range(RUNS):
                for kind in KINDS if number % 2 else reversed(KINDS):
                    told[kind].append(await _run(client, kind))
    print(json.dumps({kind: _figures(runs[1:]) for kind, runs in told.items()}))


def _worked(seen: SeenRequest) -> Answer:
    messages = seen.body["messages"]
    if len(messages) == 1 and READ in (told := json.dumps(messages)):
        places = [
            int(number) for part in re.findall(r"lines ([\d, -]+) of", told) for number in re.findall(r"\d+", part)
        ]
        lines = {"first_line": min(places), "line_count": max(places) - min(places) + 1}
        return delayed(tool_calls(call("read_input", {"action": "read", "name": "change.diff"} | lines)), CALL_S)
    return delayed(as_json(REPORT), CALL_S)


async def _run(client: httpx2.AsyncClient, planning: str) -> dict[str, Any]:
    inputs = [{"name": "change.diff", "media_type": "text/x-diff", "content": DIFF}]
    job = {"objective": "Review the change.", "team": TEAM.name, "planning": planning, "inputs": inputs}
    began = perf_counter()
    answer = await client.post("/v1/jobs", json=job, headers={"prefer": "wait=60"})
    run: dict[str, Any] = answer.json()
    assert run["status"] == "succeeded", run
    return run | {"seconds": perf_counter() - began}


def _figures(runs: list[dict[str, Any]]) -> dict[str, float]:
    usage = [run["usage"] for run in runs]
    return {
        "calls": statistics.median(each["llm_calls"] for each in usage),
        "tokens": statistics.median(each["input_tokens"] + each["output_tokens"] for each in usage),
        "cost_usd": statistics.median(float(each["cost_usd"]) for each in usage),
        "seconds": statistics.median(run["seconds"] for run in runs),
    }


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
