"""`chargehand eval`: reads suites, runs them through the API, and reports."""

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from app.domain.errors import ChargehandError

if TYPE_CHECKING:
    from app.evaluation.report import Report, SuiteReport
    from app.evaluation.sides import Side
    from app.evaluation.suite_file import SuiteFile

# The heavy parts are imported where they are used: `--help` needs none of them.

BELOW_BARS = 1
STANDARD_OUTPUT = "-"
Serving = Callable[[], AbstractContextManager[str]]
"""Starts a service for the length of a block; its address."""

Files = Annotated[list[Path], typer.Argument(metavar="SUITE...", help="Suite files.")]
Team = Annotated[
    str | None,
    typer.Option(help="Run with TEAM, TEAM@VERSION or TEAM:WORKER=MODEL,… instead."),
]
Against = Annotated[str | None, typer.Option(help="Compare with another team, spelt in the same way.")]
Repeat = Annotated[int, typer.Option(min=1, max=100, help="How often each case is run.")]
Url = Annotated[str | None, typer.Option(help="The service; without it, one is started in this process.")]
JsonFile = Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write JSON; - is standard output.")]
JunitFile = Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML.")]


class NotWritten(ChargehandError):
    """A report cannot be written; the message is one line."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command is told; each field is an argument or an option of it."""

    suites: Files
    team: Team = None
    against: Against = None
    repeat: Repeat = 1
    url: Url = None
    json_file: JsonFile = None
    junit_file: JunitFile = None


def eval_command(serving: Serving) -> Callable[..., None]:
    """The command `eval`, which starts a service by `serving` where it is told of none."""

    def evaluate(**told: Any) -> None:
        """Run suites of labelled cases through the API, and report. Exit code 1 below a suite's bars."""
        _evaluate(Options(**told), serving)

    described: Any = evaluate  # As its options describe it: more of them than a function should have parameters.
    described.__signature__ = signature(Options)
    described.__annotations__ = get_type_hints(Options, include_extras=True)
    return evaluate


def _evaluate(options: Options, serving: Serving) -> None:
    from app.evaluation.report import Report
    from app.evaluation.sides import Side, side_of
    from app.evaluation.suite_file import read_suite

    sides = [side_of(options.team, "--team") if options.team else Side()]
    sides += [side_of(options.against, "--against")] if options.against else []
    suites = [read_suite(path) for path in options.suites]
    _check_outlets(options)  # Before anything is paid for.
    with nullcontext(options.url) if options.url else serving() as url:
        key = os.environ.get("CHARGEHAND_API_KEY", "").strip() if options.url else ""
        reports = asyncio.run(_run(url, key or None, suites, sides, options.repeat))
    report = Report(met=all(each.met for each in reports), suites=tuple(reports))
    _write(report, options)
    if not report.met:
        raise typer.Exit(BELOW_BARS)


async def _run(
    url: str, key: str | None, suites: "Sequence[SuiteFile]", sides: "Sequence[Side]", repeat: int
) -> "list[SuiteReport]":
    from app.client import Client as Service
    from app.client import Unreachable
    from app.evaluation.client import FIRST_PATIENCE_S, Client, ServiceUnusable
    from app.evaluation.running import run_suites

    try:
        service, first = Service(url, key), Service(url, key, patience_s=FIRST_PATIENCE_S)
    except Unreachable as error:  # The address is none.
        raise ServiceUnusable(f"cannot use the service at {url}: {error.reason}") from None
    async with service, first:
        return await run_suites(Client(service, first), suites, sides, repeat)


def _check_outlets(options: Options) -> None:
    """Raises `NotWritten` for a file that cannot be written."""
    named = [Path(options.json_file)] if options.json_file not in (None, STANDARD_OUTPUT) else []
    for file in [*named, *([options.junit_file] if options.junit_file else [])]:
        try:
            file.open("a").close()
        except OSError as error:
            raise NotWritten(f"cannot write {file}: {error.strerror}") from None


def _write(report: "Report", options: Options) -> None:
    from app.evaluation.junit import as_junit
    from app.evaluation.showing import show

    # Standard output is for one reader: where a program gets the JSON, people get the tables beside it.
    show(report, sys.stderr if options.json_file == STANDARD_OUTPUT else sys.stdout)
    if options.json_file is not None:
        text = report.model_dump_json(indent=2) + "\n"
        if options.json_file == STANDARD_OUTPUT:
            sys.stdout.write(text)
        else:
            Path(options.json_file).write_text(text, encoding="utf-8")
    if options.junit_file is not None:
        options.junit_file.write_text(as_junit(report), encoding="utf-8")
