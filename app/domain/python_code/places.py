"""Where new test files belong, by where the tests are that there are.

Each test file that is called like a source (`test_prices.py` or `prices_test.py` for `prices.py`) votes for how the
folder of tests follows from that of the source: the same folder, a folder `tests` within it, one folder for all, or a
folder with the same folders below it from some part of the path on (`src/shop/rates/` and `tests/rates/`). The most
votes win, among the layouts whose beginning the source is below; where votes are equal, the one that makes no new
folders. Without such a file the folder that most tests are in is taken, and without any a folder `tests` beside the
packages.

No file that was given is ever overwritten: tests for a module whose test file is there already go into one beside it.
Nor have two files one name, unless theirs are packages: pytest takes one of them for the other.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from app.domain.python_code.modules import ROOTS, file_of, folder_of, stem_of
from app.domain.python_code.survey import TEST_FOLDERS, Survey

Folder = tuple[str, ...]
_FURTHER = "more"
"""What stands in the name of a file for tests beside those that there are."""


class _Layout(NamedTuple):
    """How the folder of tests follows from that of a source."""

    kind: Literal["beside", "within", "flat", "mirrored"]
    base: Folder = ()
    skipped: int = 0
    """How many folders of the source are not mirrored."""

    def of(self, folder: Folder) -> Folder:
        match self.kind:
            case "beside":
                return folder
            case "within":
                return (*folder, *self.base)
            case "flat":
                return self.base
            case "mirrored":
                return (*self.base, *folder[self.skipped :])

    def mirrors(self, folder: Folder) -> bool:
        """Whether folders below it are really the same: that is hardly by chance."""
        return self.kind == "mirrored" and len(folder) > self.skipped

    def fits(self, folder: Folder) -> bool:
        """Whether sources of a folder may have their tests there: what is before the tests is above them too."""
        if self.kind in ("beside", "within"):
            return True
        top = next((at for at, each in enumerate(self.base) if each in TEST_FOLDERS), len(self.base))
        return folder[:top] == self.base[:top]


_ORDER = {"beside": 3, "within": 3, "flat": 2, "mirrored": 1}


class Places:
    """The paths of new test files. Each is given once."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self._taken = {_joined((*folder_of(name), file_of(name))) for name in survey.modules.by_input}
        self._alone = {file_of(name) for name in self._taken if self._is_alone(folder_of(name))}

    def path_for(self, given: str) -> str:
        """A path for further tests of a source, which no file has yet."""
        folder = self._layout_for(folder_of(given)).of(folder_of(given))
        own = stem_of(given)
        stem = own if own != "__init__" else ["package", *folder_of(given)][-1]
        qualified = "_".join([*folder_of(given)[-1:], stem])
        names = [stem, *([] if self._is_tested(given) else [qualified]), f"{stem}_{_FURTHER}"]
        names += [f"{stem}_{_FURTHER}_{number}" for number in range(2, len(self._taken) + 3)]
        file = next(each for each in map(self._file, names) if self._is_free(folder, each))
        path = _joined((*folder, file))
        self._taken.add(path)
        if self._is_alone(folder):
            self._alone.add(file)
        return path

    def _is_free(self, folder: Folder, file: str) -> bool:
        return _joined((*folder, file)) not in self._taken and not (self._is_alone(folder) and file in self._alone)

    def _is_alone(self, folder: Folder) -> bool:
        """Whether pytest knows the files there by their names alone."""
        return folder not in self.survey.modules.packages

    def fixtures_for(self, given: str) -> frozenset[str]:
        """The fixtures that tests of a source may ask for: of each `conftest.py` above them, and of plug-ins."""
        folder = self._layout_for(folder_of(given)).of(folder_of(given))
        tests = self.survey.tests
        made = {name for module in tests.values() for name in module.fixtures}
        found = {name for module in tests.values() for name in module.asked} - made
        for name, module in tests.items():
            above = folder_of(name)
            if file_of(name) == "conftest.py" and folder[: len(above)] == above:
                takes_any = module.stars or "pytest_plugins" in module.names
                found |= module.fixtures | {*module.imports} | (made if takes_any else set())
        return frozenset(found)

    def _file(self, stem: str) -> str:
        return f"{stem}_test.py" if self._ends_with_test else f"test_{stem.strip('_')}.py"

    def _is_tested(self, given: str) -> bool:
        return any(source == given for source, _ in self._pairs)

    @cached_property
    def _files(self) -> Sequence[str]:
        """The inputs that are named like a file of tests."""
        return [name for name in self.survey.tests if _tested_stem(name) is not None]

    @cached_property
    def _ends_with_test(self) -> bool:
        return 2 * sum(name.endswith("_test.py") for name in self._files) > len(self._files)

    @cached_property
    def _pairs(self) -> Sequence[tuple[str, str]]:
        """Sources, each with a test file that is called like it."""
        by_stem: dict[str, list[str]] = {}
        for source in self.survey.sources:
            by_stem.setdefault(stem_of(source).strip("_"), []).append(source)
        return [(source, test) for test in self._files for source in by_stem.get(_tested_stem(test) or "", ())]

    @cached_property
    def _votes(self) -> Mapping[_Layout, int]:
        votes = Counter[_Layout]()
        for source, test in self._pairs:
            for layout in _layouts(folder_of(source), folder_of(test)):
                votes[layout] += 2 if layout.mirrors(folder_of(source)) else 1
        return votes

    def _layout_for(self, folder: Folder) -> _Layout:
        fitting = [(layout, votes) for layout, votes in self._votes.items() if layout.fits(folder)]
        if fitting:
            return max(fitting, key=lambda each: (each[1], _ORDER[each[0].kind], len(each[0].base), each[0]))[0]
        folders = Counter(folder_of(name) for name in self._files)
        known = [_Layout("flat", base) for base, _ in folders.most_common() if _Layout("flat", base).fits(folder)]
        return known[0] if known else _Layout("flat", (*self._above_packages(folder), "tests"))

    def _above_packages(self, folder: Folder) -> Folder:
        """What is above the packages of a folder, and above their `src`."""
        names = [name for name in self.survey.sources if folder_of(name) == folder]
        dotted = self.survey.modules.dotted[names[0]].split(".") if names else []
        below = len(dotted) - (0 if names and stem_of(names[0]) == "__init__" else 1)
        above = folder[: len(folder) - max(below, 0)]
        return above[:-1] if above and above[-1] in ROOTS else above


def _layouts(source: Folder, test: Folder) -> Iterator[_Layout]:
    """The layouts by which tests of a folder would be in another."""
    if test == source:
        yield _Layout("beside")
        return
    if source and test[:-1] == source and test[-1] in TEST_FOLDERS:
        yield _Layout("within", test[-1:])
    yield _Layout("flat", test)
    for skipped in range(len(source) + 1):
        mirrored = source[skipped:]
        if test[len(test) - len(mirrored) :] == mirrored:
            yield _Layout("mirrored", test[: len(test) - len(mirrored)], skipped)


def _tested_stem(name: str) -> str | None:
    """What a test file is called after."""
    stem = stem_of(name)
    if stem.startswith("test_"):
        return stem.removeprefix("test_")
    return stem.removesuffix("_test") if stem.endswith("_test") else None


def _joined(parts: Sequence[str]) -> str:
    return "/".join(parts)
