"""Tests of several results as files: each import once, names that differ, and the order of the sources."""

import ast
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from app.domain.python_code.compiling import compile_fault
from app.domain.python_code.draft import Draft, DraftUnreadable, read_import, read_test
from app.domain.python_code.module import Import
from app.domain.python_code.modules import Modules
from app.domain.python_code.survey import plain
from app.domain.python_code.written import WrittenTest

CODE_BYTES = 150_000
"""Of the tests in one file."""
LINE_CHARACTERS = 100


@dataclass(frozen=True)
class Ready:
    """A test that is to be merged, with the imports of the result it comes from."""

    test: WrittenTest
    imports: Sequence[str]


@dataclass
class TestFile:
    """A file of tests that grows."""

    bound: dict[str, set[Import]] = field(default_factory=dict)
    """What its names come from that are imported."""
    codes: list[str] = field(default_factory=list)
    tests: list[Ready] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    """The syntax trees in it, as texts."""

    @property
    def size(self) -> int:
        """Bytes of its tests."""
        return sum(len(each.encode()) for each in self.codes)

    def text(self, head: str, modules: Modules) -> str:
        """The whole file."""
        imports = "\n".join(_import_lines(self.bound, modules))
        return "\n\n\n".join([f"{head}\n\n{imports}" if imports else head, *self.codes]) + "\n"


class Merged(NamedTuple):
    """What has become of tests."""

    files: list[TestFile]
    left_out: list[tuple[WrittenTest, str]]
    """Tests that are in none of them, each with the reason."""


def merged(tests: Iterable[Ready], modules: Modules) -> Merged:
    """The tests in as few files as their imports allow: two that give one name another meaning are in two files.

    So are those that Python compiles apart and not together.
    """
    found = _together(tests)
    files: list[TestFile] = []
    for file in found.files:
        fault = compile_fault(file.text("", modules))
        if fault is None:
            files.append(file)
        elif len(file.tests) < 2:
            found.left_out.extend((ready.test, fault) for ready in file.tests)
        else:
            half = len(file.tests) // 2
            for part in (file.tests[:half], file.tests[half:]):
                apart = merged(part, modules)
                files += apart.files
                found.left_out.extend(apart.left_out)
    return Merged(files, found.left_out)


def _together(tests: Iterable[Ready]) -> Merged:
    found = Merged([], [])
    read = cache(read_import)  # The tests of one result have the same imports.
    for ready in tests:
        try:
            code = plain(ready.test.code).strip("\n").rstrip()
            imports = [read(each) for each in ready.imports]
            draft = Draft.of(code, [node for node, _ in imports])
            needed = _needed(draft, [each for _, bound in imports for each in bound])
            room = CODE_BYTES - len(code.encode())
            file = next((each for each in found.files if each.size <= room and _fits(needed, each)), None)
            if file is None:
                found.files.append(file := TestFile())
            _add(file, ready, draft, code, needed)
        except DraftUnreadable as error:
            found.left_out.append((ready.test, str(error)))
        except (RecursionError, MemoryError):
            found.left_out.append((ready.test, "it nests deeper than can be looked at"))
    return Merged([each for each in found.files if each.tests], found.left_out)


def _add(file: TestFile, ready: Ready, draft: Draft, code: str, needed: Mapping[str, set[Import]]) -> None:
    """Raises `DraftUnreadable`."""
    node = draft.node
    if (tree := _written_out(node)) in file.known:  # Two tasks wrote the same.
        raise DraftUnreadable("the same test is there already")
    name, number = node.name, 2
    while name in file.names | {*file.bound} | {*needed}:  # What is imported may be called like a test.
        name, number = f"{node.name}_{number}", number + 1
    renamed = code if name == node.name else _renamed(draft, code, name)
    if renamed is None:
        raise DraftUnreadable(f"there are two of the name {node.name}")
    file.codes.append(renamed)
    file.tests.append(ready)
    file.names.add(name)
    file.known.add(tree)
    for bound, imports in needed.items():
        file.bound.setdefault(bound, set()).update(imports)


def _written_out(node: ast.AST) -> str:
    try:
        return ast.dump(node)
    except RecursionError:
        return f"{id(node)}"


def _renamed(draft: Draft, code: str, name: str) -> str | None:
    """The code with another name of what it defines; None where that cannot be, as where it speaks of itself."""
    node = draft.node
    if node.name in draft.module.chains and node.name not in draft.module.imports:
        return None
    lines = code.split("\n")
    at = node.lineno - 1
    lines[at] = re.sub(rf"(\b(?:def|class)\s+){re.escape(node.name)}\b", rf"\g<1>{name}", lines[at], count=1)
    renamed = "\n".join(lines)
    try:
        return renamed if read_test(renamed).name == name else None
    except DraftUnreadable:
        return None


def _needed(draft: Draft, bound: Iterable[tuple[str, Import]]) -> dict[str, set[Import]]:
    """Those of the imports that a test reads."""
    read = {chain.partition(".")[0] for chain in draft.module.chains}
    needed: dict[str, set[Import]] = {}
    for name, each in bound:
        if name in read or each.module == "__future__":
            needed.setdefault(name, set()).add(each)
    return needed


def _fits(needed: Mapping[str, set[Import]], file: TestFile) -> bool:
    """Whether names stand for the same in both: several modules of one package do."""
    both = (imports | file.bound[name] for name, imports in needed.items() if name in file.bound)
    return file.names.isdisjoint(needed) and all(len(each) == 1 or all(one.as_root for one in each) for each in both)


def _import_lines(bound: Mapping[str, set[Import]], modules: Modules) -> list[str]:
    """The lines by which names are imported, in groups."""
    every = {(name, each) for name, imports in bound.items() for each in imports}
    whole = {_statement(each, name) for name, each in every if each.name is None}
    taken: dict[str, set[str]] = {}
    for name, each in every:
        if each.name is not None:
            taken.setdefault(each.module, set()).add(each.name if name == each.name else f"{each.name} as {name}")
    statements = [(line.split()[1], line) for line in whole]
    statements += [(module, _from(module, sorted(names))) for module, names in taken.items()]
    groups: dict[int, list[str]] = {}
    for module, line in sorted(statements, key=lambda each: (each[1].startswith("from"), each)):
        groups.setdefault(_group(module, modules), []).append(line)
    return [line for number in sorted(groups) for line in ("", *groups[number])][1:]


def _statement(each: Import, name: str) -> str:
    return f"import {each.module}" if each.as_root else f"import {each.module} as {name}"


def _from(module: str, names: Sequence[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= LINE_CHARACTERS:
        return line
    return "\n".join([f"from {module} import (", *(f"    {name}," for name in names), ")"])


def _group(module: str, modules: Modules) -> int:
    """What comes first: `__future__`, Python, others, and what was given."""
    first = module.partition(".")[0]
    if module == "__future__":
        return 0
    if modules.find(module) or modules.is_package(module) or modules.knows(module):
        return 3
    return 1 if first in sys.stdlib_module_names else 2


def by_module(tests: Iterable[Ready]) -> Mapping[str, Sequence[Ready]]:
    """The tests of each source, in its own order among them."""
    found: dict[str, list[Ready]] = {}
    for each in tests:
        found.setdefault(each.test.input, []).append(each)
    return found
