"""What shells complete: ids of runs and names of teams, from the service that the line so far means."""

import asyncio
from collections.abc import Awaitable, Callable

import typer

from app.client import Client, ServiceError
from app.terminal.errors import CommandRefused
from app.terminal.service import service_of
from app.terminal.text import cut, for_shell

WITHIN_S = 1.0
"""How long a service may take; then nothing is completed."""
RUNS = 50
HELP_CHARACTERS = 60

Completed = list[tuple[str, str]]
"""Words, and what each stands for."""


def runs_like(context: typer.Context, incomplete: str) -> Completed:
    """The newest runs whose id begins so."""

    async def found(client: Client) -> Completed:
        runs = [run async for run in client.runs(limit=RUNS)]
        return [("last", "the newest"), *((run["id"], f"{run['status']}, {run['objective']}") for run in runs)]

    return _completed(context, incomplete, found)


def teams_like(context: typer.Context, incomplete: str) -> Completed:
    """The teams whose name begins so."""

    async def found(client: Client) -> Completed:
        return [(team["name"], team["description"]) for team in await client.teams()]

    return _completed(context, incomplete, found)


def _completed(context: typer.Context, incomplete: str, found: Callable[[Client], Awaitable[Completed]]) -> Completed:
    try:
        service = service_of(context, context.params.get("url"), context.params.get("profile"))
        asked = asyncio.run(_within(service.url, service.key, found))
    except (CommandRefused, ServiceError, TimeoutError):
        return []  # A shell has no place for reasons.
    return [
        (word, cut(for_shell(about), HELP_CHARACTERS))
        for word, about in asked
        if word.startswith(incomplete) and word == for_shell(word)
    ]


async def _within(url: str, key: str | None, found: Callable[[Client], Awaitable[Completed]]) -> Completed:
    async with asyncio.timeout(WITHIN_S), Client(url, key, patience_s=0) as client:
        return await found(client)
