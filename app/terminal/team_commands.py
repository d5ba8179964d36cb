"""`chargehand teams` and `chargehand tools`: who does the work, and with what."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.text import Text

from app.client import Client, Team, Tool
from app.terminal.arguments import TeamName
from app.terminal.options import AsJson
from app.terminal.output import console, print_json, print_prose, print_table
from app.terminal.service import Service, at_service
from app.terminal.tables import Column, Row
from app.terminal.text import one_line
from app.terminal.words import money

TEAM_COLUMNS = (
    Column("TEAM"),
    Column("VERSION", "right", needed=5),
    Column("WORKERS", "right", needed=4),
    Column("DESCRIPTION", is_cut=True, needed=8),
)
WORKER_COLUMNS = (
    Column("WORKER"),
    Column("MODEL", needed=5),
    Column("TOOLS", needed=6),
    Column("DESCRIPTION", is_cut=True, needed=8),
)
TOOL_COLUMNS = (
    Column("TOOL"),
    Column("EFFECT", needed=5),
    Column("STATE", needed=6),
    Column("FROM", needed=3),
    Column("DESCRIPTION", is_cut=True, needed=8),
)


@at_service
def teams(service: Service, name: TeamName = None, as_json: AsJson = False) -> None:
    """List the teams, or show one with its workers."""
    if name is None:
        listed = service.ask(Client.teams)
        if as_json:
            print_json({"data": listed})
        else:
            print_table(TEAM_COLUMNS, [_team_row(team) for team in listed])
        return
    reference = name

    async def found(client: Client) -> Team:
        return await client.team(reference)

    team = service.ask(found)
    if as_json:
        print_json(team)
        return
    to = console()
    print_prose(to, _head(team))
    to.print()
    print_table(WORKER_COLUMNS, [_worker_row(worker) for worker in team["workers"]], to)


@at_service
def tools(service: Service, as_json: AsJson = False) -> None:
    """List the tools that workers may be given."""
    listed = service.ask(Client.tools)
    if as_json:
        print_json({"data": listed})
    else:
        print_table(TOOL_COLUMNS, [_tool_row(tool) for tool in listed])


def _team_row(team: Team) -> Row:
    return [team["name"], str(team["version"]), str(len(team["workers"])), team["description"]]


def _head(team: Team) -> Iterator[Text]:
    yield Text(one_line(f"{team['name']}@{team['version']}"), "bold")
    yield Text(one_line(team["description"]))
    limits = team["limits"]
    cost = f", {money(limits['cost_usd'])}" if limits.get("cost_usd") else ""
    yield Text(
        f"At most {limits['tasks']} tasks, {limits['concurrency']} at once, {limits['attempts']} attempts each, "
        f"{limits['timeout_s']:g} s{cost}; the supervisor is {one_line(team['supervisor']['model'])}.",
        "dim",
    )


def _worker_row(worker: Mapping[str, Any]) -> Row:
    does = f"the team {worker['team']}" if worker["team"] else worker["model"]
    return [worker["name"], does, ", ".join(worker["tools"]) or "-", worker["description"]]


def _tool_row(tool: Tool) -> Row:
    source = tool["server"] or tool["package"] or ("provider" if tool["provider"] else "built in")
    return [tool["name"], tool["effect"], tool["state"], source, tool["description"]]
