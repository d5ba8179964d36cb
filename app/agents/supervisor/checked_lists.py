"""Lists that code has checked in results of workers: where the caller's data have them, they are the same rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.flaws import Flaw, pointer_to
from app.domain.results import Synthesis
from app.domain.snapshot import Snapshot
from app.domain.text import shorten

ROW_SHOWN = 200


@dataclass(frozen=True, slots=True)
class CheckedList:
    """A list of the caller's schema that a worker with `checks` hands over under the same name."""

    name: str
    fields: frozenset[str]
    """What both have of a row."""
    delivered: Mapping[str, Sequence[Any]]
    """The rows of each task that delivered some; one of them is to be in the data."""

    def difference(self, rows: Sequence[Any]) -> str | None:
        """How rows differ from all that were delivered; None where they are those of one task."""
        if not self.delivered:
            return "no task has delivered a row of it" if rows else None
        said = [_difference(task, self._cut(rows), self._cut(held)) for task, held in self.delivered.items()]
        return None if None in said else said[0]

    def _cut(self, rows: Sequence[Any]) -> list[Any]:
        return [{name: row.get(name) for name in self.fields} if isinstance(row, dict) else row for row in rows]


def checked_lists(run: Snapshot) -> tuple[CheckedList, ...]:
    """The lists of the caller's schema that code has checked, or would have."""
    wanted = _lists_in(run.brief.output_schema)
    found: dict[str, CheckedList] = {}
    for worker in (each for each in run.brief.team.workers if each.checks):
        for name, fields in _lists_in(worker.output_schema).items():
            if shared := fields & wanted.get(name, frozenset()):
                known = found.get(name, CheckedList(name, shared, {}))
                rows = dict(known.delivered) | _rows(run, worker.name, name)
                found[name] = CheckedList(name, known.fields & shared, rows)
    return tuple(found.values())


def unlike_checked(told: Synthesis, lists: Sequence[CheckedList]) -> Iterator[Flaw]:
    """What data have otherwise than it was checked."""
    data = told.data if isinstance(told.data, dict) else {}
    for each in lists:
        rows = data.get(each.name)
        if isinstance(rows, list) and (why := each.difference(rows)):
            detail = f"data.{each.name} has to be the rows that code has checked, all of them and unchanged: {why}"
            yield Flaw(code="data_unfounded", pointer=pointer_to("data", each.name), detail=detail)


def _rows(run: Snapshot, worker: str, name: str) -> dict[str, Sequence[Any]]:
    """The rows of that name by task, of those that this worker has delivered."""
    outputs = {task.task.id: task.output for task in run.reconcilable if task.worker == worker}
    held = {
        task: output.data.get(name)
        for task, output in outputs.items()
        if output is not None and isinstance(output.data, dict)
    }
    return {task: rows for task, rows in held.items() if isinstance(rows, list)}


def _lists_in(schema: Mapping[str, Any] | None) -> dict[str, frozenset[str]]:
    """The lists of objects that a schema has at its top, with what it says the objects have."""
    properties = (schema or {}).get("properties")
    found = {}
    for name, part in properties.items() if isinstance(properties, Mapping) else ():
        items = part.get("items") if isinstance(part, Mapping) else None
        fields = items.get("properties") if isinstance(items, Mapping) else None
        if isinstance(fields, Mapping):
            found[name] = frozenset(fields)
    return found


def _difference(task: str, rows: Sequence[Any], held: Sequence[Any]) -> str | None:
    for number, (row, other) in enumerate(zip(rows, held, strict=False), 1):
        if row != other:
            return f"row {number} is {_shown(row)}, and {task} has {_shown(other)}"
    return f"it has {len(rows)} rows, and {task} has {len(held)}" if len(rows) != len(held) else None


def _shown(row: Any) -> str:
    if isinstance(row, dict):
        row = {name: row[name] for name in sorted(row)}
    return shorten(str(row), ROW_SHOWN)[0]
