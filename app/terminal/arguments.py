"""Arguments that commands share, and what a shell completes them to."""

from typing import Annotated

import typer


def _runs(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    from app.terminal.completion import runs_like

    return runs_like(context, incomplete)


def _teams(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    from app.terminal.completion import teams_like

    return teams_like(context, incomplete)


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
