"""The teams a job may name, and the tools their workers may be given."""

import re
from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import JSONResponse, Response

from app.api.deps import RuntimeOf
from app.api.errors import Refusal
from app.api.resources import page, team_resource
from app.api.schemas.service import PROBLEMS, Team, TeamPage, ToolPage
from app.runtime import TENANT
from app.store.teams import all_teams, team_named

router = APIRouter(prefix="/v1", tags=["teams"], responses=PROBLEMS)

TeamNamed = Annotated[str, Path(description="`name` of a team, or `name@version`.")]

_REFERENCE = re.compile(r"[a-z0-9][a-z0-9-]{0,63}(@[1-9][0-9]{0,8})?")


@router.get("/teams", response_model=TeamPage)
async def list_teams(runtime: RuntimeOf) -> Response:
    """Every team in its newest version, by name."""
    return JSONResponse(page([team_resource(stored) for stored in await all_teams(runtime.database, TENANT)]))


@router.get("/teams/{name}", response_model=Team)
async def get_team(name: TeamNamed, runtime: RuntimeOf) -> Response:
    """One team, by `name` in its newest version, or by `name@version`."""
    stored = await team_named(runtime.database, TENANT, name) if _REFERENCE.fullmatch(name) else None
    if stored is None:
        raise Refusal(404, "team_not_found", "There is no such team.")
    return JSONResponse(team_resource(stored))


@router.get("/tools", response_model=ToolPage)
async def list_tools(runtime: RuntimeOf) -> Response:
    """Every tool, by name."""
    tools = [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.spec.input_schema,
            "effect": tool.effect,
            "timeout_s": tool.timeout_s,
            "provider": tool.run is None,
            "server": tool.origin.name if tool.origin else None,
            "state": tool.origin.state if tool.origin else "ready",
        }
        for _, tool in sorted(runtime.tools.items())
    ]
    return JSONResponse(page(tools))
