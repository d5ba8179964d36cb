"""Every pattern in `app/` takes time linear in the text, which comes from clients, models and pages.

Patterns are found in the code itself, so a new one is tested by being there: those that modules hold, those made inside
functions, and those of pydantic fields, which another engine matches, in linear time whatever the pattern.
"""

import ast
import importlib
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.postgres import ROOT

_PARSER: Any = importlib.import_module("re._parser")
MODULES = sorted(path for path in (ROOT / "app").rglob("*.py") if path.name != "__main__.py")
MATCHERS = {"compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"}
SHORT, LONG = 24, 6_000
"""Characters. A pattern that takes time exponential in the first, or quadratic in the second, is noticed there."""
HEADS = 12
SUSPICIOUS_S = 0.01
"""What a linear pattern does not take for a text of `LONG` characters on a slow machine; beyond it one looks closer."""
HOPELESS_S = 0.3
"""What needs no closer look."""
GROWTH_ALLOWED = 3.2
"""How much longer twice the text may take: twice when it is linear, four times when it is quadratic."""


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def held(value: Any, depth: int = 3) -> Iterator[re.Pattern[Any]]:
    """The patterns in a value, also in collections and in objects of ours."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, Mapping):
        for each in value.values():
            yield from held(each, depth - 1)
    elif depth and isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from held(each, depth - 1)
    elif depth and type(value).__module__.startswith("app.") and hasattr(value, "__dict__"):
        yield from held(vars(value), depth - 1)


class Word(str):
    """What stands for a value that is not known, and for whatever is asked of it."""

    def __getattr__(self, name: str) -> str:
        return "word"


def value_of(expression: ast.expr, module: ModuleType) -> Any:
    """What an expression comes to, with a word for each name that only a running function knows."""
    known = dict(vars(module))
    while True:
        try:
            return eval(compile(ast.Expression(expression), "expression", "eval"), known)
        except NameError as error:
            known[str(error.name)] = Word("word")


def made_in(module: ModuleType) -> Iterator[re.Pattern[Any]]:
    """The patterns that the module's calls of `re` make, with a word for each value that is not known here."""
    for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text())):
        if isinstance(node, ast.Call) and _uses_re(node.func):
            pattern = value_of(node.args[0], module)
            flags = [
                a
                for a in (*node.args[1:], *(k.value for k in node.keywords))
                if re.fullmatch(r"(re\.[A-Z]+[ |]*)+", ast.unparse(a))
            ]
            value = value_of(flags[0], module) if flags else 0
            yield re.compile(pattern, value)


def _uses_re(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and function.attr in MATCHERS
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
    )


def patterns() -> dict[str, re.Pattern[Any]]:
    """Every pattern of the application by where it is."""
    found: dict[str, re.Pattern[Any]] = {}
    for path in MODULES:
        module = importlib.import_module(name_of(path))
        for number, pattern in enumerate(dict.fromkeys([*held(vars(module), 4), *made_in(module)])):
            found.setdefault(f"{name_of(path)}-{number}", pattern)
    return found


