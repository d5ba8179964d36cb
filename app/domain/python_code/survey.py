"""Which functions and classes of the given sources have tests already.

An input is one of tests by its name: `test_*.py`, `*_test.py`, `tests.py`, `conftest.py`, or any below a folder `tests`
or `test`. A function or a class is tested when one of them refers to it: it is imported, and the imported name, or an
attribute of the imported module, is read somewhere in the file; an import alone is nothing. Names that a package
imports from its modules stand for what is defined there. A method of a large class is tested when a file of tests reads
an attribute of its name, and that file or a `conftest.py` refers to the class; a dunder method when one refers to its
class. Whether such a test is any good, nobody asks here.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from app.domain.job import JobInput
from app.domain.media_types import essence_of
from app.domain.python_code.module import Module, read_module
from app.domain.python_code.modules import Modules, Symbol, file_of
from app.domain.python_code.units import Unit
from app.domain.python_functions import SourceUnreadable

_PYTHON = frozenset({"text/x-python", "application/x-python", "application/x-python-code", "text/x-script.python"})
TEST_FOLDERS = frozenset({"tests", "test"})
_TEST_FILES = frozenset({"tests.py", "conftest.py"})


def is_python(given: JobInput) -> bool:
    """Whether an input is a Python source, by its media type or its name."""
    return essence_of(given.media_type) in _PYTHON or given.name.casefold().endswith((".py", ".pyi"))


def is_test(name: str) -> bool:
    """Whether an input is one of tests, by its name."""
    *folders, file = name.split("/")
    return (
        file in _TEST_FILES
        or (file.startswith("test_") and file.endswith(".py"))
        or file.endswith("_test.py")
        or not TEST_FOLDERS.isdisjoint(folders)
    )


def plain(text: str) -> str:
    """The text with one kind of line end, and without a byte order mark before it."""
    return text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


@dataclass(frozen=True)
class Survey:
    """The Python inputs of a job, and what of them is tested."""

    modules: Modules

    @classmethod
    def of(cls, inputs: Iterable[JobInput]) -> "Survey":
        """What Python inputs say, without those that cannot be read as such."""
        modules: dict[str, Module] = {}
        for given in inputs:
            if is_python(given):
                with suppress(SourceUnreadable):
                    modules[given.name] = read_module(plain(given.content))
        return cls(Modules(modules))

    @cached_property
    def sources(self) -> Mapping[str, Module]:
        """Those that are no tests, by the names of their inputs."""
        return {name: module for name, module in self.modules.by_input.items() if not is_test(name)}

    @cached_property
    def tests(self) -> Mapping[str, Module]:
        return {name: module for name, module in self.modules.by_input.items() if is_test(name)}

    def unit(self, given: str, name: str) -> Unit | None:
        """What there is of that name in a source."""
        module = self.sources.get(given)
        return next((each for each in module.units if each.name == name), None) if module else None

    def tested_in(self, given: str, unit: Unit) -> Sequence[str]:
        """The inputs whose tests refer to it."""
        whole = self._referring.get(Symbol(given, unit.name), ())
        if unit.kind != "method":
            return whole
        to_class = self._referring.get(Symbol(given, unit.owner), ())
        if unit.is_dunder:
            return whole or to_class
        everywhere = any(file_of(name) == "conftest.py" for name in to_class)
        read = [
            name
            for name, module in self.tests.items()
            if unit.last_name in module.attributes and (everywhere or name in to_class)
        ]
        return tuple(dict.fromkeys([*whole, *read]))

    @cached_property
    def _referring(self) -> Mapping[Symbol, tuple[str, ...]]:
        """The tests that refer to what the sources define, and to what that is within."""
        found: dict[Symbol, dict[str, None]] = {}
        for name, module in self.tests.items():
            for chain in sorted(module.chains):
                for symbol in self.modules.meant_by(name, chain):
                    for part in symbol.with_outer:
                        found.setdefault(part, {})[name] = None
        return {symbol: tuple(names) for symbol, names in found.items()}
