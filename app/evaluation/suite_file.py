"""Suites as files: YAML, checked in full before anything runs; what is wrong is told with its line."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from app.domain.errors import ChargehandError
from app.domain.media_types import AS_BYTES, essence_of, media_type_of
from app.domain.places import causes_of
from app.evaluation.suite import InputGiven, Suite
from app.yaml_places import Place, composed, faulty_line, line_of, nested_below, repeated_names, value_of

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


class SuiteInvalid(ChargehandError):
    """A suite cannot be used; the message is one line, and names the file, the line and what is wrong."""


@dataclass(frozen=True, slots=True)
class SuiteFile:
    """A suite, and where in its file everything stands."""

    path: Path
    suite: Suite
    root: yaml.Node | None
    inputs: Mapping[str, list[dict[str, str]]] = field(default_factory=dict)
    """The inputs of each case, by its id, as a job says them."""

    def invalid(self, place: Place, why: str) -> SuiteInvalid:
        """What to raise about a place in the file."""
        return SuiteInvalid(f"{self.path}:{line_of(self.root, place)}: {why}")

    def read_inputs(self) -> "SuiteFile":
        """The same with the inputs of its cases. Raises `SuiteInvalid` for a file that cannot be read."""
        found = {
            case.id: [
                self._input(given, ("cases", number, "inputs", at, "file")) for at, given in enumerate(case.inputs)
            ]
            for number, case in enumerate(self.suite.cases)
        }
        return replace(self, inputs=found)

    def _input(self, given: InputGiven, place: Place) -> dict[str, str]:
        content, media_type = given.content, given.media_type or media_type_of(given.name)
        if content is None:
            file = self.path.parent / str(given.file)
            try:
                content = _content_of(file, media_type)
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
                raise self.invalid(place, f"cannot read {file}: {why}") from None
        return {"name": given.name, "media_type": media_type, "content": content}


def _content_of(file: Path, media_type: str) -> str:
    """A file as the content of an input: its text, or base64 where it is none."""
    if essence_of(media_type) in AS_BYTES:
        return b64encode(file.read_bytes()).decode()
    return file.read_text(encoding="utf-8")


def read_suite(path: Path) -> SuiteFile:
    """The suite in a file. Raises `SuiteInvalid`."""
    try:
        root = composed(path.read_text(encoding="utf-8"))
        if root is not None:
            _check_names_and_depth(path, root)
        content = value_of(root) if root is not None else None
    except yaml.MarkedYAMLError as error:
        raise SuiteInvalid(f"{path}:{faulty_line(error)}: {error.problem or 'this is no YAML'}") from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        why = error.strerror if isinstance(error, OSError) else " ".join(str(error).split())
        raise SuiteInvalid(f"{path}:1: cannot read the file: {why}") from None
    try:
        suite = Suite.model_validate(content)
    except ValidationError as error:
        raise SuiteInvalid(f"{path}:{_problems(error, root)}") from None
    return SuiteFile(path, suite, root).read_inputs()


def _check_names_and_depth(path: Path, root: yaml.Node) -> None:
    """Raises `SuiteInvalid`."""
    if (line := nested_below(root, DEEPEST)) is not None:
        raise SuiteInvalid(f"{path}:{line}: this is nested more than {DEEPEST} levels deep")
    if twice := min(repeated_names(root), key=itemgetter(0), default=None):
        line, place = twice
        raise SuiteInvalid(f"{path}:{line}: {place[-1]!r} stands here twice")


def _problems(error: ValidationError, root: yaml.Node | None) -> str:
    """The first problem by line, and how many there are beside it, on one line."""
    errors = causes_of(error.errors(include_url=False, include_input=False))
    placed = sorted((line_of(root, each["loc"]), number) for number, each in enumerate(errors))
    line, number = placed[0]
    first = errors[number]
    where = ".".join(map(str, first["loc"]))
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{line}: {where}{': ' if where else ''}{_said(first)}{more}"


def _said(error: ErrorDetails) -> str:
    said = _IN_PLAIN_WORDS.get(error["type"], error["msg"].removeprefix("Value error, "))
    return " ".join(said.split())
