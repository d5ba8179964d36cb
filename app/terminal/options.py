"""Options and arguments that commands share, and what a shell completes them to."""

from typing import Annotated

import typer

HERE = "http://127.0.0.1:8000"
"""Where a service is unless anything is said."""


def _runs(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    from app.terminal.completion import runs_like

    return runs_like(context, incomplete)


def _teams(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    from app.terminal.completion import teams_like

    return teams_like(context, incomplete)


def _profiles(incomplete: str) -> list[tuple[str, str]]:
    from app.terminal.completion import profiles_like

    return profiles_like(incomplete)


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
RunName = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        autocompletion=_runs,
        help="Id of a run; the beginning or the end of one of the newest hundred; or last.",
    ),
]
TeamName = Annotated[
    str | None, typer.Argument(metavar="[NAME]", autocompletion=_teams, help="A team: name, or name@version.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print what the API answers, as it is.")]
