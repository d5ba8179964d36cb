"""What an objective asks for, as far as its words tell: the demo model's stand-in for understanding."""

import re
from dataclasses import dataclass

from app.llm.demo_arithmetic import expressions_in
from app.llm.demo_prompts import skimmed

SUBJECT_CHARACTERS = 90


def stems(*words: str) -> re.Pattern[str]:
    """Matches a word that begins with one of these."""
    return re.compile(rf"\b(?:{'|'.join(words)})", re.IGNORECASE)


_FACTS = stems(
    "research", "compar", "contrast", "find", "investigat", "look", "sources?\\b", "evidence", "review", "survey",
    "diagnos", "cause", "options?\\b", "evaluat", "assess", "report", "article", "overview", "brief", "news", "versus",
    "vs\\b", "vergleich", "such", "finde", "lies\\b", "steht",
)  # fmt: skip
_OUTSIDE = stems(
    "web\\b", "online", "public", "markets?\\b", "latest", "current", "competitor", "industry", "news", "https?:"
)
_FIGURES = stems(
    "calculat", "comput", "how much", "how many", "total", "sum\\b", "average", "mean\\b", "median", "percent",
    "growth", "forecast", "costs?\\b", "prices?\\b", "revenue", "budget", "figures?\\b", "statistic", "trend",
    "summe", "wie ?viel", "durchschnitt", "umsatz",
)  # fmt: skip
_WRITING = stems(
    "writ", "draft", "report", "letter", "e-?mail", "article", "essay", "blog", "memo", "proposal", "repl(?:y|ies)",
    "answer the", "summar", "document", "explain", "translat", "rewrit", "announce", "poem", "haiku", "story",
    "recommend", "schreib", "fasse", "übersetz", "erklär", "gedicht",
)  # fmt: skip
_HAND_OVER = stems("escalat", "hand ?over", "hand it over")
_KINDS = re.compile(
    r"\b(?:report|letter|e-?mail|article|essay|blog post|memo|proposal|reply|summary|translation|announcement"
    r"|poem|haiku|story|recommendation|review|explanation)\b",
    re.IGNORECASE,
)
_UNNAMED_KINDS = {
    "review": "review", "recommend": "recommendation", "translat": "translation", "explain": "explanation",
    "evaluat": "evaluation", "assess": "assessment", "rewrit": "new version", "summari": "summary",
}  # fmt: skip
"""What is to be written where only a verb says so."""
_PLAIN = r"(?:summary|report|overview|answer|comparison|table|list|brief|zusammenfassung|bericht|übersicht)\b"

MAKING = re.compile(
    rf"\b(?:(?:writ|draft|compos|schreib|verfass)\w*\b(?!\W+(?:\w+\W+){{0,3}}?{_PLAIN})"
    r"|(?:explain|translat|rewrit|rephras|review|recommend|evaluat|assess|judg|critici|advis|brainstorm|announc"
    r"|answer the (?:customer|client|mail|ticket)|reply to|poem|haiku|essay|übersetz|erklär|bewert|empf[ei]hl|gedicht)"
    r"\w*)",
    re.IGNORECASE,
)
"""Asks for something that no figure and no quotation answers."""
RETELLING = re.compile(rf"\b(?:summari|sum up|outline|compar|analy|{_PLAIN}|fasse|zusammen|vergleich)", re.IGNORECASE)
"""Asks for what figures can be put into, but no quotations."""
TOPMOST = re.compile(r"\b(?:most|highest|largest|biggest|best|top|größte|höchste|meisten)\b", re.IGNORECASE)

