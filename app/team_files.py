"""Teams as operators bring them: YAML files, one a team, checked in full before anything starts."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from app.domain.errors import ChargehandError
from app.domain.places import causes_of, known_part
from app.domain.team import Team
from app.domain.team_faults import Fault
from app.team_checks import faults_of, unknown_teams
from app.tools.tool import Tool
from app.yaml_places import Place, composed, faulty_line, line_of, repeated_names, value_of

BUILT_IN_TEAMS = Path(__file__).parent / "teams"
PROBLEMS_SHOWN = 10
"""Problems of one team file that are told at once."""
_IN_PLAIN_WORDS = {
    "model_type": "this must be a mapping, of names to values",
    "dict_type": "this must be a mapping, of names to values",
    "tuple_type": "this must be a list",
    "too_short": "this must have at least {min_length}",
    "too_long": "this may have at most {max_length}",
    "missing": "this is required",
    "extra_forbidden": "there is no such field",
}


@dataclass(frozen=True, slots=True)
class FileFault:
    """One thing that is wrong with a team file."""

    line: int
    """Where, counted from 1."""
    place: Place
    reason: str

    @property
    def told(self) -> str:
        """The place as a path of names, and the reason."""
        return f"{'.'.join(map(str, self.place)) or 'the file'}: {self.reason}"


class TeamFileInvalid(ChargehandError):
    """A team file cannot be used; the message names the file and what is wrong, in one line."""

    def __init__(self, file: Path, faults: Iterable[FileFault]) -> None:
        self.file = file
        self.faults = sorted(faults, key=lambda fault: fault.line)
        shown = [fault.told for fault in self.faults[:PROBLEMS_SHOWN]]
        more = [f"and {len(self.faults) - len(shown)} more"] if len(self.faults) > len(shown) else []
        line = self.faults[0].line
        super().__init__(f"{file}:{line}: {'; '.join(shown + more)}")


@dataclass(frozen=True, slots=True)
class TeamFile:
    """A team and the file that it was read from."""

    file: Path
    team: Team
    root: yaml.Node
    """The file as YAML sees it, with the line of everything."""

    def refuse(self, faults: Iterable[Fault]) -> None:
        """Raises `TeamFileInvalid` when there are faults."""
        if found := [FileFault(line_of(self.root, place), place, reason) for place, reason in faults]:
            raise TeamFileInvalid(self.file, found)


def teams_in(*directories: Path | None, tools: Mapping[str, Tool]) -> list[Team]:
    """The teams described by the YAML files of the directories; of two with one name the later file's.

    Raises `TeamFileInvalid`.
    """
    return [read.team for read in team_files_in(*directories, tools=tools).values()]


def team_files_in(*directories: Path | None, tools: Mapping[str, Tool]) -> dict[str, TeamFile]:
    """The same with their files, by name. Raises `TeamFileInvalid`."""
    read = [read_team_file(file, tools) for file in files_in(*directories)]
    return {each.team.name: each for each in read}


def files_in(*directories: Path | None) -> list[Path]:
    """The team files of the directories: of two with one name of a team the later one's counts."""
    return [file for directory in directories if directory for file in sorted(directory.glob("*.y*ml"))]


def check_nesting(files: Mapping[str, TeamFile], known: Iterable[str] = ()) -> None:
    """Raises `TeamFileInvalid` when a worker is a team that is neither of these files nor `known`."""
    names = dict.fromkeys([*known, *files])
    for each in files.values():
        each.refuse(unknown_teams(each.team, names))


def read_team_file(file: Path, tools: Mapping[str, Tool]) -> TeamFile:
    """The team of a file, checked but for the teams that its workers are. Raises `TeamFileInvalid`."""
    root = _composed(file)
    if twice := [FileFault(line, place, "this stands here twice") for line, place in repeated_names(root)]:
        raise TeamFileInvalid(file, twice)
    try:
        value = value_of(root)
        read = TeamFile(file, Team.model_validate(value), root)
    except ValidationError as error:
        raise TeamFileInvalid(file, _faults_in(error, value, root)) from None
    except (ValueError, yaml.YAMLError) as error:
        raise TeamFileInvalid(file, [FileFault(1, (), _in_one_line(error))]) from None
    read.refuse(faults_of(read.team, tools))
    return read


def _composed(file: Path) -> yaml.Node:
    """The file as nodes that know their lines."""
    try:
        root = composed(file.read_text(encoding="utf-8"))
    except yaml.MarkedYAMLError as error:
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        raise TeamFileInvalid(file, [FileFault(faulty_line(error), (), reason)]) from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise TeamFileInvalid(file, [FileFault(1, (), _in_one_line(error))]) from None
    if root is None:
        raise TeamFileInvalid(file, [FileFault(1, (), "there is nothing in it")])
    return root


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _faults_in(error: ValidationError, value: Any, root: yaml.Node) -> Iterator[FileFault]:
    for each in causes_of(error.errors(include_url=False, include_input=False)):
        place = known_part(each["loc"], value, missing=each["type"] == "missing")
        yield FileFault(line_of(root, place), place, _said(each))


def _said(error: ErrorDetails) -> str:
    """What is wrong, in the words of YAML where the validator speaks of Python."""
    plain = error["msg"].removeprefix("Value error, ").replace("Input should be", "this must be")
    said = _IN_PLAIN_WORDS.get(error["type"], plain)
    return said.format_map(error.get("ctx", {})) if error["type"] in _IN_PLAIN_WORDS else said
