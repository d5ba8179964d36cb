"""A trace on one time axis: a line for each task, attempt and call, and a bar for the time that it took."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from app.terminal.text import one_line
from app.terminal.words import duration, moment

Span = Mapping[str, Any]

BARS = {"llm": "▒", "tool": "░", "attempt": "▓"}
WHOLE = "█"
_STYLES = {"task": "bold", "llm": "cyan", "tool": "green", "attempt": "blue"}
_NARROW = 60
"""Characters of a line in which each level is set in by one of them only."""
_LEAST_LABEL, _LEAST_BAR = 12, 8
_GAP = 1
_TICK_EVERY = 16
"""Characters of the axis for each time that is named on it."""
LEGEND = "█ run, plan, task, synthesis   ▓ attempt   ▒ model   ░ tool"


@dataclass(frozen=True, slots=True)
class Lane:
    """A line of the waterfall."""

    label: Text
    begin: float
    """Seconds since the run began."""
    end: float
    kind: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Axis:
    """The time that is shown, and the room for it."""

    seconds: float
    characters: int

    def bar(self, lane: Lane) -> Text:
        """The time of a lane; what is shorter than a character is one."""
        first = min(int(lane.begin / self.seconds * self.characters), self.characters - 1)
        behind = max(round(lane.end / self.seconds * self.characters), first + 1)
        drawn = BARS.get(lane.kind, WHOLE) * (behind - first)
        bar = Text(" " * first)
        bar.append(drawn, "red" if lane.failed else _STYLES.get(lane.kind, ""))
        return bar

    def ticks(self) -> str:
        """The times along it."""
        count = max(self.characters // _TICK_EVERY, 1)
        places = [number * self.characters // count for number in range(count)]
        line = ""
        for place, behind in pairwise([*places, self.characters]):
            named = duration(1000 * self.seconds * place / self.characters) if place else "0"
            line += f"│{named}"[: behind - place].ljust(behind - place)
        return line


def waterfall(trace: Mapping[str, Any], width: int) -> list[Text]:
    """The lines, none of them wider than `width`."""
    lanes = [*lanes_of(trace, " " if width < _NARROW else "  ")]
    seconds = max((lane.end for lane in lanes), default=0) or 0.001
    times = [duration(1000 * (lane.end - lane.begin)) for lane in lanes]
    right = max([len(each) for each in times], default=0)
    room = max(width - right - 2 * _GAP, _LEAST_LABEL + _LEAST_BAR)
    left = min(max((lane.label.cell_len for lane in lanes), default=0), max(_LEAST_LABEL, int(room * 0.45)))
    axis = Axis(seconds, room - left)
    lines = [Text(" " * (left + _GAP) + axis.ticks().rstrip(), "dim")]
    for lane, time in zip(lanes, times, strict=True):
        line = Text().append_text(lane.label)
        line.truncate(left, overflow="ellipsis")
        line.append(" " * (left - line.cell_len + _GAP))
        line.append_text(axis.bar(lane))
        line.append(" " * max(left + _GAP + axis.characters + _GAP + right - len(time) - line.cell_len, 1))
        line.append(time, "dim")
        lines.append(line)
    for line in lines:
        line.truncate(width)
    legend = LEGEND if cell_len(LEGEND) <= width else LEGEND.replace("run, plan, task, synthesis", "task")
    return [*lines, Text(legend, "dim")]


def lanes_of(trace: Mapping[str, Any], within: str) -> Iterator[Lane]:
    """Every span under the one that it belongs to, set in by `within`. A single attempt is the line of its task."""
    begun = moment(trace["run"]["created_at"])
    known = {span["id"] for span in trace["spans"]}
    inside: dict[str | None, list[Span]] = {}
    for span in trace["spans"]:
        inside.setdefault(span["parent_id"] if span["parent_id"] in known else None, []).append(span)
    until = _latest(trace["spans"], begun)
    left = [(span, 0) for span in reversed(_in_time(inside.get(None, ())))]
    while left:
        span, depth = left.pop()
        inner = _in_time(inside.get(span["id"], ()))
        attempts = [each for each in inner if each["kind"] == "attempt"]
        if span["kind"] == "task" and len(attempts) == 1:
            alone = attempts[0]
            inner = _in_time([*(each for each in inner if each is not alone), *inside.get(alone["id"], ())])
        left += [(each, depth + 1) for each in reversed(inner)]
        yield _lane(span, within * depth, begun, until)


def _lane(span: Span, indent: str, begun: datetime, until: datetime) -> Lane:
    end = moment(span["finished_at"]) if span["finished_at"] else until
    failed = span["status"] == "error"
    label = Text(indent)
    label.append("✗ " if failed else "", "red")
    label.append(_named(span), _STYLES.get(span["kind"], ""))
    if failed:
        label.append(f" {one_line(str(span['attributes'].get('error_code') or ''))}".rstrip(), "red")
    elif not span["finished_at"]:
        label.append(" …", "yellow")
    begin = (moment(span["started_at"]) - begun).total_seconds()
    return Lane(label, max(begin, 0), max((end - begun).total_seconds(), begin, 0), span["kind"], failed)


def _named(span: Span) -> str:
    attributes = span["attributes"]
    match span["kind"]:
        case "task":
            return one_line(f"{attributes.get('task_id', '')} {span['name']}")
        case "attempt":
            return one_line(f"attempt {attributes.get('number', '')} · {attributes.get('worker', '')}")
    return one_line(span["name"])


def _in_time(spans: Sequence[Span]) -> list[Span]:
    return sorted(spans, key=lambda span: moment(span["started_at"]))


def _latest(spans: Sequence[Span], begun: datetime) -> datetime:
    return max([begun, *(moment(span["finished_at"] or span["started_at"]) for span in spans)])
