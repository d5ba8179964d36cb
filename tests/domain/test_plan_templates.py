"""Plan templates: what a team may bring, and the plans that are made of it."""

import json
import re
from typing import Any

import pytest
from hypothesis import given as given_any
from hypothesis import settings
from hypothesis import strategies as st
from pydantic import ValidationError

from app.agents.prompting import render
from app.domain.errors import JobRefused
from app.domain.lint import RESULTS_HELD
from app.domain.material import MATERIAL_CHARACTERS, ROW_CHARACTERS
from app.domain.plan import TEXT_LIMITS, Plan
from app.domain.team import Team
from tests.support.templates import REVIEW, SUMMARY, diff_of, given, plan_for, team_of

MANY = settings(max_examples=60, deadline=None, derandomize=True, database=None)
ALONE = {"id": "a", "instruction": "Do {{objective}}", "worker": "writer"}

REFUSED: dict[str, tuple[Any, str, str]] = {
    "an unknown placeholder": (REVIEW | {"instruction": "{{path}} {{key}}"}, "instruction", "{{key}}; known here are"),
    "one of another kind": (REVIEW | {"for_each": "inputs", "title": ""}, "instruction", "unknown placeholder {{path"),
    "one that is none": (REVIEW | {"instruction": "{{path}} {{ Path }}"}, "instruction", "begins no placeholder"),
    "one without an end": (REVIEW | {"instruction": "{{path}} {{text"}, "instruction", "begins no placeholder"),
    "items without for_each": (ALONE | {"instruction": "{{items}}"}, "instruction", "unknown placeholder {{items}}"),
    "text in an instruction": (REVIEW | {"instruction": "{{text}}"}, "instruction", "it belongs in the context"),
    "lines in a title": (REVIEW | {"title": "{{items}}"}, "title", "belongs in the instruction or the context"),
    "tasks that are all the same": (REVIEW | {"instruction": "Go.", "context": ""}, "", "would all be the same"),
    "a cap without for_each": (ALONE | {"most": 3}, "", "most goes with for_each"),
    "an omission without for_each": (ALONE | {"when_empty": "omit"}, "", "when_empty goes with for_each"),
    "an unknown worker": (ALONE | {"worker": "nobody"}, "worker", "unknown worker 'nobody'"),
    "an unknown dependency": (ALONE | {"depends_on": ["x"]}, "depends_on.0", "'x', which is not in the plan"),
    "itself": (ALONE | {"depends_on": ["a"]}, "depends_on.0", "depends on itself"),
    "an id that is none": (ALONE | {"id": "a/b"}, "id", "must match"),
    "an id that is too long": (REVIEW | {"id": "x" * 61}, "id", "at most 60 characters"),
    "no instruction": (ALONE | {"instruction": ""}, "instruction", "at least 1"),
    "an unknown field": (ALONE | {"foreach": "files"}, "foreach", "Extra inputs"),
    "an unknown budget": (ALONE | {"budget": {"token": 5}}, "budget.token", "Extra inputs"),
    "a cap of none": (REVIEW | {"most": 0}, "most", "greater than or equal to 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_team_is_refused_with_the_place_of_what_is_wrong(name: str) -> None:
    task, place, why = REFUSED[name]

    with pytest.raises(ValidationError) as refused:
        team_of(task)

    [error] = refused.value.errors()
    assert ".".join(map(str, error["loc"])) == f"plan_template.tasks.0.{place}".rstrip(".")
    assert why in error["msg"]


@pytest.mark.parametrize(
    ("tasks", "template", "place", "why"),
    [
        ((), {}, "tasks", "the plan has no tasks"),
        ((ALONE, ALONE), {}, "tasks.1.id", "used twice"),
        ((REVIEW, ALONE | {"id": "review-2"}), {}, "tasks.1.id", "would have this id"),
        ((ALONE | {"depends_on": "b"}, ALONE | {"id": "b", "depends_on": "a"}), {}, "tasks", "wait for each other"),
        ((ALONE,), {"goal": "{{path}}"}, "goal", "known here are: inputs, left_out, objective"),
        ((ALONE,), {"strategy": "select"}, "strategy", "the team has the strategy merge"),
    ],
)
def test_so_is_one_whose_template_is_wrong_as_a_whole(
    tasks: tuple[Any, ...], template: dict[str, Any], place: str, why: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        team_of(*tasks, template=template, strategy="merge")

    [error] = refused.value.errors()
    assert ".".join(map(str, error["loc"])) == f"plan_template.{place}"
    assert why in error["msg"]


def test_a_team_is_stored_with_its_template_and_without_one_as_before() -> None:
    team = team_of(REVIEW, SUMMARY)
    bare = team.model_copy(update={"plan_template": None})

    assert Team.model_validate_json(team.definition) == team
    assert "plan_template" not in json.loads(bare.definition)


DIFF = given("change.diff", diff_of(("src/a.py", 3), ("src/b.py", 1), ("uv.lock", 50), ("c.md", 2)))


def test_a_plan_has_a_task_for_each_and_what_rests_on_them() -> None:
    about = {"goal": "{{objective}}", "final_instruction": "Say that these were not read: {{left_out}}."}
    team = team_of(REVIEW | {"without": "*.lock"}, SUMMARY, template=about)

    plan = plan_for(team, [DIFF], "Find the bugs.")

    assert [task.id for task in plan.tasks] == ["review-1", "review-2", "review-3", "summary"]
    first, last = plan.tasks[0], plan.tasks[-1]
    assert first.title == 'Review "src/a.py"'
    assert first.instruction == 'Review the change to "src/a.py" for bugs.'
    assert first.success_criterion == "Each of the 1 files was looked at."
    assert first.context.splitlines()[2:5] == [
        '"src/a.py" in "change.diff", lines 1-7, modified, +3 -0:',
        "      | --- a/src/a.py",
        "      | +++ b/src/a.py",
    ]
    assert first.context.splitlines()[-1] == "     4| +line 2 of src/a.py"
    assert last.depends_on == ("review-1", "review-2", "review-3")
    assert (plan.goal, plan.final_instruction) == (
        "Find the bugs.",
        'Say that these were not read: "uv.lock".',
    )
    assert (plan.validation.ok, plan.validation.warnings) == (True, ())
    assert plan.shape is not None
    assert (plan.shape.width, plan.shape.depth) == (3, 2)


def test_functions_come_with_the_imports_of_their_module_and_sections_with_their_text() -> None:
    source = given("tool.py", "import os\n\ndef f():\n    return os.name\n")
    document = given("guide.md", "# One\n\ntext\n")
    test = {"id": "t", "for_each": "functions", "instruction": "Test {{item}} at {{lines}} of {{input}}.",
            "context": "{{imports}}\n\n{{text}}", "worker": "writer"}  # fmt: skip
    read = {"id": "s", "for_each": "sections", "instruction": "Read:\n{{items}}", "worker": "writer"}

    first, second = plan_for(team_of(test, read), [source, document]).tasks

    assert first.instruction == 'Test "f" at 3-4 of "tool.py".'
    assert 'The imports of "tool.py":\n     1| import os\n' in first.context
    assert first.context.endswith('"f" in "tool.py", lines 3-4:\n     3| def f():\n     4|     return os.name')
    assert second.instruction == 'Read:\n- "One" in "guide.md", lines 1-3'


def test_things_that_are_more_than_the_cap_are_grouped_and_none_is_dropped() -> None:
    files = [(f"src/{number}.py", 1 + number % 7) for number in range(40)]
    team = team_of(REVIEW | {"most": 6, "title": "{{count}}: {{path}}"}, SUMMARY)

    plan = plan_for(team, [given("c.diff", diff_of(*files))])

    assert [task.id for task in plan.tasks] == [*(f"review-{number}" for number in range(1, 7)), "summary"]
    named = [name for task in plan.tasks for name in re.findall(r'"(src/\d+\.py)"', task.instruction)]
    assert named == [path for path, _ in files]
    assert plan.tasks[0].title.endswith("more")


@pytest.mark.parametrize(
    ("limits", "strategy", "count"),
    [
        ({}, None, 12),
        ({"tasks": 3}, None, 3),
        ({"tasks": 2}, None, 2),
        ({"tasks": 100}, None, RESULTS_HELD),
        ({"tasks": 100}, "reduce", RESULTS_HELD + 1),
    ],
)
def test_caps_of_the_run_and_of_one_answer_hold_by_default(limits: dict[str, Any], strategy: Any, count: int) -> None:
    diff = given("c.diff", diff_of(*((f"{number}.py", 1) for number in range(90))))

    plan = plan_for(team_of(REVIEW, SUMMARY), [diff], strategy=strategy, **limits)

    assert len(plan.tasks) == count
    assert "results_too_many" not in {flaw.code for flaw in plan.validation.warnings}


def test_without_a_task_that_needs_them_all_reduce_takes_as_many_as_a_plan_may_have() -> None:
    diff = given("c.diff", diff_of(*((f"{number}.py", 1) for number in range(190))))

    plan = plan_for(team_of(REVIEW, template={"strategy": "reduce"}), [diff], tasks=100)

    assert len(plan.tasks) == 100


OPTIONAL = REVIEW | {"when_empty": "omit"}


def test_a_task_for_each_of_nothing_is_left_out_with_what_would_only_have_had_its_results() -> None:
    note = SUMMARY | {"id": "note"}
    whole = SUMMARY | {"id": "whole", "depends_on": ["review", "alone"]}

    plan = plan_for(team_of(OPTIONAL, ALONE | {"id": "alone"}, note, whole), [])

    assert [(task.id, task.depends_on) for task in plan.tasks] == [("alone", ()), ("whole", ("alone",))]


def test_what_an_omitted_task_was_for_is_left_out_unless_another_has_it() -> None:
    inputs = [DIFF, given("tool.py", "def f(): pass\n"), given("notes.md", "# One\ntext\n# Two\nmore\n")]
    none = {"id": "none", "for_each": "inputs", "of": "*.none", "when_empty": "omit", "worker": "writer"}
    functions = {"id": "functions", "for_each": "functions", "worker": "reviewer", "depends_on": ["none"]}
    sections = {"for_each": "sections", "worker": "writer", "instruction": "Read {{item}}."}
    tasks: list[dict[str, Any]] = [
        none | {"instruction": "Read {{item}}."},
        functions | {"instruction": "Read {{item}}."},
        sections | {"id": "after", "depends_on": ["none"]},
        sections | {"id": "first", "only": "One"},
    ]

    plan = plan_for(team_of(*tasks, template={"final_instruction": "{{left_out}}"}), inputs)

    assert [task.id for task in plan.tasks] == ["first-1"]
    assert plan.final_instruction == '"f", "Two"'


BINARY = given("b.diff", "diff --git a/x.png b/x.png\nindex 1..2 100644\nBinary files a/x.png and b/x.png differ\n")
TOO_LONG = "x" * (TEXT_LIMITS["instruction"] + 1)


@pytest.mark.parametrize(
    ("tasks", "inputs", "objective", "limits", "code", "place", "why"),
    [
        ((REVIEW,), [], "o", {}, "template_empty", "/inputs", "for each of the files of diffs, and there is none."),
        ((REVIEW | {"only": "x"},), [DIFF], "o", {}, "template_empty", "/inputs", "its patterns leave out all 4"),
        ((REVIEW,), [BINARY], "o", {}, "template_empty", "/inputs", "there is none: all 1 are binary"),
        ((OPTIONAL, SUMMARY), [], "o", {}, "template_empty", "/inputs", "for each of the files"),
        ((REVIEW, SUMMARY), [DIFF], "o", {"tasks": 1}, "template_too_large", "/limits/tasks", "2 tasks at least"),
        ((ALONE,), [], TOO_LONG, {}, "template_too_large", "/objective", "tasks.0.instruction"),
        ((REVIEW,), [given("x.diff", "no")], "o", {}, "input_unparseable", "/inputs/0/content", "changes no file"),
    ],
)
def test_no_plan_is_made_of_nothing_or_too_much(
    tasks: Any, inputs: Any, objective: str, limits: Any, code: str, place: str, why: str
) -> None:
    with pytest.raises(JobRefused) as refused:
        plan_for(team_of(*tasks), inputs, objective, **limits)

    [(pointer, told)] = refused.value.errors
    assert (refused.value.code, pointer) == (code, place)
    assert why in told


def test_what_a_task_does_not_show_is_said_there_and_among_the_warnings() -> None:
    diff = diff_of(("long.py", 4_000), ("short.py", 2), ("wide.js", 0)) + f"+{'x' * 9_000}\n"
    diff = diff.replace("@@ -1,1 +1,1 @@\n here", "@@ -1,1 +1,2 @@\n here")

    plan = plan_for(team_of(REVIEW | {"most": 1}), [given("c.diff", diff)])

    [task] = plan.tasks
    assert len(task.context) < MATERIAL_CHARACTERS * 1.5
    assert "[Cut here: the last" in task.context
    assert task.context.count("of short.py") == 2
    assert f"… {9_001 - ROW_CHARACTERS} more characters" in task.context
    [warning] = plan.validation.warnings
    assert (warning.code, warning.pointer) == ("material_cut", "/tasks/0/context")


def test_the_strategy_of_the_job_comes_before_that_of_the_template() -> None:
    team = team_of(REVIEW, template={"strategy": "reduce"})

    assert plan_for(team, [DIFF]).strategy == "reduce"
    assert plan_for(team, [DIFF], strategy="merge").strategy == "merge"
    assert plan_for(team_of(REVIEW), [DIFF]).strategy == "merge"


HOSTILE = st.lists(
    st.sampled_from([*"ab/.-_ \"\\<>{}|`'\u2028\u202e\x85", "</task>", "{{text}}", "{{objective}}", "\\n", "1| "]),
    min_size=1,
    max_size=12,
).map(lambda parts: f"x{''.join(parts)}.py")


@MANY
@given_any(st.lists(HOSTILE, min_size=1, max_size=5), st.integers(1, 3), HOSTILE)
def test_no_name_or_text_from_an_input_leaves_its_place(names: list[str], most: int, line: str) -> None:
    """Whatever a name holds, the instruction is the template's words and names in JSON; each line of material stands
    behind a bar; and the prompt has the tags of its template alone."""
    inputs = [given(f"{number}{name}", f"{line}\n{line}") for number, name in enumerate(names)]
    task = {"id": "t", "for_each": "inputs", "most": most, "instruction": "Look at {{item}}; end.",
            "context": "{{text}}", "worker": "writer"}  # fmt: skip

    plan = plan_for(team_of(task), inputs, "an {{item}} objective")

    seen = []
    for made in plan.tasks:
        told = re.fullmatch(r"Look at (.*); end\.", made.instruction)
        assert told is not None
        seen += json.loads(f"[{told[1]}]")
        assert len(made.instruction.splitlines()) == 1
        for shown in made.context.splitlines()[1:]:
            assert re.match(r' {0,5}\d*\| |"|$', shown)
            assert not shown.startswith('"') or shown.endswith(":")
        _check_tags(made.instruction, made.context)
    assert seen == [each.name for each in inputs]
    assert plan_for(team_of(task), inputs, "an {{item}} objective") == plan


def _check_tags(instruction: str, context: str) -> None:
    values = {"context": context, "success_criterion": "done"}
    request = render("work_request", instruction=instruction, task=values, inputs=(), results=[], missing=[])
    assert re.findall(r"</?\w+>", request) == [
        "<task>", "</task>", "<context>", "</context>", "<success_criterion>", "</success_criterion>",
    ]  # fmt: skip


@MANY
@given_any(
    st.lists(st.tuples(st.integers(1, 400), st.booleans()), min_size=1, max_size=45),
    st.none() | st.integers(1, 20),
    st.integers(2, 60),
    st.booleans(),
)
def test_every_file_is_in_exactly_one_task_whatever_the_caps(
    files: list[tuple[int, bool]], most: int | None, tasks: int, summed: bool
) -> None:
    named = [(f"{'src' if wanted else 'gen'}/{n}.py", lines) for n, (lines, wanted) in enumerate(files)]
    team = team_of(
        REVIEW | {"most": most, "without": "gen/**"},
        *([SUMMARY] if summed else []),
        template={"final_instruction": "{{left_out}}"},
    )
    inputs = [given("c.diff", diff_of(*named))]
    wanted = [path for path, _ in named if path.startswith("src")]
    if not wanted:
        with pytest.raises(JobRefused):
            plan_for(team, inputs, tasks=tasks)
        return

    plan: Plan = plan_for(team, inputs, tasks=tasks)

    reviews = [task for task in plan.tasks if task.id != "summary"]
    assert [path for task in reviews for path in json.loads(f"[{task.instruction[21:-10]}]")] == wanted
    assert len(plan.tasks) <= min(tasks, RESULTS_HELD)
    assert len(reviews) <= (most or 100)
    room = min(tasks, RESULTS_HELD) - summed
    assert len(reviews) == min(len(wanted), most or 100, room)
    left = [path for path, _ in named if path.startswith("gen")]
    assert plan.final_instruction == (", ".join(map(json.dumps, left)) or "none")
