"""Contradictions between structured results: the same field of the same thing with different values.

The rule has to be quiet where nothing is wrong. Two results are compared only where they speak of the same thing: their
`data`, or objects in its lists, have an identifying field (`id`, `name`, `company` …) and agree in all of those; or
neither has one, and their tasks had the same instruction. Remarks are not compared, nor are long texts, roundings of
one number, and texts of which one says more, unless that is a "not". A task that was given the other's result may have
corrected it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from app.domain.figures import rounded_alike
from app.domain.results import Claim, Conflict
from app.domain.text import plain_words, shorten

CONFLICTS_ALLOWED = 20
"""Conflicts that are found in the results of one run: where there are more, something else is wrong."""
OBJECTS_COMPARED = 2_000
"""Objects that are looked at in the data of one task."""
TEXT_COMPARED = 60
"""Characters of a text that is taken for a value: a longer one is put in other words by everybody."""
VALUE_SHOWN = 200

IDENTIFYING = frozenset({
    "id", "key", "name", "title", "subject", "entity", "item", "company", "organisation", "organization", "product",
    "sku", "customer", "supplier", "vendor", "invoice", "invoice_id", "invoice_number", "order", "order_id",
    "document", "file", "path", "person", "country", "city", "region", "year", "quarter", "month", "period", "date",
    "question", "ticket", "currency", "unit",
})  # fmt: skip
"""Names of fields that say what an object is about."""
REMARKS = frozenset({
    "confidence", "certainty", "score", "notes", "note", "comment", "comments", "remark", "remarks", "reason",
    "reasons", "rationale", "reasoning", "explanation", "summary", "description", "text", "source", "sources",
    "evidence", "quote", "url", "urls", "link", "links", "citation", "citations", "method", "retrieved_at",
    "checked_at", "accessed", "timestamp", "line",
})  # fmt: skip
"""Names of fields that each worker fills in its own way."""

NEGATIONS = frozenset({
    "not", "no", "non", "none", "never", "nothing", "nor", "without", "ex", "former", "formerly", "denies", "denied",
    "stopped", "discontinued", "kein", "keine", "keinen", "nicht", "nie", "ohne",
})  # fmt: skip
"""Words by which a text says otherwise than the same text without them."""

Subject = tuple[tuple[str, str], ...]
"""What an object is about: its identifying fields with their values, in plain words."""
Value = str | int | float | bool


class _About(NamedTuple):
    subject: Subject
    written: tuple[str, ...]
    """The same as it was written first: what is shown."""


@dataclass(frozen=True, slots=True)
class Source:
    """A structured result, and what is to be known of where it comes from."""

    task: str
    data: Any
    instruction: str
    seen: frozenset[str] = frozenset()
    """Tasks whose results this one was given, directly or through others."""


@dataclass(frozen=True, slots=True)
class _Said:
    task: str
    value: Value


def contradictions(sources: Sequence[Source]) -> list[Conflict]:
    """What structured results disagree about, in the order of the results."""
    said: dict[tuple[Subject, str], list[_Said]] = {}
    written: dict[Subject, tuple[str, ...]] = {}
    for source in sources:
        for about, name, value in _facts(source):
            written.setdefault(about.subject, about.written)
            said.setdefault((about.subject, name), []).append(_Said(source.task, value))
    seen = {source.task: source.seen for source in sources}
    found = [
        Conflict(id=f"k{number}", topic=_topic(written[subject], name), claims=claims, status="unresolved")
        for number, (subject, name, claims) in enumerate(_disputed(said, seen), 1)
    ]
    return found[:CONFLICTS_ALLOWED]


def _disputed(
    said: Mapping[tuple[Subject, str], Sequence[_Said]], seen: Mapping[str, frozenset[str]]
) -> Iterator[tuple[Subject, str, tuple[Claim, ...]]]:
    for (subject, name), values in said.items():
        if _repeats_itself(values):
            continue
        disputed: dict[str, Value] = {}
        for one, other in combinations(values, 2):
            related = one.task in seen[other.task] or other.task in seen[one.task]
            if not related and _differ(one.value, other.value):
                disputed |= {one.task: one.value, other.task: other.value}
        if disputed:
            agreeing = {each.task: each.value for each in values if _agrees(each, disputed, seen)}
            told = {each.task: each.value for each in values if each.task in disputed or each.task in agreeing}
            yield subject, name, tuple(Claim(task=task, claim=in_words(value)) for task, value in told.items())


def _agrees(said: _Said, disputed: Mapping[str, Value], seen: Mapping[str, frozenset[str]]) -> bool:
    """Whether it says what one of the disputed claims says, and was not told by another."""
    return not seen[said.task] & disputed.keys() and not all(_differ(said.value, each) for each in disputed.values())


def _repeats_itself(values: Sequence[_Said]) -> bool:
    """Whether one result says several things of it: then the identifying fields do not identify."""
    tasks = [each.task for each in values]
    return len(set(tasks)) < 2 or len(set(tasks)) < len(tasks)


def in_words(value: Value) -> str:
    """A value as a claim shows it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return shorten(value, VALUE_SHOWN)[0] if isinstance(value, str) else f"{value:.15g}"


