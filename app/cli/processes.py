"""The commands that start a process: they read the settings and put it together from the parts that it needs."""

import asyncio
import os
import shutil
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from ipaddress import ip_address
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Never

import typer

from app import version
from app.cli.console import CommandRefused, say
from app.settings import Settings, read_settings, variable
from app.telemetry import set_up_logging
from app.terminal.options import HERE

if TYPE_CHECKING:
    from fastapi import FastAPI

    from app.runtime import Runtime
    from app.store.preflight import UsableDatabase
    from app.tracing.pipeline import Tracing

# The heavy parts are imported where they are used: `--help` and `states` need none of them.


MigrateFirst = Annotated[bool, typer.Option("--migrate", help="Bring the schema of DATABASE_URL up to date first.")]


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65_535, help="Port to listen on; 0 takes a free one.")] = None,
    migrate: MigrateFirst = False,
) -> None:
    """Serve the API, and execute runs unless CHARGEHAND_ENGINE is false."""
    settings = start(host=host, port=port)
    refuse_open_door(settings)
    _check_team_files(settings)
    with (
        _stopped_by_signals(),
        database_of(settings, migrate=migrate) as database,
        _listening(settings.host, settings.port, "port") as listener,
        _metrics_listening(settings) as for_metrics,
    ):
        _say_what_is_used(settings, database)
        _serve(application(settings, database.url, for_metrics), listener)


def engine(
    migrate: MigrateFirst = False,
) -> None:
    """Execute runs without serving the API."""
    from uvicorn.loops.auto import auto_loop_factory  # The loop that `serve` gets: uvloop's where it is installed.

    from app.tracing.environment import tracing_of

    settings = start(engine=True)
    _check_team_files(settings)
    with (
        _stopped_by_signals(),
        database_of(settings, migrate=migrate) as database,
        _metrics_listening(settings) as for_metrics,
    ):
        _say_what_is_used(settings, database)
        with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
            tracing = tracing_of(os.environ, version)
            runner.run(_execute_until_stopped(_runtime(settings, database.url, for_metrics, tracing)))


def start(*, host: str | None = None, port: int | None = None, engine: bool | None = None) -> Settings:
    options = {"host": host, "port": port, "engine": engine}
    settings = read_settings().model_copy(update={name: value for name, value in options.items() if value is not None})
    set_up_logging(level=settings.log_level, form=settings.log_format)
    return settings


def refuse_open_door(settings: Settings) -> None:
    """Whoever reaches the API without keys spends our money: that only this machine may, unless it is said outright."""
    if settings.auth is None and not _is_this_machine(settings.host):
        raise CommandRefused(
            f"{settings.host} may be reached from elsewhere, and no keys are asked for: set CHARGEHAND_AUTH=keys, or "
            "CHARGEHAND_AUTH=off where something in front of the service keeps others out"
        )


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _check_team_files(settings: Settings) -> None:
    from app.runtime import known_teams

    known_teams(settings)


def database_of(
    settings: Settings, *, migrate: bool, wait_seconds: float | None = None
) -> "AbstractContextManager[UsableDatabase]":
    """The database to work with. A migration says whom it waits for, and waits so long at most."""
    from app.store.migrating import WAIT_SECONDS, Wait
    from app.store.preflight import usable_database

    url = settings.database_url.get_secret_value() if settings.database_url else None
    wait = Wait(WAIT_SECONDS if wait_seconds is None else wait_seconds, tell=say)
    return usable_database(url, settings.home, wait, migrate_first=migrate)


@contextmanager
def _listening(host: str, port: int, setting: str) -> Iterator[socket.socket]:
    from app.api.server import listening_socket

    try:
        listener = listening_socket(host, port)
    except OSError as error:
        reason = str(error.strerror).partition(" (")[0]
        other = "CHARGEHAND_PORT or --port" if setting == "port" else variable(setting)
        raise CommandRefused(f"cannot listen on {host} port {port}: {reason}; {other} names another") from None
    with listener:
        yield listener


