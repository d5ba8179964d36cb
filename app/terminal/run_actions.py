"""The commands that decide what becomes of a run, and those that begin another one of it."""

import os
import sys
import webbrowser
from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

import typer

from app.client import Client, Run
from app.terminal.arguments import RunName
from app.terminal.errors import CommandRefused
from app.terminal.options import AsJson
from app.terminal.output import print_json, say
from app.terminal.service import Service, at_service
from app.terminal.text import one_line
from app.terminal.which_run import run_meant
from app.terminal.words import status_of

Reason = Annotated[str | None, typer.Option(help="Why; shown with the run.")]
OfRevision = Annotated[
    int | None, typer.Option("--revision", min=1, help="Only if the plan is still in this revision.")
]
Only = Annotated[
    Literal["failed"] | None, typer.Option(help="failed: keep what was delivered, and do what failed again.")
]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Only print the address.")]
AsUrl = Annotated[bool, typer.Option("--json", help='Print {"url": …}, and open nothing.')]
Change = Callable[[Client, str], Awaitable[Run]]


@at_service
def approve(service: Service, run: RunName, revision: OfRevision = None, as_json: AsJson = False) -> None:
    """Approve a plan that waits for it."""
    _changed(service, run, lambda client, run_id: client.approve(run_id, revision=revision), as_json=as_json)


@at_service
def reject(
    service: Service, run: RunName, reason: Reason = None, revision: OfRevision = None, as_json: AsJson = False
) -> None:
    """Reject a plan that waits for approval; its run ends."""

    async def rejected(client: Client, run_id: str) -> Run:
        return await client.reject(run_id, reason=reason, revision=revision)

    _changed(service, run, rejected, as_json=as_json)


@at_service
def cancel(service: Service, run: RunName, reason: Reason = None, as_json: AsJson = False) -> None:
    """Cancel a run."""
    _changed(service, run, lambda client, run_id: client.cancel(run_id, reason=reason), as_json=as_json)


@at_service
def retry(service: Service, run: RunName, only: Only = None, as_json: AsJson = False) -> None:
    """Begin a new run of the same job; its id is printed."""
    _begun(service, run, lambda client, run_id: client.retry(run_id, only=only), as_json=as_json)


@at_service
def resynthesize(
    service: Service,
    run: RunName,
    strategy: Annotated[str | None, typer.Option(help="merge, select or reduce; as before unless it is set.")] = None,
    instruction: Annotated[str | None, typer.Option(help="What is said about the answer instead.")] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="TASK", help="Leave out the result of a task; repeat it for several.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Have another answer made of the results of a run, by a new run; its id is printed."""
    wanted = {"strategy": strategy, "final_instruction": instruction, "exclude": exclude}
    changes = {name: value for name, value in wanted.items() if value}
    _begun(service, run, lambda client, run_id: client.resynthesize(run_id, changes), as_json=as_json)


@at_service
def open_page(service: Service, run: RunName, no_browser: NoBrowser = False, as_json: AsUrl = False) -> None:
    """Print the address of a run's page, and open it where there is a browser."""

    async def found(client: Client) -> Run:
        return await client.run(await run_meant(client, run))

    page = service.ask(found)["links"]["console"]
    if page is None:
        raise CommandRefused(f"{service.url} has no pages of runs; `chargehand show` shows one here")
    address = page if page.startswith(("http://", "https://")) else service.url + page
    if as_json:
        print_json({"url": address})
        return
    typer.echo(one_line(address))
    if not no_browser and sys.stdout.isatty() and _has_browser():
        webbrowser.open(address)


def _changed(service: Service, run: str, change: Change, *, as_json: bool) -> None:
    changed = _asked(service, run, change)
    if as_json:
        print_json(changed)
    else:
        say(f"{changed['id']}: {status_of(changed)}")


def _begun(service: Service, run: str, begin: Change, *, as_json: bool) -> None:
    begun = _asked(service, run, begin)
    if as_json:
        print_json(begun)
    else:
        typer.echo(begun["id"])
        say(f"`chargehand watch {begun['id']}` shows how it goes.")


def _asked(service: Service, run: str, work: Change) -> Run:
    async def asked(client: Client) -> Run:
        return await work(client, await run_meant(client, run))

    return service.ask(asked)


def _has_browser() -> bool:
    """Whether there is one with a window; a browser in the terminal would take its place."""
    return sys.platform in {"darwin", "win32"} or any(map(os.environ.get, ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")))