def _topic(written: Sequence[str], name: str) -> str:
    of = ", ".join(written)
    return shorten(f"{name.replace('_', ' ')} of {of}" if of else name.replace("_", " "), VALUE_SHOWN)[0]


def _facts(source: Source) -> Iterator[tuple[_About, str, Value]]:
    """What a result says of what, field by field."""
    anonymous: Subject = (("", plain_words(source.instruction)),)
    for place, thing in _objects(source.data):
        fields = {name: value for name, value in thing.items() if isinstance(value, Value)}
        named = [(name, in_words(value)) for name, value in sorted(fields.items()) if name.casefold() in IDENTIFYING]
        subject = tuple((name, plain_words(value)) for name, value in named)
        if not subject and place:
            continue  # One of several that nothing tells apart.
        about = _About((*subject, *place), tuple(value for _, value in named)) if subject else _About(anonymous, ())
        for name, value in fields.items():
            is_text = isinstance(value, str) and (not value.strip() or len(value) > TEXT_COMPARED)
            if name.casefold() not in IDENTIFYING | REMARKS and not is_text:
                yield about, name, value


def _objects(data: Any) -> Iterator[tuple[Subject, Mapping[str, Any]]]:
    """The objects that speak of something: the data themselves, and those in their lists."""
    if isinstance(data, dict):
        yield (), data
        left = OBJECTS_COMPARED
        for name, value in data.items():
            if isinstance(value, list):
                yield from ((((("", name),)), item) for item in value[:left] if isinstance(item, dict))
                left -= min(len(value), left)
    elif isinstance(data, list):
        yield from (((("", "list"),), item) for item in data[:OBJECTS_COMPARED] if isinstance(item, dict))


def _differ(one: Value, other: Value) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return isinstance(one, bool) and isinstance(other, bool) and one is not other
    if isinstance(one, str) and isinstance(other, str):
        first, second = plain_words(one), plain_words(other)
        return bool(first and second) and not (_says_all_of(first, second) or _says_all_of(second, first))
    if isinstance(one, str) or isinstance(other, str):
        return False  # Different forms: which of them is meant to be a number is anybody's guess.
    return (one < 0) != (other < 0) or not rounded_alike(one, other)


def _says_all_of(text: str, other: str) -> bool:
    """Whether a text says what another says, and maybe more: it stands there from the beginning of a word on, so that
    5 is not in 15, g not in mg and known not in unknown, and neither of them denies more than the other."""
    if re.search(rf"(?<!\w){re.escape(other)}(?!\d)", text) is None:
        return False
    denied, denied_by_other = (sum(word in NEGATIONS for word in each.split()) for each in (text, other))
    return denied == denied_by_other
