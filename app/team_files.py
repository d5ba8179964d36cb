"""Teams as operators bring them: YAML files, one a team, checked in full before anything starts."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from app.domain.errors import ChargehandError
from app.domain.places import known_part
from app.domain.team import Team
from app.domain.team_faults import Fault
from app.domain.team_faults import Path as Place
from app.team_checks import faults_of, unknown_teams
from app.tools.tool import Tool

BUILT_IN_TEAMS = Path(__file__).parent / "teams"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # Ten times as fast, where it was built.
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
        if found := [FileFault(_line_of(self.root, place), place, reason) for place, reason in faults]:
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
    if repeated := [*_repeated(root)]:
        raise TeamFileInvalid(file, repeated)
    try:
        value = yaml.SafeLoader("").construct_document(root)
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
        root = yaml.compose(file.read_text(encoding="utf-8"), Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        raise TeamFileInvalid(file, [FileFault(mark.line + 1 if mark else 1, (), reason)]) from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise TeamFileInvalid(file, [FileFault(1, (), _in_one_line(error))]) from None
    if root is None:
        raise TeamFileInvalid(file, [FileFault(1, (), "there is nothing in it")])
    return root


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _repeated(root: yaml.Node) -> Iterator[FileFault]:
    """Names that stand twice in one mapping: a reader may take either."""
    pending: list[tuple[Place, yaml.Node]] = [((), root)]
    seen = set()
    while pending:
        place, node = pending.pop()
        if id(node) in seen:  # Aliases make one node stand in many places, even within itself.
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending += [((*place, index), item) for index, item in enumerate(node.value)]
        elif isinstance(node, yaml.MappingNode):
            names = [name.value for name, _ in node.value if isinstance(name, yaml.ScalarNode)]
            for number, (name, item) in enumerate(node.value):
                if isinstance(name, yaml.ScalarNode):
                    pending.append(((*place, name.value), item))
                    if name.value in names[:number]:
                        yield FileFault(name.start_mark.line + 1, (*place, name.value), "this stands here twice")


def _faults_in(error: ValidationError, value: Any, root: yaml.Node) -> Iterator[FileFault]:
    errors = error.errors(include_url=False, include_input=False)
    # What is wrong inside of something also makes it too short, which is no news.
    inner = {each["loc"][:1] for each in errors if len(each["loc"]) > 1}
    for each in errors:
        if each["type"] != "too_short" or each["loc"] not in inner:
            place = known_part(each["loc"], value, missing=each["type"] == "missing")
            yield FileFault(_line_of(root, place), place, _said(each))


def _said(error: ErrorDetails) -> str:
    """What is wrong, in the words of YAML where the validator speaks of Python."""
    plain = error["msg"].removeprefix("Value error, ").replace("Input should be", "this must be")
    said = _IN_PLAIN_WORDS.get(error["type"], plain)
    return said.format_map(error.get("ctx", {})) if error["type"] in _IN_PLAIN_WORDS else said


def _line_of(node: yaml.Node, place: Place) -> int:
    """The line of a place, or of the nearest one around it that the file has."""
    line: int = node.start_mark.line
    for step in place:
        if isinstance(node, yaml.MappingNode):
            found = [pair for pair in node.value if pair[0].value == str(step)]
            if not found:
                break
            line, node = found[-1][0].start_mark.line, found[-1][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line
        else:
            break
    return line + 1
