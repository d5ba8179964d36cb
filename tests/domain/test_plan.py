from typing import Any

import pytest
from pydantic import ValidationError

from app.domain.flaws import Flaw
from app.domain.names import normalised
from app.domain.plan import TEXT_LIMITS, Plan, Task, validated

TEAM = ("web_researcher", "analyst")


def plan(*tasks: dict[str, Any], workers: tuple[str, ...] = TEAM, allowed: int = 10) -> Plan:
    filled = [
        {"id": f"t{number}", "instruction": "do it", "worker": "analyst", **task}
        for number, task in enumerate(tasks, 1)
    ]
    return validated(Plan(tasks=tuple(Task.model_validate(task) for task in filled)), workers, allowed)


def found(plan: Plan) -> list[tuple[str, str]]:
    return [(flaw.code, flaw.pointer) for flaw in plan.validation.errors]


def only(plan: Plan) -> Flaw:
    (flaw,) = plan.validation.errors
    return flaw


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("t1", "t1"),
        (" T1 ", "t1"),
        ("Market Size", "market-size"),
        ("market \t\n size", "market-size"),
        ('"t1"', "t1"),
        ("'t1'", "t1"),
        ("`t1`", "t1"),
        (' " t1 " ', "t1"),
        ("\" 't1' \"", "t1"),
        ("snake_case", "snake_case"),
        (7, "7"),
        ("", ""),
    ],
)
def test_names_are_normalised_by_one_rule(written: str | int, name: str) -> None:
    assert normalised(written) == name
    assert normalised(name) == name


@pytest.mark.parametrize("value", [None, True, 1.5, ["t1"], {"id": "t1"}])
def test_what_is_no_name_is_left_for_the_schema_to_refuse(value: object) -> None:
    assert normalised(value) is value


@pytest.mark.parametrize(
    "spelling", ["Web Researcher ", "web-researcher", '"web_researcher"', "WEB_RESEARCHER", "web researcher"]
)
def test_a_worker_is_matched_in_every_spelling(spelling: str) -> None:
    sound = plan({"worker": spelling})

    assert sound.validation.ok
    assert sound.tasks[0].worker == "web_researcher"


def test_a_worker_named_exactly_is_taken_before_one_spelt_alike() -> None:
    for workers in (("a-b", "a_b"), ("a_b", "a-b")):
        sound = plan({"worker": "a-b"}, {"worker": "a_b"}, workers=workers)
        assert [task.worker for task in sound.tasks] == ["a-b", "a_b"]


def test_ids_and_references_are_normalised_alike() -> None:
    sound = plan({"id": " Market Size"}, {"id": "report", "depends_on": ["market size", '"Market  Size"']})

    assert sound.validation.ok
    assert [task.id for task in sound.tasks] == ["market-size", "report"]
    assert sound.by_id["report"].depends_on == ("market-size",)


@pytest.mark.parametrize(("written", "needs"), [(None, ()), ("T1", ("t1",)), ([], ()), (["t1"], ("t1",))])
def test_dependencies_may_be_left_out_or_be_one_name(written: object, needs: tuple[str, ...]) -> None:
    sound = plan({}, {"depends_on": written})

    assert sound.validation.ok
    assert sound.tasks[1].depends_on == needs


def test_a_plan_without_dependencies_and_bounds_is_complete() -> None:
    task = Task(id="t1")

    assert (task.depends_on, task.required, task.on_missing_input, task.budget.steps) == ((), True, "skip", None)


def test_an_empty_plan_is_refused() -> None:
    assert found(plan()) == [("plan_empty", "/tasks")]


def test_a_plan_with_too_many_tasks_is_refused_with_both_numbers() -> None:
    flaw = only(plan({}, {}, {}, allowed=2))

    assert (flaw.code, flaw.pointer) == ("plan_too_large", "/tasks")
    assert "3 tasks" in flaw.detail
    assert "at most 2" in flaw.detail


@pytest.mark.parametrize("name", ["", "-", "_x", "a/b", "é", "a" * 65, "a.b", "a\x00"])
def test_an_id_outside_the_pattern_is_refused(name: str) -> None:
    assert found(plan({"id": name})) == [("id_invalid", "/tasks/0/id")]


@pytest.mark.parametrize("name", ["0", "a" * 64, "a-_9"])
def test_an_id_within_the_pattern_is_taken(name: str) -> None:
    assert plan({"id": name}).validation.ok


def test_ids_that_differ_only_in_spelling_are_one_id_used_twice() -> None:
    refused = plan({"id": "one task"}, {"id": "other"}, {"id": "One-Task"})

    assert found(refused) == [("id_duplicate", "/tasks/2/id")]
    assert "one-task" in only(refused).detail


@pytest.mark.parametrize("blank", ["", "  ", "\n\t"])
def test_a_blank_instruction_is_refused(blank: str) -> None:
    assert found(plan({"instruction": blank})) == [("instruction_blank", "/tasks/0/instruction")]


def test_a_missing_worker_is_refused_and_the_field_and_the_team_are_named() -> None:
    flaw = only(plan({"worker": ""}))

    assert (flaw.code, flaw.pointer) == ("worker_missing", "/tasks/0/worker")
    assert all(word in flaw.detail for word in ("worker", *TEAM))


def test_an_unknown_worker_is_refused_and_the_team_is_named() -> None:
    flaw = only(plan({}, {"worker": "Marketing Ninja"}))

    assert (flaw.code, flaw.pointer) == ("worker_unknown", "/tasks/1/worker")
    assert all(word in flaw.detail for word in ("marketing-ninja", *TEAM))


