"""What an answer is checked for once its form is right: one function a check, and the table of them.

Each says what is wrong in words for the model, which gets one chance to correct it. None judges what is true: they hold
an answer against what the tasks delivered. docs/answers.md describes them for people.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from app.agents.supervisor.conflict_checks import CONFLICT_CHECKS
from app.agents.supervisor.data_checks import DATA_CHECKS
from app.agents.supervisor.finding_checks import FINDING_CHECKS
from app.agents.supervisor.ground import Ground, Missing
from app.domain.answer_figures import counts_in, strange_figures
from app.domain.figures import figures_in
from app.domain.flaws import Flaw
from app.domain.quotations import quotations_in
from app.domain.results import Synthesis
from app.domain.text import plain_words, shorten
from app.domain.tool_use import claims_deed, says_deed

SHOWN = 8
"""Things that one flaw names."""
QUOTED_CHARACTERS = 80
PASSED_WORDS = 6
"""A result of fewer words is passed through only if the answer is nothing else."""
PASSED_SHARE = 0.8
"""The part of an answer that is one result, word for word, from which on it is passed through."""

_WHOLLY_EMPTY = frozenset({
    "todo", "tbd", "tba", "n a", "na", "none", "null", "nil", "xxx", "string", "placeholder", "answer goes here",
    "your answer", "your answer here", "the answer goes here", "insert answer here", "answer here",
    "to be determined", "to be done", "to do", "see above", "see results", "see the results above", "as above",
    "pending", "coming soon", "fill in", "work in progress",
})  # fmt: skip
_PLACEHOLDER = re.compile(
    r"(?i:\[[ \t]*(?:insert|add|enter|your|fill|placeholder|todo|tbd|tba|to be|xxx?)\b[^\]\n]{0,80}\](?!\())"
    r"|(?i:<[ \t]*(?:insert|add|enter|your|fill in|placeholder|todo|tbd)\b[^<>\n]{0,80}>)"
    r"|\{\{[^{}\n]{1,80}\}\}|(?i:\blorem ipsum\b)|\b(?:TODO|TBD|FIXME)\b|\bX{2,}(?:[.,]X+)?[ ]?%|[$€£]X+(?:[.,]X+)*\b"
    r"|(?i:\b(?:placeholder|answer|summary|content|text|details?) (?:goes here|to be (?:added|inserted)|placeholder)\b)"
)


def has_no_placeholder(told: Synthesis, ground: Ground) -> Iterator[Flaw]:
    """Nothing in the answer waits to be replaced."""
    if plain_words(told.answer) in _WHOLLY_EMPTY or not plain_words(told.answer):
        yield Flaw(code="placeholder", pointer="/answer", detail="the answer says nothing; write it out")
        return
    places = [("/answer", told.answer)]
    places += [(f"/statements/{index}/text", statement.text) for index, statement in enumerate(told.statements)]
    for pointer, text in places:
        left = [found[0] for found in _PLACEHOLDER.finditer(_without_code(text)) if not ground.holds(found[0])]
        if plain_words(text) in _WHOLLY_EMPTY or left:
            detail = f"this was to be replaced by something: {_listed(left or [text])}"
            yield Flaw(code="placeholder", pointer=pointer, detail=detail)


def repeats_figures(told: Synthesis, ground: Ground) -> Iterator[Flaw]:
    """Every figure stands in a result or in what was asked, or is reckoned from such as stand beside it."""
    seen = ground.figures | counts_in((told.answer,))
    strange = strange_figures(told.answer, seen)
    if strange:
        detail = (
            f"these figures stand in no result: {_listed(figure.written for figure in strange)}. Repeat figures as the "
            "results have them; where you reckoned one, show the figures that it comes from in the same paragraph"
        )
        yield Flaw(code="figure_unfounded", pointer="/answer", detail=detail)
    alien_ones = {figure.written for figure in strange}
    in_answer = [
        each.value for figure in figures_in(told.answer) if figure.written not in alien_ones for each in figure.readings
    ]
    for index, statement in enumerate(told.statements):
        alien = [figure.written for figure in strange_figures(statement.text, seen | in_answer)]
        if alien:
            detail = f"these figures of a statement stand in no result: {_listed(alien)}"
            yield Flaw(code="figure_unfounded", pointer=f"/statements/{index}/text", detail=detail)


def quotes_word_for_word(told: Synthesis, ground: Ground) -> Iterator[Flaw]:
    """What stands between quotation marks stands in a result too."""
    for pointer, text in (("/answer", told.answer), *_statements(told)):
        alien = [quoted for quoted in quotations_in(text) if not ground.words.have_quoted(quoted)]
        if alien:
            detail = f"this is quoted and stands in no result word for word: {_listed(alien)}. Say it without the marks"
            yield Flaw(code="quotation_unfounded", pointer=pointer, detail=detail)


def claims_no_deed(told: Synthesis, ground: Ground) -> Iterator[Flaw]:
    """Nothing is said to be done in the world, a mail sent or a file saved, where no worker has done or claimed such.

    Where any tool was called, or that is not known, the results need not say it in these words.
    """
    results = ground.outputs.values()
    may_have_done = any(output.tool_calls is None or output.tool_calls > 0 or claims_deed(output) for output in results)
    if not may_have_done and says_deed(_without_code(told.answer)):
        detail = "the answer says that something was sent, saved or changed, and no result does: leave that out"
        yield Flaw(code="deed_unfounded", pointer="/answer", detail=detail)


def reconciles(told: Synthesis, ground: Ground) -> Iterator[Flaw]:
    """The answer is more than the result of one task while others delivered as well.

    A task that was given what all the others delivered may have the last word: putting that together was its work.
    """
    said = plain_words(told.answer)
    for name, output in ground.outputs.items():
        others = ground.outputs.keys() - {name} - ground.seen_by.get(name, frozenset())
        for text in filter(None, {plain_words(output.text), plain_words(output.summary)}):
            if others and _is_passed_through(said, text) and _leaves_out(said, text, others, ground):
                also = _listed(sorted(others))
                detail = f"the answer is what {name} delivered and no more, while {also} delivered too: bring that in"
                yield Flaw(code="passed_through", pointer="/answer", detail=detail)
                return


def _is_passed_through(said: str, text: str) -> bool:
    if said == text:
        return True
    words = text.count(" ") + 1
    return words >= PASSED_WORDS and words >= PASSED_SHARE * (said.count(" ") + 1) and f" {text} " in f" {said} "


def _leaves_out(said: str, text: str, others: Iterable[str], ground: Ground) -> bool:
    """Whether others have delivered something of their own, of which the rest of the answer has no word."""
    rest = set(f" {said} ".replace(f" {text} ", " ", 1).split())
    own = {word for name in others for part in ground.texts_of(name) for word in _weighty(part)} - set(text.split())
    return bool(own) and not own & rest


def _weighty(text: str) -> Iterator[str]:
    return (word for word in plain_words(text).split() if len(word) > 3 or any(map(str.isdigit, word)))


def names_gaps(told: Synthesis, ground: Ground) -> Iterator[Flaw]:
    """Every required task that delivered nothing is named: under gaps, or in the answer by its title or id.

    One that was skipped for lack of another is named by that one.
    """
    for each in unnamed_gaps(told, ground):
        title = f" ({shorten(each.title, QUOTED_CHARACTERS)[0]})" if each.title else ""
        detail = (
            f"the task {each.task}{title} is required and delivered nothing; say under gaps, and in the answer, "
            "what is missing because of it"
        )
        yield Flaw(code="gap_unnamed", pointer="/gaps", detail=detail)


def unnamed_gaps(told: Synthesis, ground: Ground) -> list[Missing]:
    """The required tasks that delivered nothing, and of which the answer does not say so."""
    named = {each.task for each in ground.missing if _is_named(each, told)}
    return [
        each for each in ground.missing if each.required and each.task not in named and not each.for_lack_of & named
    ]


def _is_named(missing: Missing, told: Synthesis) -> bool:
    if told.impacts.get(missing.task, "").strip():
        return True
    title = plain_words(missing.title)
    if len(title) > 3 and f" {title} " in f" {plain_words(told.answer)} ":
        return True
    name = re.escape(missing.task)
    before = r"(?<![\w-])" if any(map(str.isdigit, missing.task)) else r"(?:\btasks?\b[^\n.]{0,60}[ (`*\"]|[`(*])"
    return re.search(rf"{before}{name}(?![\w-])", told.answer, re.IGNORECASE) is not None


def _statements(told: Synthesis) -> list[tuple[str, str]]:
    return [(f"/statements/{index}/text", statement.text) for index, statement in enumerate(told.statements)]


def _without_code(text: str) -> str:
    return re.sub(r"```.*?(?:```|\Z)|`[^`\n]+`", " ", text, flags=re.DOTALL)


def _listed(written: Iterable[str]) -> str:
    written = list(dict.fromkeys(written))
    more = f" and {len(written) - SHOWN} more" if len(written) > SHOWN else ""
    return ", ".join(shorten(each, QUOTED_CHARACTERS)[0] for each in written[:SHOWN]) + more


Check = Callable[[Synthesis, Ground], Iterator[Flaw]]

CHECKS: Sequence[Check] = (
    has_no_placeholder,
    repeats_figures,
    quotes_word_for_word,
    claims_no_deed,
    reconciles,
    names_gaps,
    *CONFLICT_CHECKS,
    *DATA_CHECKS,
    *FINDING_CHECKS,
)
"""Everything an answer is checked for, in the order in which the model is told."""


def objections_to(told: Synthesis, ground: Ground) -> list[Flaw]:
    """All that is wrong with an answer."""
    return [flaw for check in CHECKS for flaw in check(told, ground)]
