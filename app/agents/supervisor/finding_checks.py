"""What an answer is checked for where workers have reported findings: it tells of those that are left, and of no other.

A finding that was left out is named where its message stands in the answer word for word, or its place as `file:line`
while no finding that is left is there. One in other words is not seen: code that compared meanings would also object to
answers that are right.
"""

import re
from collections.abc import Iterator, Sequence

from app.agents.supervisor.ground import Ground
from app.domain.findings import Finding, Suppressed
from app.domain.flaws import Flaw
from app.domain.quotations import Words
from app.domain.results import Synthesis
from app.domain.text import plain_words, shorten

TELLING_WORDS = 5
"""A message of fewer words may stand in an answer by chance."""
NAMED_SHARE = 0.5
"""The part of a message's telling words that names a finding."""
SHOWN = 5
QUOTED_CHARACTERS = 120


def names_no_suppressed(told: Synthesis, ground: Ground) -> Iterator[Flaw]:
    """Nothing that was left out of the findings stands in the answer."""
    if not ground.suppressed:
        return
    texts = [told.answer, *(statement.text for statement in told.statements)]
    said, words = "\n".join(texts), Words(texts)
    alien = [each for each in ground.suppressed if each.reason != "duplicate" and _is_named(each, said, words, ground)]
    if alien:
        named = "; ".join(shorten(each.message, QUOTED_CHARACTERS)[0] for each in alien[:SHOWN])
        detail = (
            f"these findings were left out, and the answer tells of them: {named}. Tell of no other than those shown"
        )
        yield Flaw(code="finding_suppressed", pointer="/answer", detail=detail)


def _is_named(gone: Suppressed, said: str, words: Words, ground: Ground) -> bool:
    message = plain_words(gone.message)
    if len(message.split()) >= TELLING_WORDS and words.have(gone.message):
        return not any(message in plain_words(left.message) for left in ground.findings)
    place = gone.location
    file = place.file_name
    written = re.search(rf"(?<![\w/.-]){re.escape(file)}[:#]L?{place.line}(?!\d)", said)
    if written is None or any(_is_at(left, file, place.line) for left in ground.findings):
        return False
    return not any(written[0] in text for text in ground.given)


def _is_at(left: Finding, file: str, line: int) -> bool:
    place = left.location
    return file == place.file_name and place.line <= line <= place.end_line


def tells_critical(told: Synthesis, ground: Ground) -> Iterator[Flaw]:
    """Every critical finding is told of: by its id, its file or its input, or in words of its own."""
    for each in untold_critical(told, ground.findings):
        detail = f"the finding {each.id} is critical, and the answer does not tell of it: {each.message}"
        yield Flaw(code="finding_unnamed", pointer="/answer", detail=shorten(detail, 300)[0])


def untold_critical(told: Synthesis, findings: Sequence[Finding]) -> list[Finding]:
    """The critical findings of which the answer has no word."""
    critical = [each for each in findings if each.severity == "critical"]
    if not critical:
        return []
    words = frozenset(plain_words(told.answer).split())
    return [each for each in critical if not _is_told(each, told.answer, words)]


def _is_told(finding: Finding, answer: str, words: frozenset[str]) -> bool:
    file = finding.location.file_name
    if file.rpartition("/")[2] in answer or re.search(rf"\b{finding.id}\b", answer):
        return True
    telling = {word for word in plain_words(finding.message).split() if len(word) > 3}
    return bool(telling) and len(telling & words) >= NAMED_SHARE * len(telling)


FINDING_CHECKS = (names_no_suppressed, tells_critical)