@contextmanager
def _metrics_listening(settings: Settings) -> Iterator[socket.socket | None]:
    """The socket of metrics alone; None where they have none."""
    from app.api.server import shown_address

    if settings.metrics_port is None:
        yield None
        return
    with _listening(settings.host, settings.metrics_port, "metrics_port") as listener:
        say(f"Metrics are at http://{shown_address(listener)}/metrics")
        yield listener


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """End quietly on SIGINT and SIGTERM, and on the way out stop what was started."""

    def stop(number: int, _frame: FrameType | None) -> Never:
        signal.signal(number, signal.SIG_IGN)  # Told once is enough: what ends now must not be broken off.
        raise SystemExit(0)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _serve(served: "FastAPI", listener: socket.socket) -> None:
    from app.api.server import Server, shown_address

    server = Server(
        served,
        up=lambda: _say_where_to_go(shown_address(listener)),
        leaving=lambda: served.state.runtime.draining.is_set(),
    )
    server.run(sockets=[listener])


@contextmanager
def served_here() -> Iterator[str]:
    """A service of this process's own on a free port, as `serve` would start it; its address."""
    from app.api.server import serving_beside

    settings = start(host="127.0.0.1", port=0, engine=True).model_copy(update={"auth": "off"})
    # Standard output is the report's, and what every run does is no news here.
    set_up_logging(level="warning", form=settings.log_format, output=sys.stderr)
    _check_team_files(settings)
    with database_of(settings, migrate=False) as database, _listening(settings.host, 0, "port") as listener:
        _say_what_is_used(settings, database)
        served = application(settings, database.url)
        with serving_beside(served, listener, leave=lambda: served.state.runtime.draining.set()) as address:
            yield f"http://{address}"


def application(settings: Settings, url: str, for_metrics: socket.socket | None = None) -> "FastAPI":
    """The API, which opens what it needs when it starts."""
    from app.api.app import create_app
    from app.tracing.environment import tracing_of

    tracing = tracing_of(os.environ, version)
    limit = settings.body_limit_bytes
    return create_app(lambda: _runtime(settings, url, for_metrics, tracing), body_limit_bytes=limit, tracing=tracing)


@asynccontextmanager
async def _runtime(
    settings: Settings, url: str, for_metrics: socket.socket | None, tracing: "Tracing | None"
) -> "AsyncIterator[Runtime]":
    from app.api.metrics import metrics_served
    from app.engine.engine import running_engine
    from app.runtime import open_runtime, tune_garbage_collection

    async with open_runtime(settings, url, tracing=tracing) as runtime, AsyncExitStack() as stack:
        tune_garbage_collection()
        if for_metrics is not None:
            await stack.enter_async_context(metrics_served(runtime, for_metrics))
        if settings.engine:
            await stack.enter_async_context(running_engine(runtime))
        yield runtime


async def _execute_until_stopped(opened: "AbstractAsyncContextManager[Runtime]") -> None:
    told_to_stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told_to_stop.set)
    async with opened as runtime:
        leaving = [asyncio.create_task(event.wait()) for event in (told_to_stop, runtime.draining)]
        await asyncio.wait(leaving, return_when=asyncio.FIRST_COMPLETED)


def _say_what_is_used(settings: Settings, database: "UsableDatabase") -> None:
    say(f"Runs are kept in {database.where}.")
    say(_who_answers(settings))
    if settings.auth == "keys":
        say("Requests must bring a key: `chargehand keys create --help` tells how one is made.")


def _say_where_to_go(address: str) -> None:
    say(f"Chargehand is at http://{address}")
    say(f"Its console, to look at runs and to start one: http://{address}/console")
    where = "" if address == HERE.removeprefix("http://") else f"CHARGEHAND_URL=http://{address} "
    say(f'In a terminal: {where}{_own_command()} run "What is 17 percent of 2,750?" (docs/cli.md)')
    say('Next: README.md, "A job, from POST to trace". The API is described at /docs.')


def _own_command() -> str:
    """How the command of this installation is typed."""
    try:
        beside = Path(sys.executable).with_name("chargehand")
        on_path = shutil.which("chargehand")
        if not beside.exists() or (on_path is not None and Path(on_path).resolve() == beside.resolve()):
            return "chargehand"
        return os.path.relpath(beside) if beside.is_relative_to(Path.cwd()) else str(beside)
    except (OSError, ValueError):  # It is started from nowhere.
        return "chargehand"


def _who_answers(settings: Settings) -> str:
    if settings.answering_model == "claude":
        where = f", at {settings.anthropic_base_url}" if settings.anthropic_base_url else ""
        return f"Claude answers{where}."
    if settings.model == "demo":
        return "The demo model answers, as CHARGEHAND_MODEL says."
    return "No ANTHROPIC_API_KEY: the demo model answers."
