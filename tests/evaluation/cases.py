"""What tests of the harness are made from: runs as the API shows them, and suites as files."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from app.evaluation.evidence import Evidence
from app.evaluation.expectations import Expected
from app.evaluation.report import Amounts, CaseReport

SUITE = """\
name: small
team: general
cases:
  - id: one
    objective: Find out.
    expect: {}
"""


def task(name: str, worker: str = "writer", *depends_on: str) -> dict[str, Any]:
    """A task of a plan that has delivered."""
    attempt = {"worker": worker, "model": "claude-opus-5-5"}
    text = {"text": f"{name} is done"}
    return {
        "id": name, "worker": worker, "depends_on": [*depends_on], "status": "succeeded", "attempts": [attempt],
        "output": text,
    }  # fmt: skip


def plan(*tasks: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """A plan as the API shows it."""
    report = {"ok": True, "errors": [], "warnings": []}
    return {"tasks": [*tasks], "validation": report, "shape": {"strategy": "single"}, "strategy": "merge"} | changes


def evidence(*tasks: dict[str, Any], plan_changes: Mapping[str, Any] | None = None, **changes: Any) -> Evidence:
    """What the API gave of a run with these tasks; `changes` are fields of its result, or of the run with `run=`."""
    usage = {"llm_calls": 5, "tool_calls": 3, "input_tokens": 900, "output_tokens": 100, "cost_usd": "0.0500"}
    run = {
        "id": "run_1", "status": "succeeded", "stop_reason": "completed", "usage": usage, "limits": {},
        "objective": "Find out.", "timing": {"wall_ms": 2000, "queued_ms": 100},
    }  # fmt: skip
    run |= changes.pop("run", {})
    result = {"answer": "The south sold 2,750 pieces.", "data": None, "conflicts": [], "gaps": []} | changes
    tasks = tasks or (task("t1"),)
    return Evidence({**run, "result": result}, plan(*tasks, **(plan_changes or {})), tasks, "claude-opus-5-5")


def expected(**fields: Any) -> Expected:
    """What a case expects, as a suite says it."""
    return Expected.model_validate(fields)


def case(name: str, repeat: int, *, passed: bool, routed: bool | None = None, **took: Any) -> CaseReport:
    """What became of a case."""
    outcome = "passed" if passed else "failed"
    return CaseReport(
        id=name, repeat=repeat, outcome=outcome, run=f"run_{name}_{repeat}", routed=routed, took=Amounts(**took)
    )


def written(folder: Path, text: str = SUITE, **files: str) -> Path:
    """A suite file, with other files beside it."""
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_text(content)
    file = folder / "suite.yaml"
    file.write_text(text)
    return file


def names(checks: Iterable[Any]) -> list[str]:
    """The names of the checks that failed."""
    return [check.name for check in checks if not check.passed]