def test_an_unknown_dependency_is_refused() -> None:
    flaw = only(plan({}, {"depends_on": ["t1", "t9"]}))

    assert (flaw.code, flaw.pointer) == ("dependency_unknown", "/tasks/1/depends_on/1")
    assert "t9" in flaw.detail


def test_a_task_that_depends_on_itself_is_refused_once() -> None:
    refused = plan({}, {}, {"depends_on": ["t3"]})

    assert found(refused) == [("dependency_on_itself", "/tasks/2/depends_on/0")]
    assert "t3" in only(refused).detail


def test_a_cycle_is_refused_and_its_path_is_named() -> None:
    flaw = only(plan({"depends_on": ["t2"]}, {"depends_on": ["t1"]}))

    assert (flaw.code, flaw.pointer) == ("cycle", "/tasks")
    assert flaw.detail.endswith(("t1 -> t2 -> t1", "t2 -> t1 -> t2"))


def test_a_cycle_among_free_tasks_is_found() -> None:
    refused = plan({"depends_on": ["t3"]}, {}, {"depends_on": ["t5"]}, {}, {"depends_on": ["t1"]})

    path = only(refused).detail.rpartition(": ")[2].split(" -> ")
    assert path[0] == path[-1]
    assert set(path) == {"t1", "t3", "t5"}


def test_everything_that_is_wrong_is_found_at_once() -> None:
    refused = plan({"id": "?", "instruction": " ", "worker": "ninja"}, {"worker": "", "depends_on": ["t2", "gone"]})

    assert found(refused) == [
        ("id_invalid", "/tasks/0/id"),
        ("instruction_blank", "/tasks/0/instruction"),
        ("worker_unknown", "/tasks/0/worker"),
        ("worker_missing", "/tasks/1/worker"),
        ("dependency_on_itself", "/tasks/1/depends_on/0"),
        ("dependency_unknown", "/tasks/1/depends_on/1"),
    ]


def test_a_refused_plan_has_no_shape_and_keeps_its_tasks() -> None:
    refused = plan({"worker": "ninja"})

    assert (refused.validation.ok, refused.shape, len(refused.tasks)) == (False, None, 1)


@pytest.mark.parametrize(
    ("needs", "shape"),
    [
        ([[]], (1, 1, "single")),
        ([[], [], []], (3, 1, "parallel")),
        ([[], ["t1"], ["t2"]], (1, 3, "sequential")),
        ([[], ["t1"], ["t1"], ["t2", "t3"]], (2, 3, "hybrid")),
        ([["t2"], []], (1, 2, "sequential")),
        ([[], [], ["t1", "t2"]], (2, 2, "hybrid")),
    ],
)
def test_the_shape_tells_width_depth_and_kind(needs: list[list[str]], shape: tuple[int, int, str]) -> None:
    sound = plan(*({"depends_on": names} for names in needs)).shape

    assert sound is not None
    assert (sound.width, sound.depth, sound.strategy) == shape


def test_a_dependency_that_is_named_many_times_counts_once_and_costs_nothing() -> None:
    sound = plan({}, {"depends_on": ["t1", "T1"] * 10_000})

    assert sound.validation.ok
    assert sound.tasks[1].depends_on == ("t1",)
    assert found(plan({"depends_on": ["t1"] * 10_000})) == [("dependency_on_itself", "/tasks/0/depends_on/0")]


def test_a_plan_of_the_most_tasks_and_dependencies_has_its_shape() -> None:
    tasks = [{"depends_on": [f"t{needed}" for needed in range(1, number)]} for number in range(1, 101)]
    shape = plan(*tasks, allowed=100).shape

    assert shape is not None
    assert (shape.width, shape.depth, shape.strategy) == (1, 100, "sequential")


def test_over_long_texts_of_a_plan_are_cut_and_say_so() -> None:
    task = Task(id="t1", worker="analyst", **dict.fromkeys(TEXT_LIMITS.keys() & Task.model_fields, "x" * 200000))
    cut = validated(Plan(goal="g" * 200_000, final_instruction="Short.", tasks=(task,)), TEAM, 10)

    assert cut.validation.ok
    assert len(cut.goal) <= TEXT_LIMITS["goal"]
    assert "characters omitted" in cut.goal
    assert cut.final_instruction == "Short."
    for field in TEXT_LIMITS.keys() & Task.model_fields:
        assert len(getattr(cut.tasks[0], field)) <= TEXT_LIMITS[field]


def test_a_plan_from_an_older_log_is_read_whatever_its_length() -> None:
    stored = Plan(tasks=(Task(id="t1", instruction="x" * 200_000),)).model_dump_json()

    assert len(Plan.model_validate_json(stored).tasks[0].instruction) == 200_000


@pytest.mark.parametrize("number", [True, "3", "1e3"])
@pytest.mark.parametrize("field", ["tokens", "steps", "timeout_s"])
def test_no_budget_is_a_number_in_disguise(field: str, number: object) -> None:
    with pytest.raises(ValidationError):
        Task.model_validate({"id": "t1", "budget": {field: number}})


@pytest.mark.parametrize("instruction", ["", " \n", "\ufffd", "\u200b\u200d\ufeff", "\u2028", "\u3164\u0301"])
def test_an_instruction_that_shows_nothing_is_none(instruction: str) -> None:
    assert found(plan({"instruction": instruction})) == [("instruction_blank", "/tasks/0/instruction")]
