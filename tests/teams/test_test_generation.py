"""The team `test-generation`: what is held against a result, which files come of it, and whether they can be run."""

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
from unidiff.patch import PatchSet

from app.llm.demo import DemoModel
from app.team_files import BUILT_IN_TEAMS
from tests.support.api import client_of
from tests.support.fixtures import Services
from tests.support.service import report, synthesis
from tests.support.stub_answers import Answer, as_json
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest
from tests.teams.test_examples import EXAMPLES, parts_of

EXAMPLE = EXAMPLES / "test-generation"
PRICES = """\
def parse(text):
    if not text:
        raise ValueError("empty")
    return int(text)


def known(x): return x
"""
JOB: dict[str, Any] = {
    "objective": "Write the missing tests.",
    "team": "test-generation",
    "inputs": [
        {"name": "src/shop/prices.py", "content": PRICES},
        {"name": "tests/unit/test_known.py", "content": "from shop.prices import known\n\nassert known(1)\n"},
    ],
}


def written(kind: str, body: str, raises: str | None = None) -> dict[str, Any]:
    code = f"def test_parse():\n    {body}\n"
    return {"function": "parse", "input": "src/shop/prices.py", "kind": kind, "raises": raises, "code": code}


IMPORTS = ["import pytest", "import json", "from shop.prices import parse"]
HALF = [written("ordinary", "assert parse('7') == 7"), written("edge", "assert parse('0') == 0")]
WHOLE = [*HALF, written("exception", "with pytest.raises(ValueError, match='empty'): parse('')", "ValueError")]
FILE = """\
# Path: tests/unit/test_prices.py
# Tests of shop.prices (src/shop/prices.py), written by the workers of a run.
# Nobody has run them yet: read them, then run them.

import pytest

from shop.prices import parse


def test_parse():
    assert parse('7') == 7


def test_parse_2():
    assert parse('0') == 0


def test_parse_3():
    with pytest.raises(ValueError, match='empty'): parse('')
"""


async def files_of(client: httpx2.AsyncClient, run: Mapping[str, Any]) -> dict[str, str]:
    """The files of a run, in their order."""
    return {each["name"]: (await client.get(each["url"])).text for each in run["result"]["artifacts"]}


async def test_a_result_without_a_test_for_an_exception_goes_back_and_the_next_one_becomes_a_file(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    first, second = ({"imports": IMPORTS, "tests": tests} for tests in (HALF, WHOLE))
    stub.on("work", replies=[as_json(report("wrote them", data=data)) for data in (first, second)])
    stub.on("synthesize", as_json(synthesis("parse has tests now.", "tests-1")))

    run = (await client.post("/v1/jobs", json=JOB, headers={"prefer": "wait=30"})).json()

    assert (run["status"], stub.of("plan")) == ("succeeded", [])
    _, again = stub.of("work")
    flaw = "parse in src/shop/prices.py: there is no test for ValueError, which line 3 of src/shop/prices.py raises"
    assert flaw in str(again.body["messages"][-1])
    [task] = (await client.get(f"/v1/runs/{run['id']}/tasks")).json()["data"]
    assert [attempt["status"] for attempt in task["attempts"]] == ["succeeded"]
    files = await files_of(client, run)
    assert [*files] == ["test_prices.py", "coverage.md", "tests.patch"]
    assert files["test_prices.py"] == FILE
    assert (
        "| `src/shop/prices.py` | `parse` | 1-4 | tests written | `tests/unit/test_prices.py` (3) |"
        in files["coverage.md"]
    )
    assert "| `known` | 7-7 | tested before | `tests/unit/test_known.py` |" in files["coverage.md"]
    assert "+++ b/tests/unit/test_prices.py\n@@ -0,0 +1,19 @@\n+# Path" in files["tests.patch"]
    covered = {each["item"]: (each["status"], each.get("reason")) for each in run["result"]["coverage"]["material"]}
    assert covered == {"parse": ("whole", None), "known": ("left_out", "tested")}


async def test_what_a_task_does_not_deliver_is_named_with_the_reason(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    source, _ = JOB["inputs"]
    job = JOB | {"inputs": [source], "limits": {"attempts": 1, "rounds": 1}}
    escalation = {"reason": "out_of_scope", "message": "It needs | a running shop."}

    def work(seen: SeenRequest) -> Answer:
        if '"known" in' in str(seen.body["messages"][0]["content"]):
            return as_json(report("cannot", data=None, escalation=escalation))
        return as_json(report("wrote them", data={"imports": IMPORTS, "tests": WHOLE}))

    stub.on("work", work)
    stub.on("rule", as_json({"decision": "give_up", "worker": None, "instruction": None, "reason": "Nobody can."}))
    stub.on("synthesize", as_json(synthesis("parse has tests now.", "tests-1", without=["tests-2"])))

    run = (await client.post("/v1/jobs", json=job, headers={"prefer": "wait=30"})).json()

    assert run["status"] == "partial"
    files = await files_of(client, run)
    assert [*files] == ["test_prices.py", "coverage.md", "tests.patch"]
    [row] = [line for line in files["coverage.md"].split("\n") if "`known`" in line]
    assert row.startswith("| `src/shop/prices.py` | `known` | 7-7 | not tested | task tests-2, ")
    assert "It needs \\| a running shop." in row


async def test_the_tests_of_the_demo_model_pass_on_the_example(services: Services, tmp_path: Path) -> None:
    service = await services.start(model="demo", anthropic_api_key=None, built_in=BUILT_IN_TEAMS)
    service.runtime.model = DemoModel(delay_s=0)
    async with client_of(service.runtime) as client:
        answer = await client.post("/v1/jobs", files=parts_of(EXAMPLE), headers={"prefer": "wait=60"})
        files = await files_of(client, answer.json())
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    added = {file.path: "".join(line.value for line in file[0]) for file in PatchSet(files["tests.patch"])}
    assert [*added] == ["tests/test_basket.py", "tests/test_rates.py", "tests/test_money_more.py"]
    assert [*added.values()] == [text for name, text in files.items() if name.endswith(".py")]
    for path, text in added.items():
        (tmp_path / path).write_text(text)

    ran = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "tests"),
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": "src", "PYTEST_ADDOPTS": ""},
        stdout=asyncio.subprocess.PIPE,
    )
    told = (await ran.communicate())[0].decode()

    assert ran.returncode == 0, told
    assert "23 passed" in told
