"""`docs/examples/python-tools`, installed as a package and used through a service of its own."""

import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.postgres import ROOT
from tests.support.processes import Replica, start_process, start_replica
from tests.support.service import plan_of, report, synthesis, task
from tests.support.stub_answers import as_json, call, tool_calls
from tests.support.stub_provider import StubProvider

EXAMPLE = ROOT / "docs" / "examples" / "python-tools"
TOOLS = ["parcel_price", "book_pickup"]
DISPATCHER = {"name": "dispatcher", "description": "Prices parcels.", "instructions": "Price them.", "tools": TOOLS}


def installed(source: Path, folder: Path) -> Path:
    """Where pip has put the package; it is built in a copy, and nothing is fetched."""
    copy, target = folder / "source", folder / "site"
    shutil.copytree(source, copy)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(target), str(copy)], check=True, timeout=120, capture_output=True)
    return target


@pytest.fixture
async def stub() -> AsyncIterator[StubProvider]:
    async with StubProvider() as stub:
        yield stub


async def test_its_tools_are_listed_given_to_workers_and_called(
    database_url: str, stub: StubProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(installed(EXAMPLE, tmp_path)))
    stub.on("plan", as_json(plan_of(task("a", "dispatcher"))))
    asked = [
        call("parcel_price", {"weight_kg": 2.5, "zone": "europe"}),
        call("parcel_price", {"weight_kg": 90, "zone": "europe"}),
        call("book_pickup", {"day": "2026-12-01", "parcels": 2}),
    ]
    stub.on("work", replies=[tool_calls(each) for each in asked])
    stub.on("work", as_json(report("It costs 16.70 euros.")))
    stub.on("synthesize", as_json(synthesis("It costs 16.70 euros.", "a")))
    replica = await start_replica(database_url, stub.url)
    try:
        listed, ended, calls = await _used(replica)
    finally:
        await replica.end()

    shown = {each["name"]: each for each in listed}
    assert shown["parcel_price"]["package"] == "shipping-tools 1.0.0"
    assert shown["calculate"]["package"] is None
    assert [shown[name]["effect"] for name in TOOLS] == ["read", "idempotent"]
    assert "idempotency_key" not in shown["book_pickup"]["input_schema"]["properties"]
    assert ended["status"] == "succeeded"
    priced, refused, booked = calls
    assert priced == ("tool.completed", '{"price_eur": "16.70", "zone": "europe"}')
    assert refused[0] == "tool.failed"
    assert "ValueError: a parcel weighs more than 0 and up to 30 kg" in refused[1]
    assert booked[0] == "tool.completed"
    assert booked[1].endswith("2 parcels on Tuesday, 01 December 2026.")


async def _used(replica: Replica) -> tuple[list[dict[str, Any]], dict[str, Any], list[tuple[str, str]]]:
    """The tools, a run in which they are called, and what came of each call."""
    async with replica.client as client:
        listed = (await client.get("/v1/tools")).json()["data"]
        put = await client.put("/v1/teams/dispatch", json={"workers": [DISPATCHER]})
        assert put.status_code == 201, put.text
        job = {"objective": "What does it cost?", "team": "dispatch"}
        ended = (await client.post("/v1/jobs", json=job, headers={"Prefer": "wait=30"})).json()
        path = f"/v1/runs/{ended['id']}/events"
        events = (await client.get(path, params={"types": "tool.completed,tool.failed", "limit": 100})).json()["data"]
    return listed, ended, [(each["type"], str(each["data"].get("output") or each["data"])) for each in events]


async def test_a_package_with_a_broken_tool_keeps_the_service_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    information = site / "broken_tools-0.1.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-tools\nVersion: 0.1\n")
    (information / "entry_points.txt").write_text("[chargehand.tools]\nsaw = broken_tools:saw\n")
    (site / "broken_tools.py").write_text("import no_such_module_anywhere\n")
    monkeypatch.setenv("PYTHONPATH", str(site))

    process = await start_process(["-m", "app", "serve"], {"DATABASE_URL": "postgresql://127.0.0.1:1/nowhere"})
    _, errors = await process.communicate()

    assert process.returncode == 2
    assert errors.decode().splitlines() == [
        "chargehand: tool saw of broken-tools 0.1 (broken_tools:saw): cannot be loaded: ModuleNotFoundError: "
        "No module named 'no_such_module_anywhere'"
    ]
