"""The command line: one module for each kind of command, each loaded when one of its commands is typed."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from app import version
from app.cli.lazily import LazyGroup
from app.terminal.errors import BAD_INPUT, CommandRefused
from app.terminal.options import ProfileName, Url

NAME = "chargehand"
cli = typer.Typer(
    name=NAME,
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"chargehand {version}")
        raise typer.Exit


@cli.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    url: Url = None,
    profile: ProfileName = None,
) -> None:
    """Supervisor-worker orchestration as an API, on one Postgres."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command. What can be mended by whoever typed it ends in one line on standard error and exit code 2."""
    try:
        cli(arguments, prog_name=NAME)
    except SystemExit:
        raise
    except CommandRefused as error:
        typer.echo(f"{NAME}: {error}", err=True)
        sys.exit(BAD_INPUT)
    except _for_the_operator() as error:
        from app.cli.console import say

        say(f"chargehand: {error}")
        sys.exit(BAD_INPUT)


def _for_the_operator() -> tuple[type[Exception], ...]:
    """What is told in one line; named when something was raised, since whoever raised it has loaded it."""
    from app.domain.errors import ChargehandError
    from app.settings import SettingsError

    return SettingsError, ChargehandError
