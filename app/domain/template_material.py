"""What there is for the tasks of a template, each thing once: which tasks are to look at it, or why none is."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from app.domain.material import Item
from app.domain.plan_material import LookPlanned, Material
from app.domain.plan_template import TemplateTask
from app.domain.template_items import Found, LeftOut

Key = tuple[str, str]


class Look(NamedTuple):
    """A task, and a thing that it is to look at."""

    task: str
    item: Item
    whole: bool
    beside_cut: tuple[str, ...] = ()


def material_of(tasks: Iterable[TemplateTask], found: Mapping[str, Found], looks: Iterable[Look]) -> list[Material]:
    """Every thing that there is for those of the tasks that cover what they are about, in the order of the inputs.

    Of several with one name in one input, as the parts of a file in a diff of several commits, all count as one.
    """
    there = [found[task.id] for task in tasks if task.id in found and task.covers]
    items = dict.fromkeys(item for each in there for item in (*each.taken, *(left.item for left in each.left_out)))
    left_out = {_key(left.item): left for each in reversed(there) for left in reversed(each.left_out)}
    planned: dict[Key, dict[str, LookPlanned]] = {}
    for look in looks:
        by_task = planned.setdefault(_key(look.item), {})
        before = by_task.get(look.task)
        whole = look.whole and (before is None or before.whole)
        by_task[look.task] = LookPlanned(task=look.task, whole=whole, beside_cut=look.beside_cut)
    inputs = list(dict.fromkeys(item.input for item in items))
    ordered = sorted(items, key=lambda item: (inputs.index(item.input), item.first, item.last))
    named: dict[Key, list[Item]] = {}
    for item in ordered:
        named.setdefault(_key(item), []).append(item)
    return [_told(each, planned.get(key, {}), left_out.get(key)) for key, each in named.items()]


def _key(item: Item) -> Key:
    return item.input, item.name


def _told(items: Sequence[Item], planned: Mapping[str, LookPlanned], left: LeftOut | None) -> Material:
    first = items[0]
    material = Material(input=first.input, item=first.name, lines=_lines_of(items))
    if planned:
        return material.model_copy(update={"tasks": tuple(planned.values())})
    if left is None:
        return material.model_copy(update={"left_out": "omitted"})
    return material.model_copy(update={"left_out": left.reason, "pattern": left.pattern})


def _lines_of(items: Sequence[Item]) -> str:
    """The lines of things in their order; those that touch each other as one stretch."""
    stretches: list[tuple[int, int]] = []
    for item in items:
        first, last = stretches[-1] if stretches else (0, -1)
        if item.first <= last + 1 and stretches:
            stretches[-1] = first, max(last, item.last)
        else:
            stretches.append((item.first, item.last))
    return ", ".join(f"{first}-{last}" for first, last in stretches)
