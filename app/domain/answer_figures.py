"""Which figures of an answer stand neither in what it rests on nor can be reckoned from what it shows beside them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice, permutations

from app.domain.figures import Figure, Seen, figures_in, straight

OPERANDS_ALLOWED = 16
"""Figures of one paragraph that others are reckoned from. In a longer one, a table, a line stands for itself."""
COLUMNS_SUMMED = 50
MOST_STRANGE = 50
SUM_ROUNDING_ALLOWED = 0.01
"""What a reckoned figure of one digit and zeros may differ from what comes out: 7,000 is not 6,850."""
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?|Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember)"
)
_NOT_LOOKED_AT = re.compile(
    r"```(?!(?:text|txt|csv|markdown|md|table)?[ \t]*\n).*?(?:```|\Z)"  # Code: its numbers are nobody's figures.
    r"|https?://[^\s)>\]]+|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}\.\w+"
    r"|`[^`\nA-Za-z_(]{0,80}[A-Za-z_(][^`\n]{0,200}`"
    r"|\[…[^\]\n]*…\]"  # What says how much was left out.
    r"|\[\^?\d{1,3}(?:, ?\d{1,3})*\]"  # A reference to a source.
    rf"|\b\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?(?={_MONTH}\b)|\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?!:)"
    r"|(?<=\d{4})-\d{2}-\d{2}(?:T[\d:.]+Z?)?\b|(?<=\d{4})[/\u2013-]\d{2}\b"
    r"|\b\d{1,2}:\d{2}(?::\d{2})?\b|\b\d{1,2}\.\d{1,2}\.(?=\d{4}\b)|\b\d{1,2}/\d{1,2}/(?=\d{4}\b)"
    r"|\b(?:[12]?\d|3[01])(?:st|nd|rd|th)\b|\b(?:24/7|50/50)\b"
    r"|(?:(?<=\n)|\A)[ \t>]*(?:[-*+] +)?\(?\d{1,3}[.)](?=[ \t])"  # The number of a list item.
    r"|(?:(?<=\n)|\A)#{1,6} *(?:\d{1,4}\.){0,6}\d{1,4}[.):]?(?=[ \t])"  # The number of a heading.
    r"|\b(?:Step|Section|Chapter|Part|Tasks?|Item|Option|Figure|Table|Phase|Point|Note|Footnote|Question|Finding|No\.)"
    r" \d+\b"
    r"|(?<!\w)#\d+\b",
    re.DOTALL | re.IGNORECASE,
)
_LABEL_BEFORE = re.compile(r"(?:[A-Za-z_]|[A-Za-z]-)$")
_MONEY_BEFORE = re.compile(r"(?:USD|EUR|GBP|CHF|JPY|CNY|INR|US|A|C)$")
_DECADE = re.compile(r"['\u2019]?s\b")


def strange_figures(text: str, seen: Seen) -> list[Figure]:
    """The figures of `text` that are not among those `seen`, nor reckoned from such as stand in the same paragraph.

    Where there are very many, the first of them.
    """
    return list(
        islice((figure for block in _blocks(_looked_at(text)) for figure in _strange(block, seen)), MOST_STRANGE)
    )


def _looked_at(text: str) -> str:
    """`text` with what holds no figure blanked out."""
    return _NOT_LOOKED_AT.sub(_blanked, straight(text))


def _blanked(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n") + " "


def _blocks(text: str) -> Iterator[str]:
    return (block for block in re.split(r"\n[ \t]*\n", text) if any(char.isdigit() for char in block))


def _strange(block: str, seen: Seen) -> list[Figure]:
    figures = [figure for figure in figures_in(block) if not _is_label(block, figure)]
    known = [figure for figure in figures if seen.has(figure)]
    unknown = [
        figure
        for figure in figures
        if not figure.is_small and not seen.has(figure) and not _is_decade(block, figure, seen)
    ]
    if not unknown:
        return []
    if len(known) > OPERANDS_ALLOWED and "\n" in block:
        totals = Seen(_column_sums(block, seen))
        left = [figure for line in block.split("\n") for figure in _strange(line, seen)]
        return [figure for figure in left if not _comes_out(figure, totals)]
    reckoned = Seen(reckoned_from(known[:OPERANDS_ALLOWED])) | Seen(_column_sums(block, seen))
    alone = Seen(reckoned_from([figure.bare for figure in known[:OPERANDS_ALLOWED]]))
    return [figure for figure in unknown if not (_comes_out(figure, reckoned) or _comes_out(figure.bare, alone))]


def _comes_out(figure: Figure, reckoned: Seen) -> bool:
    return reckoned.has(figure, SUM_ROUNDING_ALLOWED)


def _is_label(block: str, figure: Figure) -> bool:
    """Whether a number is a part of a name: T1, GPT-4, x86."""
    before = block[max(figure.start - 4, 0) : figure.start]
    return bool(_LABEL_BEFORE.search(before)) and not _MONEY_BEFORE.search(before)


def _is_decade(block: str, figure: Figure, seen: Seen) -> bool:
    end = figure.start + len(figure.written)
    start = figure.readings[0].value if figure.readings else 0
    return figure.is_year and bool(_DECADE.match(block, end)) and seen.within(start, start + 9)


def reckoned_from(figures: Sequence[Figure]) -> Iterator[float]:
    """What can be reckoned from figures that stand together: sums, differences, products, ratios and shares.

    No means: two sources that disagree would always bear one out. Years are only subtracted; counts are only
    multiplied and divided.
    """
    operands = list(dict.fromkeys(_operand(figure) for figure in figures if figure.readings))
    for (one, can_add, is_year), (other, may_be_added, is_also_year) in permutations(operands, 2):
        if is_year or is_also_year:
            if is_year and is_also_year:
                yield one - other
            continue
        if can_add and may_be_added:
            yield from (one + other, one - other)
        yield one * other
        if other:
            yield from (one / other, (one - other) / other)
    summed = [value for value, can_add, is_year in operands if can_add and not is_year]
    for start in range(len(summed)):
        yield from list(accumulate(summed[start:]))[2:]


def _operand(figure: Figure) -> tuple[float, bool, bool]:
    return figure.readings[0].value, not figure.is_small, figure.is_year


def _column_sums(block: str, seen: Seen) -> Iterator[float]:
    """Sums of the columns of a table, and how many rows it has."""
    rows = [line.strip().strip("|").split("|") for line in block.split("\n") if line.count("|") > 1]
    for place in range(min(max(map(len, rows), default=0), COLUMNS_SUMMED)):
        cells = [next(figures_in(row[place]), None) for row in rows if place < len(row)]
        known = [cell.readings[0].value for cell in cells if cell and cell.readings and seen.has(cell)]
        yield from list(accumulate(known))[1:]


def counts_in(texts: Iterable[str]) -> Iterator[float]:
    """How many items the lists and tables of texts have: an answer may say so."""
    for text in texts:
        length, total = 0, 0
        for line in [*text.split("\n"), ""]:
            is_item = bool(_ITEM.match(line))
            length, total = (length + 1 if is_item else 0), total + is_item
            if is_item:
                yield from (float(length), float(max(length - 2, 0)))
        yield float(total)


_ITEM = re.compile(r"(?<![ \t])[ \t]*+(?:[-*+•]|\(?\d{1,3}[.)]|\|)[ \t]*+\S")
