"""The tool `read_input`: lists, reads and searches the job's own text inputs. Names are looked up in the job alone.

Documents are read as the text that they hold (`documents.py`).
"""

import asyncio
from collections.abc import Sequence
from itertools import islice
from typing import Literal

from pydantic import Field

from app.domain.errors import ToolError
from app.domain.job import JobInput
from app.domain.lines import LINE_CHARACTERS, lines_of
from app.domain.media_types import document_kind
from app.tools.documents import Documents, Readable
from app.tools.likeness import folded, reads_the_same
from app.tools.line_search import matches
from app.tools.query_data import format_of
from app.tools.tool import Arguments, Tool, ToolContext

LINES_READ = 500
CHARACTERS_READ = 18_000
MATCHES_SHOWN = 50
MATCHES_COUNTED = 5_000
WAIT_S = 150
"""For a place in the sandbox and for the work, where the input is a document."""


class ReadInput(Arguments):
    """Which part of which input."""

    action: Literal["list", "read", "search"] = Field(
        description="list: all inputs with their sizes. read: lines of one input. search: lines that contain a text."
    )
    name: str | None = Field(
        default=None,
        max_length=200,
        description="Name of an input as listed. Needed to read; leave it out to search all inputs.",
    )
    first_line: int = Field(default=1, ge=1, description="read: number of the first line, counted from 1.")
    line_count: int = Field(default=200, ge=1, le=LINES_READ, description="read: how many lines.")
    text: str | None = Field(
        default=None,
        min_length=1,
        max_length=500,
        description=(
            "search: the text to find within a line, taken literally, but for typography: case, kinds of quotes, "
            "hyphens and spaces, and forms of letters make no difference."
        ),
    )


def _listed(inputs: Sequence[JobInput]) -> str:
    lines = [f"- {item.name} ({item.media_type}, {_size(item)})" for item in inputs]
    return "\n".join(lines) or "The job has no inputs."


def _size(item: JobInput) -> str:
    if _is_binary(item):
        return "binary: use query_data"
    if kind := document_kind(item.media_type, item.content):
        return f"{kind} of about {len(item.content) * 3 // 4} bytes: read and search it as text"
    lines = lines_of(item.content).count
    return f"{len(item.content)} characters, {lines} line{'' if lines == 1 else 's'}"


def _read(arguments: ReadInput, item: Readable) -> str:
    if item.problem is not None:
        raise item.problem
    lines = lines_of(item.text)
    if arguments.first_line > lines.count:
        raise ToolError(f"{item.name} has only {lines.count} lines", "line_unknown")
    shown: list[str] = []
    room = CHARACTERS_READ
    wanted = islice(lines.from_line(arguments.first_line), arguments.line_count)
    for number, line in enumerate(wanted, arguments.first_line):
        room -= len(line) + 8
        if room < 0:
            break
        shown.append(f"{number}: {line}")
    last = arguments.first_line + len(shown) - 1
    rest = "" if last == lines.count else f"; continue with first_line={last + 1}"
    head = f"{item.name}, lines {arguments.first_line} to {last} of {lines.count}{rest}"
    return "\n".join([head, "", *shown])


def _wanted(text: str | None) -> str:
    """What a search looks for, in the form that texts are compared in. Raises `ToolError`."""
    if text is None:
        raise ToolError("search needs `text`", "argument_missing")
    if not (wanted := folded(text.replace("\n", " "))):
        raise ToolError("`text` holds nothing that can be seen", "argument_missing")
    return wanted


def _searched(text: str | None, wanted: str, items: Sequence[Readable]) -> str:
    places = ((item, place) for item in items for place in matches(lines_of(item.text), wanted))
    shown = [f"{item.name}:{place.number}: {place.text}" for item, place in islice(places, MATCHES_SHOWN)]
    unread = [f"Not searched: {item.problem.message}" for item in items if item.problem is not None]
    if not shown:
        return "\n".join([f"No line contains {text!r}.", *unread])
    further = sum(1 for _ in islice(places, MATCHES_COUNTED - MATCHES_SHOWN))
    found = len(shown) + further
    count = f"{found} or more" if found == MATCHES_COUNTED else str(found)
    more = f", of which the first {MATCHES_SHOWN} are shown" if further else ""
    return "\n".join([f"Lines that contain {text!r}: {count}{more}", "", *shown, *unread])


def _is_binary(item: JobInput) -> bool:
    return format_of(item) == "parquet"


def _named(name: str | None, inputs: Sequence[JobInput]) -> JobInput:
    names = ", ".join(repr(item.name) for item in inputs) or "none"
    if name is None:
        raise ToolError(f"`name` is needed; the inputs are: {names}", "argument_missing")
    same = [item for item in inputs if item.name == name] or [
        item for item in inputs if reads_the_same(item.name, name)
    ]
    if not same:
        raise ToolError(f"there is no input {name!r}; the inputs are: {names}", "input_unknown")
    if _is_binary(same[0]):
        raise ToolError(f"{name} is binary; use query_data", "input_binary")
    return same[0]


def read_input(documents: Documents) -> Tool:
    """The tool, with documents turned into text by `documents`."""

    async def run(arguments: ReadInput, context: ToolContext) -> str:
        if arguments.action == "list":
            return await asyncio.to_thread(_listed, context.inputs)
        if arguments.action == "read":
            [item] = await documents.readable([_named(arguments.name, context.inputs)])
            return await asyncio.to_thread(_read, arguments, item)
        wanted = _wanted(arguments.text)
        items = [item for item in context.inputs if not _is_binary(item)]
        if arguments.name is not None:
            items = [_named(arguments.name, context.inputs)]
        readable = await documents.readable(items)
        if len(readable) == 1 and readable[0].problem is not None:
            raise readable[0].problem
        return await asyncio.to_thread(_searched, arguments.text, wanted, readable)

    return Tool(
        name="read_input",
        description=(
            "Lists, reads and searches the texts that came with the job. Start with action list. Reading returns "
            f"numbered lines, at most {LINES_READ} lines or {CHARACTERS_READ} characters at a time, and says where to "
            f"continue; a line longer than {LINE_CHARACTERS} characters counts as several. Searching returns at most "
            f"{MATCHES_SHOWN} matching lines with their numbers. It knows no files other than the job's inputs. To "
            "count or add up rows of a data input use query_data."
        ),
        arguments=ReadInput,
        effect="read",
        reads="inputs",
        run=run,
        timeout_s=WAIT_S,
    )
