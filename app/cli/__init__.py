"""The command line: one module for each kind of command, each loaded when one of its commands is typed."""

import errno
import os
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from app import version
from app.cli.lazily import LazyGroup
from app.terminal.errors import BAD_INPUT, CommandRefused
from app.terminal.options import ProfileName, Url
from app.terminal.text import one_line

NAME = "chargehand"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Why an output takes no more."""
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
        _check_text(sys.argv[1:] if arguments is None else arguments)
        cli(arguments, prog_name=NAME)
    except SystemExit:
        raise
    except CommandRefused as error:
        _refuse(str(error))
    except OSError as error:
        if error.errno not in _FULL:
            raise
        _refuse(f"cannot write: {error.strerror}")
    except _for_the_operator() as error:
        from app.cli.console import say

        say(f"chargehand: {error}")
        sys.exit(BAD_INPUT)


def _check_text(arguments: Sequence[str]) -> None:
    for each in arguments:
        try:
            each.encode()
        except UnicodeEncodeError:
            raise CommandRefused(f"{one_line(each)}: this is not UTF-8") from None


def _refuse(why: str) -> NoReturn:
    typer.echo(f"{NAME}: {why}", err=True)
    try:
        sys.stdout.flush()
    except OSError:  # What could not be written would be tried again at the end, and fail there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(BAD_INPUT)


def _for_the_operator() -> tuple[type[Exception], ...]:
    """What is told in one line; named when something was raised, since whoever raised it has loaded it."""
    from app.domain.errors import ChargehandError
    from app.settings import SettingsError

    return SettingsError, ChargehandError
