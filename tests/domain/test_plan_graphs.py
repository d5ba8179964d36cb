from functools import cache
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.domain.names import normalised
from app.domain.plan import Plan, Task, validated
from tests.support.graphs import plans, tasks

MANY = settings(max_examples=100, deadline=None, derandomize=True, database=None)


def judged(made: list[Task]) -> Plan:
    return validated(Plan(tasks=tuple(made)), ["able"], 10)


def codes(plan: Plan) -> set[str]:
    return {flaw.code for flaw in plan.validation.errors}


def reaches_itself(start: str, edges: dict[str, set[str]]) -> bool:
    seen: set[str] = set()
    ahead = list(edges[start])
    while ahead:
        name = ahead.pop()
        if name == start:
            return True
        if name not in seen:
            seen.add(name)
            ahead.extend(edges.get(name, ()))
    return False


@MANY
@given(plans())
def test_a_plan_whose_tasks_wait_only_for_earlier_ones_is_sound(plan: Plan) -> None:
    assert plan.validation.ok


@MANY
@given(tasks(sound=False))
def test_a_plan_is_sound_exactly_when_ids_differ_and_no_task_waits_for_itself(made: list[Task]) -> None:
    ids = [task.id for task in made]
    repeated = len(set(ids)) < len(ids)
    plan = judged(made)

    assert ("id_duplicate" in codes(plan)) == repeated
    if not repeated:
        edges = {task.id: set(task.depends_on) for task in made}
        circular = any(reaches_itself(name, edges) for name in edges)
        assert plan.validation.ok != circular


@MANY
@given(tasks(sound=False))
def test_the_path_of_a_cycle_follows_dependencies_and_closes(made: list[Task]) -> None:
    needs = {task.id: set(task.depends_on) for task in made}
    for flaw in judged(made).validation.errors:
        if flaw.code == "cycle":
            path = flaw.detail.rpartition(": ")[2].split(" -> ")
            assert path[0] == path[-1]
            assert all(later in needs[earlier] for earlier, later in pairwise(path))


@MANY
@given(plans())
def test_depth_is_the_longest_path_and_no_level_is_wider_than_the_width(plan: Plan) -> None:
    @cache
    def level(name: str) -> int:
        return 1 + max((level(needed) for needed in plan.by_id[name].depends_on), default=0)

    levels = [level(task.id) for task in plan.tasks]
    assert plan.shape is not None
    assert plan.shape.depth == max(levels)
    assert plan.shape.width == max(levels.count(each) for each in levels)


@MANY
@given(plans())
def test_validating_twice_changes_nothing(plan: Plan) -> None:
    assert validated(plan, ["able"], 10) == plan
    assert Plan.model_validate_json(plan.model_dump_json()) == plan


@MANY
@given(st.text(alphabet="aB\"'` \t\n-_é\u2003", max_size=12))
@example("\" 'a")
def test_a_normalised_name_is_not_changed_again(name: str) -> None:
    once = normalised(name)

    assert normalised(once) == once
    assert once == once.strip("\"'` \t\n")
