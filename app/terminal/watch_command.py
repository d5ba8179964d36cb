"""`chargehand watch`: a run, shown while it goes on, from its beginning to its end."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from app.client import Client, Run
from app.terminal.arguments import RunName
from app.terminal.ending import EXIT_CODES, LEFT, print_end
from app.terminal.keyboard import keyboard
from app.terminal.output import console
from app.terminal.progress import Progress
from app.terminal.service import Service, at_service
from app.terminal.views import EventsView, LinesView, LiveView, View
from app.terminal.watching import Watch
from app.terminal.which_run import run_meant

AsEvents = Annotated[bool, typer.Option("--json", help="Print the events, one JSON object a line.")]


@at_service
def watch(service: Service, run: RunName, as_json: AsEvents = False) -> None:
    """Show a run live, to its end. The exit status tells it: 0 succeeded, 3 partial, 4 failed, 5 cancelled."""

    async def watched(client: Client) -> int:
        return await watched_to_its_end(
            service, client, await client.run(await run_meant(client, run)), as_json=as_json
        )

    raise typer.Exit(service.ask(watched))


async def watched_to_its_end(service: Service, client: Client, run: Run, *, as_json: bool) -> int:
    """Show a run until it has ended, or is left; the exit code. Raises `CommandRefused`."""
    to, progress = console(), Progress(run["id"])
    is_drawn = not as_json and to.is_terminal and not to.is_dumb_terminal
    with keyboard(is_wanted=is_drawn) as terminal:
        view: View = EventsView(progress) if as_json else LinesView(progress)
        if is_drawn:
            view = LiveView(progress, to, _ahead(run), terminal)
        found_by = {"CHARGEHAND_URL": service.url, "CHARGEHAND_API_KEY": service.key or ""}
        ended = await Watch(client, progress, run["last_seq"], view, to, terminal, found_by).to_the_end()
    if ended is None:
        return LEFT
    if not as_json:
        print_end(to, ended, client.url)
    return EXIT_CODES[ended["status"]]


def _ahead(run: Run) -> timedelta:
    """How far the service's clock is ahead of ours, by a run that it has just told of."""
    timing = run["timing"]
    if run["finished_at"] is not None:
        return timedelta(0)
    since, passed_ms = (
        (run["started_at"], timing["wall_ms"]) if run["started_at"] else (run["created_at"], timing["queued_ms"])
    )
    return datetime.fromisoformat(since) + timedelta(milliseconds=passed_ms) - datetime.now(UTC)
