"""The shapes of what a service has and is: teams, tools, health, problems."""

from datetime import datetime
from typing import Any, Literal

from app.api.problem_codes import ProblemCode
from app.api.schemas.shape import Page, Shape
from app.domain.events import Effect
from app.domain.job import TeamName
from app.domain.policy.breakers import BreakerKind, BreakerState
from app.domain.team import Team as TeamDefinition
from app.store.teams import Origin


class Home(Shape):
    """What answers here, and where to go on."""

    name: str
    """The name of the service."""
    version: str
    """Its release."""
    console: str
    """The console: runs, and all about them, for people to look at."""
    docs: str
    """The description of the API for people."""
    openapi: str
    """The same for programs."""
    jobs: str
    """Where jobs are posted."""
    teams: str
    """Which teams a job may name."""
    ready: str
    """Whether this process takes requests."""


class Health(Shape):
    """The state of this process."""

    status: Literal["ok"]
    """Always `ok`; a process that is not says so by its status code."""


class Team(TeamDefinition):
    """A team in one of its versions."""

    version: int
    """1, 2, 3 …; a changed team gets a new one."""
    created_at: datetime
    """When this version was stored."""
    origin: Origin | None
    """Who brought this version: `built_in` with a release, the `operator` with a file, or a `client`; null where the
    first release stored it."""
    archived_at: datetime | None
    """When the team was withdrawn from new jobs; null while it is offered."""


class TeamFile(TeamDefinition):
    """A team as a client brings it, in the form of a team file."""

    name: TeamName = ""
    """Its name: that of the path, which stands for it when it is left out."""


class TeamVersion(Shape):
    """A version of a team. The definition is at `url`."""

    version: int
    """1, 2, 3 …"""
    digest: str
    """SHA-256 of the definition: equal ones are the same team."""
    origin: Origin | None
    """Who brought it: `built_in` with a release, the `operator` with a file, or a `client`; null where the first
    release stored it."""
    created_at: datetime
    """When it was stored."""
    archived_at: datetime | None
    """When the team was withdrawn from new jobs; null while it is offered."""
    url: str
    """Path of this version, which can be read for ever."""


class TeamVersionPage(Page):
    """Versions of a team, newest first."""

    data: list[TeamVersion]
    """The versions."""


class TeamPage(Page):
    """Teams in their newest versions, by name."""

    data: list[Team]
    """The teams."""


class Breaker(Shape):
    """A circuit breaker: whether a model, a worker or a tool is left alone for a while. All replicas share it."""

    name: str
    """`model:<id>`, `worker:<team>/<worker>` or `tool:<name>`."""
    kind: BreakerKind
    """What stands behind it."""
    state: BreakerState
    """`closed`: it is used. `open`: it is left alone. `half_open`: one call finds out whether it works again."""
    reason: str | None
    """The code of the failure that opened it; `tripped` when somebody did so by hand; null while it is closed."""
    failures: int
    """Failures in a row, over all runs and replicas."""
    opened_at: datetime | None
    """When it opened; null while it is closed."""
    probe_at: datetime | None
    """When the next call may find out, or, while one does, until when that is waited for. Null while it is closed, and
    when it stays open until somebody resets it."""


class BreakerPage(Page):
    """Breakers, by name."""

    data: list[Breaker]
    """The breakers."""


class Tool(Shape):
    """A tool that workers may be given."""

    name: str
    """Its name, as teams give it to workers."""
    description: str
    """What the model is told about it."""
    input_schema: dict[str, Any]
    """JSON Schema of what the model passes to it."""
    effect: Effect
    """`read` may be repeated freely, `idempotent` only under the same key, `once` never."""
    timeout_s: float
    """Seconds that one call may take."""
    provider: bool
    """Whether the provider of the model runs it."""
    package: str | None
    """The installed Python package that brings it, with its version; null otherwise."""
    server: str | None
    """The MCP server that it comes from, by the name that the operator gave it; null for a tool of the service."""
    state: Literal["ready", "connecting", "down"]
    """`ready`: it can be called. Of a server's tool, as this process sees it: `connecting` until it is known whether
    the server is there, `down` while it is not; calls fail then."""


class ToolPage(Page):
    """Tools, by name."""

    data: list[Tool]
    """The tools."""


class ProblemPlace(Shape):
    """One thing that is wrong about a request."""

    pointer: str | None = None
    """JSON pointer into the body."""
    parameter: str | None = None
    """Name of a query parameter or header."""
    detail: str
    """What is wrong there."""
    code: str | None = None
    """The same for programs, where there is a code."""


class ProblemDocument(Shape):
    """An error (RFC 9457)."""

    type: str
    """Always `about:blank`: `code` says more."""
    title: str
    """The meaning of the status."""
    status: int
    """The HTTP status."""
    detail: str
    """What happened, for people."""
    code: ProblemCode
    """What happened, for programs."""
    errors: list[ProblemPlace] | None = None
    """What is wrong, place by place; left out when there is nothing to point at."""
    request_id: str
    """Id of the request, also in `X-Request-Id` and in the log."""


_PROBLEM = {"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request is refused.", **_PROBLEM},
    "5XX": {"description": "The service cannot answer now.", **_PROBLEM},
}
"""The errors that any route may answer with."""
