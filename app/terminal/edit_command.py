"""`chargehand edit`: a plan that waits for approval, changed in an editor."""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from app.client import Client, Plan, Refused, Run, ServiceError
from app.terminal.arguments import RunName
from app.terminal.errors import CommandRefused
from app.terminal.options import AsJson
from app.terminal.output import console, print_json, print_lines, say
from app.terminal.plan_command import plan_lines
from app.terminal.plan_file import PlanUnreadable, as_file, changes_of, read_file, with_findings
from app.terminal.service import Service, at_service
from app.terminal.text import one_line
from app.terminal.which_run import run_meant

USUAL_EDITOR = "vi"
MENDABLE = 422
"""The status of a refusal that another edit may heal."""

Reason = Annotated[str | None, typer.Option(help="Why; shown with the revision.")]
FromFile = Annotated[
    Path | None,
    typer.Option("--file", exists=True, dir_okay=False, help="Send this file as it is, and open no editor."),
]


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit under way."""

    service: Service
    run_id: str
    plan: Plan
    """As it was read."""
    file: Path
    written: str
    """The file as it was begun."""
    reason: str | None

    def refused(self, why: str) -> NoReturn:
        """End without an edit, and say where it is kept, unless nothing was changed yet."""
        if self.file.read_text(encoding="utf-8") == self.written:
            self.file.unlink()
            raise CommandRefused(one_line(why))
        again = f"`chargehand edit {self.run_id} --file {self.file}` sends it, for the revision that it names"
        raise CommandRefused(f"{one_line(why)}; your edit is kept in {self.file}: {again}")

    def sent(self) -> Plan | None:
        """The plan as the service has it then; None when nothing was changed. Raises `Refused` and `PlanUnreadable`."""
        revision, fields = read_file(self.file.read_text(encoding="utf-8"))
        changes = changes_of(self.plan, fields)
        if not changes:
            return None
        if self.reason is not None:
            changes["reason"] = self.reason

        async def edited(client: Client) -> Plan | Refused:
            try:
                return await client.edit_plan(self.run_id, changes, revision or self.plan["revision"])
            except Refused as refused:
                return refused

        answer = self.service.ask(edited)
        if isinstance(answer, Refused):
            raise answer
        return answer


@at_service
def edit(service: Service, run: RunName, reason: Reason = None, file: FromFile = None, as_json: AsJson = False) -> None:
    """Edit a plan that waits for approval in $VISUAL or $EDITOR, and send it."""
    run_id, plan, workers = service.ask(lambda client: _read(client, run))
    written = as_file(plan, run_id, workers)
    if file is not None:
        edited = _sent_once(Edit(service, run_id, plan, file, written, reason))
    else:
        under_way = Edit(service, run_id, plan, _new_file(run_id, written), written, reason)
        edited = _sent_from_editor(under_way)
        under_way.file.unlink(missing_ok=True)
    if as_json:
        print_json(edited or plan)
    elif edited is None:
        say("Nothing is changed.")
    else:
        print_lines(console(), plan_lines(edited, {}))
        say(f"Revision {edited['revision']} waits for approval: `chargehand approve {run_id}`")


async def _read(client: Client, run: str) -> tuple[str, Plan, Sequence[str]]:
    """The run's id, its plan, and whom it may name as workers. Raises `CommandRefused`."""
    run_id = await run_meant(client, run)
    found = await client.run(run_id)
    if found["waiting_for"] != "plan_approval":
        raise CommandRefused(f"plan_not_waiting: the plan of {run_id} does not wait for approval")
    plan = await client.plan(run_id)
    return run_id, plan, await _workers(client, found, plan)


async def _workers(client: Client, run: Run, plan: Plan) -> Sequence[str]:
    named = [task["worker"] for task in plan["tasks"]]
    try:
        team = await client.team(f"{run['team']['name']}@{run['team']['version']}")
    except ServiceError:
        return list(dict.fromkeys(named))  # A comment is not worth more.
    return list(dict.fromkeys([*(worker["name"] for worker in team["workers"]), *named]))


def _sent_once(under_way: Edit) -> Plan | None:
    try:
        return under_way.sent()
    except (Refused, PlanUnreadable) as error:
        raise CommandRefused(one_line(str(error))) from None


def _sent_from_editor(under_way: Edit) -> Plan | None:
    """Let it be edited until it is taken, given up, or refused for good."""
    while True:
        _edited(under_way)
        try:
            return under_way.sent()
        except PlanUnreadable as error:
            findings, why = [str(error)], f"no plan: {error}"
        except Refused as refused:
            findings, why = _findings(refused), str(refused)
            if refused.status != MENDABLE:
                under_way.refused(why)
        except CommandRefused as error:  # The service is away.
            under_way.refused(str(error))
        if not (sys.stdin.isatty() and _is_opened_again(findings)):
            under_way.refused(why)
        text = under_way.file.read_text(encoding="utf-8")
        under_way.file.write_text(with_findings(text, findings), encoding="utf-8")


def _is_opened_again(findings: Sequence[str]) -> bool:
    for each in findings:
        say(each)
    return bool(typer.confirm("Open it again?", default=True, err=True))


def _findings(refused: Refused) -> list[str]:
    places = [f"{each.get('pointer', '')}: {each['detail']}" for each in refused.errors]
    return places or [f"{refused.code}: {refused.detail}"]


def _edited(under_way: Edit) -> None:
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or USUAL_EDITOR
    try:
        ended = subprocess.run([*shlex.split(command), str(under_way.file)], check=False)
    except (OSError, ValueError) as error:
        under_way.refused(f"the editor {command} cannot be started ({error}): set EDITOR")
    if ended.returncode:
        under_way.refused(f"the editor {command} ended with {ended.returncode}, so nothing was sent")


def _new_file(run_id: str, text: str) -> Path:
    """A file for its owner alone."""
    descriptor, name = tempfile.mkstemp(prefix=f"chargehand-plan-{run_id[-8:]}-", suffix=".yaml")
    with os.fdopen(descriptor, "w", encoding="utf-8") as output:
        output.write(text)
    return Path(name)
