"""How commands print: tables that fit the terminal, columns for programs, and JSON."""

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.terminal.text import as_json, one_line

STATUS_STYLES = {
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
GAP = 2
"""Spaces between columns."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    title: str
    side: Literal["left", "right"] = "left"
    is_cut: bool = False
    """Whether it gives way where the terminal is narrow; the others keep their width."""


def console() -> Console:
    """Standard output: in colours where it is a terminal that wants them, and without any markup in texts."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # A character that the terminal cannot show is no reason to stop.
    return Console(markup=False, emoji=False, highlight=False, soft_wrap=not sys.stdout.isatty())


def print_json(document: Any) -> None:
    """Print a document of the API as it is."""
    typer.echo(as_json(document))


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[str | Text]], to: Console | None = None) -> None:
    """Print rows: cut to the width of a terminal, and as plain columns, whole, where it is none."""
    to = to or console()
    shown = [[_cell(each) for each in row] for row in rows]
    if not to.is_terminal:
        _print_columns(columns, shown, to)
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, GAP, 0, 0), show_edge=False)
    for column in columns:
        table.add_column(
            column.title, justify=column.side, no_wrap=True, overflow="ellipsis", ratio=1 if column.is_cut else None
        )
    for row in shown:
        table.add_row(*row)
    to.print(table)


def status_text(status: str) -> Text:
    """A status in its colour."""
    return Text(one_line(status), STATUS_STYLES.get(status, ""))


def terminal_width() -> int:
    """Characters of a line."""
    return shutil.get_terminal_size().columns


def _cell(value: str | Text) -> Text:
    return value if isinstance(value, Text) else Text(one_line(value))


def _print_columns(columns: Sequence[Column], rows: Sequence[Sequence[Text]], to: Console) -> None:
    lines = [[column.title for column in columns], *([cell.plain for cell in row] for row in rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
    for line in lines:
        cells = [
            cell.rjust(width) if column.side == "right" else cell.ljust(width)
            for column, cell, width in zip(columns, line, widths, strict=True)
        ]
        to.print((" " * GAP).join(cells).rstrip(), soft_wrap=True)
