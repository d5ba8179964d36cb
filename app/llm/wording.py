"""How a refusal is told: to people who read the run, with the setting to look at, and to the operator's log.

What a server says is quoted in one short line, without keys and addresses. The log, which may go to others than the
run does, also leaves out whatever of the request a server repeats in its error.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any

from app.domain.text import clean_text, shorten
from app.llm.model import Request
from app.llm.refusals import ProviderRefused, code_of

_LIMIT = 300
_READ = _LIMIT * 10
_REMOVED = "[removed]"
_URL = re.compile(r"https?://\S+")
# Possessive and anchored to the start of a name, so that no text takes more than one look at each character.
_HOST = re.compile(r"(?<![\w.-])[\w.-]++(?::\d++)?")
_INTERNAL = re.compile(r"\A(?:(?:\d{1,3}\.){3}\d{1,3}|localhost|.*\.(?:internal|local))", re.IGNORECASE)
_SECRETS = re.compile(r"\bBearer \S+|\b(?:sk|pk|key)-[\w*.-]{4,}|\b[A-Za-z0-9_-]{32,}", re.IGNORECASE)
_WINDOW, _STRIDE = 16, 8
"""Whatever a server's words and a request share of at least both together, in a row, is found."""


def presentable(text: str) -> str:
    """Provider text as a person may see it: one line, short, without addresses and keys."""
    line = " ".join(clean_text(text[:_READ]).split())
    return shorten(_SECRETS.sub(_REMOVED, _HOST.sub(_without_address, _URL.sub(_REMOVED, line))), _LIMIT)[0]


def _without_address(found: re.Match[str]) -> str:
    host, colon, _ = found[0].partition(":")
    has_port = bool(colon) and ("." in host or host.lower() == "localhost")
    return _REMOVED if has_port or _INTERNAL.fullmatch(host) else found[0]


def message_of(refused: ProviderRefused, model_id: str, tiers: Mapping[str, str]) -> tuple[str, str | None]:
    """What happened and where to look, for whoever reads the run; and the setting to look at."""
    said = presentable(refused.text) or f"The provider answered with status {refused.status}."
    match code_of(refused):
        case "provider_auth":
            fault, setting = "The provider does not accept the key, or what it may do", "ANTHROPIC_API_KEY"
        case "provider_billing":
            fault, setting = "The provider's account is not paid for", "ANTHROPIC_API_KEY"
        case "request_rejected" if _is_about_the_model(refused, model_id):
            fault, setting = f"The provider does not offer the model {model_id}", _setting_of(model_id, tiers)
        case "request_rejected" if refused.status in (404, 405):
            fault, setting = "There is no Messages API at the provider's address", "ANTHROPIC_BASE_URL"
        case "request_rejected":
            return f"The provider does not take the request: {said}", None
        case _:
            return said, None
    return f"{fault}; see {setting}. {said}", setting


def _is_about_the_model(refused: ProviderRefused, model_id: str) -> bool:
    text = refused.text.lower()
    return "model" in text and (refused.status == 404 or refused.type == "not_found_error" or model_id.lower() in text)


def _setting_of(model_id: str, tiers: Mapping[str, str]) -> str:
    named = [f"CHARGEHAND_MODEL_{tier.upper()}" for tier, answering in tiers.items() if answering == model_id]
    return " or ".join(named) or "`model` in the team"


def loggable(text: str, request: Request, key: str | None) -> str:
    """Provider text for the log: presentable, and free of the key and of what it repeats from the request."""
    if key:
        text = text[:_READ].replace(key, _REMOVED)
    line = presentable(text)
    said = "\n".join(" ".join(part.split()) for part in _texts(request))
    kept, shown = [], 0
    for at in range(0, len(line) - _WINDOW + 1, _STRIDE):
        place = said.find(line[at : at + _WINDOW]) if at >= shown else -1
        if place >= 0:
            start = at - _shared(reversed(line[shown:at]), reversed(said[max(place - at, 0) : place]))
            end = at + _shared(line[at:], said[place : place + len(line)])
            kept += [line[shown:start], "[…]"]
            shown = end
    return "".join([*kept, line[shown:]])


def _shared(one: Iterable[str], other: Iterable[str]) -> int:
    """How many characters the two have in common at their beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _texts(request: Request) -> Iterable[str]:
    yield request.system
    for message in request.messages:
        for block in message.content:
            yield from _strings(block)


def _strings(value: Any) -> Iterable[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from _strings(item)
        case list() | tuple():
            for item in value:
                yield from _strings(item)
