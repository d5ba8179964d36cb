"""`chargehand runs`: which runs there are."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from app.client import Client, Run
from app.terminal.errors import CommandRefused
from app.terminal.options import AsJson
from app.terminal.output import console, in_style, print_json, print_table, say
from app.terminal.service import Service, at_service
from app.terminal.tables import Column, Row
from app.terminal.text import one_line
from app.terminal.which_run import run_meant
from app.terminal.words import ago, duration, money, since, status_of

ROOM_FOR_IDS = 140
"""Characters of a line in which ids of runs stand whole; their ends are enough to name them."""
END = 8
COLUMNS = (
    Column("RUN"),
    Column("STATUS"),
    Column("TEAM", needed=3),
    Column("TASKS", "right", needed=4),
    Column("TIME", "right", needed=2),
    Column("COST", "right", needed=1),
    Column("ACCEPTED", needed=5),
    Column("OBJECTIVE", is_cut=True, needed=8),
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs are listed; each field is an option."""

    status: Annotated[list[str] | None, typer.Option(help="Only runs in this status; repeat it for several.")] = None
    team: Annotated[str | None, typer.Option(help="Only runs of this team.")] = None
    metadata: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Only runs with this label; repeat it for several.")
    ] = None
    since: Annotated[
        str | None, typer.Option(help="Only runs accepted since: 90m, 2h, 3d, a day, or a moment (RFC 3339).")
    ] = None
    parent: Annotated[str | None, typer.Option(metavar="RUN", help="Only the nested runs of a run.")] = None
    stop_reason: Annotated[str | None, typer.Option(help="Only runs that have ended for this reason.")] = None
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 20
    as_json: AsJson = False

    def filters(self, now: datetime) -> dict[str, Any]:
        """The same in the words of the API. Raises `CommandRefused`."""
        named = {"status": self.status, "team": self.team, "parent": self.parent, "stop_reason": self.stop_reason}
        labels = dict(_label(each) for each in self.metadata or ())
        return named | {
            "metadata": labels or None,
            "created_after": since(self.since, now) if self.since is not None else None,
        }


@at_service
def runs(service: Service, wanted: Wanted) -> None:
    """List runs, newest first."""
    now = datetime.now(UTC)
    filters = wanted.filters(now)

    async def found(client: Client) -> list[Run]:
        if wanted.parent is not None:
            filters["parent"] = await run_meant(client, wanted.parent)
        return [run async for run in client.runs(limit=wanted.limit, **filters)]

    listed = service.ask(found)
    if wanted.as_json:
        print_json({"data": listed})
        return
    if not listed:
        say("no runs are like that" if any(filters.values()) else "no runs yet: `chargehand run` posts a job")
    to = console()
    whole = not to.is_terminal or to.width >= ROOM_FOR_IDS
    print_table(COLUMNS, [_row(run, now, whole=whole) for run in listed], to)


def _row(run: Run, now: datetime, *, whole: bool) -> Row:
    tasks = run["progress"]["tasks"]
    return [
        run["id"] if whole else run["id"][-END:],
        in_style(run["status"], status_of(run)),
        run["team"]["name"],
        f"{tasks['succeeded']}/{tasks['total']}",
        duration(run["timing"]["wall_ms"]),
        money(run["usage"]["cost_usd"]),
        ago(run["created_at"], now),
        run["objective"],
    ]


def _label(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not (key and sign):
        raise CommandRefused(f"--metadata: {one_line(text)} is no KEY=VALUE")
    return key, value
