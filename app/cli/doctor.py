"""`chargehand doctor`: what is wrong with an installation, and what to do about it."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from app.cli.checkup import Check, every_check
from app.cli.console import OUT_OF_DATE
from app.telemetry import redact


def doctor(
    ask_model: Annotated[
        bool, typer.Option("--model/--no-model", help="Ask the provider one short question; it costs next to nothing.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
) -> None:
    """Check settings, database, schema, clocks, queue, disk and provider, and say what to do.

    The exit code is 0 when nothing fails, also with warnings, and 1 otherwise.
    """
    checks = []
    for check in every_check(ask_model=ask_model):
        checks.append(check)
        if not as_json:
            typer.echo(redact(_line(check)))
    if as_json:
        typer.echo(redact(json.dumps([asdict(check) for check in checks], ensure_ascii=False, indent=2)))
    if any(check.state == "fail" for check in checks):
        raise typer.Exit(OUT_OF_DATE)


def _line(check: Check) -> str:
    todo = f"\n{' ' * 18}→ {check.todo}" if check.todo else ""
    return f"{check.state:<6}{check.about:<12}{check.found}{todo}"
