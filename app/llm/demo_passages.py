"""How the demo model takes passages out of documents, and holds those of one document against those of another.

A passage is a numbered clause, a paragraph or a row, as it stands. Two are about the same thing when they share words
beyond those of their headings, and deviate when they give different figures in one unit: more no rule can tell.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.llm.demo_findings import finding_at
from app.llm.demo_material import stems_of
from app.llm.demo_prompts import lists_in
from app.llm.demo_texts import Line

QUOTE_CHARACTERS = 600
HEADING_CHARACTERS = 60
WORDS_SHARED = 3
"""By passages with their headings, to be about the same thing."""
WORDS_QUOTED = 2
"""By the passages themselves, units aside: one heading may stand over several things."""

_SUBJECTS = re.compile(r"\bsubjects: (.+?)(?:\.(?:\s|$)|$)", re.DOTALL)
_MARK = re.compile(r"^\[((?:page|paragraph|table) \d{1,9}(?:, row \d{1,9})?)[^\]]{0,40}\] ?")
_NUMBERED = re.compile(r"^(?:#{1,6}\s+)?((?:§\s?)?[A-Z]{0,2}\d{1,3}(?:\.\d{1,3}){0,4})[.)]?\s+([^\W\d].*)$")
_BARE = re.compile(r"^\d+\s+[^\W\d_A-ZÄÖÜ]")
"""A figure at the beginning of a line, in the middle of a sentence."""
_SENTENCE = re.compile(r"[.;:]\s|[.;]$")
_FIGURE = re.compile(
    r"(?<![\w.,])(\d+(?:[.,]\d+)*)\)?\s*(?:business |working )?(%|percent|hours?|days?|weeks?|months?|years?)",
    re.IGNORECASE,
)

_ANYWHERE = stems_of(
    "after any before business days hours less may months more must other percent than weeks within without working"
    " years"
)
"""Words, and units, that say nothing of what a passage is about."""

Record = Mapping[str, Any]


@dataclass
class _Passage:
    number: str | None
    heading: str | None
    mark: str | None
    lines: list[tuple[Line, str]] = field(default_factory=list)

    @property
    def told(self) -> dict[str, Any]:
        first, last = self.lines[0][0], self.lines[-1][0]
        quote = "\n".join(text for _, text in self.lines)[:QUOTE_CHARACTERS]
        place = {"source": first.source, "line": first.number, "end_line": last.number}
        return {"number": self.number, "heading": self.heading, "mark": self.mark, "quote": quote} | place


def subjects_in(task: str) -> list[str]:
    """The subjects that a task lists, behind that word and a colon."""
    found = _SUBJECTS.search(task)
    return [each.strip() for each in found[1].split(",")] if found else []


def passages_of(lines: Sequence[Line], subjects: Sequence[str]) -> list[Record]:
    """The passages on these subjects; all of them where none is named."""
    every = [each.told for each in _parted(lines)]
    wanted = [words for subject in subjects if (words := stems_of(subject))]
    return [each for each in every if not wanted or any(words <= _words(each) for words in wanted)]


def _parted(lines: Sequence[Line]) -> Iterator[_Passage]:
    """The passages, in order. A line without a number goes on with the one before, and a paragraph does not."""
    now, heading, number, page = _Passage(None, None, None), None, None, None
    for line in lines:
        marked = _MARK.match(line.text)
        text = line.text[marked.end() :] if marked else line.text
        page = marked[1] if marked else page
        numbered = None if _BARE.match(text) or _FIGURE.match(text) else _NUMBERED.match(text)
        if numbered or (marked and not marked[1].startswith("page")):
            if now.lines:
                yield now
            if numbered and len(numbered[2]) <= HEADING_CHARACTERS and not _SENTENCE.search(numbered[2]):
                number, heading = numbered[1], numbered[2]
                now = _Passage(number, heading, page)
                continue
            now = _Passage(numbered[1] if numbered else number, heading, page)
        if text.strip():
            now.mark = now.mark if now.lines else page
            now.lines.append((line, text))
    if now.lines:
        yield now


def deviations(results: Sequence[Record]) -> list[dict[str, Any]] | None:
    """Findings where passages of the first result and those of other documents give different figures about the same
    thing, of which there are none in a single document; None where there are no passages."""
    told = [each for result in results for each in _passages_in(result)]
    if not told:
        return None
    measure = [each for each in told if each["source"] == told[0]["source"]]
    others = [each for each in told if each["source"] != told[0]["source"]]
    found = [
        _finding(rule, clause)
        for source in dict.fromkeys(each["source"] for each in others)
        for rule, clause in _pairs(measure, [each for each in others if each["source"] == source])
        if _differ(rule, clause)
    ]
    return [each for n, each in enumerate(found) if each not in found[:n]]


def _pairs(rules: Sequence[Record], clauses: Sequence[Record]) -> Iterator[tuple[Record, Record]]:
    """Those that are each other's closest."""
    for rule in rules:
        clause = _closest(rule, clauses)
        if clause is not None and _closest(clause, rules) == rule:
            yield rule, clause


def _passages_in(result: Record) -> Iterator[Record]:
    held = lists_in(result.get("data")).get("passages", ())
    yield from (each for each in held if {"source", "line", "quote"} <= each.keys())


def _closest(passage: Record, others: Sequence[Record]) -> Record | None:
    """The one that shares most with a passage: words of the headings count twice."""
    alike = [each for each in others if len(_quoted(passage) & _quoted(each)) >= WORDS_QUOTED]
    best = max(alike, key=lambda each: _likeness(passage, each), default=None)
    return best if best is not None and _likeness(passage, best) >= WORDS_SHARED else None


def _likeness(one: Record, other: Record) -> int:
    heads = [stems_of(str(each.get("heading") or "")) for each in (one, other)]
    return len(_words(one) & _words(other)) + 2 * len(heads[0] & heads[1])


def _quoted(passage: Record) -> frozenset[str]:
    return stems_of(passage["quote"]) - _ANYWHERE


def _words(passage: Record) -> frozenset[str]:
    return stems_of(f"{passage.get('heading') or ''} {passage['quote']}")


def _differ(one: Record, other: Record) -> bool:
    """Whether both have figures in a unit, and none in common there."""
    figures = _figures(one["quote"]), _figures(other["quote"])
    return any(figures[0][unit].isdisjoint(figures[1][unit]) for unit in figures[0].keys() & figures[1].keys())


def _figures(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for value, unit in _FIGURE.findall(text):
        found.setdefault(unit.lower().rstrip("s").replace("percent", "%"), set()).add(value)
    return found


def _shown(passage: Record) -> str:
    figures = ", ".join(f"{value} {unit}" for value, unit in _FIGURE.findall(passage["quote"]))
    number = f" {passage['number']}" if passage.get("number") else ""
    return f"{passage['source']}{number} says {figures}"


def _finding(rule: Record, clause: Record) -> dict[str, Any]:
    place = {"input": clause["source"], "path": None, "line": clause["line"], "end_line": clause["end_line"]}
    return finding_at(
        place,
        clause["quote"],
        severity="warning",
        message=f"{_shown(clause)}, and {_shown(rule)}. Which of them holds takes a language model.",
        category=str(rule.get("heading") or "figures"),
        suggestion="Compare the two passages.",
    )
