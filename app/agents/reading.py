"""Reading what a model wrote: JSON found, parsed and checked, or the reasons why not.

Providers that enforce schemas deliver clean JSON. Others wrap it in prose and fences; that is accepted as long as there
is exactly one JSON value to find. Nothing is repaired by guessing: what does not parse goes back to the model, and a
value that has begun and is broken is never read by what still parses inside it.
"""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from app.domain.flaws import Flaw, FlawCode, pointer_to
from app.domain.protocol import Read
from app.domain.text import clean, clean_text, shorten

MOST_FLAWS = 20
DETAIL_CHARACTERS = 300
"""What a flaw may say: it goes back to the model, into events and into messages, and may quote what was written."""
MOST_STARTS = 200
"""Places at which JSON may begin that are tried before a text is given up."""
MOST_WASTED = 2_000_000
"""Characters that are read in vain for that."""
_START = re.compile(r"[{\[]")
_FENCE = re.compile(r"```\w*\s*")
_GAP = re.compile(r"\s+|//[^\n]*|#[^\n]*|/\*[^*]*\*/")
"""What stands between the parts of a value: space, and comments, which JSON does not have."""
_FIRST = re.compile(r"""["']|\w{1,50}\s{0,10}:[^{}\[\]]{0,200}["'{\[]""")
"""How the first field of an object begins: `{x}` in prose is none."""
_ITEM = re.compile(r"""\s+|//[^\n]*|#[^\n]*|/\*[^*]*\*/|"[^"\n]*"|'[^'\n]*'|[\d.+\-,\[]+|true|false|null""")
"""What may stand in a list before its first object: `[Note]` in prose has other things."""

ModelT = TypeVar("ModelT", bound=BaseModel)


class Unreadable(Exception):
    """The text holds no usable value; `flaws` say why: a bounded number of them, each on one short line."""

    def __init__(self, flaws: Iterable[Flaw]) -> None:
        self.flaws = tuple(_bounded(flaw) for flaw in islice(flaws, MOST_FLAWS))
        super().__init__("; ".join(flaw.detail for flaw in self.flaws))


class Broken(Unreadable):
    """An object or a list has begun and does not parse; `written` is the text from there on."""

    def __init__(self, code: FlawCode, error: ValueError | RecursionError, written: str) -> None:
        super().__init__([Flaw(code=code, detail=_why_not_json(error))])
        self.written = written

    def has_any(self, fields: Iterable[str]) -> bool:
        """Whether it has one of these fields, as far as one can tell."""
        return re.search(rf"""["'](?:{"|".join(map(re.escape, fields))})["']\s*:""", self.written) is not None


def _why_not_json(error: Exception) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return "the reply is not valid JSON: it is nested too deeply"
    place = f"at line {error.lineno}, column {error.colno}"
    return f"the reply is not valid JSON: {error.msg.removesuffix(' at')} {place}"


def misfit(pointer: str, detail: str) -> Flaw:
    """What is wrong at a place of a reply that could be read."""
    return Flaw(code="output_invalid", pointer=pointer, detail=detail)


def _bounded(flaw: Flaw) -> Flaw:
    detail, _ = shorten(flaw.detail, DETAIL_CHARACTERS)
    pointer = flaw.pointer if len(flaw.pointer) <= DETAIL_CHARACTERS else ""
    return flaw.model_copy(update={"detail": " ".join(detail.split()), "pointer": pointer})


def final_text(step: Read, code: FlawCode) -> str:
    """The text of a reply that means to be final. Raises `Unreadable` when it means to go on."""
    if step.objection is not None:
        raise Unreadable([Flaw(code=code, detail=step.objection)])
    return step.text


def read_json(text: str, code: FlawCode) -> Any:
    """The one JSON object or array in `text`. Raises `Unreadable`, with a flaw of `code`.

    Its strings are cleaned: escapes in clean JSON may stand for characters that cannot be stored.
    """
    text = text.removeprefix("\ufeff").strip()
    if not text:
        raise Unreadable([Flaw(code=code, detail="the reply is empty; JSON was expected")])
    try:
        whole = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError) as error:
        return _embedded(text, code, error)
    if isinstance(whole, dict | list):
        return _cleaned(whole, code)
    raise Unreadable([Flaw(code=code, detail="the reply is not a JSON object")])


