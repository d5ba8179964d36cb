"""A provider that answers wrongly in every way: bytes, headers, events, fields and words.

Unlike the stub provider it writes its responses byte by byte, so that HTTP itself can be broken. What it was asked is
counted, to be compared with what the service says that it has asked.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from types import TracebackType
from typing import Any, Self

from tests.fuzz import oddities
from tests.fuzz.tool_calls import odd_call
from tests.support import stub_wire
from tests.support.service import plan_of, report, synthesis, task
from tests.support.stub_answers import Answer, as_json, call, text, tool_calls
from tests.support.stub_script import system_of

Body = dict[str, Any]

STATUSES = (
    200,
    201,
    202,
    204,
    301,
    400,
    403,
    404,
    408,
    409,
    413,
    422,
    424,
    429,
    499,
    500,
    502,
    503,
    504,
    520,
    524,
    529,
    599,
)
WAITS = ("0", "1", "-5", "1e0", "nan", "soon", "Wed, 99 Oct 99999 07:28:00 GMT", "\x00")
"""None that is long: it is honoured, and nothing more is asked for as long."""
REASONS = (
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "refusal",
    "pause_turn",
    "model_context_window_exceeded",
    "",
)
TYPES = ("text/event-stream", "application/json", "text/html", "", "application/json; charset=latin-1", "a\xffb")
KINDS = (
    "overloaded_error",
    "api_error",
    "rate_limit_error",
    "invalid_request_error",
    "not_found_error",
    "timeout_error",
)
WORDS = (
    "max_tokens: 16000 > 4096, which is the maximum allowed number of output tokens for small-1",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "tools.0: Input tag 'web_search_20260318' found using 'type' does not match any of the expected tags",
    "messages: text content blocks must be non-empty", "Overloaded", "", "\x00", "<html>Bad gateway</html>",
)  # fmt: skip


class OddProvider:
    """Answers most of its requests as it should, and the others in an odd way that the seed decides."""

    def __init__(self, seed: str, odd: float = 0.3) -> None:
        self._seed = seed
        self._odd = odd
        self.url = ""
        self.requests = 0
        self.done: Counter[str] = Counter()
        """What was done to how many answers."""
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**20)
        self.url = "http://{}:{}".format(*self._server.sockets[0].getsockname()[:2])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(line.partition(b":")[2])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length:")
            )
            body = json.loads(await reader.readexactly(length))
            self.requests += 1
            writer.write(self._response(body, self.requests))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _response(self, body: Body, number: int) -> bytes:
        chance = Random(f"{self._seed}:{number}")
        answer = _right_answer(body, chance)
        if chance.random() >= self._odd:
            self.done["right"] += 1
            return _http(200, *_written(answer, body, number, streamed=bool(body.get("stream"))))
        ways: Sequence[Callable[[Answer, Body, int, Random], bytes]] = (
            _odd_message, _odd_message, _odd_events, _odd_events, _other_form, _odd_words, _odd_words, _odd_status,
            _odd_bytes, _odd_http,
        )  # fmt: skip
        way = chance.choice(ways)
        self.done[way.__name__.removeprefix("_")] += 1
        return way(answer, body, number, chance)


def _right_answer(body: Body, chance: Random) -> Answer:
    system, turns = system_of(body), len(body["messages"])
    if "turn an objective into a plan" in system:
        return as_json(_plan(chance))
    if "rewrite the task" in system:
        return as_json({"instruction": f"Do it better, {chance.random()}.", "change": "Better."})
    if "reconcile what they delivered" in system:
        return as_json(synthesis("All of it.", "a"))
    names = [tool["name"] for tool in body.get("tools", ())]
    if names and turns < 6 and chance.random() < 0.7:
        calls = (odd_call(chance) for _ in range(chance.choice((1, 2, 5))))
        return tool_calls(*({**call(name), "input": arguments} for name, arguments in calls))
    return as_json(report("A part of it.", sources=["data.csv"]))


def _plan(chance: Random) -> Body:
    shapes = [
        [task("a", "analyst")],
        [task("a", "analyst"), task("b", "writer", ["a"])],
        [task("a", "analyst"), task("b", "writer", required=False), task("c", "writer", ["a", "b"])],
    ]
    return plan_of(*chance.choice(shapes), final_instruction=chance.choice(("", "In one line.")))


def _written(answer: Answer, body: Body, number: int, *, streamed: bool) -> tuple[bytes, str]:
    if streamed:
        return b"".join(stub_wire.events(answer, body, number, f"req_{number:06}")), "text/event-stream"
    return json.dumps(stub_wire.message(answer, body, number)).encode(), "application/json"


def _http(status: int, payload: bytes, kind: str, headers: str = "") -> bytes:
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(payload)}\r\n"
    return f"{head}{headers}connection: close\r\n\r\n".encode("latin-1") + payload


def _odd_message(answer: Answer, body: Body, number: int, chance: Random) -> bytes:
    """A whole reply with an odd part, as JSON."""
    whole = oddities.mutated(stub_wire.message(answer, body, number), chance)
    if chance.random() < 0.3 and isinstance(whole, dict):
        whole["usage"] = {"input_tokens": oddities.value(chance), "output_tokens": oddities.value(chance)}
    return _http(200, oddities.encoded(whole, chance), "application/json")


def _odd_events(answer: Answer, body: Body, number: int, chance: Random) -> bytes:
    """A stream with odd events, or with events in an odd order."""
    events = list(stub_wire.events(answer, body, number, f"req_{number:06}"))
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(len(events))
        match chance.choice(("field", "field", "drop", "double", "swap", "insert", "damage")):
            case "field":
                data = events[at].partition(b"data: ")[2].rstrip() or b"{}"
                name = events[at].partition(b"\n")[0]
                try:
                    events[at] = (
                        name
                        + b"\ndata: "
                        + oddities.encoded(oddities.mutated(json.loads(data), chance), chance)
                        + b"\n\n"
                    )
                except (ValueError, RecursionError):
                    events[at] = b"data: {\n\n"
            case "drop" if len(events) > 1:
                del events[at]
            case "double":
                events.insert(at, events[at])
            case "swap":
                other = chance.randrange(len(events))
                events[at], events[other] = events[other], events[at]
            case "insert":
                events.insert(at, chance.choice(_BETWEEN))
            case _:
                events[at] = oddities.damaged(events[at], chance)
    return _http(200, b"".join(events), "text/event-stream")


_BETWEEN = (
    b"data: [DONE]\n\n", b": comment\n\n", b"\n\n", b"event: done\n\n", b"event: error\ndata: overloaded\n\n",
    b"retry: 1\n\n", b'data: {"type": "unknown"}\n\n', b"data: " + b"x" * 300_000 + b"\n\n",
    b"event: ping\ndata: {}\n\n", b"\xef\xbb\xbf",
    b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}\n\n',
)  # fmt: skip


def _other_form(answer: Answer, body: Body, number: int, chance: Random) -> bytes:
    """A stream where a whole reply was asked for, the other way round, or under a wrong content type."""
    payload, kind = _written(answer, body, number, streamed=not body.get("stream"))
    return _http(200, payload, chance.choice((kind, kind, *TYPES)))


def _odd_words(answer: Answer, body: Body, number: int, chance: Random) -> bytes:
    """A reply that is right in form, and odd in what it says."""
    said = "".join(block.get("text", "") for block in answer.content)
    try:
        meant = oddities.mutated(json.loads(said), chance) if said else None
    except ValueError:
        meant = None
    written = json.dumps(meant, ensure_ascii=False) if meant is not None else oddities.text(chance)
    lead = chance.choice(("", "", "", "Let me look first.\n", "<think>{}</think>", "```json\n", "\u2028"))
    calls = [call(oddities.text(chance)[:100], {"text": 1}) for _ in range(chance.choice((0, 0, 1, 300)))]
    odd = text(lead + written)
    odd = Answer(content=(*odd.content, *calls), stop_reason=chance.choice(REASONS))
    payload, kind = _written(odd, body, number, streamed=bool(body.get("stream")))
    return _http(200, payload, kind)


def _odd_status(answer: Answer, body: Body, number: int, chance: Random) -> bytes:
    """A status with a body and headers that do not go with it."""
    error: Any = {"type": "error", "error": {"type": chance.choice(KINDS), "message": chance.choice(WORDS)}}
    if chance.random() < 0.4:
        error = oddities.mutated(error, chance)
    payload = chance.choice(
        (oddities.encoded(error, chance), oddities.encoded(error, chance), b"", b"<html>", b"\xff" * 50)
    )
    headers = chance.choice(
        ("", f"retry-after: {chance.choice(WAITS)}\r\n", "anthropic-ratelimit-requests-remaining: x\r\n")
    )
    return _http(chance.choice(STATUSES), payload, chance.choice(TYPES), headers)


def _odd_bytes(answer: Answer, body: Body, number: int, chance: Random) -> bytes:
    """The right body, damaged."""
    payload, kind = _written(answer, body, number, streamed=bool(body.get("stream")))
    return _http(200, oddities.damaged(payload, chance), kind)


def _odd_http(answer: Answer, body: Body, number: int, chance: Random) -> bytes:
    """A whole response, damaged: status line, headers, lengths."""
    payload, kind = _written(answer, body, number, streamed=bool(body.get("stream")))
    whole = _http(200, payload, kind, f"request-id: {chance.choice(('a', 'x' * 5_000, 'é'))}\r\n")
    return oddities.damaged(whole[:400], chance) + whole[400:]
