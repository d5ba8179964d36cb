"""`chargehand run`: a job, posted and shown while it is done."""

from dataclasses import dataclass
from typing import Annotated

import typer

from app.client import Client, Job, Refused
from app.terminal.ending import LEFT
from app.terminal.errors import CommandRefused
from app.terminal.job_options import about_files, files_of, limits_of
from app.terminal.output import say
from app.terminal.service import Service, at_service
from app.terminal.text import one_line
from app.terminal.watch_command import AsEvents, watched_to_its_end


def _teams(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    from app.terminal.completion import teams_like

    return teams_like(context, incomplete)


Objective = Annotated[str, typer.Argument(metavar="OBJECTIVE", help="What to achieve, in plain words.")]
Team = Annotated[
    str | None,
    typer.Option(metavar="NAME", autocompletion=_teams, help="Who does it: a team by name, or name@version."),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option("--input", metavar="FILE", help="A file to work on, - for standard input; repeat it for several."),
]
LimitOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="NAME=VALUE",
        help="cost (US dollars), tokens, timeout (seconds), tasks, concurrency, attempts, rounds or depth; repeat it.",
    ),
]
Approve = Annotated[bool, typer.Option("--approve", help="Have the plan wait for approval, and ask for it here.")]


@dataclass(frozen=True, slots=True)
class Told:
    """What is said of a job; each field is an argument or an option."""

    objective: Objective
    team: Team = None
    input: Inputs = None
    limit: LimitOptions = None
    approve: Approve = False
    as_json: AsEvents = False

    @property
    def job(self) -> Job:
        """The same in the words of the API. Raises `CommandRefused`."""
        job: Job = {"objective": self.objective}
        if self.team is not None:
            job["team"] = self.team
        if self.limit:
            job["limits"] = limits_of(self.limit)
        if self.approve:
            job["approval"] = "plan"
        return job


@at_service
def run(service: Service, told: Told) -> None:
    """Post a job and show its run live. Its end is the exit status: 0 succeeded, 3 partial, 4 failed, 5 cancelled."""
    job, files = told.job, files_of(told.input or ())

    is_posted = False

    async def done(client: Client) -> int:
        nonlocal is_posted
        try:
            posted = await client.submit(job, files=files)
        except Refused as refused:
            if refused.code == "key_missing":
                raise
            raise CommandRefused(one_line(about_files(refused, files))) from None
        is_posted = True
        return await watched_to_its_end(service, client, posted, as_json=told.as_json)

    try:
        code = service.ask(done)
    except KeyboardInterrupt:
        if not is_posted:
            say("Interrupted while the job was posted: a run may have begun, which `chargehand runs` would show.")
        raise typer.Exit(LEFT) from None
    raise typer.Exit(code)
