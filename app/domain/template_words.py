"""What the placeholders of a plan template stand for in one job, and in each of the tasks that are made from it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from app.domain.job import JobInput
from app.domain.material import BESIDE_CHARACTERS, SOURCES_CHARACTERS, Item, Shown, imports_of, text_of
from app.domain.placeholders import all_of, named_in
from app.domain.plan_template import TemplateTask
from app.domain.template_items import Found, Reader

NAMES_IN_TITLE = 3
LEFT_OUT_SHOWN = 50
NOTHING = "There is none."

Values = Mapping[str, Callable[[], str]]
"""What placeholders stand for, by their names."""


def words_of_job(
    objective: str, inputs: Sequence[JobInput], tasks: Sequence[TemplateTask], found: Mapping[str, Found]
) -> Values:
    """What any text of a template may say."""
    taken = {item for task in tasks if task.id in found for item in found[task.id].taken}
    every = (item for each in found.values() for item in (*each.taken, *(left.item for left in each.left_out)))
    left = [item.name for item in every if item not in taken]
    return {
        "objective": lambda: objective,
        "inputs": lambda: all_of(given.name for given in inputs),
        "left_out": lambda: all_of(left, LEFT_OUT_SHOWN),
    }


@dataclass(frozen=True)
class TaskWords:
    """What the placeholders of one task stand for beside these."""

    task: TemplateTask
    reader: Reader
    items: Sequence[Item] = ()

    def values(self, *, short: bool) -> Values:
        """`short`: as a title has them."""
        most = NAMES_IN_TITLE if short else None
        items = self.items

        def names() -> str:
            return all_of((each.name for each in items), most)

        return {
            "item": names,
            "path": names,
            "items": lambda: "\n".join(f"- {each.described}" for each in items),
            "count": lambda: str(len({(each.input, each.name) for each in items})),
            "input": lambda: all_of((each.input for each in items), most),
            "lines": lambda: ", ".join(each.lines for each in items[:most]),
            "text": lambda: self._text.text,
            "imports": lambda: self._imports.text,
            "sources": lambda: self._sources.text,
            "beside": lambda: self._beside.text,
        }

    @property
    def lines_cut(self) -> int:
        """How many lines of its material the context of the task does not show, or not in full."""
        return sum(self._material[name]().lines_cut for name in self._material.keys() & named_in(self.task.context))

    @property
    def is_cut(self) -> Sequence[bool]:
        """Of each thing, whether the context shows only a part of its text."""
        if "text" not in named_in(self.task.context):
            return [False] * len(self.items)
        return [cut > 0 for cut in self._text.cuts]

    @property
    def beside_cut(self) -> tuple[str, ...]:
        """The inputs beside its material of which the context shows only a part."""
        if not self.task.beside:
            return ()
        items = self.reader.beside(self.task.beside)
        return tuple(item.name for item, cut in zip(items, self._beside.cuts, strict=True) if cut)

    @property
    def _material(self) -> Mapping[str, Callable[[], Shown]]:
        return {
            "text": lambda: self._text,
            "imports": lambda: self._imports,
            "sources": lambda: self._sources,
            "beside": lambda: self._beside,
        }

    @cached_property
    def _text(self) -> Shown:
        return text_of(self.items)

    @cached_property
    def _imports(self) -> Shown:
        return imports_of(self.items)

    @cached_property
    def _sources(self) -> Shown:
        return _or_nothing(self.reader.sources(self.items), SOURCES_CHARACTERS)

    @cached_property
    def _beside(self) -> Shown:
        return _or_nothing(self.reader.beside(self.task.beside), BESIDE_CHARACTERS)


def _or_nothing(items: Sequence[Item], characters: int) -> Shown:
    return text_of(items, characters) if items else Shown(NOTHING, 0)
