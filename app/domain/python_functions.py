"""The functions and methods of a Python source, found by `ast`. Nothing of the source is ever executed."""

import ast
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from app.domain.errors import ChargehandError

MOST_CHARACTERS = 200_000
"""Of one source. Nothing else of the process runs while a source is parsed: this many take about a tenth of a
second, or most of one where somebody wants them to.
"""
_QUIET = Lock()
"""What Python warns of while it parses is not ours to print; the filters of warnings belong to the whole process."""


class SourceUnreadable(ChargehandError):
    """A text that is no Python source; the message says why, without a word of it."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function or a method. Lines count from 1."""

    name: str
    """With the classes around it, as `Ledger.add`."""
    first: int
    """Its first decorator counts."""
    last: int


@dataclass(frozen=True, slots=True)
class Source:
    """What a Python source has."""

    functions: tuple[Function, ...]
    """In its order; what is defined within a function is part of that."""
    imports: tuple[tuple[int, int], ...]
    """First and last lines of the imports of the module."""


def read_source(text: str) -> Source:
    """The functions of a source whose lines end with a line feed. Raises `SourceUnreadable`."""
    tree = parsed(text)
    functions: list[Function] = []
    imports: list[tuple[int, int]] = []
    waiting: list[tuple[str, ast.stmt]] = [("", node) for node in reversed(tree.body)]
    while waiting:
        within, node = waiting.pop()
        last = node.end_lineno or node.lineno
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                functions.append(Function(f"{within}{node.name}", first_line(node), last))
            case ast.ClassDef():
                waiting += [(f"{within}{node.name}.", each) for each in reversed(node.body)]
            case ast.Import() | ast.ImportFrom() if not within:
                imports.append((node.lineno, last))
            case _:
                waiting += [(within, each) for each in reversed([*inner_statements(node)])]
    return Source(tuple(functions), tuple(imports))


def first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    """The line at which a definition begins, with its decorators."""
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


@contextmanager
def without_warnings() -> Iterator[None]:
    """Keep quiet what Python warns of while it parses or compiles."""
    with _QUIET, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def parsed(text: str) -> ast.Module:
    """The syntax tree of a source. Raises `SourceUnreadable`."""
    if len(text) > MOST_CHARACTERS:
        raise SourceUnreadable(f"A Python source may have {MOST_CHARACTERS} characters here; this has {len(text)}.")
    try:
        with without_warnings():
            return ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError) as error:  # A NUL is either, by the release of Python.
        line = getattr(error, "lineno", None) or 1
        raise SourceUnreadable(f"This is no Python source: line {line} cannot be parsed.") from None
    except (RecursionError, MemoryError):
        raise SourceUnreadable("This Python source nests deeper than can be parsed.") from None


def inner_statements(node: ast.stmt) -> Iterator[ast.stmt]:
    """The statements within one that is neither a function nor a class, such as `if` and `try`."""
    for field in ("body", "handlers", "orelse", "finalbody", "cases"):
        for each in getattr(node, field, ()):
            if isinstance(each, ast.stmt):
                yield each
            else:
                inner: Sequence[ast.stmt] = each.body
                yield from inner