def read_json_or_prose(text: str, code: FlawCode, fields: Collection[str]) -> Any:
    """The same where prose will do: the text itself, unless it is meant as JSON or holds an object with such fields.

    A broken object with such fields is no prose either.
    """
    meant_as_json = not text.strip() or text.lstrip("\ufeff \n\r\t").startswith(("{", "[", "```"))
    try:
        value = read_json(text, code)
    except Unreadable as error:
        if meant_as_json or (isinstance(error, Broken) and error.has_any(fields)):
            raise
        return clean_text(text.strip())
    if meant_as_json or (isinstance(value, dict) and not value.keys().isdisjoint(fields)):
        return value
    return clean_text(text.strip())


def _cleaned(value: Any, code: FlawCode) -> Any:
    try:
        return clean(value)
    except ValueError as error:
        raise Unreadable([Flaw(code=code, detail=f"the reply is {error}")]) from None


def _embedded(text: str, code: FlawCode, error: Exception) -> Any:
    found: list[Any] = []
    for value in _values(text, code):
        if value not in found:
            found.append(value)
    if len(found) == 1:
        return _cleaned(found[0], code)
    if found:
        detail = f"the reply holds {len(found)} different JSON values; exactly one was expected"
    elif isinstance(error, json.JSONDecodeError) and ("{" in text or "[" in text):
        detail = _why_not_json(error)
    else:
        detail = "the reply holds no JSON"
    raise Unreadable([Flaw(code=code, detail=detail)])


def _values(text: str, code: FlawCode) -> Sequence[Any]:
    """The values in `text`, one after the other. Raises `Broken` at the first that has begun and does not parse."""
    decoder = json.JSONDecoder(parse_constant=lambda _: None)
    values: list[Any] = []
    place, wasted = 0, 0
    for _ in range(MOST_STARTS):
        start = _START.search(text, place)
        if start is None or wasted > MOST_WASTED:
            break
        try:
            value, place = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError) as error:
            if _is_begun(text, start.start()):
                raise Broken(code, error, text[start.start() :]) from None
            place = start.end()
            wasted += (error.pos if isinstance(error, json.JSONDecodeError) else len(text)) - start.start()
            continue
        if _is_structured(value):
            values.append(value)
    return values


def _is_begun(text: str, start: int) -> bool:
    """Whether what starts there is meant as a value: it looks like one, or it is an object and nothing precedes it."""
    if text[start] == "[":
        return text.startswith("{", _behind(_ITEM, text, start + 1))
    fence = _FENCE.match(text)
    is_first = start == (fence.end() if fence else 0)
    return is_first or _FIRST.match(text, _behind(_GAP, text, start + 1)) is not None


def _behind(pattern: re.Pattern[str], text: str, place: int) -> int:
    """Where in `text` there is no more of `pattern`."""
    while found := pattern.match(text, place):
        place = found.end()
    return place


def _is_structured(value: Any) -> bool:
    """Whether it is an object or a list of some: `[1]` in prose is a footnote, not a reply."""
    return bool(value) and (isinstance(value, dict) or any(isinstance(item, dict) for item in value))


def without_nulls(value: Any) -> Any:
    """`value` without the fields that are null: models write that for what they leave out."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def read_as(model: type[ModelT], value: Any, code: FlawCode) -> ModelT:
    """`value` as `model`. Raises `Unreadable`, with a flaw of `code` for each field that does not fit."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise Unreadable(
            [
                Flaw(
                    code=code,
                    pointer=pointer_to(*item["loc"]),
                    detail=f"{'.'.join(map(str, item['loc'])) or 'the reply'}: {item['msg']}",
                )
                for item in error.errors(include_url=False, include_input=False, include_context=False)
            ]
        ) from None
