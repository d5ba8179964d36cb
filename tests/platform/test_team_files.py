from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from app import cli
from app.runtime import known_teams, open_runtime
from app.settings import Settings
from app.team_files import PROBLEMS_SHOWN, TeamFileInvalid, teams_in
from app.tools.tool import Arguments, Tool

Write = Callable[[str, str], Path]

WORKER = "{name: writer, description: Writes., instructions: Write.%s}"
TEAM = "{name: general, workers: [%s]}" % WORKER  # noqa: UP031
ODD_FIELDS = ", ".join(f"odd{number}: 1" for number in range(PROBLEMS_SHOWN + 2))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings with a directory of the operator's own team files."""
    return Settings(model="demo", teams_dir=tmp_path)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a team file of the operator's."""

    def write(name: str, text: str) -> Path:
        file = tmp_path / name
        file.write_text(text)
        return file

    return write


async def test_a_file_of_the_operator_replaces_a_built_in_team_for_good(
    settings: Settings, write: Write, database_url: str
) -> None:
    write("general.yaml", TEAM % "")

    for _ in range(2):
        async with open_runtime(settings, database_url):
            pass

    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT version, definition FROM teams WHERE name = 'general'").fetchall()
    [(version, definition)] = rows
    assert (version, [worker["name"] for worker in definition["workers"]]) == (1, ["writer"])


def test_the_built_in_teams_stay_beside_those_of_the_operator(settings: Settings, write: Write) -> None:
    write("general.yml", TEAM % "")

    names = [team.name for team in known_teams(settings)]

    assert {"general", "research-report", "support-desk"} <= set(names)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ("{type: strng}", 'output_schema.type: "strng" is not'),
        ("{properties: {a: {pattern: (}}}", "output_schema.properties.a.pattern: "),
        ("{$ref: 'https://example.org/schema'}", "output_schema: .*https://example.org/schema"),
    ],
)
def test_an_output_schema_that_is_none_is_refused_with_its_place(
    settings: Settings, write: Write, schema: str, problem: str
) -> None:
    file = write("general.yaml", TEAM % f", output_schema: {schema}")

    with pytest.raises(TeamFileInvalid, match=rf"^{file}:1: workers\.0\.{problem}"):
        known_teams(settings)


def test_an_output_schema_may_hold_whatever_yaml_reads(settings: Settings, write: Write) -> None:
    write("general.yaml", TEAM % ", output_schema: {enum: [2026-11-28], properties: {1: {type: string}}}")

    assert known_teams(settings)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("[]", "the file: this must be a mapping, of names to values"),
        (
            TEAM % ", tools: [drill]",
            r"workers\.0\.tools\.0: there is no tool drill; known are: calculate, .+, web_search",
        ),
        (
            TEAM.removesuffix("}") % "" + ", dynamic_workers: {tools: [saw]}}",
            r"dynamic_workers\.tools\.0: there is no tool saw; known are: calculate, .+, web_search",
        ),
        ("{name: general, workers: []}", "workers: this must have at least 1"),
        ("{name: general, workers: {a: b}}", "workers: this must be a list"),
        ("{name: general, workers: [{name: writer}]}", "workers.0.description: this is required"),
        (
            "{name: general, workers: [{name: w, description: d, team: crew, instructions: i}, 7]}",
            r"(?!.*Value error).+",
        ),
        (TEAM % ", max_steps: 0, timeout_s: soon", r"workers\.0\.max_steps: [^;]+; workers\.0\.timeout_s: .+"),
        (TEAM.removesuffix("}") % "" + f", {ODD_FIELDS}}}", "odd0: [^;]+(; odd.: [^;]+){9}; and 2 more"),
    ],
    ids=[
        "no object",
        "unknown tool",
        "unknown tool of dynamic workers",
        "no worker",
        "no list",
        "one worker that is none",
        "a rule of our own",
        "two problems",
        "many problems",
    ],
)
def test_all_that_is_wrong_with_a_file_is_said_in_one_line(
    settings: Settings, write: Write, text: str, problems: str
) -> None:
    file = write("team.yaml", text)

    with pytest.raises(TeamFileInvalid, match=f"^{file}:1: {problems}$"):
        known_teams(settings)


def test_a_worker_that_is_an_unknown_team_is_told_with_those_that_are_known(settings: Settings, write: Write) -> None:
    write("office.yaml", "{name: office, workers: [{name: counsel, description: Reviews., team: nobody}]}")

    with pytest.raises(TeamFileInvalid, match=r"workers\.0\.team: there is no team nobody; .+ general, .*of"):
        known_teams(settings)


def test_a_broken_team_file_ends_the_start_in_one_line(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write("team.yaml", TEAM % ", output_schema: {type: strng}")
    monkeypatch.setenv("CHARGEHAND_TEAMS_DIR", str(tmp_path))
    monkeypatch.setenv("DATABASE_URL", "postgresql://127.0.0.1:1/nowhere")

    with pytest.raises(SystemExit) as end:
        cli.main(["serve"])

    (line,) = capsys.readouterr().err.splitlines()
    assert end.value.code == 2
    assert line.startswith(f"chargehand: {file}:1: workers.0.output_schema.type: ")


def test_a_team_in_which_two_may_try_the_same_has_no_tools_that_act(tmp_path: Path) -> None:
    file = tmp_path / "crew.yaml"
    worker = "{name: able, description: Does things., instructions: Do them., tools: [look, send]}"
    tools = {"look": Tool("look", "Looks.", Arguments, "read"), "send": Tool("send", "Sends.", Arguments, "once")}
    for policy in ("wait", "drop"):
        file.write_text(f"{{name: crew, stragglers: {{policy: {policy}}}, workers: [{worker}]}}")
        assert len(teams_in(tmp_path, tools=tools)) == 1

    harmless = worker.replace("look, send", "look")
    for rest in (f"workers: [{worker}]", f"workers: [{harmless}], dynamic_workers: {{tools: [send]}}"):
        file.write_text(f"{{name: crew, stragglers: {{policy: hedge}}, {rest}}}")
        with pytest.raises(TeamFileInvalid, match=r"act twice with: send$"):
            teams_in(tmp_path, tools=tools)
