"""What the caller's data are checked for: that they fit, and that each value comes from a task that has it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.agents.supervisor.checked_lists import unlike_checked
from app.agents.supervisor.ground import Ground
from app.domain.answer_figures import reckoned_from, strange_figures
from app.domain.figures import Figure, Reading, Seen, figures_in
from app.domain.flaws import Flaw, pointer_to
from app.domain.json_shape import Path, misfits
from app.domain.quotations import Words, quotations_in
from app.domain.results import Synthesis
from app.domain.text import plain_words, shorten

NAME_WORDS = 4
"""A text of more words is prose: its figures and quotations are checked, as those of the answer are."""
OPERANDS = 24
"""Numbers of the data that others are reckoned from."""
SHOWN = 8
VALUE_SHOWN = 60


@dataclass(frozen=True, slots=True)
class _Leaf:
    path: Path
    value: Any

    @property
    def pointer(self) -> str:
        return pointer_to(*self.path)


def fits(told: Synthesis, ground: Ground) -> Iterator[Flaw]:
    """The data fit the caller's schema."""
    if ground.schema is not None:
        for path, message in misfits(told.data, ground.schema):
            place = pointer_to(*path)
            yield Flaw(code="data_unfit", pointer=f"/data{place}", detail=f"data{place}: {message}")


def come_from_tasks(told: Synthesis, ground: Ground) -> Iterator[Flaw]:
    """Every value is said to come from tasks, and stands in what they delivered.

    A number stands there, is a count, or is reckoned from other numbers of the data. A name stands there or in what was
    asked. One of a few given words (an enum), true and false are judgements: their tasks are named, and that is all.
    Null says that nothing is known, and rests on nothing.
    """
    if ground.schema is None:
        return
    choices = frozenset(_choices(ground.schema))
    leaves = [leaf for leaf in _leaves(told.data) if leaf.value is not None]
    bare = [leaf.pointer or "/" for leaf in leaves if not _tasks_of(leaf, told)]
    if bare:
        detail = f"data_sources name no task that delivered these values of data: {_listed(bare)}"
        yield Flaw(code="data_unfounded", pointer="/data_sources", detail=detail)
    grounds: dict[tuple[str, ...], tuple[Seen, Words]] = {}
    reckoned = Seen(_reckoned(leaves, ground))
    alien = []
    for leaf in leaves:
        tasks = _tasks_of(leaf, told)
        if tasks not in grounds:
            grounds[tasks] = _ground(tasks, ground)
        if tasks and not _stands(leaf, *grounds[tasks], reckoned, choices):
            alien.append(f"{leaf.pointer or '/'} ({shorten(str(leaf.value), VALUE_SHOWN)[0]})")
    if alien:
        detail = f"these values of data stand in no result that they are said to come from: {_listed(alien)}"
        yield Flaw(code="data_unfounded", pointer="/data", detail=detail)


def are_as_checked(told: Synthesis, ground: Ground) -> Iterator[Flaw]:
    """Lists that code has checked in a result are the same rows."""
    yield from unlike_checked(told, ground.checked)


def _ground(tasks: Sequence[str], ground: Ground) -> tuple[Seen, Words]:
    texts = (text for name in tasks if name in ground.outputs for text in ground.texts_of(name))
    return ground.figures_of(*tasks), Words([*ground.given, *texts])


def _stands(leaf: _Leaf, seen: Seen, words: Words, reckoned: Seen, choices: frozenset[str]) -> bool:
    value = leaf.value
    if isinstance(value, bool) or value in (0, "") or value in choices:
        return True
    if isinstance(value, int | float):
        figure = _figure(value)
        return seen.has(figure) or reckoned.has(figure)
    own = plain_words(value).split()
    if len(own) <= NAME_WORDS and not any(map(str.isdigit, value)):
        return words.have(value) or all(map(words.have, own))
    quoted = all(map(words.have_quoted, quotations_in(value)))
    return words.have(value) or (quoted and not strange_figures(value, seen | reckoned))


def _figure(value: int | float) -> Figure:
    """The number as data have it: a whole one is exact, another may be rounded at its last place."""
    written = f"{abs(value):.15g}"
    [*found] = figures_in(written) if "e" not in written else ()
    readings = [Reading(each.value, min(each.grain, 1) % 1) for figure in found for each in figure.readings[-1:]]
    return Figure(written, tuple(readings))


def _reckoned(leaves: Sequence[_Leaf], ground: Ground) -> Iterator[float]:
    """What can be reckoned from the numbers of the data that stand in results, their sums, and how long lists are."""
    numbers = [leaf for leaf in leaves if isinstance(leaf.value, int | float) and not isinstance(leaf.value, bool)]
    known = [figure for leaf in numbers if ground.figures.has(figure := _figure(leaf.value))]
    yield from reckoned_from(known[:OPERANDS])
    items: dict[Path, set[str | int]] = {}
    for leaf in leaves:
        for place in range(len(leaf.path)):
            items.setdefault(leaf.path[:place], set()).add(leaf.path[place])
    yield from (float(len(each)) for each in items.values())
    columns: dict[Path, list[float]] = {}
    for leaf in numbers:
        column = tuple("*" if isinstance(part, int) else part for part in leaf.path)
        columns.setdefault(column, []).append(float(leaf.value))
    yield from (sum(column) for column in columns.values() if len(column) > 1)


def _tasks_of(leaf: _Leaf, told: Synthesis) -> tuple[str, ...]:
    """The tasks that a value is said to come from: what is said of the value itself, or of what holds it."""
    named = [each for each in told.data_sources if _holds(each.pointer, leaf.pointer) and each.tasks]
    return tuple(sorted({task for each in named for task in each.tasks}))


def _holds(pointer: str, of: str) -> bool:
    pointer = pointer.removeprefix("#").rstrip("/")
    return any(of == each or of.startswith(f"{each}/") for each in (pointer, pointer.removeprefix("/data")))


def _leaves(value: Any, path: Path = ()) -> Iterator[_Leaf]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, (*path, name))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _leaves(item, (*path, place))
    else:
        yield _Leaf(path, value)


def _choices(schema: Any) -> Iterator[str]:
    """The texts that a schema gives to choose from."""
    if isinstance(schema, Mapping):
        yield from (each for each in (*schema.get("enum", ()), schema.get("const")) if isinstance(each, str))
        for part in schema.values():
            yield from _choices(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _choices(part)


def _listed(written: Sequence[str]) -> str:
    more = f" and {len(written) - SHOWN} more" if len(written) > SHOWN else ""
    return ", ".join(written[:SHOWN]) + more


DATA_CHECKS = (fits, come_from_tasks, are_as_checked)
