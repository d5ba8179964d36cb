"""Arithmetic that stands in a text, as expressions that `calculate` takes.

Only what stands there whole is taken: of "5 apples + 3" or "2480 + 17.5%" no part is an answer.
"""

import ast
import re

from app.llm.demo_prompts import skimmed

EXPRESSION_CHARACTERS = 400

_NUMBER = r"\d{1,18}(?:,\d{3}){0,5}(?:\.\d{1,18})?"
_WORDS = {"plus": "+", "minus": "-", "times": "*", "mal": "*", "divided by": "/", "geteilt durch": "/"}
_WORD = re.compile(rf"(?<=[\d)%])\s+({'|'.join(_WORDS)})\s+(?=[\d(])", re.IGNORECASE)
_MARKER = re.compile(r"^(?:[-*•]|\(?\d{1,2}[.)])\s+|[$€£]\s?(?=\d)", re.MULTILINE)
_PERCENT = re.compile(
    rf"(?<![\d.,])({_NUMBER})\s*(?:%|percent|per cent|prozent)\s+(?:of|von)\s+(?=\d|\()", re.IGNORECASE
)
_LIST = re.compile(
    rf"\b(average|mean|sum|total)\s+of\s+((?:{_NUMBER})(?:(?:,\s+|\s+and\s+|,\s+and\s+)(?:{_NUMBER}))+)", re.IGNORECASE
)
_CHANGE = re.compile(
    rf"\b(?:growth|grew|increase|rise|rose|change|decrease|fall|fell|drop)\w*\b[^.?!\n]{{0,40}}?\bfrom\s+({_NUMBER})"
    rf"[^.?!\n\d]{{0,20}}?\bto\s+({_NUMBER})",
    re.IGNORECASE,
)
# An atomic group: a possessive quantifier behind a group finds the wrong end in Python before 3.11.5.
_RUN = re.compile(rf"(?>(?:(?:{_NUMBER}|(?:sqrt|log|exp|abs|round)(?=\()|\*\*|[-+*/^\u00d7÷()]|(?<=\s)x(?=\s)) ?)+)")
# Signs that also stand in dates, ranges and names count only with spaces around them, or where the result is asked for.
_CLEAR = re.compile(r"[\d)] ?(?:\*\*|[*^\u00d7÷+])|[\d)] [-/x] |sqrt\(|log\(|exp\(")
_ASKED = re.compile(r"(?:what is|what's|how much is|calculate|compute|work out|was ist|berechne)[ :]*\Z", re.IGNORECASE)
_BROKEN_BEFORE = re.compile(r"(?:[\w.,]|[!%] ?)\Z")
_BROKEN_AFTER = re.compile(r"\w|[.,]\d|!| ?%| ?percent| ?prozent", re.IGNORECASE)
_GERMAN = re.compile(r"\b(?:was|wie|wieviel|ist|sind|und|von|berechne|prozent)\b", re.IGNORECASE)
_GERMAN_NUMBER = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+(?:,\d+)?(?![\d.,]\d)|(?<![\d.,])\d+,\d+(?![\d.,]\d)")
_SIGNS = str.maketrans({"\u00d7": "*", "÷": "/", "x": "*", "^": "\0"})


def expressions_in(text: str) -> list[str]:
    """The expressions in a text, each once.

    They may be written out, or in words: "15% of 80", "the average of 3, 4 and 8", "growth from 1,200 to 1,500".
    """
    text = _spelled(skimmed(text))
    found = [_expression(text, run) for run in _RUN.finditer(text)]
    return list(dict.fromkeys(each for each in found if each))


def _spelled(text: str) -> str:
    """The text with what it says in words put into signs, in place."""
    if _GERMAN.search(text):
        text = _GERMAN_NUMBER.sub(lambda found: found[0].replace(".", "").replace(",", "."), text)
    text = _MARKER.sub("", text)
    text = _LIST.sub(_listed, text)
    text = _CHANGE.sub(r"((\2 - \1) / \1 * 100)", text)
    text = re.sub(rf"{_PERCENT.pattern}({_NUMBER})", r"(\1 / 100 * \2)", text, flags=re.IGNORECASE)
    text = _PERCENT.sub(r"\1 / 100 * ", text)
    return _WORD.sub(lambda found: f" {_WORDS[found[1].lower()]} ", text)


def _listed(found: re.Match[str]) -> str:
    numbers = re.findall(_NUMBER, found[2])
    mean = f" / {len(numbers)}" if found[1].lower() in {"average", "mean"} else ""
    return f"(({' + '.join(numbers)}){mean})"


def _expression(text: str, run: re.Match[str]) -> str | None:
    """The expression that a run of numbers and signs is; None when it is none, or a part of something else."""
    if run[0].strip().isdecimal():
        return None
    before, after = text[max(run.start() - 40, 0) : run.start()], text[run.end() : run.end() + 10]
    broken = _BROKEN_BEFORE.search(before) or (_BROKEN_AFTER.match(after) and not run[0].endswith(" "))
    if broken or len(run[0]) > EXPRESSION_CHARACTERS or not (_CLEAR.search(run[0]) or _ASKED.search(before)):
        return None
    signs = run[0].translate(_SIGNS).replace("e*p", "exp").replace("\0", "**")
    expression = _unwrapped(_balanced(re.sub(r"(?<=\d),(?=\d{3})", "", signs).strip()))
    return expression if _is_whole(expression) else None


def _balanced(expression: str) -> str:
    """The expression without the parentheses at its ends that belong to the text around it."""
    while expression.count("(") > expression.count(")") and expression.startswith("("):
        expression = expression[1:].strip()
    while expression.count(")") > expression.count("(") and expression.endswith(")"):
        expression = expression[:-1].strip()
    return expression


def _unwrapped(expression: str) -> str:
    """The expression without parentheses that say nothing."""
    expression = re.sub(r"\((\([^()]*\))\)", r"\1", expression)
    inner = expression[1:-1]
    return inner if re.fullmatch(r"\((?:[^()]|\([^()]*\))*\)", expression) else expression


def _is_whole(expression: str) -> bool:
    if not re.match(r"[\d(a-z]|-[\d(]", expression):
        return False
    try:
        nodes = list(ast.walk(ast.parse(expression, mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    named = all(isinstance(node.func, ast.Name) for node in nodes if isinstance(node, ast.Call))
    return named and any(isinstance(node, ast.BinOp | ast.Call) for node in nodes)
