"""Arithmetic that stands in a text, as expressions that `calculate` takes."""

import re

from app.llm.demo_prompts import skimmed

_NUMBER = r"\d{1,18}(?:,\d{3}){0,5}(?:\.\d{1,18})?"
# Signs that also stand in dates, ranges and names count only with spaces around them.
_SIGN = r"(?:\s*(?:\*\*|[*^\u00d7÷+])\s*|\s+[-/x]\s+)"
_TERM = rf"(?:\(\s*){{0,9}}(?:(?:sqrt|log|exp)\(\s*)?{_NUMBER}(?:\s*\)){{0,9}}"
_EXPRESSION = re.compile(rf"(?<![\w.]){_TERM}(?:{_SIGN}{_TERM})+|\bsqrt\(\s*{_NUMBER}\s*\)")
_PERCENT = re.compile(rf"({_NUMBER})\s*(?:%|percent|per cent)\s+of\s+[$€£]?\s?({_NUMBER})", re.IGNORECASE)
_LIST = re.compile(
    rf"\b(average|mean|sum|total)\s+of\s+((?:{_NUMBER})(?:(?:,\s+|\s+and\s+|,\s+and\s+)(?:{_NUMBER}))+)", re.IGNORECASE
)
_CHANGE = re.compile(
    rf"\b(?:growth|grew|increase|rise|rose|change|decrease|fall|fell|drop)\w*\b[^.?!\n]{{0,40}}?\bfrom\s+[$€£]?({_NUMBER})"
    rf"[^.?!\n\d]{{0,20}}?\bto\s+[$€£]?({_NUMBER})",
    re.IGNORECASE,
)
_WRITTEN = str.maketrans({"\u00d7": "*", "÷": "/", "^": "\0"})


def expressions_in(text: str) -> list[str]:
    """The expressions in a text, each once.

    They may be written out, or in words: "15% of 80", "the average of 3, 4 and 8", "growth from 1,200 to 1,500".
    """
    text = skimmed(text)
    found = [f"{_plain(part)} / 100 * {_plain(whole)}" for part, whole in _PERCENT.findall(text)]
    for kind, listed in _LIST.findall(text):
        numbers = [_plain(number) for number in re.findall(_NUMBER, listed)]
        mean = f" / {len(numbers)}" if kind.lower() in {"average", "mean"} else ""
        found.append(f"({' + '.join(numbers)}){mean}")
    found += [f"({_plain(new)} - {_plain(old)}) / {_plain(old)} * 100" for old, new in _CHANGE.findall(text)]
    found += [_balanced(_plain(match[0])) for match in _EXPRESSION.finditer(text)]
    return list(dict.fromkeys(found))


def _plain(written: str) -> str:
    """The expression in the calculator's signs, without separators of thousands."""
    signs = re.sub(r"\s+x\s+", " * ", written.translate(_WRITTEN).replace("\0", "**"))
    return re.sub(r"(?<=\d),(?=\d{3})", "", signs).strip()


def _balanced(expression: str) -> str:
    """The expression without the parentheses at its ends that belong to the text around it."""
    while expression.count("(") > expression.count(")") and expression.startswith("("):
        expression = expression[1:].strip()
    while expression.count(")") > expression.count("(") and expression.endswith(")"):
        expression = expression[:-1].strip()
    return expression
