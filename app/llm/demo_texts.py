"""What the demo model looks for in a text, and the lines that it quotes."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.llm.demo_prompts import fenced, gist, skimmed

WORDS_SOUGHT = 4
LINES_QUOTED = 12
LINE_CHARACTERS = 300

_WORD = re.compile(r"[^\W_][\w-]{2,39}")
_COMMON_WORDS = """
    about after again all also and answer any are ask asked asks attached bears because been before being both but can
    check come compare contain could describe did does doing done during each every everything explain file find first
    for from get give given had has have help her him his how input inputs into its job just know last leave list look
    make many may more most much must need not now objective off one only open other our out over part please put read
    rest result results review said same say says search see shall she should show since some still such summarise
    summarize summary tell text than that the their them then there these they thing this those through under until
    use used very want was well were what when where which while who whose why will with within word words would write
    you your aber alle als auch auf aus bei bitte das dass dem den der des die diese dieser durch ein eine einem einen
    einer fasse für gibt hat ich ihr ist kann mit nach nicht nur oder schreibe sich sie sind steht über und vom von war
    was welche wenn wer werden wie wird wurde wurden zum zur zusammen"""
_COMMON = frozenset(_COMMON_WORDS.split())
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|s|e)$")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a text, as a tool showed it."""

    source: str
    number: int
    text: str


def words_sought(*texts: str) -> list[str]:
    """The words worth searching texts for, from the first of these that has any: codes, then names, then long words."""
    for text in texts:
        words = dict.fromkeys(_WORD.findall(skimmed(text)))
        telling = [word for word in words if word.casefold() not in _COMMON]
        stems = dict.fromkeys(_ENDING.sub("", word) for word in sorted(telling, key=_weight, reverse=True))
        if stems:
            return list(stems)[:WORDS_SOUGHT]
    return []


def _weight(word: str) -> tuple[bool, bool, int]:
    return any(map(str.isdigit, word)), word[:1].isupper(), len(word)


def lines_in(output: str, sources: Sequence[str]) -> list[Line]:
    """The numbered lines in what `read_input` showed of these inputs; with one source, it need not be named."""
    found: list[Line] = []
    for shown in output.partition("\n\n")[2].split("\n"):
        source = next((name for name in sources if shown.startswith(f"{name}:")), sources[0] if sources else "")
        if numbered := re.fullmatch(r"\A(\d+): (.*)", shown.removeprefix(f"{source}:"), re.DOTALL):
            found.append(Line(source, int(numbered[1]), numbered[2]))
    return found


def telling(lines: Iterable[Line], words: Sequence[str]) -> list[Line]:
    """The lines that hold the most of the words, best first, each once. The words themselves stand best first."""
    hits = {
        line: sum(len(words) - place for place, word in enumerate(words) if word.casefold() in line.text.casefold())
        for line in lines
    }
    best = sorted((line for line in hits if hits[line]), key=lambda line: (-hits[line], line.source, line.number))
    return best[:LINES_QUOTED]


def quoted(lines: Sequence[Line]) -> str:
    """The lines in the order of their texts, as a block of code."""
    ordered = sorted(lines, key=lambda line: (line.source, line.number))
    return fenced("\n".join(f"{line.source}:{line.number}: {line.text[:LINE_CHARACTERS]}" for line in ordered))


def pointed_out(line: Line) -> str:
    """A line in words."""
    return f"{line.source}, line {line.number}: “{gist(line.text)}”"
