"""The command line: one module for each kind of command, put together here."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from app import version
from app.cli import limits
from app.cli import retention as retentions
from app.cli.console import BAD_INPUT, say
from app.cli.doctor import doctor
from app.cli.kept_files import openapi, states, team_schema
from app.cli.keys import create, list_keys, revoke
from app.cli.migration import migrate
from app.cli.operators import engines, intake
from app.cli.processes import engine, serve, served_here
from app.cli.team_check import check
from app.domain.errors import ChargehandError
from app.evaluation.command import add_eval
from app.settings import SettingsError

cli = typer.Typer(
    name="chargehand",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)
for command in (serve, engine, migrate, doctor, openapi, states):
    cli.command()(command)

team = typer.Typer(name="team", no_args_is_help=True, help="Team files: what is wrong with one, and their schema.")
team.command("check")(check)
team.command("schema")(team_schema)
cli.add_typer(team)
keys = typer.Typer(name="keys", no_args_is_help=True, help="Keys of the API, each of a tenant.")
keys.command("create")(create)
keys.command("list")(list_keys)
keys.command("revoke")(revoke)
cli.add_typer(keys)
retention = typer.Typer(name="retention", no_args_is_help=True, help="For how long tenants keep ended runs.")
retention.command("show")(retentions.show)
retention.command("set")(retentions.set_days)
retention.command("clear")(retentions.clear)
cli.add_typer(retention)
bounds = typer.Typer(name="limits", no_args_is_help=True, help="Limits of tenants and keys: requests, runs, money.")
bounds.command("set")(limits.set_limits)
bounds.command("show")(limits.show)
bounds.command("clear")(limits.clear)
cli.add_typer(bounds)
cli.add_typer(engines)
cli.add_typer(intake)
add_eval(cli, served_here)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"chargehand {version}")
        raise typer.Exit


@cli.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Supervisor-worker orchestration as an API, on one Postgres."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command. What the operator can mend ends in one line on standard error and exit code 2."""
    try:
        cli(arguments)
    except (SettingsError, ChargehandError) as error:
        say(f"chargehand: {error}")
        sys.exit(BAD_INPUT)
