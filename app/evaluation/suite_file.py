"""Suites as files: YAML, checked in full before anything runs; what is wrong is told with its line."""

import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from app.domain.errors import ChargehandError
from app.evaluation.suite import Case, InputGiven, Suite

Place = tuple[str | int, ...]
DEEPEST = 60
_IN_PLAIN_WORDS = {
    "model_type": "this must be a mapping, of names to values",
    "model_attributes_type": "this must be a mapping, of names to values",
    "dict_type": "this must be a mapping, of names to values",
    "tuple_type": "this must be a list",
    "too_short": "this must have at least one item",
    "missing": "this is required",
    "extra_forbidden": "there is no such field",
}
_MEDIA_TYPES = {".md": "text/markdown", ".diff": "text/x-diff", ".log": "text/plain", ".jsonl": "application/x-ndjson"}


class SuiteInvalid(ChargehandError):
    """A suite cannot be used; the message is one line, and names the file, the line and what is wrong."""


@dataclass(frozen=True, slots=True)
class SuiteFile:
    """A suite, and where in its file everything stands."""

    path: Path
    suite: Suite
    lines: Mapping[Place, int]

    def invalid(self, place: Place, why: str) -> SuiteInvalid:
        """What to raise about a place in the file."""
        return SuiteInvalid(f"{self.path}:{line_of(self.lines, place)}: {why}")

    def inputs_of(self, case: Case) -> list[dict[str, str]]:
        """The inputs of a case as a job says them. Raises `SuiteInvalid` for a file that cannot be read."""
        number = self.suite.cases.index(case)
        return [self._input(given, ("cases", number, "inputs", at, "file")) for at, given in enumerate(case.inputs)]

    def _input(self, given: InputGiven, place: Place) -> dict[str, str]:
        content = given.content
        if content is None:
            file = self.path.parent / str(given.file)
            try:
                content = file.read_text(encoding="utf-8")
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
                raise self.invalid(place, f"cannot read {file}: {why}") from None
        return {"name": given.name, "media_type": given.media_type or _media_type(given.name), "content": content}


def read_suite(path: Path) -> SuiteFile:
    """The suite in a file. Raises `SuiteInvalid`."""
    try:
        loader = yaml.SafeLoader(path.read_text(encoding="utf-8"))
        root = loader.get_single_node()
        lines = dict(_Lines(path).of(root) if root is not None else ())
        content = loader.construct_document(root) if root is not None else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise SuiteInvalid(f"{path}:{mark.line + 1 if mark else 1}: {error.problem or 'this is no YAML'}") from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        why = error.strerror if isinstance(error, OSError) else " ".join(str(error).split())
        raise SuiteInvalid(f"{path}:1: cannot read the file: {why}") from None
    try:
        suite = Suite.model_validate(content)
    except ValidationError as error:
        raise SuiteInvalid(f"{path}:{_problems(error, lines)}") from None
    file = SuiteFile(path, suite, lines)
    for case in suite.cases:
        file.inputs_of(case)
    return file


class _Lines:
    """Finds the line of each place of a document, and what a file says twice."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def of(self, node: yaml.Node, place: Place = ()) -> Sequence[tuple[Place, int]]:
        """Each place below a node with its line."""
        line = node.start_mark.line + 1
        if len(place) > DEEPEST:
            raise SuiteInvalid(f"{self._path}:{line}: this is nested more than {DEEPEST} levels deep")
        found = [(place, line)]
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                name, line = str(key.value), key.start_mark.line + 1
                if name in seen:
                    raise SuiteInvalid(f"{self._path}:{line}: {name!r} stands here twice")
                seen.add(name)
                found += [*self.of(value, (*place, name)), ((*place, name), line)]
        elif isinstance(node, yaml.SequenceNode):
            for number, value in enumerate(node.value):
                found += self.of(value, (*place, number))
        return found


def line_of(lines: Mapping[Place, int], place: Place) -> int:
    """The line of a place, or of the nearest thing around it."""
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def _problems(error: ValidationError, lines: Mapping[Place, int]) -> str:
    """The first problem by line, and how many there are beside it, on one line."""
    errors = error.errors(include_url=False, include_input=False)
    # What is wrong inside of something also makes it too short, which is no news.
    around = {each["loc"][:length] for each in errors for length in range(len(each["loc"]))}
    errors = [each for each in errors if each["type"] != "too_short" or each["loc"] not in around]
    placed = sorted((line_of(lines, each["loc"]), number) for number, each in enumerate(errors))
    line, number = placed[0]
    first = errors[number]
    where = ".".join(map(str, first["loc"]))
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{line}: {where}{': ' if where else ''}{_said(first)}{more}"


def _said(error: ErrorDetails) -> str:
    said = _IN_PLAIN_WORDS.get(error["type"], error["msg"].removeprefix("Value error, "))
    return " ".join(said.split())


def _media_type(name: str) -> str:
    known: Any = _MEDIA_TYPES.get(Path(name).suffix.lower()) or mimetypes.guess_type(name)[0]
    return known or "text/plain"