_ACTION = (
    r"(?:then|also|write|draft|recommend|calculate|compute|work out|say|tell|explain|choose|give|summari[sz]e|report"
    r"|schreibe?|nenne|find|list|show|rank|pick|answer|prepare|escalate|suggest|decide|which)\b"
)
_ITEM_LINE = re.compile(r"^[ \t]*(?:[-*•]|\(?\d{1,2}[.)])[ \t]+(\S(?:.*[^ \t\n])?)[ \t]*$", re.MULTILINE)
_ITEM_INLINE = re.compile(r"(?:^|\s)\(?\d{1,2}\)\s+")
_CLAUSE_END = re.compile(r"(?<!\bvs)[.?!;](?:\s|$)|\n")
_ENUMERATED = re.compile(
    r"\b(?:compar\w*|contrast\w*|between|evaluat\w*|assess\w*|review\w*|research\w*|rank\w*|analy[sz]\w*|investigat\w*|vergleich\w*)"
    r"\s+(?P<list>.+)",
    re.IGNORECASE,
)
_ASPECT = re.compile(
    r"(?<!\s)\s++(?:for|by|regarding|considering|in terms of|with regard to|with respect to|based on|using"
    r"|so that|nach|anhand)\s.*"
    r"|(?:,|(?<!\s))\s++to\s+" + _ACTION + ".*",
    re.IGNORECASE,
)
_JOINT = re.compile(
    r"(?<!\s)\s*+,\s*(?:and\s+|or\s+)?|(?<!\s)\s++(?:and|or|und|oder|mit|vs\.?|versus|with|against)\s+", re.IGNORECASE
)
_LEAD = re.compile(
    r"^.*\b(?:of|for|about|on|in|to|find|check|summari[sz]e|explain|describe|list|whether)\s+", re.IGNORECASE
)
_VERSUS = re.compile(r"\s(?:vs\.?|versus)\s", re.IGNORECASE)
_SMALL_WORD = re.compile(r"^(?:the|a|an|both|our|den|die|das|der|differences? between)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted. More than one of these may be."""

    facts: bool
    figures: bool
    writing: bool
    hand_over: bool
    outside: bool
    """It takes more than the job's own inputs."""
    expression: bool
    """It holds the arithmetic to do."""
    kind: str
    """What is to be written."""
    subjects: tuple[str, ...]
    """What to look into side by side; empty when it is about one thing."""


def wish_of(objective: str) -> Wish:
    """The wish behind an objective."""
    objective = skimmed(objective)
    return Wish(
        facts=bool(_FACTS.search(objective)),
        figures=bool(_FIGURES.search(objective)),
        writing=bool(_WRITING.search(objective) or MAKING.search(objective)),
        hand_over=bool(_HAND_OVER.search(objective)),
        outside=bool(_OUTSIDE.search(objective)),
        expression=bool(expressions_in(objective)),
        kind=_kind_of(objective),
        subjects=subjects_of(objective),
    )


def _kind_of(objective: str) -> str:
    if named := _KINDS.search(objective):
        return named[0].lower()
    return next((kind for verb, kind in _UNNAMED_KINDS.items() if stems(verb).search(objective)), "answer")


def subjects_of(objective: str) -> tuple[str, ...]:
    """The things that a skimmed objective lists or compares, in its order; empty for fewer than two."""
    if len(lines := _kept(_ITEM_LINE.findall(objective))) > 1:
        return lines
    if len(inline := _kept(_ITEM_INLINE.split(objective)[1:])) > 1:
        return inline
    for clause in _CLAUSE_END.split(objective):
        if len(found := _subjects_in(clause)) > 1:
            return found
    return ()


def _subjects_in(clause: str) -> tuple[str, ...]:
    head, _, tail = clause.partition(": ")
    found = _ENUMERATED.search(head)
    listed = _without_lead(_parts(found["list"] if found else head))
    if len(listed) > (1 if found or _VERSUS.search(head) else 2):
        return listed
    return _parts(tail)


def _without_lead(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The parts without what the first one says for all: "prices of pears, plums" is about pears and about plums."""
    if len(parts) < 2 or any(_LEAD.search(part) for part in parts[1:]):
        return parts
    return (_SMALL_WORD.sub("", _LEAD.sub("", parts[0])), *parts[1:])


def _parts(text: str) -> tuple[str, ...]:
    return _kept(_JOINT.split(_ASPECT.sub("", text)))


def _kept(parts: list[str]) -> tuple[str, ...]:
    """The parts that name a thing: everything from the first one that asks for an action on is no subject."""
    kept: dict[str, str] = {}
    for part in parts:
        name = _SMALL_WORD.sub("", part.strip(" \t\n.,;:?!"))
        if re.match(_ACTION, name, re.IGNORECASE) and kept:
            break
        if name and len(name) <= SUBJECT_CHARACTERS:
            kept.setdefault(name.casefold(), name)
    return tuple(kept.values())
