"""What is different about a plan since it was shown last. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from app.terminal.text import cut, one_line

_OF_A_PLAN = ("goal", "strategy", "final_instruction")
_SHOWN = 60
"""Characters of a value, before and after."""


def plan_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """A line for each field, and for each task that has come or gone."""
    yield from _fields("", {name: before[name] for name in _OF_A_PLAN}, {name: after[name] for name in _OF_A_PLAN})
    old, new = ({task["id"]: task for task in plan["tasks"]} for plan in (before, after))
    for name in old.keys() - new.keys():
        yield f"{name} is gone"
    for name, task in new.items():
        if name in old:
            yield from _fields(f"{name} ", old[name], task)
        else:
            yield f"{name} is new"


def _fields(whose: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for name, value in after.items():
        if value != (old := before.get(name)):
            yield f"{whose}{name}: {_said(old)} → {_said(value)}"


def _said(value: Any) -> str:
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    return cut(one_line(str(value)), _SHOWN) if value not in (None, "") else "nothing"
