"""What a team must not ask of this installation: tools and teams that there are not, schemas that are none.

Files and clients bring teams; both are held to the same.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jsonschema_rs

from app.domain.json_shape import SchemaInvalid, check_schema
from app.domain.team import Team
from app.domain.team_faults import Fault, Path
from app.domain.worker import Worker
from app.tools.tool import Tool

LONGEST_TEAM = 1_000_000
"""Characters of a team, written as JSON: every claim of a run reads them."""


def faults_of(team: Team, tools: Mapping[str, Tool]) -> list[Fault]:
    """What is wrong with a team, given the tools that there are."""
    if len(team.definition) > LONGEST_TEAM:
        return [((), f"A team may have at most {LONGEST_TEAM} characters, written as JSON.")]
    return [*_unknown_tools(team, tools), *_acting_twice(team, tools), *_no_schemas(team)]


def unknown_teams(team: Team, known: Mapping[str, int | None]) -> list[Fault]:
    """Workers that are teams which there are not. `known` has the newest version of each team, where it is known."""
    return [*_unknown_teams(team, {team.name: None} | {**known})]


def _unknown_tools(team: Team, tools: Mapping[str, Tool]) -> Iterator[Fault]:
    for place, named in _tools_by_place(team):
        for index, tool in enumerate(named):
            if tool not in tools:
                yield (*place, index), f"there is no tool {tool}; known are: {', '.join(sorted(tools))}"


def _tools_by_place(team: Team) -> Iterable[tuple[Path, tuple[str, ...]]]:
    yield from ((("workers", number, "tools"), worker.tools) for number, worker in enumerate(team.workers))
    if team.dynamic is not None and team.dynamic.tools is not None:
        yield ("dynamic_workers", "tools"), team.dynamic.tools


def _acting_twice(team: Team, tools: Mapping[str, Tool]) -> Iterator[Fault]:
    used = {tool for _, named in _tools_by_place(team) for tool in named}
    acting = sorted(tool for tool in used if tool in tools and tools[tool].effect != "read")
    if acting and team.stragglers.policy == "hedge":
        yield ("stragglers", "policy"), f"two attempts side by side would act twice with: {', '.join(acting)}"


def _no_schemas(team: Team) -> Iterator[Fault]:
    """Try each schema once as its results will be read, and in the form in which it will come back from the store."""
    parts: list[tuple[Path, Team | Worker, Callable[[dict[str, Any]], Any]]] = [((), team, check_schema)]
    parts += [(("workers", number), worker, _compile) for number, worker in enumerate(team.workers)]
    for place, part, tried in parts:
        schema = part.model_dump(mode="json", include={"output_schema"})["output_schema"]
        try:
            if schema is not None:
                tried(schema)
        except SchemaInvalid as error:
            yield (*place, "output_schema", *error.path), error.message
        except jsonschema_rs.ValidationError as error:
            yield (*place, "output_schema", *error.instance_path), error.message
        except (jsonschema_rs.ReferencingError, ValueError) as error:
            yield (*place, "output_schema"), str(error)


def _compile(schema: dict[str, Any]) -> None:
    jsonschema_rs.validator_for(schema, offline=True, validate_formats=True)


def _unknown_teams(team: Team, known: Mapping[str, int | None]) -> Iterator[Fault]:
    for number, worker in enumerate(team.workers):
        if worker.team is None:
            continue
        name, _, version = worker.team.partition("@")
        if name not in known:
            yield ("workers", number, "team"), f"there is no team {name}; known are: {', '.join(sorted(known))}"
        elif version and (newest := known[name]) is not None and int(version) > newest:
            yield ("workers", number, "team"), f"the team {name} has the versions 1 to {newest}"
