"""`chargehand run`: a job, posted and shown while it is done."""

from dataclasses import dataclass
from typing import Annotated

import typer

from app.client import Client, Job
from app.terminal.job_options import files_of, limits_of
from app.terminal.service import Service, at_service
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

    async def done(client: Client) -> int:
        return await watched_to_its_end(service, client, await client.submit(job, files=files), as_json=told.as_json)

    raise typer.Exit(service.ask(done))
