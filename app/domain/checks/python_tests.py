"""The check `python_tests`: whether a result holds tests of what its task is about that can be merged into files.

Held against a result is what code can see without executing a line of it, which this service never does: that each
test parses; that what it imports is there; that it reads no name that nothing binds, and asks for no fixture that is
unknown; that it asserts something and is not skipped; that it reads what it is said to test; and that there is, of each
function or class that the task is about, a test of the ordinary case, one of an edge, and one for each exception that
it raises itself. Whether the tests pass, nobody knows before they were carried out.
"""

import ast
from collections.abc import Iterator, Sequence
from itertools import islice

from app.domain.checks.worked import Worked
from app.domain.flaws import Flaw, rejected
from app.domain.material import described_by
from app.domain.python_code.asserting import asserts, exceptions_expected
from app.domain.python_code.draft import Draft, DraftUnreadable, read_import
from app.domain.python_code.fixtures import FIXTURES_OF_PYTEST
from app.domain.python_code.importing import import_fault, missing_in, targets_missing
from app.domain.python_code.module import Import, imports_in
from app.domain.python_code.passed_over import skips, why_no_test
from app.domain.python_code.places import Places
from app.domain.python_code.survey import Survey
from app.domain.python_code.syntax import last_part
from app.domain.python_code.units import Unit
from app.domain.python_code.written import MOST_FLAWS, WrittenTest, WrittenTests, read_written

Subject = tuple[str, str]
"""What is tested: its name, and the input that it is in."""


def python_tests(worked: Worked) -> list[Flaw]:
    """What is wrong with the tests of a result."""
    written = read_written(worked.output.data)
    if not isinstance(written, WrittenTests):
        return written
    survey = Survey.of(worked.inputs)
    return [*islice(_flaws(written, Places(survey), _wanted(worked, survey)), MOST_FLAWS)]


def _wanted(worked: Worked, survey: Survey) -> dict[Subject, Unit]:
    """What the task is about; empty where it does not say it as a template does."""
    units = {(name, given): survey.unit(given, name) for name, given in described_by(worked.task)}
    return {subject: unit for subject, unit in units.items() if unit is not None}


def _flaws(written: WrittenTests, places: Places, wanted: dict[Subject, Unit]) -> Iterator[Flaw]:
    survey = places.survey
    imports: list[ast.stmt] = []
    for index, statement in enumerate(written.imports):
        try:
            node, bound = read_import(statement)
        except DraftUnreadable as error:
            yield rejected(f"imports[{index}]: {error}", "imports", index)
            continue
        imports.append(node)
        yield from _import_flaws(f"imports[{index}]", bound, survey, "imports", index)
        for name in _taken_for_tests(bound, survey):
            yield rejected(
                f"imports[{index}]: pytest takes {name} for a test: import it as another name", "imports", index
            )
    subjects = dict(wanted)
    seen: dict[tuple[Subject, str], int] = {}
    for index, test in enumerate(written.tests):
        subject = test.function, test.input
        unit = wanted.get(subject) if wanted else survey.unit(test.input, test.function)
        if unit is None:
            yield rejected(f"{_called(index, test)}: {_nothing_such(test, wanted)}", "tests", index, "function")
            continue
        subjects[subject] = unit
        try:
            draft = Draft.of(test.code, imports)
            found = [*_test_flaws(index, test, draft, places, unit)]
            before = seen.setdefault((subject, draft.nameless), index)
            if test.kind != written.tests[before].kind:
                found.append(rejected(f"{_called(index, test)}: it is tests[{before}] again", "tests", index, "code"))
        except DraftUnreadable as error:
            found = [rejected(f"{_called(index, test)}: {error}", "tests", index, "code")]
        except (RecursionError, MemoryError):
            found = [rejected(f"{_called(index, test)}: it nests deeper than can be looked at", "tests", index, "code")]
        yield from found
    for subject, unit in subjects.items():
        yield from _lacking(subject, unit, [each for each in written.tests if (each.function, each.input) == subject])


def _nothing_such(test: WrittenTest, wanted: dict[Subject, Unit]) -> str:
    if not wanted:
        return f"{test.input} has no function or class {test.function}"
    listed = ", ".join(f"{name} in {given}" for name, given in wanted)
    return f"the task is not about {test.function} in {test.input}, but about: {listed}"


