"""The maker `tests`: test files of what the workers have written, a table of what is covered, and all of it as a patch.

Names of artifacts are plain, so the path of each file stands at its top, in `coverage.md`, and in `tests.patch`, which
`git apply` takes. Nothing of it was ever executed.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from app.domain.artifacts import FILE_BYTES, FILES_AT_MOST, Artifact
from app.domain.makers.room import TESTS_BYTES, bytes_of_text
from app.domain.makers.tests_table import PATCH, Failed, Made, table_of
from app.domain.material import described_by
from app.domain.placeholders import quoted
from app.domain.python_code.merging import Ready, TestFile, by_module, merged
from app.domain.python_code.places import Places
from app.domain.python_code.survey import Survey
from app.domain.python_code.written import WrittenTests, read_written
from app.domain.results import Problem, Result
from app.domain.snapshot import Snapshot

COVERAGE = "coverage.md"
_PYTHON = "text/x-python"
_ODD = re.compile(r"[^\w.-]+", re.ASCII)
_PLAIN_PATH = re.compile(r"[\w./ +-]+", re.ASCII)
_NAME_CHARACTERS = 100


class _Told(NamedTuple):
    """What the tasks that write tests have come to."""

    written: Sequence[Ready]
    failed: Failed


def test_files(run: Snapshot, result: Result) -> list[Artifact]:
    """The files that come of the results of a run; none where its workers have had nothing to write."""
    told = _told(run, result)
    return files_of(Survey.of(run.brief.given), told.written, told.failed) if told.written or told.failed else []


def files_of(survey: Survey, written: Iterable[Ready], failed: Failed) -> list[Artifact]:
    """The files that tests become: of very many those of the first modules, while the patch has them all."""
    made, left_out = _made(written, survey)
    patch = _patch(made)
    has_patch = 0 < bytes_of_text(patch) <= FILE_BYTES
    room = TESTS_BYTES - (bytes_of_text(patch) if has_patch else 0)
    files: list[Artifact] = []
    for each in made[: FILES_AT_MOST - 2]:
        if (size := bytes_of_text(each.text)) <= room:
            files.append(Artifact(name=each.name, media_type=_PYTHON, text=each.text))
            room -= size
    handed_over = {each.name for each in files} | ({PATCH} if has_patch else set())
    table = table_of(survey, made, {**left_out, **failed}, handed_over)
    files.append(Artifact(name=COVERAGE, media_type="text/markdown", text=table))
    if has_patch:
        files.append(Artifact(name=PATCH, media_type="text/x-diff", text=patch))
    return files


def _told(run: Snapshot, result: Result) -> _Told:
    checked = {worker.name for worker in run.brief.team.workers if "python_tests" in worker.checks}
    written: list[Ready] = []
    failed: dict[tuple[str, str], tuple[str, Problem | None]] = {}
    for report in result.outputs:
        if report.worker in checked:
            tests = read_written(report.data) if report.data is not None else None
            if isinstance(tests, WrittenTests):
                written += [Ready(test, tests.imports) for test in tests.tests]
            else:
                failed |= dict.fromkeys(described_by(run.tasks[report.task].task), (report.task, report.error))
    return _Told(written, failed)


def _made(written: Iterable[Ready], survey: Survey) -> tuple[list[Made], Failed]:
    """The test files, in the order of the inputs, and why tests are in none of them."""
    made: list[Made] = []
    left_out: dict[tuple[str, str], str] = {}
    places, names = Places(survey), set[str]()
    tests = by_module(written)
    for given, module in survey.sources.items():
        order = {unit.name: at for at, unit in enumerate(module.units)}
        known = [each for each in tests.get(given, ()) if each.test.function in order]
        found = merged(sorted(known, key=lambda each: order[each.test.function]), survey.modules)
        left_out |= {(test.function, given): f"its test was left out: {why}" for test, why in found.left_out}
        for file in found.files:
            path = places.path_for(given)
            text = file.text(_head(path, given, survey), survey.modules)
            name = _name(path, names)
            names.add(name)
            made.append(Made(path, name, given, text, _counted(file)))
    return made, left_out


def _head(path: str, given: str, survey: Survey) -> str:
    """What stands at the top of a file."""
    told = [quoted(each)[1:-1] for each in (path, survey.modules.dotted[given], given)]
    return (
        f"# Path: {told[0]}\n"
        f"# Tests of {told[1]} ({told[2]}), written by the workers of a run.\n"
        "# Nobody has run them yet: read them, then run them."
    )


def _name(path: str, taken: set[str]) -> str:
    """A plain name for a file: its own, or its whole path where another file is called so."""
    parts = [_ODD.sub("_", part).strip(".") or "_" for part in path.split("/")]
    names = (parts[-1][-_NAME_CHARACTERS:], "-".join(parts)[-_NAME_CHARACTERS:])
    return next((name for name in names if name not in taken), f"{len(taken)}-{names[0]}")


def _counted(file: TestFile) -> Mapping[str, int]:
    """How many tests of each function are in a file."""
    counts: dict[str, int] = {}
    for each in file.tests:
        counts[each.test.function] = counts.get(each.test.function, 0) + 1
    return counts


def _in_diff(path: str) -> str:
    """A path as git writes it: in quotes, with numbers for its bytes, where it is not plain."""
    if _PLAIN_PATH.fullmatch(path):
        return path
    plain = (chr(each) if 32 <= each < 127 and each not in b'"\\' else f"\\{each:03o}" for each in path.encode())
    return f'"{"".join(plain)}"'


def _patch(made: Sequence[Made]) -> str:
    """The files as a unified diff that makes them."""
    return "".join(_added(each.path, each.text) for each in made)


def _added(path: str, text: str) -> str:
    lines = text.removesuffix("\n").split("\n")
    old, new = _in_diff(f"a/{path}"), _in_diff(f"b/{path}")
    head = f"diff --git {old} {new}\nnew file mode 100644\n--- /dev/null\n+++ {new}\n"
    return f"{head}@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines)
