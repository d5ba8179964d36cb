"""A large change through the built-in team `code-review`: a diff of a hundred files and ten thousand lines.

Its files are of very different sizes, some are lock files and generated ones, and guidelines, a history and earlier
comments come along, so that six lenses look at it. Each call takes as long as any other; bugs are found in some files.

Run as a process: `python -m benchmarks.code_review DATABASE_URL`; prints its figures as JSON.
"""

import asyncio
import json
import random
import re
import sys
from collections import Counter
from typing import Any

import httpx2
import yaml

from app.domain.keys import DEFAULT_TENANT
from app.domain.team import Team
from app.store.teams import put_team
from app.team_files import BUILT_IN_TEAMS
from tests.support.api import client_of
from tests.support.service import report, running_service, synthesis
from tests.support.stub_answers import Answer, as_json, delayed
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

FILES, LINES = 100, 10_000
CALL_S = 0.5
BODY_LIMIT = 20_000_000
AT_ONCE = (12, 50)
"""Tasks at the same time: as the team has it, and as many as a run may have."""
LEFT_OUT = ("uv.lock", "web/package-lock.json", "shop/generated/rates_pb2.py", "web/dist/app.min.js")
_TASK = re.compile(r'^\{"task": "([^"]+)"', re.MULTILINE)
_FINDS = frozenset({"bugs", "guidelines", "history", "earlier-reviews", "comments"})


def change() -> str:
    """The diff: sizes as changes have them, many small files and a few large ones."""
    chance = random.Random(11)
    names = [*LEFT_OUT, *(f"shop/part_{number % 9}/module_{number}.py" for number in range(FILES - len(LEFT_OUT)))]
    shares = [chance.paretovariate(1.1) for _ in names]
    sizes = [max(round(share / sum(shares) * (LINES - 5 * FILES)), 1) for share in shares]
    sizes[sizes.index(max(sizes))] += LINES - 5 * FILES - sum(sizes)
    return "".join(_file(name, size, chance) for name, size in zip(names, sizes, strict=True))


def _file(name: str, size: int, chance: random.Random) -> str:
    words = ("order", "customer", "amount", "store", "found", "limit", "refund", "total", "period", "rate")
    lines = [f"    {words[n % 7]}_{n} = {chance.choice(words)}({chance.choice(words)}, {n})" for n in range(size)]
    head = f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1,1 +1,{size + 1} @@\n def first():\n"
    return head + "".join(f"+{line}\n" for line in lines)


INPUTS = [
    {"name": "change.diff", "media_type": "text/x-diff", "content": change()},
    {"name": "CONTRIBUTING.md", "content": "Amounts are `Decimal`; rounding comes last, and only once.\n" * 120},
    {
        "name": "git-history.log",
        "content": "commit 0a1b2c3\n    Take the lock before the look, since two may come.\n" * 150,
    },
    {"name": "review-comments.md", "content": "- #118, Jonas: one query for all of them, please.\n" * 60},
]


async def main(url: str) -> None:
    """Review it with each number of tasks at once."""
    team = Team.model_validate(yaml.safe_load((BUILT_IN_TEAMS / "code-review.yaml").read_text()))
    async with StubProvider() as stub, running_service(url, stub, lease_seconds=10, poll_seconds=2) as service:
        stub.on("work", _worked)
        stub.on("reduce", _reduced)
        stub.on("synthesize", delayed(as_json(synthesis("One review.", "bugs-1")), CALL_S))
        async with client_of(service.runtime, BODY_LIMIT) as client:
            await put_team(service.database, DEFAULT_TENANT, team)
            await _run(client, AT_ONCE[0])  # It only warms up.
            print(json.dumps([await _run(client, concurrency) for concurrency in AT_ONCE]))


def _worked(seen: SeenRequest) -> Answer:
    data = {"data": {"findings": []}} if seen.role.partition(":")[2] in _FINDS else {}
    return delayed(as_json(report("Looked at all of it.", **data)), CALL_S)


def _reduced(seen: SeenRequest) -> Answer:
    tasks = _TASK.findall(str(seen.body["messages"][0]["content"][0]["text"]))
    statements = [{"text": "All of it was looked at.", "tasks": tasks}]
    told = {"text": "All of it was looked at.", "statements": statements, "contradictions": [], "uncertain": []}
    return delayed(as_json(told), CALL_S)


async def _run(client: httpx2.AsyncClient, concurrency: int) -> dict[str, Any]:
    job = {"objective": "Review the change.", "team": "code-review", "inputs": INPUTS}
    answer = await client.post("/v1/jobs", json=job | {"limits": {"concurrency": concurrency}})
    assert answer.status_code == 202, answer.text
    run = (await client.get(answer.json()["links"]["self"], headers={"prefer": "wait=120"})).json()
    assert run["status"] == "succeeded", (run["status"], run["stop_reason"], run["error"])
    trace = (await client.get(run["links"]["trace"])).json()
    material, timing = run["result"]["coverage"]["material"], run["timing"]
    whole = {each["item"] for each in material if each["status"] == "whole"}
    left = {each["item"] for each in material if each["status"] == "left_out"}
    return {
        "concurrency": concurrency,
        "tasks": run["progress"]["tasks"]["total"],
        "calls": run["usage"]["llm_calls"],
        "tokens": run["usage"]["input_tokens"] + run["usage"]["output_tokens"],
        "cost_usd": float(run["usage"]["cost_usd"]),
        "files": dict(Counter(each["status"] for each in material)),
        "share": len(whole) / (len(material) - len(left)),
        "workers": {
            each["worker"]: {"tasks": each["tasks"], "tokens": each["input_tokens"] / each["tasks"]}
            for each in trace["report"]["workers"]
        },
        "wall_ms": timing["wall_ms"],
        "critical_path_ms": timing["critical_path_ms"],
    }


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
