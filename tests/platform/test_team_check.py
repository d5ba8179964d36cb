from collections.abc import Callable
from pathlib import Path

import pytest

from app import cli
from app.team_files import BUILT_IN_TEAMS

Check = Callable[[str], tuple[object, list[str]]]

SOUND = """\
name: letters
workers:
  - name: writer
    description: Writes letters.
    instructions: Polite, and short.
"""


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Check:
    """Checks a file with this text in it: the exit code, and the lines that were printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", "postgresql://127.0.0.1:1/nowhere")

    def check(text: str) -> tuple[object, list[str]]:
        (tmp_path / "team.yaml").write_text(text)
        with pytest.raises(SystemExit) as end:
            cli.main(["team", "check", "team.yaml"])
        printed = capsys.readouterr()
        assert printed.err == ""
        return end.value.code, printed.out.splitlines()

    return check


def test_a_sound_file_is_said_to_be_in_one_line(check: Check) -> None:
    assert check(SOUND) == (0, ["team.yaml: the team letters is sound."])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (SOUND + "    tols: []\n", ["6: /workers/0/tols: there is no such field"]),
        (SOUND + "    max_steps: many\n", ["6: /workers/0/max_steps: this must be a valid integer"]),
        (SOUND.replace("    instructions: Polite, and short.\n", ""), ["3: /workers/0: writer needs instructions"]),
        (SOUND.replace("    description: Writes letters.\n", ""), ["3: /workers/0/description: this is required"]),
        (
            SOUND + "    tools:\n      - calculate\n      - drill\n",
            ["8: /workers/0/tools/1: there is no tool drill"],
        ),
        (SOUND + "    must_use: [[]]\n", ["6: /workers/0/must_use: writer must use one of no tools"]),
        (SOUND + "    output_schema:\n      type: strng\n", ["7: /workers/0/output_schema/type: "]),
        (
            SOUND + "    fallback: other\nrouting:\n  - when: {contains: [x]}\n    worker: other\n",
            ["6: /workers/0/fallback: this is no other worker", "9: /routing/0/worker: the team has no worker other"],
        ),
        (
            SOUND + "  - {name: lead, description: Leads., team: nobody}\n",
            ["6: /workers/1/team: there is no team nobod"],
        ),
        (SOUND + "output_schema: {pattern: '(?!x)y'}\n", ["6: /output_schema"]),
        (SOUND + "name: numbers\n", ["6: /name: this stands here twice"]),
        (SOUND + "limits: {tasks: 8\n", ["7: while parsing a flow mapping, expected ',' or '}'"]),
        (SOUND + "\tlimits: 1\n", ["6: while scanning"]),
        ("[" * 5_000, ["1: while increasing flow level, exceeded maximum nesting depth"]),
        ("", ["1: there is nothing in it"]),
        ("workers: &all [*all]\nname: letters\n", ["1: /workers/0: "]),
        ("{name: letters, workers: [{when: 2026-13-45}]}", ["1: month must be in 1..12"]),
    ],
)
def test_what_is_wrong_is_told_line_by_line(check: Check, text: str, told: list[str]) -> None:
    code, lines = check(text)

    assert code == 2
    assert len(lines) == len(told)
    for line, expected in zip(lines, told, strict=True):
        assert line.startswith(f"team.yaml:{expected}")


def test_files_that_are_checked_together_may_be_workers_of_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    office = tmp_path / "office.yaml"
    office.write_text("name: office\nworkers: [{name: lead, description: Leads., team: letters}]\n")
    (tmp_path / "letters.yaml").write_text(SOUND)
    missing = tmp_path / "missing.yaml"

    codes = []
    for files in ([office], [office, tmp_path / "letters.yaml"], [missing, *BUILT_IN_TEAMS.glob("*.yaml")]):
        with pytest.raises(SystemExit) as end:
            cli.main(["team", "check", *map(str, files)])
        codes.append(end.value.code)

    assert codes == [2, 0, 2]
    assert f"{missing}:1: [Errno 2] No such file" in capsys.readouterr().out


def test_what_is_wrong_with_the_other_files_of_the_service_is_told_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("office", "letters", "numbers"):
        (tmp_path / f"{name}.yaml").write_text(SOUND.replace("letters", name))
    office, broken = tmp_path / "office.yaml", tmp_path / "broken.yaml"
    broken.write_text(SOUND + "    tols: []\n    max_steps: many\n")
    monkeypatch.setenv("CHARGEHAND_TEAMS_DIR", str(tmp_path))

    told = []
    for file in (office, broken):
        with pytest.raises(SystemExit) as end:
            cli.main(["team", "check", str(file)])
        assert end.value.code == 2
        told.append(capsys.readouterr())

    faults = [
        f"{broken}:6: /workers/0/tols: there is no such field",
        f"{broken}:7: /workers/0/max_steps: this must be a valid integer",
    ]
    assert [(each.err, [line.partition(", unable")[0] for line in each.out.splitlines()]) for each in told] == [
        ("", [f"{office}: the team office is sound.", *faults]), ("", faults),
    ]  # fmt: skip
