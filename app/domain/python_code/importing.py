"""Whether what a test imports is there: in the sources that were given, in Python, in pytest, or in what the sources
import themselves. Nothing is imported to find out."""

import ast
import sys
from collections.abc import Iterator

from app.domain.python_code.module import PARTS, Import, Module
from app.domain.python_code.modules import Modules
from app.domain.python_code.syntax import last_name_of

_TEST_TOOLS = frozenset({"pytest"})
_REPLACING = frozenset({"patch", "setattr", "delattr"})


def import_fault(each: Import, modules: Modules) -> str | None:
    """What is wrong with an import of a test; None when nothing is, as far as can be seen."""
    written = f"{'.' * each.level}{each.module}"
    if each.level:
        return f"{written} is relative: where the file will be is not known yet, so import by the whole name"
    if each.name == "*":
        return f"name what is imported from {written}, instead of *"
    given = modules.find(each.module)
    if given or modules.is_package(each.module):
        is_there = each.name is None or modules.defines(each.module, each.name)
        # A package whose `__init__.py` was not given has whatever others take from it.
        return None if is_there or (not given and each.module in modules.imported) else f"{written} has no {each.name}"
    first = each.module.partition(".")[0]
    if each.module in modules.imported or first in sys.stdlib_module_names or first in _TEST_TOOLS:
        return None
    if modules.knows(each.module):
        return f"none of the given sources is {written}"
    if first in {name.partition(".")[0] for name in modules.imported}:
        return None
    return f"{written} is neither given, nor a part of Python or pytest, nor imported by any of the inputs"


def missing_in(test: Module, modules: Modules) -> Iterator[str]:
    """Names that a test reads of given modules, and that these do not have."""
    for chain in sorted(test.chains):
        first, *rest = chain.split(".")
        for each in test.imports.get(first, ()) if rest else ():
            if (start := _module_bound(each, modules)) and (missing := _missing(start, rest, modules)):
                yield missing


def targets_missing(test: ast.AST, modules: Modules) -> Iterator[str]:
    """The same for what a test replaces by its name, as `mock.patch("shop.rates.KNOWN")` does."""
    for node in ast.walk(test):
        match node:
            case ast.Call(func=function, args=[ast.Constant(value=str(target)), *_]):
                replaces = last_name_of(function) in _REPLACING
                first, *rest = target.split(".")
                if replaces and rest and (missing := _missing(first, rest[:PARTS], modules)):
                    yield missing


def _module_bound(each: Import, modules: Modules) -> str | None:
    """The module that an import binds; None where it is a name of one."""
    if each.level:
        return None
    if each.name is None:
        return each.module.partition(".")[0] if each.as_root else each.module
    whole = f"{each.module}.{each.name}"
    is_name = any(each.name in modules.by_input[given].names for given in modules.find(each.module))
    return None if is_name or not modules.find(whole) else whole


def _missing(module: str, rest: list[str], modules: Modules) -> str | None:
    for name in rest:
        if not modules.find(module) and not modules.is_package(module):
            return None
        if not modules.defines(module, name):
            return f"{module}.{name}" if modules.find(module) else None
        if not (modules.find(f"{module}.{name}") or modules.is_package(f"{module}.{name}")):
            return None
        module = f"{module}.{name}"
    return None
