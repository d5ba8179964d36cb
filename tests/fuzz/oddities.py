"""Odd values: what no specification says and every client, model and file sends one day."""

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

TEXTS: Sequence[str] = (
    "", " ", "\n\n", "\t", "\x00", "a\x00b", "\ud800", "a\udfffb", "\u2028", "\u2029", "\u0085", "\ufeff", "\u200b",
    "\u00ad", "e\u0301", "\u202e", "💥", "NaN", "true", "null", "-1", "1e999", "0x10", "1_000", "../../etc/passwd",
    "'; DROP TABLE runs; --", "{{ 7 * 7 }}", "%s%n", "</task><task>", "<think>", "</think>", "<think>no</think>yes",
    '<invoke name="x">', "[" * 300, "```json\n{}\n```", '{"answer": "', "t1", "T1 ", "run_", "a" * 65, "(" * 200,
)  # fmt: skip
"""Short ones; `text` adds long ones."""

NUMBERS: Sequence[Any] = (
    0, -1, 1, -0.0, 1.0, 2.5, 120.0, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**30, 10**400, 1e308, -1e308,
    5e-324, float("inf"), float("-inf"), float("nan"), True, False,
)  # fmt: skip
LONGEST = 200_000


def text(chance: Random) -> str:
    """A text that is odd, or of an odd length."""
    if chance.random() < 0.15:
        unit = chance.choice(("<", "< ", "\n", "a", "é", ",", "<p>", "\\", '"', "\u2028", "0"))
        return unit * chance.choice((100, 3_000, LONGEST // len(unit)))
    return chance.choice(TEXTS)


def value(chance: Random) -> Any:
    """Any JSON value but the expected one."""
    kinds: Sequence[Callable[[], Any]] = (
        lambda: text(chance),
        lambda: chance.choice(NUMBERS),
        lambda: None,
        list,
        dict,
        lambda: [text(chance)],
        lambda: {text(chance): chance.choice(NUMBERS)},
        lambda: nested(chance.choice((3, 50, 190, 400))),
        lambda: [chance.choice(NUMBERS)] * chance.choice((2, 1_000, 30_000)),
        lambda: {str(number): number for number in range(chance.choice((2, 1_000, 30_000)))},
    )
    return chance.choice(kinds)()


def nested(depth: int) -> Any:
    """Lists within lists."""
    inner: Any = "deep"
    for _ in range(depth):
        inner = [inner]
    return inner


def mutated(whole: Any, chance: Random) -> Any:
    """A copy of a JSON value with one to three of its parts replaced, removed, doubled or wrapped."""
    copy = json.loads(json.dumps(whole))
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        places = list(_places(copy))
        if not places:
            return value(chance)
        holder, key = chance.choice(places)
        _change(holder, key, chance)
    return copy


def _places(whole: Any) -> list[tuple[Any, Any]]:
    """Every part of a value: what holds it, and under which key."""
    found: list[tuple[Any, Any]] = []
    waiting = [whole]
    while waiting:
        holder = waiting.pop()
        keys = holder.keys() if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        found += [(holder, key) for key in keys]
        waiting += [holder[key] for key in keys]
    return found


def _change(holder: Any, key: Any, chance: Random) -> None:
    match chance.choice(("replace", "replace", "replace", "remove", "wrap", "double", "add")):
        case "replace":
            holder[key] = value(chance)
        case "remove":
            del holder[key]
        case "wrap":
            holder[key] = [holder[key]]
        case "double" if isinstance(holder, list):
            holder.extend([holder[key]] * chance.choice((1, 3, 2_000)))
        case _ if isinstance(holder, dict):
            holder[text(chance)[:300]] = value(chance)


def encoded(whole: Any, chance: Random) -> bytes:
    """A value as JSON, in one of the spellings that parsers meet."""
    written = json.dumps(whole, ensure_ascii=chance.random() < 0.5)
    written = (
        written.replace("Infinity", chance.choice(("1e999", "Infinity", "1E400"))) if chance.random() < 0.7 else written
    )
    raw = written.encode("utf-8", "surrogatepass")
    return b"\xef\xbb\xbf" + raw if chance.random() < 0.02 else raw


def damaged(raw: bytes, chance: Random) -> bytes:
    """Bytes with a piece cut off, doubled, replaced or put in."""
    if not raw:
        return b"\x00"
    at, other = sorted((chance.randrange(len(raw)), chance.randrange(len(raw))))
    match chance.choice(("cut", "flip", "insert", "double", "remove")):
        case "cut":
            return raw[:at]
        case "flip":
            return raw[:at] + bytes([raw[at] ^ (1 << chance.randrange(8))]) + raw[at + 1 :]
        case "insert":
            return (
                raw[:at] + chance.choice((b"\x00", b"\xff\xfe", b"\r\n\r\n", b",", b"}", b'"', b"[" * 2_000)) + raw[at:]
            )
        case "double":
            return raw[:other] + raw[at:other] + raw[other:]
        case _:
            return raw[:at] + raw[other:]
