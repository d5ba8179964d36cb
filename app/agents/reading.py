"""Reading what a model wrote: JSON found, parsed and checked, or the reasons why not.

Providers that enforce schemas deliver clean JSON. Others wrap it in prose and fences; that is accepted as long as there
is exactly one JSON value to find. Nothing is repaired by guessing: what does not parse goes back to the model.
"""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from app.domain.findings import Finding, FindingCode, pointer_to
from app.domain.protocol import Read
from app.domain.text import clean, clean_text, shorten

MOST_FINDINGS = 20
DETAIL_CHARACTERS = 300
"""What a finding may say: it goes back to the model, into events and into messages, and may quote what was written."""
MOST_STARTS = 200
"""Places at which JSON may begin that are tried before a text is given up."""
MOST_WASTED = 2_000_000
"""Characters that are read in vain for that."""
_START = re.compile(r"[{\[]")

ModelT = TypeVar("ModelT", bound=BaseModel)


class Unreadable(Exception):
    """The text holds no usable value; `findings` say why: a bounded number of them, each on one short line."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(_bounded(finding) for finding in islice(findings, MOST_FINDINGS))
        super().__init__("; ".join(finding.detail for finding in self.findings))


def _bounded(finding: Finding) -> Finding:
    detail, _ = shorten(finding.detail, DETAIL_CHARACTERS)
    pointer = finding.pointer if len(finding.pointer) <= DETAIL_CHARACTERS else ""
    return finding.model_copy(update={"detail": " ".join(detail.split()), "pointer": pointer})


def final_text(step: Read, code: FindingCode) -> str:
    """The text of a reply that means to be final. Raises `Unreadable` when it means to go on."""
    if step.objection is not None:
        raise Unreadable([Finding(code=code, detail=step.objection)])
    return step.text


def read_json(text: str, code: FindingCode) -> Any:
    """The one JSON object or array in `text`. Raises `Unreadable`, with a finding of `code`.

    Its strings are cleaned: escapes in clean JSON may stand for characters that cannot be stored.
    """
    text = text.removeprefix("\ufeff").strip()
    if not text:
        raise Unreadable([Finding(code=code, detail="the reply is empty; JSON was expected")])
    try:
        whole = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError) as error:
        return _embedded(text, code, error)
    if isinstance(whole, dict | list):
        return _cleaned(whole, code)
    raise Unreadable([Finding(code=code, detail="the reply is not a JSON object")])


def read_json_or_prose(text: str, code: FindingCode, fields: Collection[str]) -> Any:
    """The same where prose will do: the text itself, unless it is meant as JSON or holds an object with such fields."""
    meant_as_json = not text.strip() or text.lstrip("\ufeff \n\r\t").startswith(("{", "[", "```"))
    try:
        value = read_json(text, code)
    except Unreadable:
        if meant_as_json:
            raise
        return clean_text(text.strip())
    if meant_as_json or (isinstance(value, dict) and not value.keys().isdisjoint(fields)):
        return value
    return clean_text(text.strip())


def _cleaned(value: Any, code: FindingCode) -> Any:
    try:
        return clean(value)
    except ValueError as error:
        raise Unreadable([Finding(code=code, detail=f"the reply is {error}")]) from None


def _embedded(text: str, code: FindingCode, error: Exception) -> Any:
    found: list[Any] = []
    for value in _values(text):
        if value not in found:
            found.append(value)
    if len(found) == 1:
        return _cleaned(found[0], code)
    if found:
        detail = f"the reply holds {len(found)} different JSON values; exactly one was expected"
    elif isinstance(error, json.JSONDecodeError) and ("{" in text or "[" in text):
        detail = f"the reply is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}"
    else:
        detail = "the reply holds no JSON"
    raise Unreadable([Finding(code=code, detail=detail)])


def _values(text: str) -> Sequence[Any]:
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
            place = start.end()
            wasted += (error.pos if isinstance(error, json.JSONDecodeError) else len(text)) - start.start()
            continue
        if _is_structured(value):
            values.append(value)
    return values


def _is_structured(value: Any) -> bool:
    """Whether it is an object or a list of some: `[1]` in prose is a footnote, not a reply."""
    return bool(value) and (isinstance(value, dict) or any(isinstance(item, dict) for item in value))


def without_nulls(value: Any) -> Any:
    """`value` without the fields that are null: models write that for what they leave out."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def read_as(model: type[ModelT], value: Any, code: FindingCode) -> ModelT:
    """`value` as `model`. Raises `Unreadable`, with a finding of `code` for each field that does not fit."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise Unreadable(
            [
                Finding(
                    code=code,
                    pointer=pointer_to(*item["loc"]),
                    detail=f"{'.'.join(map(str, item['loc'])) or 'the reply'}: {item['msg']}",
                )
                for item in error.errors(include_url=False, include_input=False, include_context=False)
            ]
        ) from None
