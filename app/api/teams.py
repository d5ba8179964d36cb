"""The teams a job may name, and the tools their workers may be given."""

import asyncio
import re
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import JSONResponse, Response

from app.api.bodies import JsonBodyRoute
from app.api.errors import Refusal
from app.api.field_errors import FIELD_ERRORS_SHOWN, pointer_to
from app.api.resources import page, team_path, team_resource, team_version_resource
from app.api.schemas.service import PROBLEMS, Team, TeamFile, TeamPage, TeamVersionPage, ToolPage
from app.api.visits import VisitOf
from app.domain.names import TEAM_NAME, TEAM_REFERENCE
from app.domain.team import Team as TeamDefinition
from app.domain.team_faults import Fault
from app.domain.team_schema import team_file_schema
from app.runtime import Runtime
from app.store.teams import all_teams, archive_team, offered_teams, put_team, team_named, team_version, versions_of
from app.team_checks import faults_of, unknown_teams

router = APIRouter(prefix="/v1", route_class=JsonBodyRoute, tags=["teams"], responses=PROBLEMS)

FAULT_CHARACTERS = 500
VERSIONS_CEILING = 10**9

TeamNamed = Annotated[str, Path(description="`name` of a team, or `name@version`.")]
TeamName = Annotated[str, Path(description="Name of a team.", pattern=f"^{TEAM_NAME}$")]
Before = Annotated[
    int | None, Query(alias="after", ge=1, le=VERSIONS_CEILING, description="`next_cursor` of the page before.")
]
PageLimit = Annotated[int, Query(ge=1, le=100, description="Versions of a page.")]

_REFERENCE = re.compile(TEAM_REFERENCE)


class SchemaResponse(JSONResponse):
    """A JSON Schema."""

    media_type = "application/schema+json"


class _TeamNotFound(Refusal):
    """The tenant has no such team, or has archived it."""

    def __init__(self) -> None:
        super().__init__(404, "team_not_found", "There is no such team.")


@router.get("/teams", response_model=TeamPage)
async def list_teams(visit: VisitOf) -> Response:
    """Every team in its newest version, by name. Those that were archived are left out."""
    return JSONResponse(page([team_resource(stored) for stored in await all_teams(visit.database, visit.tenant)]))


@router.get("/teams/{name}", response_model=Team)
async def get_team(name: TeamNamed, visit: VisitOf) -> Response:
    """One team, by `name` in its newest version, or by `name@version`.

    An archived team is found by `name@version` alone: runs have its versions for ever.
    """
    if not _REFERENCE.fullmatch(name):
        raise _TeamNotFound
    plain, _, version = name.partition("@")
    if version:
        stored = await team_version(visit.database, visit.tenant, plain, int(version))
    else:
        stored = await team_named(visit.database, visit.tenant, plain)
    if stored is None:
        raise _TeamNotFound
    return JSONResponse(team_resource(stored))


@router.put(
    "/teams/{name}",
    status_code=201,
    response_model=Team,
    responses={
        200: {"model": Team, "description": "The newest version is just this one already."},
        201: {"description": "This is a new version now. Runs keep the one they have."},
    },
)
async def put_a_team(name: TeamName, body: TeamFile, visit: VisitOf) -> Response:
    """Store a team, or a new version of one, in the form of a team file.

    It is checked as files are: tools and teams that it names are there, schemas are some, limits make sense. Nothing
    is stored when the newest version is the same. An archived team is offered again. A built-in team may be replaced,
    for good; one that comes from a file of the operator is changed there (409).
    """
    if body.name not in ("", name):
        raise _refused([(("name",), f"The path names the team {name}; leave this out, or make it the same.")])
    _refuse_from_file(visit.runtime, name)
    fields = {field: getattr(body, field) for field in TeamDefinition.model_fields}
    team = TeamDefinition.model_validate(fields | {"name": name})
    known = await offered_teams(visit.database, visit.tenant)
    # In a thread: schemas are compiled, and may be long.
    faults = await asyncio.to_thread(faults_of, team, visit.runtime.tools)
    if faults := [*faults, *unknown_teams(team, known)]:
        raise _refused(faults)
    put = await put_team(visit.database, visit.tenant, team, origin="client")
    assert put is not None  # Only built-in teams give way.
    headers = {"Location": team_path(name, put.stored.version)} if put.is_new else {}
    return JSONResponse(team_resource(put.stored), 201 if put.is_new else 200, headers)


@router.delete("/teams/{name}", status_code=204)
async def archive_a_team(name: TeamName, visit: VisitOf) -> Response:
    """Withdraw a team from new jobs, and from new tasks of workers that are this team, in all its versions.

    Runs that have it keep it, and its versions can still be read. Putting it brings it back. A built-in team stays
    archived, also through a new release; one that comes from a file of the operator is taken away there (409).
    """
    _refuse_from_file(visit.runtime, name)
    if not await archive_team(visit.database, visit.tenant, name):
        raise _TeamNotFound
    return Response(status_code=204)


@router.get("/teams/{name}/versions", response_model=TeamVersionPage)
async def list_versions(name: TeamName, visit: VisitOf, before: Before = None, limit: PageLimit = 20) -> Response:
    """The versions of a team, newest first; also of one that is archived."""
    found = await versions_of(visit.database, visit.tenant, name, before=before or VERSIONS_CEILING, limit=limit + 1)
    if not found and before is None:
        raise _TeamNotFound
    shown = found[:limit]
    more = str(shown[-1].version) if len(found) > limit else None
    return JSONResponse(page([team_version_resource(name, kept) for kept in shown], more))


@router.get("/schemas/team", response_model=dict[str, Any], response_class=SchemaResponse)
async def get_team_schema() -> Response:
    """The JSON Schema of team files (draft 2020-12), by which editors complete them and name what is wrong."""
    return SchemaResponse(team_file_schema())


@router.get("/tools", response_model=ToolPage)
async def list_tools(visit: VisitOf) -> Response:
    """Every tool, by name."""
    tools = [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.spec.input_schema,
            "effect": tool.effect,
            "timeout_s": tool.timeout_s,
            "provider": tool.run is None,
            "package": tool.package,
            "server": tool.origin.name if tool.origin else None,
            "state": tool.origin.state if tool.origin else "ready",
        }
        for _, tool in sorted(visit.runtime.tools.items())
    ]
    return JSONResponse(page(tools))


def _refuse_from_file(runtime: Runtime, name: str) -> None:
    if name in runtime.teams_of_files:
        detail = "This team comes from a file in the operator's folder of teams, and is changed there."
        raise Refusal(409, "team_from_file", detail)


def _refused(faults: list[Fault]) -> Refusal:
    errors = [
        {"pointer": pointer_to(*path), "detail": reason[:FAULT_CHARACTERS]}
        for path, reason in faults[:FIELD_ERRORS_SHOWN]
    ]
    return Refusal(422, "request_invalid", "The team cannot be used here.", errors=errors)
