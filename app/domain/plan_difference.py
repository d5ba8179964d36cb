"""What is different about a plan, field by field."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict

from app.domain.plan import Plan, Task

_OF_PLAN = ("goal", "strategy", "final_instruction")
_OF_TASK = tuple(name for name in Task.model_fields if name != "id")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class FieldChange(_Part):
    """A field that has another value."""

    field: str
    """Its name."""
    before: Any
    """Its value in the revision before."""
    after: Any
    """Its value in this one."""


class TaskChange(_Part):
    """A task that is not as it was."""

    task: str
    """Its id."""
    fields: tuple[FieldChange, ...]
    """What is different about it."""


class Difference(_Part):
    """What is different about a revision of a plan."""

    fields: tuple[FieldChange, ...] = ()
    """Fields of the plan itself that have changed."""
    added: tuple[str, ...] = ()
    """Ids of the tasks that are new."""
    removed: tuple[str, ...] = ()
    """Ids of the tasks that it no longer has."""
    changed: tuple[TaskChange, ...] = ()
    """Tasks that are not as they were."""


def difference(before: Plan, after: Plan) -> Difference:
    """What is different about `after`, the revision that followed `before`."""
    old, new = before.by_id, after.by_id
    kept = [name for name in new if name in old]
    return Difference(
        fields=tuple(_changes(before, after, _OF_PLAN)),
        added=tuple(name for name in new if name not in old),
        removed=tuple(name for name in old if name not in new),
        changed=tuple(
            TaskChange(task=name, fields=tuple(_changes(old[name], new[name], _OF_TASK)))
            for name in kept
            if old[name] != new[name]
        ),
    )


def _changes(before: BaseModel, after: BaseModel, names: Iterable[str]) -> Iterable[FieldChange]:
    for name in names:
        was, now = getattr(before, name), getattr(after, name)
        if was != now:
            yield FieldChange(field=name, before=was, after=now)
