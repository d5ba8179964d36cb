"""Options that commands share, and what a shell completes them to."""

import os
from typing import Annotated

import typer

from app.terminal.errors import CommandRefused
from app.terminal.text import for_shell

HERE = "http://127.0.0.1:8000"
"""Where a service is unless anything is said."""


def _profiles(incomplete: str) -> list[tuple[str, str]]:
    from app.terminal.profiles import config_file, read_profiles

    try:
        named = read_profiles(config_file(os.environ)).named
    except CommandRefused:
        return []  # A shell has no place for reasons.
    return [(name, "") for name in named if name.startswith(incomplete) and name == for_shell(name)]


Url = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help=f"Address of the service (CHARGEHAND_URL); {HERE} unless it is said."),
]
ProfileName = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        autocompletion=_profiles,
        help="A service by its name (CHARGEHAND_PROFILE): see `chargehand profile`.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print what the API answers, as it is.")]