def parts_of(pattern: re.Pattern[Any]) -> list[str]:
    """Characters and words that lead into the pattern, read off its source: repeated, they keep it busy."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    words = re.findall(r"[A-Za-z]{2,12}", re.sub(r"\\[a-zA-Z]", " ", source))
    signs = set(re.findall(r"[^\w\\\s]", source)) & set("<>/:;,.-+*'\"`=@%&(){}[]#_|$~^")
    return [*dict.fromkeys([" ", "\n", "a", "0", *sorted(signs), *words])]


def ways_into(pattern: re.Pattern[Any]) -> list[str]:
    """Texts that lead to each place of the pattern: what it matches at least, up to there."""
    ways = [""]
    for piece in pieces(_PARSER.parse(pattern.pattern, pattern.flags & ~re.DEBUG)):
        ways.append(ways[-1] + piece)
    return [*dict.fromkeys(ways)]


def pieces(sequence: Any) -> Iterator[str]:
    """The least that each element of a parsed pattern matches."""
    for kind, value in sequence:
        match str(kind):
            case "LITERAL":
                yield chr(value)
            case "NOT_LITERAL" | "ANY":
                yield "a"
            case "IN":
                yield member_of(value)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                yield from [*pieces(value[2])] * max(value[0], 1)
            case "SUBPATTERN":
                yield from pieces(value[-1])
            case "ATOMIC_GROUP":
                yield from pieces(value)
            case "BRANCH":
                yield from pieces(value[1][0])


def member_of(members: Any) -> str:
    """A character of a class."""
    for kind, value in members:
        match str(kind):
            case "NEGATE":
                return "a"
            case "LITERAL":
                return chr(value)
            case "RANGE":
                return chr(value[0])
    return {"CATEGORY_DIGIT": "0", "CATEGORY_SPACE": " "}.get(str(members[0][1]), "a")


def attacks(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """Texts as a beginning, something that is repeated, and an end that spoils the match."""
    parts = parts_of(pattern)
    pumps = dict.fromkeys([*parts[:16], *(a + b for a in parts[:5] for b in parts[:5] if a != b)])
    heads = dict.fromkeys([*ways_into(pattern)[:HEADS], *parts[4:8]])
    for pump in pumps:
        for head in heads:
            yield head, pump, "\x01"


def text_of(attack: tuple[str, str, str], length: int) -> str:
    head, pump, end = attack
    return head + pump * (length // len(pump)) + end


def seconds(pattern: re.Pattern[Any], text: str | bytes) -> float:
    """Processor time that looking through the text takes, in whatever way the pattern may be used."""
    begun = time.thread_time()
    for _ in pattern.finditer(text):
        pass
    pattern.fullmatch(text)
    return time.thread_time() - begun


def grows_too_fast(pattern: re.Pattern[Any], attack: tuple[str, str, str]) -> bool:
    """Whether doubling the text comes to quadruple the time; the least of several tries, so that load says nothing."""

    def spent(length: int) -> float:
        text = text_of(attack, length)
        return min(seconds(pattern, text.encode() if isinstance(pattern.pattern, bytes) else text) for _ in range(3))

    return all(spent(2 * length) > GROWTH_ALLOWED * spent(length) for length in (LONG, LONG))


def slowest(pattern: re.Pattern[Any]) -> Iterable[tuple[str, str, str]]:
    """The attacks under which the pattern is not linear."""
    for attack in attacks(pattern):
        for length in (SHORT, LONG):
            text = text_of(attack, length)
            spent = seconds(pattern, text.encode() if isinstance(pattern.pattern, bytes) else text)
            if spent > HOPELESS_S or (spent > SUSPICIOUS_S and (length == SHORT or grows_too_fast(pattern, attack))):
                yield attack
                return


PATTERNS = patterns()


@pytest.mark.parametrize("place", PATTERNS)
def test_a_pattern_takes_time_linear_in_the_text(place: str) -> None:
    pattern = PATTERNS[place]

    assert [f"{head!r} + {pump!r} * n + {end!r}" for head, pump, end in slowest(pattern)] == [], pattern.pattern


@pytest.mark.parametrize("source", [r"<(?=\s*/?\s*tag)", r"\s+x", r"(a|a)+b", r"- (\S.*?)[ ]*$"])
def test_a_pattern_that_is_not_linear_is_found(source: str) -> None:
    assert list(slowest(re.compile(source)))


def test_the_patterns_of_fields_are_matched_by_the_engine_that_is_linear_whatever_they_are() -> None:
    assert [path.name for path in MODULES if "python-re" in path.read_text()] == []


def test_no_group_has_a_possessive_quantifier() -> None:
    """Python before 3.11.5 gives up too much of what such a group has matched. Atomic groups are right everywhere."""
    possessive = re.compile(r"\)(?:\*|\+|\?|\{[\d,]+\})\+")

    assert [name_of(path) for path in MODULES if possessive.search(path.read_text())] == []
