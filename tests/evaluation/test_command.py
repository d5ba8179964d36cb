"""`chargehand eval` as people and CI call it. The suites of the repository run here, on the demo model."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from fastapi import FastAPI

from app import cli
from app.api.server import ServerBroke, listening_socket, serving_beside
from app.evaluation.suite_file import read_suite
from app.team_files import BUILT_IN_TEAMS
from tests.evaluation.cases import SUITE, written
from tests.support.postgres import ROOT

SUITES = sorted((ROOT / "evals").glob("*.yaml"))
LABELLED = 38
ARITHMETIC = """\
name: sums
team: general
bars: {pass_share: 1}
cases:
  - id: product
    objective: "What is 17 * 23?"
    plan_only: true
    expect: {workers: [WORKER]}
"""

Run = Callable[..., tuple[object, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, database_url: str) -> Run:
    """Runs `chargehand eval` on the test's database: its exit code, standard output and standard error."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("CHARGEHAND_MODEL", "demo")

    def run(*arguments: str | Path) -> tuple[object, str, str]:
        with pytest.raises(SystemExit) as end:
            cli.main(["eval", *map(str, arguments)])
        printed = capsys.readouterr()
        return end.value.code or 0, printed.out, printed.err

    return run


def test_the_suites_of_the_repository_are_met_on_the_demo_model(run: Run, tmp_path: Path) -> None:
    code, out, _ = run(*SUITES, "--json", tmp_path / "report.json", "--junit", tmp_path / "report.xml")

    told: dict[str, Any] = json.loads((tmp_path / "report.json").read_text())
    sides = {suite["suite"]: suite["sides"][0] for suite in told["suites"]}
    assert (code, told["met"]) == (0, True), out
    assert [side["totals"]["errors"] for side in sides.values()] == [0] * len(SUITES)
    assert all(side["totals"]["passed"] for side in sides.values())
    assert sides["support-desk-routing"]["totals"]["routing_accuracy"] == 26 / 38
    cases = ElementTree.parse(tmp_path / "report.xml").findall("./testsuite/testcase")
    assert len(cases) == sum(side["totals"]["runs"] for side in sides.values())


def test_every_built_in_team_has_a_suite_and_routing_has_its_labels() -> None:
    suites = [read_suite(file).suite for file in SUITES]
    routing = next(suite for suite in suites if suite.name == "support-desk-routing")

    assert {suite.team for suite in suites} == {file.stem for file in BUILT_IN_TEAMS.glob("*.yaml")}
    assert [suite.name for suite in suites] == [file.stem for file in SUITES]
    assert sum(bool(case.expect.workers) for case in routing.cases) == LABELLED


def test_below_its_bars_a_suite_ends_with_1_and_json_has_standard_output_for_itself(run: Run, tmp_path: Path) -> None:
    code, out, errors = run(written(tmp_path, ARITHMETIC.replace("WORKER", "writer")), "--json", "-")

    told = json.loads(out)
    assert (code, told["met"]) == (1, False)
    assert told["suites"][0]["bars"] == [{"name": "pass_share", "wanted": 1, "got": 0, "met": False}]
    assert "sums: NOT MET" in errors


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--team", "nobody"], "suite.yaml:2: the service has no team nobody"),
        (["--against", "general:analyst"], "--against general:analyst: a side is "),
        (
            ["--team", "general:analyst=fast,analyst=deep"],
            "--team general:analyst=fast,analyst=deep: a worker is named",
        ),
        (["--url", "http://127.0.0.1:1"], "cannot use the service at http://127.0.0.1:1: "),
        (["--url", "nowhere"], "cannot use the service at nowhere"),
        (["--junit", "/none/report.xml"], "cannot write /none/report.xml: No such file or directory"),
    ],
)
def test_what_the_operator_can_mend_is_one_line_and_code_2(
    run: Run, tmp_path: Path, arguments: list[str], said: str
) -> None:
    code, out, errors = run(written(tmp_path, ARITHMETIC.replace("WORKER", "analyst")), *arguments)

    last = errors.splitlines()[-1]
    assert (code, out) == (2, "")
    assert last.startswith("chargehand: ")
    assert said in last


def test_a_suite_that_cannot_be_read_starts_no_service(run: Run, tmp_path: Path) -> None:
    code, _, errors = run(written(tmp_path, f"{SUITE}colour: blue\n"))

    assert (code, errors.splitlines()) == (2, [f"chargehand: {tmp_path}/suite.yaml:7: colour: there is no such field"])


def test_a_service_that_cannot_be_started_is_told_in_a_line() -> None:
    @asynccontextmanager
    async def broken(_: FastAPI) -> AsyncIterator[None]:
        raise RuntimeError("no database")
        yield

    with (
        listening_socket("127.0.0.1", 0) as listener,
        pytest.raises(ServerBroke, match="could not be started"),
        serving_beside(FastAPI(lifespan=broken), listener, leave=lambda: None),
    ):
        pytest.fail("it was not started")


def test_a_proxy_of_the_environment_is_not_asked_for_a_service_of_our_own(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")

    assert run(written(tmp_path, ARITHMETIC.replace("WORKER", "analyst")))[0] == 0


def test_nothing_is_run_when_one_of_several_suites_cannot_be(run: Run, tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    good = written(tmp_path / "good", ARITHMETIC.replace("WORKER", "analyst"))

    code, out, errors = run(good, written(tmp_path, ARITHMETIC.replace("WORKER", "nobody")))

    assert (code, out) == (2, "")
    assert f"{tmp_path}/suite.yaml:8: no worker is called nobody; general has: " in errors
