"""The tool `read_input`: lists, reads and searches the job's own text inputs. Names are looked up in the job alone."""

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from app.domain.errors import ToolError
from app.domain.job import JobInput
from app.tools.tool import Arguments, Tool, ToolContext

LINES_READ = 500
LINE_CHARACTERS = 2_000
CHARACTERS_READ = 18_000
MATCHES_SHOWN = 50
MATCH_CHARACTERS = 300
_BINARY = "application/vnd.apache.parquet"


class ReadInput(Arguments):
    """Which part of which input."""

    action: Literal["list", "read", "search"] = Field(
        description="list: all inputs with their sizes. read: lines of one input. search: lines that contain a text."
    )
    name: str | None = Field(
        default=None,
        max_length=200,
        description="Exact name of an input as listed. Needed to read; leave it out to search all inputs.",
    )
    first_line: int = Field(default=1, ge=1, description="read: number of the first line, counted from 1.")
    line_count: int = Field(default=200, ge=1, le=LINES_READ, description="read: how many lines.")
    text: str | None = Field(
        default=None,
        min_length=1,
        max_length=500,
        description="search: the text to find within a line, taken literally; upper and lower case are the same.",
    )


def _listed(inputs: Sequence[JobInput]) -> str:
    lines = [f"- {item.name} ({item.media_type}, {_size(item)})" for item in inputs]
    return "\n".join(lines) or "The job has no inputs."


def _size(item: JobInput) -> str:
    if item.media_type == _BINARY:
        return "binary: use query_data"
    return f"{len(item.content)} characters, {sum(1 for _ in _lines(item.content))} lines"


def _read(arguments: ReadInput, inputs: Sequence[JobInput]) -> str:
    item = _named(arguments.name, inputs)
    lines = list(_lines(item.content))
    if arguments.first_line > len(lines):
        raise ToolError(f"{item.name} has only {len(lines)} lines", "line_unknown")
    start = arguments.first_line - 1
    shown: list[str] = []
    room = CHARACTERS_READ
    for number, line in enumerate(lines[start : start + arguments.line_count], arguments.first_line):
        room -= len(line) + 8
        if room < 0:
            break
        shown.append(f"{number}: {line}")
    last = start + len(shown)
    rest = "" if last == len(lines) else f"; continue with first_line={last + 1}"
    return "\n".join([f"{item.name}, lines {start + 1} to {last} of {len(lines)}{rest}", "", *shown])


def _searched(arguments: ReadInput, inputs: Sequence[JobInput]) -> str:
    if arguments.text is None:
        raise ToolError("search needs `text`", "argument_missing")
    items = [item for item in inputs if item.media_type != _BINARY]
    if arguments.name is not None:
        items = [_named(arguments.name, inputs)]
    wanted, shown, found = arguments.text.lower(), list[str](), 0
    for item in items:
        for number, line in enumerate(_lines(item.content), 1):
            if (at := line.lower().find(wanted)) >= 0:
                found += 1
                if found <= MATCHES_SHOWN:
                    shown.append(f"{item.name}:{number}: {_around(line, at)}")
    if not found:
        return f"No line contains {arguments.text!r}."
    more = f", of which the first {MATCHES_SHOWN} are shown" if found > MATCHES_SHOWN else ""
    return "\n".join([f"Lines that contain {arguments.text!r}: {found}{more}", "", *shown])


def _around(line: str, at: int) -> str:
    """The part of a long line that holds the match."""
    start = max(0, min(at - MATCH_CHARACTERS // 3, len(line) - MATCH_CHARACTERS))
    end = start + MATCH_CHARACTERS
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def _named(name: str | None, inputs: Sequence[JobInput]) -> JobInput:
    names = ", ".join(repr(item.name) for item in inputs) or "none"
    if name is None:
        raise ToolError(f"`name` is needed; the inputs are: {names}", "argument_missing")
    item = next((item for item in inputs if item.name == name), None)
    if item is None:
        raise ToolError(f"there is no input {name!r}; the inputs are: {names}", "input_unknown")
    if item.media_type == _BINARY:
        raise ToolError(f"{name} is binary; use query_data", "input_binary")
    return item


def _lines(text: str) -> Iterator[str]:
    """The lines of `text`; a very long one counts as several, so that every part of it can be read."""
    for line in text.removesuffix("\n").split("\n"):
        whole = line.removesuffix("\r")
        yield whole[:LINE_CHARACTERS]
        for start in range(LINE_CHARACTERS, len(whole), LINE_CHARACTERS):
            yield whole[start : start + LINE_CHARACTERS]


def _run(arguments: ReadInput, context: ToolContext) -> str:
    match arguments.action:
        case "list":
            return _listed(context.inputs)
        case "read":
            return _read(arguments, context.inputs)
        case "search":
            return _searched(arguments, context.inputs)


READ_INPUT = Tool(
    name="read_input",
    description=(
        "Lists, reads and searches the texts that came with the job. Start with action list. Reading returns "
        f"numbered lines, at most {LINES_READ} lines or {CHARACTERS_READ} characters at a time, and says where to "
        f"continue; a line longer than {LINE_CHARACTERS} characters counts as several. Searching returns at most "
        f"{MATCHES_SHOWN} matching lines with their numbers. It knows no files other than the job's inputs. To count "
        "or add up rows of a data input use query_data."
    ),
    arguments=ReadInput,
    effect="read",
    run=_run,
)
