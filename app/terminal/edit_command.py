"""`chargehand edit`: a plan that waits for approval, changed in an editor."""

import os
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from app.client import Client, Plan, Refused, Run, ServiceError
from app.terminal.arguments import RunName
from app.terminal.errors import CommandRefused
from app.terminal.keyboard import is_typed_at
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
MOST_BYTES = 10_000_000
"""Of a file that may be a plan."""

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

    def refused(self, why: str, *, is_kept: bool = False) -> NoReturn:
        """End without an edit, and say where it is kept, unless nothing was changed yet."""
        if not is_kept and self._is_untouched():
            self.file.unlink()
            raise CommandRefused(one_line(why))
        again = f"`chargehand edit {self.run_id} --file {self.file}` sends it, for the revision that it names"
        raise CommandRefused(f"{one_line(why)}; your edit is kept in {self.file}: {again}")

    def raw_text(self) -> str:
        """The file as it is, whatever its bytes mean. Raises `PlanUnreadable`."""
        try:
            with self.file.open("rb") as file:
                content = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise PlanUnreadable(f"{self.file}: {error.strerror}") from None
        if len(content) > MOST_BYTES:
            raise PlanUnreadable(f"{self.file} has more than {MOST_BYTES:,} bytes")
        return content.decode(errors="surrogateescape")

    def begin_with(self, findings: Sequence[str]) -> None:
        """Have what was found wrong at the head of the file, and all else as it is."""
        text = with_findings(self.raw_text(), findings)
        self.file.write_text(text, encoding="utf-8", errors="surrogateescape")

    def sent(self) -> Plan | None:
        """The plan as the service has it then; None when nothing was changed.

        Raises `Refused` and `PlanUnreadable`, and `CommandRefused` when the plan is another one by now.
        """
        revision, fields = read_file(self._text())
        changes = changes_of(self.plan, fields)
        if not changes:
            return None
        if self.reason is not None:
            changes["reason"] = self.reason
        outdated = False

        async def edited(client: Client) -> Plan | Refused:
            nonlocal outdated
            try:
                return await client.edit_plan(self.run_id, changes, revision or self.plan["revision"])
            except Refused as refused:
                outdated = refused.code == "plan_changed"
                return await client.plan(self.run_id) if outdated else refused

        answer = self.service.ask(edited)
        if isinstance(answer, Refused):
            raise answer
        if outdated:
            now = answer["revision"]
            raise CommandRefused(
                f"plan_changed: the plan is in revision {now} now: look at it (`chargehand plan {self.run_id}`), "
                f"then set revision to {now} in {self.file}"
            )
        return answer

    def _is_untouched(self) -> bool:
        try:
            return self.raw_text() == self.written
        except PlanUnreadable:
            return False

    def _text(self) -> str:
        text = self.raw_text()
        try:
            text.encode()
        except UnicodeEncodeError as error:
            line = text.count("\n", 0, error.start) + 1
            raise PlanUnreadable(f"line {line}: this is not UTF-8") from None
        return text


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
    except PlanUnreadable as error:
        raise CommandRefused(one_line(f"no plan: {error}")) from None
    except Refused as error:
        raise CommandRefused(one_line(str(error))) from None


def _sent_from_editor(under_way: Edit) -> Plan | None:
    """Let it be edited until it is taken, given up, or refused for good."""
    while True:
        _edited(under_way)
        try:
            return under_way.sent()
        except PlanUnreadable as error:
            findings, why = [f"no plan: {error}"], f"no plan: {error}"
        except Refused as refused:
            findings, why = _findings(refused), str(refused)
            if refused.status != MENDABLE:
                under_way.refused(why)
        except CommandRefused as error:  # The service is away, or the plan is another one.
            under_way.refused(str(error))
        if not (is_typed_at() and _is_opened_again(findings)):
            under_way.refused(why)
        with suppress(PlanUnreadable):  # It has been said already.
            under_way.begin_with(findings)


def _is_opened_again(findings: Sequence[str]) -> bool:
    for each in findings:
        say(one_line(each))
    try:
        return bool(typer.confirm("Open it again?", default=True, err=True))
    except typer.Abort:
        return False


def _findings(refused: Refused) -> list[str]:
    places = [f"{each.get('pointer', '')}: {each['detail']}" for each in refused.errors]
    return places or [f"{refused.code}: {refused.detail}"]


def _edited(under_way: Edit) -> None:
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or USUAL_EDITOR
    try:
        with _spared_interrupts():
            ended = subprocess.run([*shlex.split(command), str(under_way.file)], check=False)
    except (OSError, ValueError) as error:
        under_way.refused(f"the editor {command} cannot be started ({error}): set EDITOR")
    if not under_way.file.is_file():
        again = f"if it is elsewhere, `chargehand edit {under_way.run_id} --file FILE` sends it"
        raise CommandRefused(
            f"the editor {command} has removed or renamed {under_way.file}, and nothing was sent; {again}"
        )
    if ended.returncode < 0:  # Its window may be open still.
        number = -ended.returncode
        under_way.refused(f"the editor {command} was ended by signal {number}, so nothing was sent", is_kept=True)
    if ended.returncode:
        under_way.refused(f"the editor {command} ended with {ended.returncode}, so nothing was sent")


@contextmanager
def _spared_interrupts() -> Iterator[None]:
    """Ctrl-C is the editor's for as long as the block: what it means there is no reason to end."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Signals are the main thread's.
        return
    before = signal.signal(signal.SIGINT, lambda *_: None)  # What is ignored would be so in the editor too.
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _new_file(run_id: str, text: str) -> Path:
    """A file for its owner alone."""
    descriptor, name = tempfile.mkstemp(prefix=f"chargehand-plan-{run_id[-8:]}-", suffix=".yaml")
    with os.fdopen(descriptor, "w", encoding="utf-8") as output:
        output.write(text)
    return Path(name)
