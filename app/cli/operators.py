"""The commands about processes and the intake of jobs. They work on the database alone, for all tenants."""

from typing import Annotated

import typer

from app.cli.console import CommandRefused, check_tenant, say
from app.cli.database import with_database
from app.domain.keys import DEFAULT_TENANT
from app.store.engines import KnownEngine, known_engines, set_drained
from app.store.intake import ALL, pause_intake, pauses_of, resume_intake

EngineName = Annotated[str, typer.Argument(help="The name of the engine, as `chargehand engines` shows it.")]
Tenant = Annotated[str | None, typer.Option(help="Only of this tenant; of all, unless set.")]


def list_engines(context: typer.Context) -> None:
    """The processes that execute runs: which there are, and how one is made to hand its runs over."""
    if context.invoked_subcommand is not None:
        return
    for engine in with_database(lambda database: known_engines(database, DEFAULT_TENANT)):
        at = f"{engine.renewed_at:%Y-%m-%d %H:%M:%S}"
        runs = f"{engine.of_all} of {engine.runs_at_once} runs"
        typer.echo("\t".join((engine.name, engine.version, _state(engine), runs, at)))


def drain(name: EngineName) -> None:
    """Have a process claim nothing more, and hand its runs over to the others. It goes on answering requests."""
    _set(name, drained=True)
    say(f"{name} claims nothing more, and hands its runs over; `chargehand engines` shows how far it is.")


def resume_engine(name: EngineName) -> None:
    """Have a process that was drained claim runs again."""
    _set(name, drained=False)
    say(f"{name} claims runs again.")


def _set(name: str, *, drained: bool) -> None:
    if not with_database(lambda database: set_drained(database, name, drained=drained)):
        raise CommandRefused(f"there is no engine {name}")


def _state(engine: KnownEngine) -> str:
    if engine.is_silent:
        return "stale"
    if engine.drains:
        return "draining" if engine.of_all else "drained"
    return "claims"


def show_intake(context: typer.Context) -> None:
    """The intake of jobs: whose are not taken in, and how that is changed."""
    if context.invoked_subcommand is not None:
        return
    pauses = with_database(pauses_of)
    for pause in pauses:
        columns = pause.tenant or "all", "paused", f"by the {pause.said_by}", f"{pause.paused_at:%Y-%m-%d %H:%M:%S}"
        typer.echo("\t".join(columns))
    if not pauses:
        say("Jobs of all tenants are taken in.")


def pause(tenant: Tenant = None) -> None:
    """Take in no new jobs from here on. Runs under way and those in line go on."""
    with_database(lambda database: pause_intake(database, _of(tenant), "operator"))
    say(f"No new jobs {_whose(tenant)} are taken in.")


def resume_intake_again(tenant: Tenant = None) -> None:
    """Take in jobs again. Of one tenant: also where the tenant itself has paused it."""
    said = ("operator", "tenant") if tenant is not None else ("operator",)
    if not with_database(lambda database: resume_intake(database, _of(tenant), *said)):
        raise CommandRefused(
            f"nobody has paused the intake of jobs {_whose(tenant)}; `chargehand intake` shows what is"
        )
    say(f"New jobs {_whose(tenant)} are taken in again.")


def _of(tenant: str | None) -> str:
    if tenant is None:
        return ALL
    check_tenant(tenant)
    return tenant


def _whose(tenant: str | None) -> str:
    return f"of {tenant}" if tenant else "of any tenant"


engines = typer.Typer(name="engines", invoke_without_command=True, callback=list_engines)
engines.command("drain")(drain)
engines.command("resume")(resume_engine)
intake = typer.Typer(name="intake", invoke_without_command=True, callback=show_intake)
intake.command("pause")(pause)
intake.command("resume")(resume_intake_again)
