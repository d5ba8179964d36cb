"""Every example under `docs/examples` that has a job, as its README sends it, on the demo model."""

import json
import mimetypes
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from app.llm.demo import DemoModel
from app.llm.demo_prompts import SIGNED
from app.team_files import BUILT_IN_TEAMS
from tests.support.api import client_of
from tests.support.fixtures import Services
from tests.support.postgres import ROOT

SENT = re.compile(r"inputs=@([^ ;'\"]+)")
EXAMPLES = ROOT / "docs" / "examples"
FOLDERS = sorted(job.parent for job in EXAMPLES.glob("*/job.json"))
PROMISED: Mapping[str, Mapping[str, Any]] = {
    "code-review": {"data": {"findings": 7}, "artifacts": ["review.md", "review.sarif", "comments.json"]},
    "test-generation": {
        "artifacts": ["test_basket.py", "test_rates.py", "test_money_more.py", "coverage.md", "tests.patch"],
    },
    "contract-review": {"data": {"findings": 5}},
    "patient-case": {
        "conflicts": [
            "value of allergies",
            "value of smoking",
            "number of metformin dose",
            "value of ibuprofen frequency",
        ],
        "artifacts": ["answer.md"],
    },
    "portfolio": {"data": {"drift": 9, "trades": 2}, "artifacts": ["result.md"]},
    "competitive-intelligence": {"data": {"matrix": 50}, "conflicts": ["number of Tidewater Desk, price"]},
    "curriculum": {
        "data": {"topics": 6, "objectives": 6, "materials": 6, "unserved": 0},
        "artifacts": [f"m{number}.md" for number in range(1, 7)],
    },
    "financial-compliance": {
        "data": {"decisions": 12, "breaches": 9},
        "conflicts": [f"decision of O-10{order}" for order in ("08", "12", "03", "04", "07", "09", "10", "11")],
    },
    "product-launch": {
        "data": {"prices": 2, "claims": 2, "left_out": 0},
        "conflicts": ["number of pilot", "number of saving"],
        "artifacts": ["launch-page.md"],
    },
}
"""What the README of an example says of its answer: how long the lists of its data are, the topics of its conflicts,
the names of its files, and its status where that is not `succeeded`."""


def parts_of(folder: Path) -> list[tuple[str, tuple[str, bytes, str]]]:
    """The parts of the form: the job, and every other file of the folder, and of those in it, as an input, in the order
    in which the README sends them."""
    job = ("job", ("job.json", (folder / "job.json").read_bytes(), "application/json"))
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and _is_input(file.relative_to(folder))]
    sent = SENT.findall((folder / "README.md").read_text())
    files.sort(
        key=lambda file: sent.index(name) if (name := file.relative_to(folder).as_posix()) in sent else len(sent)
    )
    return [
        job,
        *(("inputs", (file.relative_to(folder).as_posix(), file.read_bytes(), _type_of(file))) for file in files),
    ]


def _is_input(path: Path) -> bool:
    return path.as_posix() not in ("job.json", "README.md") and "__pycache__" not in path.parts


def _type_of(file: Path) -> str:
    return mimetypes.guess_type(file.name)[0] or "application/octet-stream"


@pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
async def test_the_example_ends_as_its_readme_says(services: Services, folder: Path) -> None:
    service = await services.start(model="demo", anthropic_api_key=None, built_in=BUILT_IN_TEAMS)
    service.runtime.model = DemoModel(delay_s=0)
    promised = PROMISED.get(folder.name, {})

    async with client_of(service.runtime) as client:
        answer = await client.post("/v1/jobs", files=parts_of(folder), headers={"prefer": "wait=60"})

    run = answer.json()
    assert answer.status_code == 200, run
    assert run["status"] == promised.get("status", "succeeded"), run["result"]
    result = run["result"]
    assert SIGNED in result["answer"]
    assert result["rejected_answer"] is None
    counted = {name: len(result["data"][name]) for name in promised.get("data", ())}
    assert counted == promised.get("data", {}), json.dumps(result["data"], indent=1)
    assert [each["topic"] for each in result["conflicts"]] == promised.get("conflicts", [])
    assert [each["name"] for each in result["artifacts"]] == promised.get("artifacts", [])


def test_every_readme_sends_every_file_of_its_example() -> None:
    for folder in FOLDERS:
        told = (folder / "README.md").read_text()
        assert len(told.splitlines()) <= 25, folder
        for name, (file, _, _) in parts_of(folder):
            assert f"{name}=@{file}" in told, (folder, file)
