"""The placeholders of a plan template: few, strict, and filled once, so that nothing that is filled in is read again.

What comes from inputs stands in a task's instruction only as a name in quotation marks, which no name can leave. Longer
material stands in its context, behind line numbers (`material.py`).
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal

ForEach = Literal["inputs", "files", "functions", "untested", "sections"]
NAME_CHARACTERS = 300
"""What is shown of a name."""

OF_THE_JOB: Mapping[str, str] = {
    "objective": "the objective of the job, as its client wrote it",
    "inputs": "the names of all inputs",
    "left_out": "what no task for each is about, although there is such a thing",
}
"""What any text may say."""
OF_ITEMS: Mapping[str, str] = {
    "item": "what the task is about: names, in quotation marks",
    "items": "the same as a list, with where each of them is",
    "count": "how many they are",
    "input": "the input that they are in",
    "lines": "their lines there",
    "text": "their text, behind line numbers",
}
"""What the texts of a task for each may say."""
OF_KIND: Mapping[ForEach, Mapping[str, str]] = {
    "inputs": {},
    "files": {
        "path": "the path of the file",
        "sources": "the inputs that are these files, whole, behind line numbers",
    },
    "functions": {"imports": "the imports of their modules, behind line numbers"},
    "untested": {"imports": "the imports of their modules, behind line numbers"},
    "sections": {},
}
"""What only the texts of a task for each of one kind may say."""
BESIDE: Mapping[str, str] = {"beside": "the text of the inputs that `beside` names, behind line numbers"}
"""What the context of a task may say that names inputs under `beside`."""
MATERIAL = frozenset({"text", "imports", "sources", "beside"})
"""Those that stand for what is in the inputs: they belong in a context, which no worker takes for an order."""
LISTED = frozenset({"objective", "items", *MATERIAL})
"""Those that may have several lines, and do not fit into a title."""
TELLING = frozenset({"item", "items", "path", "lines", "text"})
"""Those that tell one task for each from another."""

_PLACEHOLDER = re.compile(r"\{\{\s*([a-z_]{1,40})\s*\}\}")
_OPENING = "{{"
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f<>\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
"""What ends a line, makes a tag, or is not seen as what it is."""


def named_in(text: str) -> list[str]:
    """The placeholders of a text. Raises `ValueError` where two braces begin none."""
    names = _PLACEHOLDER.findall(text)
    if text.count(_OPENING) != len(names):
        raise ValueError('"{{" begins no placeholder here: one is a name between two pairs of braces, as {{objective}}')
    return names


def known_for(for_each: ForEach | None) -> Mapping[str, str]:
    """What the texts of such a task may say, with what it stands for."""
    return OF_THE_JOB if for_each is None else {**OF_THE_JOB, **OF_ITEMS, **OF_KIND[for_each]}


def check(text: str, known: Collection[str], *, but: Collection[str] = ()) -> None:
    """Raises `ValueError` when a text has a placeholder that is not known, or has no place in it."""
    for name in named_in(text):
        if name not in known:
            listed = ", ".join(sorted({*known} - {*but}))
            raise ValueError(f"unknown placeholder {{{{{name}}}}}; known here are: {listed}")
        if name in but:
            where = "the context" if name in MATERIAL else "the instruction or the context"
            raise ValueError(f"{{{{{name}}}}} has no place here; it belongs in {where}")


def fill(text: str, values: Mapping[str, Callable[[], str]]) -> str:
    """The text with its placeholders filled. What is filled in is never filled again."""
    return _PLACEHOLDER.sub(lambda found: values[found[1]](), text)


def quoted(name: str) -> str:
    """A name from outside, in quotation marks that it cannot end: on one line, without tags and hidden characters."""
    cut = name if len(name) <= NAME_CHARACTERS else f"{name[: NAME_CHARACTERS - 1]}…"
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(cut, ensure_ascii=False))


def unquoted(name: str) -> str:
    """The name that stands in such quotation marks; as it is where it was not `quoted` that wrote it."""
    try:
        return str(json.loads(name))
    except ValueError:
        return name


def all_of(names: Iterable[str], most: int | None = None) -> str:
    """Names from outside one after the other, each once; `most` of them, and how many more there are."""
    each = list(dict.fromkeys(names))
    shown = each if most is None or len(each) <= most else each[:most]
    more = f" and {len(each) - len(shown)} more" if len(shown) < len(each) else ""
    return (", ".join(map(quoted, shown)) or "none") + more
