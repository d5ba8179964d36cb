"""Teams as operators bring them: YAML files, one a team, checked in full before anything starts."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import jsonschema_rs
import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from app.domain.errors import ChargehandError
from app.domain.team import Team
from app.domain.worker import Worker
from app.tools.tool import Tool

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


class TeamFileInvalid(ChargehandError):
    """A team file cannot be used; the message names the file and what is wrong."""


def teams_in(*directories: Path | None, tools: Mapping[str, Tool]) -> list[Team]:
    """The teams described by the YAML files of the directories; of two with one name the later file's.

    Raises `TeamFileInvalid`.
    """
    files = [file for directory in directories if directory for file in sorted(directory.glob("*.y*ml"))]
    teams = [_team(file, tools) for file in files]
    return list({team.name: team for team in teams}.values())


def check_nesting(teams: Iterable[Team]) -> None:
    """Raises `TeamFileInvalid` when a worker is a team that there is not."""
    known = {team.name: team for team in teams}
    for team in known.values():
        for worker in team.workers:
            if worker.team is not None and worker.team.partition("@")[0] not in known:
                raise TeamFileInvalid(
                    f"team {team.name}: worker {worker.name} is the team {worker.team}, which is not known; "
                    f"known are: {', '.join(sorted(known))}"
                )


def _team(file: Path, tools: Mapping[str, Tool]) -> Team:
    try:
        team = Team.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
    except ValidationError as error:
        raise TeamFileInvalid(f"{file}: {_problems(error)}") from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise TeamFileInvalid(f"{file}: {' '.join(str(error).split())}") from None
    used = {tool for worker in team.workers for tool in worker.tools} | {*team.dynamic_tools}
    unknown = sorted(used - tools.keys())
    if unknown:
        raise TeamFileInvalid(f"{file}: unknown tools: {', '.join(unknown)}; known are: {', '.join(sorted(tools))}")
    acting = sorted(tool for tool in used if tools[tool].effect != "read")
    if acting and team.stragglers.policy == "hedge":
        raise TeamFileInvalid(f"{file}: two attempts side by side would act twice with: {', '.join(acting)}")
    parts: list[tuple[str, Team | Worker]] = [(f"worker {worker.name}: ", worker) for worker in team.workers]
    for whose, part in [*parts, ("", team)]:
        try:
            _compile_output_schema(part)
        except jsonschema_rs.ValidationError as error:
            place = ".".join(map(str, ("output_schema", *error.instance_path)))
            raise TeamFileInvalid(f"{file}: {whose}{place}: {error.message}") from None
    return team


def _compile_output_schema(part: Team | Worker) -> None:
    """Do once what reading a result does, and with the schema as it will come back from the store."""
    schema = part.model_dump(mode="json", include={"output_schema"})["output_schema"]
    if schema is not None:
        jsonschema_rs.validator_for(schema, offline=True, validate_formats=True)


def _problems(error: ValidationError) -> str:
    errors = error.errors(include_url=False, include_input=False)
    # What is wrong inside of something also makes it too short, which is no news.
    inner = {each["loc"][:1] for each in errors if len(each["loc"]) > 1}
    errors = [each for each in errors if each["type"] != "too_short" or each["loc"] not in inner]
    shown = [f"{'.'.join(map(str, each['loc'])) or 'the file'}: {_said(each)}" for each in errors[:PROBLEMS_SHOWN]]
    more = [f"and {len(errors) - len(shown)} more"] if len(errors) > len(shown) else []
    return "; ".join(shown + more)


def _said(error: ErrorDetails) -> str:
    """What is wrong, in the words of YAML where the validator speaks of Python."""
    said = _IN_PLAIN_WORDS.get(error["type"], error["msg"].removeprefix("Value error, "))
    return said.format_map(error.get("ctx", {})) if error["type"] in _IN_PLAIN_WORDS else said