def _test_flaws(index: int, test: WrittenTest, draft: Draft, places: Places, unit: Unit) -> Iterator[Flaw]:
    for detail in _faults(test, draft, places, unit):
        yield rejected(f"{_called(index, test)}: {detail}", "tests", index, "code")
    for node in ast.walk(draft.node):
        if isinstance(node, ast.Import | ast.ImportFrom):
            where = f"{_called(index, test)}: line {node.lineno}"
            yield from _import_flaws(where, [*imports_in(node)], places.survey, "tests", index, "code")


def _faults(test: WrittenTest, draft: Draft, places: Places, unit: Unit) -> Iterator[str]:
    """What is wrong with a test by itself."""
    modules = places.survey.modules
    if not draft.tests:
        yield f"line {draft.node.lineno}: the class has no method whose name begins with test"
    for each in draft.tests:
        if not asserts(each, draft.bound):
            yield f"line {each.lineno}: {each.name} asserts nothing that could fail"
        if skips(each, draft.module.imports):
            yield f"line {each.lineno}: {each.name} is skipped, or may fail"
    if isinstance(draft.node, ast.ClassDef) and skips(draft.node, draft.module.imports):
        yield f"line {draft.node.lineno}: {draft.node.name} is skipped, or may fail"
    for part in dict.fromkeys([draft.node, *draft.tests]):
        if why := why_no_test(part):
            yield f"line {part.lineno}: pytest passes over {why}"
    for name in draft.rebound(unit, test.input, modules):
        yield f"it gives {name}, which it is said to test, another meaning"
    for name in draft.unbound:
        yield f"it reads {name}, which is neither imported nor made in it"
    for missing in missing_in(draft.module, modules):
        yield f"it reads {missing}, which is not there"
    for missing in targets_missing(draft.node, modules):
        yield f"it replaces {missing}, which is not there"
    known = FIXTURES_OF_PYTEST | places.fixtures_for(test.input)
    for function, name in draft.fixtures():
        if name not in known:
            yield f"line {function.lineno}: neither pytest nor a conftest.py above the test has a fixture {name}"
    if not draft.is_about(unit, test.input, modules):
        yield f"it does not use {unit.name} of {test.input}, which it is said to test"
    if test.kind == "exception":
        yield from _unexpected(test, draft, unit)


def _unexpected(test: WrittenTest, draft: Draft, unit: Unit) -> Iterator[str]:
    """What keeps a test from being one of an exception. That of a function is expected where this is called."""
    called = {unit.last_name, *draft.names_of(unit.last_name)} if unit.kind == "function" else set[str]()
    if test.raises is None:
        yield "a test of kind exception names in raises which one it is about"
        return
    implicitly = unit.kind == "class" or unit.is_dunder
    expected = {name for each in draft.tests for name in exceptions_expected(each, called, implicitly=implicitly)}
    if last_part(test.raises) not in expected:
        of = f"of a call of {unit.name}" if called else "of a call"
        yield f"it does not expect {test.raises} {of}, by pytest.raises({test.raises}) or assertRaises"


def _import_flaws(where: str, bound: Sequence[tuple[str, Import]], survey: Survey, *path: str | int) -> Iterator[Flaw]:
    for _, each in bound:
        if fault := import_fault(each, survey.modules):
            yield rejected(f"{where}: {fault}", *path)


def _taken_for_tests(bound: Sequence[tuple[str, Import]], survey: Survey) -> Iterator[str]:
    """Functions of the sources that pytest would carry out where they are imported."""
    for name, each in bound:
        given = survey.modules.find(each.module) if each.name and name.startswith("test") else []
        if any(survey.unit(one, each.name or "") for one in given):
            yield name


def _lacking(subject: Subject, unit: Unit, tests: Sequence[WrittenTest]) -> Iterator[Flaw]:
    """The tests that a function or a class needs and does not have."""
    name, given = subject
    where = f"{name} in {given}"
    for kind, what in (("ordinary", "the ordinary case"), ("edge", "an edge")):
        if all(test.kind != kind for test in tests):
            yield rejected(f"{where}: there is no test of {what} (kind {kind})", "tests")
    expected = {last_part(test.raises) for test in tests if test.kind == "exception" and test.raises is not None}
    for raised in unit.raises:
        if raised.last not in expected:
            at = f"which line {raised.line} of {given} raises"
            yield rejected(f"{where}: there is no test for {raised.name}, {at} (kind exception)", "tests")


def _called(index: int, test: WrittenTest) -> str:
    return f"tests[{index}] of {test.function}"
