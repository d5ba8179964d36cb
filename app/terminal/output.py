"""How commands print: tables that fit the terminal, columns for programs, and JSON."""

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from app.terminal.tables import Column, Row, fitted
from app.terminal.text import as_json, inert, one_line

STYLES = {
    "succeeded": "green",
    "running": "cyan",
    "waiting": "yellow",
    "partial": "yellow",
    "failed": "red",
    "cancelled": "magenta",
    "queued": "dim",
    "pending": "dim",
    "skipped": "dim",
}
"""Of the statuses of runs, tasks and attempts."""
MARKS = {
    "succeeded": "✓",
    "running": "▶",
    "waiting": "‖",
    "partial": "~",
    "failed": "✗",
    "cancelled": "⊘",
    "queued": "·",
    "pending": "·",
    "skipped": "-",
}


def console() -> Console:
    """Standard output: in colours where it is a terminal that wants them, and without any markup in texts."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # A character that the terminal cannot show is no reason to stop.
    return Console(markup=False, emoji=False, highlight=False)


def say(line: str) -> None:
    """Tell whoever typed the command; standard output is left to what was asked for."""
    typer.echo(inert(line), err=True)


def print_json(document: Any) -> None:
    """Print a document of the API as it is."""
    text = as_json(document)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = as_json(document, plain=True)
    typer.echo(text)


def print_lines(to: Console, lines: Sequence[Text]) -> None:
    """Print lines: cut to the width of a terminal, and whole where it is none."""
    for line in lines:
        to.print(line, no_wrap=True, overflow="ellipsis" if to.is_terminal else "ignore", crop=to.is_terminal)


def print_prose(to: Console, lines: Iterable[Text]) -> None:
    """Print lines: broken at the width of a terminal, and whole where it is none."""
    for line in lines:
        to.print(line, soft_wrap=not to.is_terminal)


def print_table(columns: Sequence[Column], rows: Sequence[Row], to: Console | None = None) -> None:
    """Print rows under titles: cut to the width of a terminal, and as plain columns, whole, where it is none."""
    to = to or console()
    print_lines(to, fitted(columns, rows, to.width if to.is_terminal else None))


def in_style(status: str, words: str | None = None) -> Text:
    """A status, or other words for it, in its colour."""
    return Text(one_line(words or status), STYLES.get(status, ""))
