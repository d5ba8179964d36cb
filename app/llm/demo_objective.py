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
    "vs\\b",
)  # fmt: skip
_OUTSIDE = stems(
    "web\\b", "online", "public", "market", "latest", "current", "competitor", "industry", "news", "https?:"
)
_FIGURES = stems(
    "calculat", "comput", "how much", "how many", "total", "sum\\b", "average", "mean\\b", "median", "percent",
    "growth", "forecast", "costs?\\b", "prices?\\b", "revenue", "budget", "figures?\\b", "statistic", "trend",
)  # fmt: skip
_WRITING = stems(
    "writ", "draft", "report", "letter", "e-?mail", "article", "essay", "blog", "memo", "proposal", "repl(?:y|ies)",
    "answer the", "summar", "document", "explain", "translat", "rewrit", "announce", "poem", "haiku", "story",
    "recommend",
)  # fmt: skip
_HAND_OVER = stems("escalat", "hand ?over", "hand it over")
_KINDS = stems(
    "report", "letter", "e-?mail", "article", "essay", "blog post", "memo", "proposal", "reply", "summary",
    "translation", "announcement", "poem", "haiku", "story", "recommendation",
)  # fmt: skip

_ACTION = (
    r"(?:then|also|write|draft|recommend|calculate|compute|work out|say|tell|explain|choose|give|summari[sz]e|report"
    r"|find|list|show|rank|pick|answer|prepare|escalate|suggest|decide|which)\b"
)
_ITEM_LINE = re.compile(r"^[ \t]*(?:[-*•]|\(?\d{1,2}[.)])[ \t]+(\S.*?)[ \t]*$", re.MULTILINE)
_ITEM_INLINE = re.compile(r"(?:^|\s)\(?\d{1,2}\)\s+")
_CLAUSE_END = re.compile(r"(?<!\bvs)[.?!;](?:\s|$)|\n")
_ENUMERATED = re.compile(
    r"\b(?:compar\w*|contrast\w*|between|evaluat\w*|assess\w*|review\w*|research\w*|rank\w*|analy[sz]\w*|investigat\w*)"
    r"\s+(?P<list>.+)",
    re.IGNORECASE,
)
_ASPECT = re.compile(
    r"\s+(?:for|by|regarding|considering|in terms of|with regard to|with respect to|based on|using|so that)\s.*"
    r"|,?\s+to\s+" + _ACTION + ".*",
    re.IGNORECASE,
)
_JOINT = re.compile(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|vs\.?|versus|with|against)\s+", re.IGNORECASE)
_LEAD = re.compile(
    r"^.*\b(?:of|for|about|on|in|to|find|check|summari[sz]e|explain|describe|list|whether)\s+", re.IGNORECASE
)
_VERSUS = re.compile(r"\s(?:vs\.?|versus)\s", re.IGNORECASE)
_SMALL_WORD = re.compile(r"^(?:the|a|an|both|our|differences? between)\s+", re.IGNORECASE)


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
    kind = _KINDS.search(objective)
    return Wish(
        facts=bool(_FACTS.search(objective)),
        figures=bool(_FIGURES.search(objective)),
        writing=bool(_WRITING.search(objective)),
        hand_over=bool(_HAND_OVER.search(objective)),
        outside=bool(_OUTSIDE.search(objective)),
        expression=bool(expressions_in(objective)),
        kind=kind[0].lower() if kind else "answer",
        subjects=subjects_of(objective),
    )


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
