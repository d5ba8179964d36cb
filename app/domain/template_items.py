"""What a plan template makes tasks for each of, found in the inputs of a job."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from app.domain.diffs import is_diff, read_diff
from app.domain.document_sections import sections_of
from app.domain.errors import ChargehandError, DiffUnreadable, JobRefused
from app.domain.flaws import pointer_to
from app.domain.globs import fits_any
from app.domain.job import JobInput
from app.domain.material import Item
from app.domain.media_types import essence_of, kind_of_bytes
from app.domain.placeholders import ForEach
from app.domain.plan_template import TemplateTask
from app.domain.python_functions import SourceUnreadable, read_source

MOST_ITEMS = 5_000
"""Things that one task of a template may be made for each of."""
MOST_SOURCES = 1_000_000
"""Characters of all Python sources together."""
_PYTHON = frozenset({"text/x-python", "application/x-python", "application/x-python-code", "text/x-script.python"})
_PROSE = frozenset({"text/plain", "text/markdown", "text/x-markdown", "text/x-rst"})
_BUT_PROSE = (".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".xml", ".html", ".parquet")


class Found(NamedTuple):
    """What there is for one task of a template."""

    taken: Sequence[Item]
    left_out: Sequence[Item]


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
        left_out: list[Item] = []
        for place, given in enumerate(self._inputs):
            if not (fits_any(given.name, task.of) if task.of else _looks_like[task.for_each](given)):
                continue
            for item in self._items(task.for_each, place, given):
                wanted = not task.only or fits_any(item.name, task.only)
                (taken if wanted and not fits_any(item.name, task.without) else left_out).append(item)
        if len(taken) > MOST_ITEMS:
            why = f"There are {len(taken)} {task.for_each} for the task {task.id!r}; at most {MOST_ITEMS} can be taken."
            raise JobRefused("template_too_large", "There is more than a plan can say.", (("/inputs", why),))
        return Found(taken, left_out)

    def _items(self, kind: ForEach, place: int, given: JobInput) -> Sequence[Item]:
        if (kind, place) not in self._known:
            try:
                self._known[kind, place] = self._read(kind, given)
            except (DiffUnreadable, SourceUnreadable, _NoText) as error:
                errors = ((pointer_to("inputs", place, "content"), str(error)),)
                detail = "An input cannot be read as what the plan of the team needs."
                raise JobRefused("input_unparseable", detail, errors) from None
        return self._known[kind, place]

    def _read(self, kind: ForEach, given: JobInput) -> Sequence[Item]:
        if kind != "inputs" and (other := kind_of_bytes(given.media_type, given.content)):
            raise _NoText(f"It is a {other}, and {kind} are taken from texts alone.")
        if kind == "functions":
            self._sources += len(given.content)
            if self._sources > MOST_SOURCES:
                raise SourceUnreadable(f"The Python sources have more than {MOST_SOURCES} characters together.")
        return _READS[kind](given)


def _whole(given: JobInput) -> Sequence[Item]:
    if kind := kind_of_bytes(given.media_type, given.content):
        return [Item(given.name, given.name, 1, 1, "", note=f"a {kind}")]
    text = _plain(given.content)
    return [Item(given.name, given.name, 1, max(len(_lines(text)), 1), text)]


def _files(given: JobInput) -> Sequence[Item]:
    items: list[Item] = []
    at, line, whole = 0, 1, f"{given.content}\n"
    for each in read_diff(given.content):
        start = max(whole.find(each.text, at), at)
        line += whole.count("\n", at, start)
        at, last = start, line + max(each.text.count("\n"), 1) - 1
        note = f"{each.kind}, +{each.added} -{each.removed}"
        items.append(Item(each.path, given.name, line, last, each.text, note=note, is_diff=True))
    return items


def _functions(given: JobInput) -> Sequence[Item]:
    text = _plain(given.content)
    source, lines = read_source(text), _lines(text)
    imports = tuple((number, lines[number - 1]) for first, last in source.imports for number in range(first, last + 1))
    return [
        Item(each.name, given.name, each.first, each.last, _between(lines, each.first, each.last), imports=imports)
        for each in source.functions
    ]


def _sections(given: JobInput) -> Sequence[Item]:
    lines = _lines(_plain(given.content))
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


def _is_python(given: JobInput) -> bool:
    return essence_of(given.media_type) in _PYTHON or given.name.casefold().endswith((".py", ".pyi"))


def _is_prose(given: JobInput) -> bool:
    is_other = _is_python(given) or is_diff(given.name, given.media_type)
    return essence_of(given.media_type) in _PROSE and not is_other and not given.name.casefold().endswith(_BUT_PROSE)


_looks_like: Mapping[ForEach, Callable[[JobInput], bool]] = {
    "inputs": lambda given: True,
    "files": lambda given: is_diff(given.name, given.media_type),
    "functions": _is_python,
    "sections": _is_prose,
}
"""Whether an input is looked into where a template does not say which."""


def _plain(text: str) -> str:
    """The text with one kind of line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _between(lines: Sequence[str], first: int, last: int) -> str:
    return "\n".join(lines[first - 1 : last])
