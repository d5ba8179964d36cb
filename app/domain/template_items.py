"""What a plan template makes tasks for each of, found in the inputs of a job."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import NamedTuple

from app.domain.diff_parts import parts_of
from app.domain.diffs import is_diff, read_diff
from app.domain.document_sections import sections_of
from app.domain.errors import ChargehandError, DiffUnreadable, JobRefused
from app.domain.flaws import pointer_to
from app.domain.globs import fits, fits_any
from app.domain.job import JobInput
from app.domain.material import MATERIAL_CHARACTERS, Item
from app.domain.media_types import essence_of, kind_of_bytes
from app.domain.placeholders import ForEach, quoted
from app.domain.plan_material import LeftOutReason
from app.domain.plan_template import TemplateTask
from app.domain.python_code.module import Module, read_module
from app.domain.python_code.modules import Modules
from app.domain.python_code.survey import Survey, is_python, plain
from app.domain.python_code.units import Unit
from app.domain.python_functions import SourceUnreadable, read_source

MOST_ITEMS = 5_000
"""Things that one task of a template may be made for each of."""
MOST_SOURCES = 1_000_000
"""Characters of all Python sources together."""
_PROSE = frozenset({"text/plain", "text/markdown", "text/x-markdown", "text/x-rst"})
_BUT_PROSE = (".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".xml", ".html", ".parquet")


class LeftOut(NamedTuple):
    """A thing that a task of a template is not made for, and why."""

    item: Item
    reason: LeftOutReason
    pattern: str | None = None


class Found(NamedTuple):
    """What there is for one task of a template."""

    taken: Sequence[Item]
    left_out: Sequence[LeftOut]


class _NoText(ChargehandError):
    """An input that is to be taken apart is no text; the message says what it is."""


class Reader:
    """The inputs of a job, each read once for each kind of thing."""

    def __init__(self, inputs: Sequence[JobInput]) -> None:
        self._inputs = inputs
        self._known: dict[tuple[ForEach, int], Sequence[Item]] = {}
        self._sources = 0

    def found_for(self, task: TemplateTask) -> Found:
        """What a task for each is made for, in the order of the inputs and within each. Raises `JobRefused`."""
        assert task.for_each is not None
        taken: list[Item] = []
        left_out: list[LeftOut] = []
        for place, given in enumerate(self._inputs):
            if not (fits_any(given.name, task.of) if task.of else _looks_like[task.for_each](given)):
                continue
            for item in _in_parts(self._items(task.for_each, place, given), task.fill):
                if (left := _left_out(item, task)) is not None:
                    left_out.append(left)
                else:
                    taken.append(item)
        if len(taken) > MOST_ITEMS:
            why = f"There are {len(taken)} {task.for_each} for the task {task.id!r}; at most {MOST_ITEMS} can be taken."
            raise JobRefused("template_too_large", "There is more than a plan can say.", (("/inputs", why),))
        return Found(taken, left_out)

    def beside(self, patterns: Sequence[str]) -> list[Item]:
        """The inputs that one of these patterns fits, whole. Raises `JobRefused` where one of them is no text."""
        places = [place for place, given in enumerate(self._inputs) if fits_any(given.name, patterns)]
        for place in places:
            with _refusing(place):
                _must_be_text(self._inputs[place], "inputs for {{beside}}")
        return [item for place in places for item in self._whole(place)]

    def sources(self, items: Sequence[Item]) -> list[Item]:
        """The inputs that are files which a diff changes, whole: named by their path, or by its last part where that is
        one file of the diff alone."""
        paths = dict.fromkeys(item.name for item in items)
        last = Counter(path.rpartition("/")[2] for path in self._paths_of_diffs)
        names = {*paths} | {end for path in paths if last[end := path.rpartition("/")[2]] == 1}
        places = (place for place, given in enumerate(self._inputs) if given.name in names)
        return [item for place in places for item in self._whole(place)]

    @cached_property
    def _paths_of_diffs(self) -> frozenset[str]:
        known = (items for (kind, _), items in self._known.items() if kind == "files")
        return frozenset(item.name for items in known for item in items)

    def _whole(self, place: int) -> Sequence[Item]:
        return self._items("inputs", place, self._inputs[place])

    def _items(self, kind: ForEach, place: int, given: JobInput) -> Sequence[Item]:
        if (kind, place) not in self._known:
            read = _untested(given, self._survey) if kind == "untested" else self._read(kind, place, given)
            self._known[kind, place] = read
        return self._known[kind, place]

    @cached_property
    def _survey(self) -> Survey:
        """What the Python inputs are to each other, tests among them. Raises `JobRefused`."""
        every = [(place, given) for place, given in enumerate(self._inputs) if is_python(given)]
        return Survey(Modules({given.name: self._module(place, given) for place, given in every}))

    def _module(self, place: int, given: JobInput) -> Module:
        with _refusing(place):
            self._count(given, "sources")
            return read_module(plain(given.content))

    def _read(self, kind: ForEach, place: int, given: JobInput) -> Sequence[Item]:
        with _refusing(place):
            if kind == "functions":
                self._count(given, kind)
            elif kind != "inputs":
                _must_be_text(given, kind)
            return _READS[kind](given)

    def _count(self, given: JobInput, what: str) -> None:
        _must_be_text(given, what)
        self._sources += len(given.content)
        if self._sources > MOST_SOURCES:
            raise SourceUnreadable(f"The Python sources have more than {MOST_SOURCES} characters together.")


@contextmanager
def _refusing(place: int) -> Iterator[None]:
    """Refuses the job where an input cannot be read. Raises `JobRefused`."""
    try:
        yield
    except (DiffUnreadable, SourceUnreadable, _NoText) as error:
        errors = ((pointer_to("inputs", place, "content"), str(error)),)
        detail = "An input cannot be read as what the plan of the team needs."
        raise JobRefused("input_unparseable", detail, errors) from None


def _must_be_text(given: JobInput, what: str) -> None:
    if other := kind_of_bytes(given.media_type, given.content):
        raise _NoText(f"It is a {other}, and {what} are taken from texts alone.")


def _in_parts(items: Sequence[Item], fill: int | None) -> Iterator[Item]:
    """The things, those files of diffs in parts that are longer than what a task takes."""
    for item in items:
        yield from parts_of(item, min(fill, MATERIAL_CHARACTERS)) if fill and item.is_diff else [item]


def _left_out(item: Item, task: TemplateTask) -> LeftOut | None:
    """Why a task is not made for a thing; None where it is."""
    if item.is_binary:
        return LeftOut(item, "binary")
    if item.why_left_out is not None:
        return LeftOut(item, item.why_left_out)
    if task.only and not fits_any(item.name, task.only):
        return LeftOut(item, "only")
    pattern = next((each for each in task.without if fits(item.name, each)), None)
    return LeftOut(item, "without", pattern) if pattern is not None else None


def _whole(given: JobInput) -> Sequence[Item]:
    if kind := kind_of_bytes(given.media_type, given.content):
        return [Item(given.name, given.name, 1, 1, "", note=f"a {kind}")]
    text = plain(given.content)
    return [Item(given.name, given.name, 1, max(len(_lines(text)), 1), text)]


def _files(given: JobInput) -> Sequence[Item]:
    items: list[Item] = []
    at, line, whole = 0, 1, f"{given.content}\n"
    for each in read_diff(given.content):
        start = max(whole.find(each.text, at), at)
        line += whole.count("\n", at, start)
        at, last = start, line + max(each.text.count("\n"), 1) - 1
        note = f"{each.kind}, +{each.added} -{each.removed}"
        is_binary = each.kind == "binary"
        items.append(Item(each.path, given.name, line, last, each.text, note=note, is_diff=True, is_binary=is_binary))
    return items


def _functions(given: JobInput) -> Sequence[Item]:
    text = plain(given.content)
    source, lines = read_source(text), _lines(text)
    imports = _numbered(lines, source.imports)
    return [
        Item(each.name, given.name, each.first, each.last, _between(lines, each.first, each.last), imports=imports)
        for each in source.functions
    ]


def _untested(given: JobInput, survey: Survey) -> Sequence[Item]:
    module = survey.sources.get(given.name)
    if module is None:  # It is one of tests, or no Python source by its name.
        return []
    lines = _lines(plain(given.content))
    imports = _numbered(lines, module.import_lines)
    return [
        Item(
            each.name,
            given.name,
            each.first,
            each.last,
            _between(lines, each.first, each.last),
            note=_told(each),
            imports=imports,
            why_left_out=_settled(given, each, survey),
        )
        for each in module.units
    ]


def _settled(given: JobInput, unit: Unit, survey: Survey) -> LeftOutReason | None:
    if survey.tested_in(given.name, unit):
        return "tested"
    return "needs_none" if unit.untestable else None


def _told(unit: Unit) -> str:
    """What a unit is, and the exceptions that it raises."""
    raised = ", ".join(f"{quoted(each.name)} (line {each.line})" for each in unit.raises)
    return f"a {unit.kind}, raises {raised or 'nothing itself'}"


def _sections(given: JobInput) -> Sequence[Item]:
    lines = _lines(plain(given.content))
    sections = sections_of(lines)
    unnamed = given.name if len(sections) == 1 else "(before the first heading)"
    return [
        Item(each.heading or unnamed, given.name, each.first, each.last, _between(lines, each.first, each.last))
        for each in sections
    ]


_READS: Mapping[ForEach, Callable[[JobInput], Sequence[Item]]] = {
    "inputs": _whole,
    "files": _files,
    "functions": _functions,
    "sections": _sections,
}


def _is_prose(given: JobInput) -> bool:
    is_other = is_python(given) or is_diff(given.name, given.media_type)
    return essence_of(given.media_type) in _PROSE and not is_other and not given.name.casefold().endswith(_BUT_PROSE)


_looks_like: Mapping[ForEach, Callable[[JobInput], bool]] = {
    "inputs": lambda given: True,
    "files": lambda given: is_diff(given.name, given.media_type),
    "functions": is_python,
    "untested": is_python,
    "sections": _is_prose,
}
"""Whether an input is looked into where a template does not say which."""


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _numbered(lines: Sequence[str], spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, str], ...]:
    return tuple((number, lines[number - 1]) for first, last in spans for number in range(first, last + 1))


def _between(lines: Sequence[str], first: int, last: int) -> str:
    return "\n".join(lines[first - 1 : last])
