"""The commands about team files: what is wrong with one, before a service is started with it, and their schema."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from app.cli.kept_files import team_schema
from app.domain.flaws import pointer_to
from app.settings import read_settings
from app.terminal.errors import BAD_INPUT

# The heavy parts are imported where they are used: `--help` needs none of them.

Files = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="Team files. A worker may be a team of another one of them.")
]


def check(files: Files) -> None:
    """Say what is wrong with team files: `file:line: pointer: reason`, and exit code 2. It needs no database.

    Workers may be teams of the files, built-in ones, and those in CHARGEHAND_TEAMS_DIR. What is wrong with the files
    there is said too: a service would not start with them.
    """
    from app.runtime import known_tools
    from app.team_files import BUILT_IN_TEAMS, TeamFileInvalid, check_nesting, files_in, read_team_file

    settings = read_settings()
    tools = known_tools(settings)
    checked = {file.resolve() for file in files}
    others = [file for file in files_in(BUILT_IN_TEAMS, settings.teams_dir) if file.resolve() not in checked]
    sound, invalid = {}, []
    for file in [*files, *others]:
        try:
            sound[file] = read_team_file(file, tools)
        except TeamFileInvalid as error:
            invalid.append(error)
    names = {each.team.name for each in sound.values()}
    for each in [sound[file] for file in dict.fromkeys(files) if file in sound]:
        try:
            check_nesting({each.team.name: each}, names)
        except TeamFileInvalid as error:
            invalid.append(error)
        else:
            typer.echo(f"{each.file}: the team {each.team.name} is sound.")
    for broken in invalid:
        for fault in broken.faults:
            place = f"{broken.file}:{fault.line}"
            typer.echo(": ".join(filter(None, (place, pointer_to(*fault.place), fault.reason))))
    if invalid:
        sys.exit(BAD_INPUT)


team = typer.Typer(name="team", no_args_is_help=True, help="Team files: what is wrong with one, and their schema.")
team.command("check")(check)
team.command("schema")(team_schema)
