"""Suite files: what is refused, in one line with its place, and what a case gets from its suite."""

import re
from pathlib import Path

import pytest

from app.evaluation.expectations import Expected, Fact, Most, Part, PlanExpected, Rubric
from app.evaluation.suite import Bars, Case, Defaults, InputGiven, Judge, Suite
from app.evaluation.suite_file import SuiteInvalid, read_suite
from tests.evaluation.cases import SUITE, written
from tests.support.postgres import ROOT

DOCS = (ROOT / "docs" / "evaluation.md").read_text()
CASE = "name: s\nteam: general\ncases:\n  - id: one\n    objective: Find out.\n    expect:\n"

WRONG = [
    ("", 1, "this must be a mapping"),
    ("name: [", 1, "expected the node content"),
    ("name: s\nname: t\n", 2, "'name' stands here twice"),
    ("name: s\nteam: general\n", 1, "cases: this is required"),
    ("name: s\nteam: No Team\ncases: []\n", 2, "team: String should match pattern"),
    ("name: s\nteam: general\ncases: []\n", 3, "cases: "),
    (f"{SUITE}colour: blue\n", 7, "colour: there is no such field"),
    (f"{CASE}      wrokers: [writer]\n", 7, "cases.0.expect.wrokers: there is no such field"),
    (f"{CASE}      secondary: [writer]\n", 6, "`secondary` needs `workers`"),
    (f"{CASE}      status: [done]\n", 7, "cases.0.expect.status.0: Input should be"),
    (f"{CASE}      facts:\n        - contains: a\n        - matches: (a\n", 9, "expression cannot be used: unclosed"),
    (f"{CASE}      facts:\n        - at: result.answer\n          contains: a\n", 8, "this is no JSON path"),
    (f"{CASE}      facts:\n        - contains: a\n          lacks: b\n", 8, "a fact says one of"),
    (f"{CASE}      facts:\n        - contains: a\n          tolerance: 1\n", 8, "only a number has a tolerance"),
    (f"{CASE}      facts:\n        - contains:\n", 8, "`contains` needs a value"),
    (f"{CASE}      facts:\n        - number:\n", 8, "`number` needs a value"),
    (f"{CASE}      facts:\n        - number: .nan\n", 8, "number: Input should be a finite number"),
    (f"{SUITE}defaults: {{wait_s: .inf}}\n", 7, "defaults.wait_s: Input should be a finite number"),
    (f"{CASE}      plan: {{without: [instruction_vage]}}\n", 7, "no flaw has this code; one is instruction_vague"),
    (f"{CASE}      gaps: [{{}}]\n", 7, "a gap has `words`, or a `task`"),
    (SUITE + "  - id: one\n    objective: Again.\n    expect: {}\n", 4, "another case has the same id (and 1 more)"),
    (SUITE + "    limits: {cost: 1}\n", 7, "cases.0.limits.cost: "),
    (SUITE + "    plan: {tasks: [{id: a, wroker: b}]}\n", 7, "cases.0.plan.tasks.0.wroker: "),
    (SUITE + "    inputs: [{name: a.txt}]\n", 7, "either `content` or a `file`"),
    (SUITE + "    inputs:\n      - {name: a.txt, file: missing.txt}\n", 8, "cannot read"),
    (f"{CASE}      rubric: {{criteria: [good]}}\n    plan_only: true\n", 7, "a job that is only planned has no result"),
    (SUITE.replace("small", "&a [*a]"), 1, "nested more than 60 levels deep"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "problem"), WRONG)
def test_a_suite_that_cannot_be_used_is_refused_in_one_line_with_its_place(
    tmp_path: Path, text: str, line: int, problem: str
) -> None:
    file = written(tmp_path, text)

    with pytest.raises(SuiteInvalid) as refused:
        read_suite(file)

    said = str(refused.value)
    assert said.startswith(f"{file}:{line}: ")
    assert problem in said
    assert "\n" not in said


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SuiteInvalid, match=r"none\.yaml:1: cannot read the file: No such file"):
        read_suite(tmp_path / "none.yaml")


def test_inputs_are_inline_or_files_beside_the_suite_and_know_their_media_types(tmp_path: Path) -> None:
    given = "    inputs:\n      - {name: a.csv, file: a.csv}\n      - {name: b, content: x, media_type: text/html}\n"
    suite = read_suite(written(tmp_path, SUITE + given, a_csv="n\n1\n"))

    [inputs] = suite.inputs.values()
    assert inputs == [
        {"name": "a.csv", "media_type": "text/csv", "content": "n\n1\n"},
        {"name": "b", "media_type": "text/html", "content": "x"},
    ]


def test_a_case_has_the_limits_of_its_suite_and_its_own_before_them(tmp_path: Path) -> None:
    text = SUITE.replace("cases:", "defaults: {limits: {timeout_s: 60, tasks: 3}, plan_only: true}\ncases:")
    suite = read_suite(written(tmp_path, text + "    limits: {tasks: 5}\n")).suite

    assert suite.limits_of(suite.cases[0]) == {"timeout_s": 60, "tasks": 5}
    assert suite.is_plan_only(suite.cases[0])


def test_the_suite_that_the_docs_show_is_one(tmp_path: Path) -> None:
    [shown] = re.findall(r"```yaml\n(.*?)```", DOCS, re.DOTALL)

    assert [case.id for case in read_suite(written(tmp_path, shown)).suite.cases] == ["percentage", "sales"]


@pytest.mark.parametrize(
    "part", [Suite, Defaults, Bars, Judge, Case, InputGiven, Expected, PlanExpected, Fact, Rubric, Most]
)
def test_the_docs_name_every_field_of_a_suite(part: type[Part]) -> None:
    assert [name for name in part.model_fields if f"`{name}" not in DOCS and f".{name}`" not in DOCS] == []


def test_a_document_of_a_case_is_sent_as_base64(tmp_path: Path) -> None:
    (tmp_path / "mill.pdf").write_bytes(b"%PDF-1.7\xff")
    inputs = "[{name: m.pdf, file: mill.pdf}]"
    suite = f"name: s\nteam: general\ncases: [{{id: one, objective: Read., expect: {{}}, inputs: {inputs}}}]\n"

    [given] = read_suite(written(tmp_path, suite)).inputs["one"]

    assert given == {"name": "m.pdf", "media_type": "application/pdf", "content": "JVBERi0xLjf/"}
