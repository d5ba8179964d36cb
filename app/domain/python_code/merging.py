"""Tests of several results as files: each import once, names that differ, and the order of the sources."""

import ast
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.python_code.asserting import Test
from app.domain.python_code.draft import DraftUnreadable, read_import, read_test
from app.domain.python_code.module import Import, module_of
from app.domain.python_code.modules import Modules
from app.domain.python_code.survey import plain
from app.domain.python_code.written import WrittenTest
from app.domain.python_functions import SourceUnreadable, parsed

FILE_CHARACTERS = 150_000
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
    tests: list[tuple[WrittenTest, str]] = field(default_factory=list)
    """What is in it, each with its name there."""
    names: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    """The syntax trees in it, as texts."""

    @property
    def size(self) -> int:
        return sum(map(len, self.codes))

    def text(self, head: str, modules: Modules) -> str:
        """The whole file."""
        imports = "\n".join(_import_lines(self.bound, modules))
        return "\n\n\n".join([f"{head}\n\n{imports}" if imports else head, *self.codes]) + "\n"


def merged(tests: Iterable[Ready]) -> list[TestFile]:
    """The tests in as few files as their imports allow: two that give one name another meaning are in two files."""
    files: list[TestFile] = []
    for ready in tests:
        try:
            node = read_test(ready.test.code)
            needed = _needed(node, ready.imports)
        except (DraftUnreadable, RecursionError):
            continue
        code = plain(ready.test.code).strip("\n").rstrip()
        room = FILE_CHARACTERS - len(code)
        file = next((each for each in files if each.size <= room and _fits(needed, each.bound)), None)
        if file is None:
            files.append(file := TestFile())
        _add(file, ready.test, node, code, needed)
    return files


def _add(
    file: TestFile, test: WrittenTest, node: Test | ast.ClassDef, code: str, needed: Mapping[str, set[Import]]
) -> None:
    if (tree := _written_out(node)) in file.known:  # Two tasks wrote the same.
        return
    name, number = node.name, 2
    while name in file.names:
        name, number = f"{node.name}_{number}", number + 1
    renamed = code if name == node.name else _renamed(node, code, name)
    if renamed is None:
        return
    file.codes.append(renamed)
    file.tests.append((test, name))
    file.names.add(name)
    file.known.add(tree)
    for bound, imports in needed.items():
        file.bound.setdefault(bound, set()).update(imports)


def _written_out(node: ast.AST) -> str:
    try:
        return ast.dump(node)
    except RecursionError:
        return f"{id(node)}"


def _renamed(node: Test | ast.ClassDef, code: str, name: str) -> str | None:
    """The code with another name of what it defines; None where that cannot be."""
    lines = code.split("\n")
    at = node.lineno - 1
    lines[at] = re.sub(rf"(\b(?:def|class)\s+){re.escape(node.name)}\b", rf"\g<1>{name}", lines[at], count=1)
    renamed = "\n".join(lines)
    try:
        return renamed if read_test(renamed).name == name else None
    except DraftUnreadable:
        return None


def _needed(node: Test | ast.ClassDef, statements: Sequence[str]) -> dict[str, set[Import]]:
    """Those of the imports that a test reads."""
    read = {chain.partition(".")[0] for chain in module_of(ast.Module(body=[node], type_ignores=[])).chains}
    needed: dict[str, set[Import]] = {}
    for statement in statements:
        for name, each in read_import(statement)[1]:
            if name in read or each.module == "__future__":
                needed.setdefault(name, set()).add(each)
    return needed


def _fits(needed: Mapping[str, set[Import]], bound: Mapping[str, set[Import]]) -> bool:
    """Whether names stand for the same in both: several modules of one package do."""
    both = (imports | bound[name] for name, imports in needed.items() if name in bound)
    return all(len(each) == 1 or all(one.as_root for one in each) for each in both)


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


def is_sound(text: str) -> bool:
    """Whether a file is a Python source."""
    try:
        parsed(text)
    except SourceUnreadable:
        return False
    return True


def by_module(tests: Iterable[Ready]) -> Mapping[str, Sequence[Ready]]:
    """The tests of each source, in its own order among them."""
    found: dict[str, list[Ready]] = {}
    for each in tests:
        found.setdefault(each.test.input, []).append(each)
    return found
