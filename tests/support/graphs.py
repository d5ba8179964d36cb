"""Generated plans."""

from typing import Any

from hypothesis import strategies as st

from app.domain.plan import Plan, Task, validated

TASKS_AT_MOST = 8


@st.composite
def tasks(draw: st.DrawFn, *, sound: bool = True) -> list[Task]:
    """The tasks of a plan in any order; unsound ones may wait in circles, for themselves, and bear the same names."""
    count = draw(st.sampled_from([3, 1, 2, 4, 5, 6, 7, TASKS_AT_MOST]))
    names = [f"t{number}" for number in range(count)]
    made = [_task(draw, name, names[:place] if sound else names) for place, name in enumerate(names)]
    if not sound:
        made = [task.model_copy(update={"id": draw(st.sampled_from(names))}) for task in made]
    return list(draw(st.permutations(made)))


def _task(draw: st.DrawFn, name: str, others: list[str]) -> Task:
    needs = draw(st.lists(st.sampled_from(others), max_size=3, unique=True)) if others else []
    fields: dict[str, Any] = {
        "required": draw(st.sampled_from([True, True, False])),
        "on_missing_input": draw(st.sampled_from(["skip", "proceed"])),
    }
    return Task(id=name, instruction=f"do {name}", worker="able", depends_on=tuple(needs), **fields)


def plans() -> st.SearchStrategy[Plan]:
    """Sound plans of one to eight tasks."""
    return tasks().map(lambda made: validated(Plan(tasks=tuple(made)), ["able"], TASKS_AT_MOST))
