"""What a task gives the demo model to go by: queries and questions that it lists, and the lines it is shown."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.placeholders import unquoted
from app.llm.demo_prompts import ToolResults, skimmed
from app.llm.demo_texts import Line, lines_in

QUERIES_RUN = 6
LETTERS = 4
"""Of words that are compared: their endings change with the sentence."""

_QUERY = re.compile(r"`\s*((?:SELECT|WITH)\b[^`]{10,4000})`")
_QUESTION = re.compile(r"^[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]+(?:([a-z][\w-]{1,39}):[ \t]+)?(\S.*\?)", re.MULTILINE)
_SHOWN_HEAD = re.compile(r'^("(?:[^"\\]|\\.)*")(?: in ("(?:[^"\\]|\\.)*"))?, lines [\d-]+(?:, .*)?:$')
_SHOWN_ROW = re.compile(r"^ *(\d*)\| (.*)$")
_LABEL = re.compile(r"^\W{0,4}([A-Za-z][A-Za-z _-]{1,30}):\W{0,4}\s(\S.{0,150})$")
_MEASURED = re.compile(r"^(\d+(?:\.\d+)?)(?![\d.-]) ?([^\W\d]\S*|%)?,?\s*(.*)$")
_UNMEASURED = dict.fromkeys(("value", "number", "written_unit", "note"))
_ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)]|#{2,6})\s+(\S.*)$")
_FIGURE = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w,])|(?<![\w.,])\d+(?:\.\d+)?(?![\w]|[.,]\d)")
_ASKS_FIGURE = re.compile(
    r"\b(?:how (?:much|many|long|quickly|large)|costs?|prices?|percent|limit|number|share)\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]{3,}")
_EMPTY = frozenset({
    "and", "are", "can", "does", "for", "from", "has", "have", "how", "its", "many", "much", "not", "per", "that",
    "the", "they", "this", "what", "when", "which", "who", "with",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shown:
    """A part of an input that a task made by a template shows: each line with its number, where it has one."""

    input: str
    name: str
    rows: Sequence[tuple[int | None, str]]


def queries_in(task: str) -> list[str]:
    """The SQL that a task says between backquotes, each once."""
    return list(dict.fromkeys(" ".join(found.split()) for found in _QUERY.findall(task)))[:QUERIES_RUN]


def questions_in(task: str) -> dict[str, str]:
    """The questions that a task lists, by what they are called: the word before the colon, or themselves."""
    return {label or question.strip(): question.strip() for label, question in _QUESTION.findall(skimmed(task))}


def shown_in(context: str) -> list[Shown]:
    """The parts of inputs that a task made by a template holds. What stands behind no number and bar ends a part."""
    found: list[Shown] = []
    rows: list[tuple[int | None, str]] | None = None
    for line in context.split("\n"):
        row = _SHOWN_ROW.match(line)
        if head := _SHOWN_HEAD.match(line):
            rows = []
            found.append(Shown(unquoted(head[2] or head[1]), unquoted(head[1]), rows))
        elif row is None:
            rows = None
        elif rows is not None:
            rows.append((int(row[1]) if row[1] else None, row[2]))
    return found


def lines_shown(context: str) -> Iterator[Line]:
    """The lines of inputs that such a task holds, those with numbers."""
    for each in shown_in(context):
        yield from (Line(each.input, number, text) for number, text in each.rows if number is not None)


def lines_read(answers: ToolResults, inputs: Sequence[str]) -> Iterator[Line]:
    """The lines of inputs that were read."""
    for call, output, failed in answers:
        if call["name"] == "read_input" and call["input"].get("action") == "read" and not failed:
            name = call["input"].get("name")
            yield from lines_in(output, [name] if name else inputs)


def labelled(lines: Sequence[Line], name: str) -> str | None:
    """What stands behind the name and a colon, in the first line that begins so."""
    wanted = name.replace("_", " ").casefold()
    for line in lines:
        found = _LABEL.match(line.text)
        if found and found[1].strip().casefold() == wanted:
            return found[2].strip(" *_")
    return None


def entries_of(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """What stands behind labels and colons: an item, and a figure with its unit or a value; and how often a dose is."""
    entries: list[dict[str, Any]] = []
    for line in lines:
        if (told := _LABEL.match(line.text)) is None:
            continue
        item = told[1].strip().casefold()
        place = {"source": line.source, "line": line.number, "quote": line.text}
        measured = _measured(told[2].strip(" *_"))
        entries.append({"item": item, **place, **measured})
        if item.endswith(" dose") and (note := measured["note"]):
            often = {"item": f"{item.removesuffix(' dose')} frequency", "value": note.partition(",")[0]}
            entries.append({**_UNMEASURED, **place, **often})
    return entries


def _measured(text: str) -> Mapping[str, Any]:
    figure = _MEASURED.match(text)
    if figure is None:
        return {**_UNMEASURED, "value": text}
    return {"value": None, "number": figure[1], "written_unit": figure[2] or "none", "note": figure[3] or None}


def items_of(lines: Sequence[Line]) -> list[tuple[str, Line, Sequence[Line]]]:
    """The entries of lists and the headings without their marks, each with the lines from there to the next one.

    Headings alone where there are any.
    """
    found = [(item[1].strip(" *_"), place) for place, line in enumerate(lines) if (item := _ITEM.match(line.text))]
    headings = [each for each in found if lines[each[1]].text.lstrip().startswith("#")]
    kept = headings or found
    ends = [place for _, place in kept[1:]] + [len(lines)]
    return [
        (text, lines[place], [line for line in lines[place:end] if line.source == lines[place].source])
        for (text, place), end in zip(kept, ends, strict=True)
    ]


def figure_before(name: str, lines: Sequence[Line]) -> str | None:
    """The figure that stands before a word in the first line that has one: 60, of "60 minutes" for `minutes`."""
    pattern = re.compile(rf"(?<![\w.,])(\d+(?:\.\d+)?) {re.escape(name)}\b", re.IGNORECASE)
    return next((found[1] for line in lines if (found := pattern.search(line.text))), None)


def answers_in(lines: Sequence[Line], questions: Mapping[str, str]) -> dict[str, Line]:
    """The lines that answer questions, by what these are called: each the one that has most of its words, two at least.

    What a question is called counts twice. A line answers one question, the one that it fits best.
    """
    scores = [
        (score, -place, -nth)
        for nth, (label, question) in enumerate(questions.items())
        for place, own in enumerate(map(_told, lines))
        if (score := _score(stems_of(question), stems_of(label), own))
    ]
    found: dict[str, Line] = {}
    labels = list(questions)
    for _, place, nth in sorted(scores, reverse=True):
        if labels[-nth] not in found and lines[-place] not in found.values():
            found[labels[-nth]] = lines[-place]
    return found


def _score(words: frozenset[str], named: frozenset[str], own: frozenset[str]) -> int:
    return len(words & own) + 2 * len(named & own) if len((words | named) & own) > 1 else 0


def figure_in(text: str, question: str) -> str | None:
    """The one figure of a text, where the question asks for such."""
    figures = _FIGURE.findall(text)
    return figures[0].replace(",", "") if len(figures) == 1 and _ASKS_FIGURE.search(question) else None


def _told(line: Line) -> frozenset[str]:
    """The words of a line that says something: a heading and a question do not."""
    is_answer = not line.text.lstrip().startswith("#") and not line.text.rstrip().endswith("?")
    return stems_of(line.text) if is_answer else frozenset()


def stems_of(text: str) -> frozenset[str]:
    """The words of a text that say something, without their endings."""
    words = (word.casefold() for word in _WORD.findall(text))
    return frozenset(word[:LETTERS] for word in words if word not in _EMPTY)
