"""The Python inputs of a job as modules that import each other: which input is which, and what a name stands for.

The module that an input is follows from its name, which is taken for its path: `src/shop/prices.py` is `shop.prices`.
Its packages begin at the topmost folder of those above it that have an `__init__.py` among the inputs; without any,
behind `src`, `lib` or `python` at the front of the path. An import that fits no such module fits those whose path ends
like it, so that what stands before the packages need not be known. A name that is imported from a package whose
`__init__.py` is not among the inputs stands for what any module within defines by that name. A name that a module both
defines and imports, wherever in it, stands for both.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from app.domain.python_code.module import Import, Module
from app.domain.python_code.units import is_dunder

ROOTS = frozenset({"src", "lib", "python"})
_MOST_STEPS = 60
"""Imports that are followed for one name."""
_MOST_PLACES = 300_000
"""The same for all names together: modules that take everything from each other have very many ways to a name."""


class Symbol(NamedTuple):
    """A name that a module defines, with what follows behind dots."""

    input: str
    name: str

    @property
    def with_outer(self) -> "list[Symbol]":
        """What it is within, from the outside in, and itself."""
        parts = self.name.split(".")
        return [Symbol(self.input, ".".join(parts[:count])) for count in range(1, len(parts) + 1)]


class _Place(NamedTuple):
    """Names, one behind the other, that are looked for in a module."""

    module: str
    names: tuple[str, ...]


class Modules:
    """What Python inputs are to each other."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        """`modules` by the names of their inputs."""
        self.by_input = modules
        self.packages = {folder_of(name) for name in modules if file_of(name) == "__init__.py"}
        """The folders that have an `__init__.py`."""
        self.dotted = {name: self._dotted(name) for name in modules}
        """What each of them is called in imports."""
        self._places_left = _MOST_PLACES

    def find(self, module: str) -> list[str]:
        """The inputs that a module is, by its name in an import."""
        exact = self._by_dotted.get(module, [])
        return exact or self._by_ending.get(module, [])

    def is_package(self, module: str) -> bool:
        """Whether it is a folder that some inputs are in."""
        return module in self._folders

    def knows(self, module: str) -> bool:
        """Whether the first part of a module's name is that of a given module or package."""
        first = module.partition(".")[0]
        return any(each.partition(".")[0] == first for each in self.dotted.values())

    def defines(self, module: str, name: str) -> bool:
        """Whether one of the inputs that a module is has a name, or may have it for all that can be seen."""
        return any(self._has(each, name, set()) for each in self.find(module)) or bool(
            self.find(f"{module}.{name}") or self.is_package(f"{module}.{name}")
        )

    def absolute(self, given: str, module: str, level: int) -> str | None:
        """The whole name of a module that an input imports; None for one above its topmost package."""
        if not level:
            return module
        parts = self.dotted[given].split(".")
        within = parts if file_of(given) == "__init__.py" else parts[:-1]
        if level - 1 > len(within):
            return None
        kept = within[: len(within) - level + 1]
        return ".".join([*kept, *([module] if module else [])])

    def meant_by(self, given: str, chain: str) -> set[Symbol]:
        """What a name in an input stands for that it has imported, wherever that is defined."""
        first, *rest = chain.split(".")
        module = self.by_input[given]
        starting = [self._place(given, each, rest) for each in module.imports.get(first, ())]
        return self._followed([*starting, *(self._place(given, each, [first, *rest]) for each in module.stars)])

    def meant_in(self, module: Module, chain: str) -> set[Symbol]:
        """The same for a module that is no input, and imports nothing relative and no `*`."""
        first, *rest = chain.split(".")
        imports = (each for each in module.imports.get(first, ()) if not each.level)
        return self._followed([self._place("", each, rest) for each in imports])

    def _followed(self, starting: Iterable[_Place | None]) -> set[Symbol]:
        """What is at the end of the ways that begin there."""
        found: set[Symbol] = set()
        waiting, seen = [each for each in starting if each], set[_Place]()
        while waiting and len(seen) < _MOST_STEPS and self._places_left > 0:
            place = waiting.pop()
            if place not in seen and place.names:
                seen.add(place)
                symbols, further = self._at(place)
                found |= symbols
                waiting += further
                self._places_left -= 1 + len(further)
        return found

    def _place(self, given: str, each: Import, rest: Sequence[str]) -> _Place | None:
        """Where to look for what an import in an input stands for, with what is behind it."""
        where = self.absolute(given, each.module, each.level)
        if where is None:
            return None
        if each.as_root:
            return _Place(where.partition(".")[0], tuple(rest))
        return _Place(where, tuple(rest) if each.name in (None, "*") else (each.name or "", *rest))

    def _at(self, place: _Place) -> tuple[set[Symbol], list[_Place]]:
        """What is defined there, and where else to look."""
        found: set[Symbol] = set()
        further: list[_Place | None] = []
        first, *rest = place.names
        inputs = self.find(place.module)
        for given in inputs:
            module = self.by_input[given]
            if first in module.defined:
                found.add(Symbol(given, ".".join(place.names)))
            if first in module.imports:
                further += [self._place(given, each, rest) for each in module.imports[first]]
            elif first not in module.defined:
                further += [self._place(given, each, place.names) for each in module.stars]
        if not inputs and self.is_package(place.module):  # What its `__init__.py` takes from its modules is not known.
            inside = (given for given, dotted in self.dotted.items() if dotted.startswith(f"{place.module}."))
            found |= {Symbol(given, ".".join(place.names)) for given in inside if first in self.by_input[given].defined}
        if not found:
            further.append(_Place(f"{place.module}.{first}", tuple(rest)))
        return found, [each for each in further if each is not None]

    def _has(self, given: str, name: str, seen: set[str]) -> bool:
        module = self.by_input[given]
        if name in module.names or module.gives_any_name or is_dunder(name):
            return True
        seen.add(given)
        for star in module.stars:
            where = self.absolute(given, star.module, star.level)
            inputs = self.find(where) if where else []
            if not inputs or any(self._has(each, name, seen) for each in inputs if each not in seen):
                return True
        return False

    def _dotted(self, name: str) -> str:
        """What an input is called in imports."""
        folders = [*folder_of(name)]
        top = len(folders)
        while top and tuple(folders[:top]) in self.packages:
            top -= 1
        if top == len(folders):  # It is in no package that was given.
            top = next((at + 1 for at, each in enumerate(folders) if each in ROOTS), 0)
        return ".".join([*folders[top:], *_last_part(name)])

    @cached_property
    def imported(self) -> frozenset[str]:
        """The whole names of all modules that the inputs import."""
        every = {
            self.absolute(given, each.module, each.level)
            for given, module in self.by_input.items()
            for each in (*module.stars, *(one for some in module.imports.values() for one in some))
        }
        return frozenset(each for each in every if each)

    @cached_property
    def _by_dotted(self) -> dict[str, list[str]]:
        return _gathered((dotted, name) for name, dotted in self.dotted.items())

    @cached_property
    def _by_ending(self) -> dict[str, list[str]]:
        return _gathered((ending, name) for name in self.dotted for ending in _endings(name))

    @cached_property
    def _folders(self) -> set[str]:
        """The packages above the inputs, by what they are called in imports."""
        parts = (dotted.split(".") for dotted in self.dotted.values())
        return {".".join(each[:count]) for each in parts for count in range(1, len(each))}


def folder_of(name: str) -> tuple[str, ...]:
    """The folders that an input's name has before the file, without those that mean nothing or lead elsewhere."""
    return tuple(each for each in name.split("/")[:-1] if each not in ("", ".", ".."))


def file_of(name: str) -> str:
    """The file of an input's name, without the folders before it."""
    return name.rpartition("/")[2]


def stem_of(name: str) -> str:
    """The same without its ending."""
    file = file_of(name)
    return file.rpartition(".")[0] or file


def _last_part(name: str) -> list[str]:
    """What the file adds to the name of its module: nothing, where it stands for its folder."""
    return [] if stem_of(name) == "__init__" else [stem_of(name)]


def _endings(name: str) -> Iterator[str]:
    parts = [*folder_of(name), *_last_part(name)]
    return (".".join(parts[at:]) for at in range(len(parts)))


def _gathered(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found
