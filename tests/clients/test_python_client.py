import asyncio
import json
import sys
from pathlib import Path

from tests.support.postgres import ROOT
from tests.support.processes import Replica

WITHOUT_HOOKS = "post_hooks: []\n"
"""What is generated need not be tidied up."""
PROGRAM = Path(__file__).parent / "run_a_job.py"


async def ran(*arguments: str, at: Path) -> tuple[int | None, str]:
    """How a Python program ended, and what it said; it finds modules in the folder `at`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, cwd=at, env={"PYTHONPATH": str(at)}, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await asyncio.wait_for(process.communicate(), 120)
    return process.returncode, said.decode()


async def test_a_generated_client_has_every_operation_and_runs_a_job(served: Replica, tmp_path: Path) -> None:
    (tmp_path / "generator.yaml").write_text(WITHOUT_HOOKS)

    generated = await ran(
        "-m", "openapi_python_client", "generate", "--path", str(ROOT / "openapi" / "openapi.json"), "--meta", "none",
        "--output-path", "chargehand_client", "--config", "generator.yaml", "--fail-on-warning", at=tmp_path,
    )  # fmt: skip
    assert generated[0] == 0, generated[1]

    code, said = await ran(str(PROGRAM), served.url, at=tmp_path)
    assert code == 0, said
    assert json.loads(said) == {
        "location": True,
        "ended": True,
        "typed": "Run",
        "answer": True,
        "events": ["RunQueuedEvent", "RunStartedEvent"],
        "last": True,
        "trace": True,
        "refused": ["ProblemDocument", "run_not_found"],
        "invalid": [422, "/objective"],
    }
