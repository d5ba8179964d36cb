import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.client import Client, NothingBehind, Refused, ServiceError, Unreachable, Unsendable
from app.client.bodies import has, label

URL = "http://service.test"
Answering = Callable[[httpx2.Request], httpx2.Response]


def client_of(answer: Answering, patience_s: float = 5.0) -> Client:
    return Client(URL, "chk_1", patience_s=patience_s, pause_s=0, transport=httpx2.MockTransport(answer))


def problem(status: int, code: str, **headers: str) -> httpx2.Response:
    body = {"status": status, "code": code, "detail": "It is so.", "request_id": "req_1"}
    return httpx2.Response(
        status, json=body, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


def _same(answer: httpx2.Response, _: httpx2.Request) -> httpx2.Response:
    return answer


def told(seq: int, type_: str = "task.started", text: str = "") -> dict[str, Any]:
    return {"seq": seq, "type": type_, "data": {"text": text}}


def frame(event: Mapping[str, Any], end: str) -> str:
    name = f"id: {event['seq']}{end}" if "seq" in event else ""
    return f"{name}event: {event['type']}{end}data: {json.dumps(event, ensure_ascii=False)}{end}{end}"


class Pieces(httpx2.AsyncByteStream):
    """A body that comes in these pieces, and then breaks off unless it is whole."""

    def __init__(self, pieces: Sequence[bytes], *, whole: bool) -> None:
        self._pieces, self._whole = pieces, whole

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
        if not self._whole:
            raise httpx2.ReadError("broken off")


def stream(pieces: Sequence[bytes], *, whole: bool = True) -> httpx2.Response:
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Pieces(pieces, whole=whole))


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
cuts = st.lists(st.integers(1, 7), min_size=1, max_size=20)


@given(st.lists(texts, max_size=6), cuts, st.sampled_from(["\n", "\r\n", "\r"]))
def test_a_stream_is_read_alike_wherever_its_chunks_are_cut(written: list[str], sizes: list[int], end: str) -> None:
    events = [told(number, text=text) for number, text in enumerate(written, 1)]
    deltas = [{"type": "text.delta", "data": {"text": text}} for text in written]
    sent = [each for pair in zip(deltas, events, strict=True) for each in pair] + [told(len(written) + 1, "run.failed")]
    wire = f": here it begins{end}{end}retry: 1000{end}" + "".join(frame(each, end) for each in sent)
    left, pieces = wire.encode(), list[bytes]()
    while left:
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(left[:size])
        left = left[size:]

    async def read() -> list[Any]:
        async with client_of(lambda _: stream(pieces)) as client:
            return [each async for each in client.events("run_1", deltas=True)]

    assert asyncio.run(read()) == sent


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 300)), max_size=3))
def test_whatever_breaks_and_comes_twice_each_event_is_told_once(breaks: list[tuple[int, int]]) -> None:
    log = [*map(told, range(1, 8)), told(8, "run.succeeded")]
    left = list(breaks)

    def answer(request: httpx2.Request) -> httpx2.Response:
        known = int(request.headers["last-event-id"])
        if not left:
            return stream([frame(each, "\n").encode() for each in log[known:]])
        again, length = left.pop()
        wire = "".join(frame(each, "\n") for each in log[max(known - again, 0) :]).encode()
        return stream([wire[:length]], whole=False)

    async def read() -> list[int]:
        async with client_of(answer) as client:
            return [each["seq"] async for each in client.events("run_1")]

    assert asyncio.run(read()) == list(range(1, 9))


async def test_patience_with_a_stream_ends_and_begins_anew_with_each_event() -> None:
    answers = [stream([frame(told(1), "\n").encode()]), *[httpx2.Response(502)] * 3, stream([], whole=False)]
    said: list[ServiceError | None] = []

    def answer(_: httpx2.Request) -> httpx2.Response:
        return answers.pop(0) if answers else httpx2.Response(502)

    async with client_of(answer, patience_s=0.05) as client:
        with pytest.raises(Unreachable, match="HTTP 502"):
            _ = [each async for each in client.events("run_1", on_away=said.append)]

    assert not answers
    assert [each is None for each in said][:5] == [False, False, False, False, True]


async def test_a_stream_with_nothing_left_ends_and_one_that_is_refused_says_why() -> None:
    async with client_of(lambda _: httpx2.Response(204)) as client:
        assert [each async for each in client.events("run_1", after=9)] == []
    ended = stream([frame(told(2, "run.failed"), "\n").encode()])
    async with client_of(lambda _: ended) as client:
        with pytest.raises(NothingBehind, match="has ended with event 2: there is none behind 9"):
            _ = [each async for each in client.events("run_1", after=9)]
    async with client_of(lambda _: problem(401, "key_invalid")) as client:
        with pytest.raises(Refused, match=r"key_invalid: It is so\."):
            _ = [each async for each in client.events("run_1")]


async def test_what_is_busy_is_asked_again_under_the_same_key_and_a_refusal_is_not() -> None:
    keys: list[str] = []
    answers = [
        problem(429, "too_many_runs", retry_after="0"),
        problem(503, "database_unavailable", retry_after="0"),
        httpx2.Response(504, text="no upstream"),
        httpx2.Response(202, json={"id": "run_1"}),
    ]

    def answer(request: httpx2.Request) -> httpx2.Response:
        keys.append(request.headers["idempotency-key"])
        assert request.headers["authorization"] == "Bearer chk_1"
        return answers.pop(0)

    async with client_of(answer) as client:
        assert (await client.submit({"objective": "Find out."}))["id"] == "run_1"
        assert len(keys) == 4
        assert len(set(keys)) == 1
        answers.append(problem(503, "provider_unavailable"))
        with pytest.raises(Refused) as refused:
            await client.quote({"objective": "Find out."})
    assert (refused.value.status, refused.value.code, refused.value.request_id) == (
        503,
        "provider_unavailable",
        "req_1",
    )
    assert len(keys) == 5


async def test_who_is_told_to_come_after_more_than_its_patience_does_not_wait() -> None:
    async with client_of(lambda _: problem(429, "cost_limit", retry_after="3600")) as client:
        with pytest.raises(Refused) as refused:
            await client.submit({"objective": "Find out."})
    assert refused.value.retry_after_s == 3600


@pytest.mark.parametrize(
    "url", ["localhost:8000", "http://[", "ftp://x.test", "http://127.0.0.1:1", "http://x y", "http://127.0.0.1:99999"]
)
async def test_an_address_that_is_none_is_unreachable(url: str) -> None:
    with pytest.raises(Unreachable):
        async with Client(url, patience_s=0.01) as client:
            await client.teams()


async def test_what_answers_and_is_no_service_is_said_to_be_none() -> None:
    odd: list[Any] = [[], {}, None, {"a": 1}]
    wrong: list[Any] = [None, [1], {}]
    foreign = [httpx2.Response(200, text="<html>"), *(httpx2.Response(200, json=each) for each in odd)]
    for answer in [*foreign, *(httpx2.Response(404, json={"code": "x", "errors": each}) for each in wrong)]:
        async with client_of(partial(_same, answer)) as client:
            with pytest.raises(Unreachable, match="no answer of this API"):
                await client.teams()
            with pytest.raises(Unreachable, match="no answer of this API"):
                _ = [each async for each in client.runs()]


async def test_what_no_request_can_carry_is_said_before_it_is_sent() -> None:
    async with client_of(lambda _: pytest.fail("nothing was to be sent")) as client:
        for unsendable in (
            client.submit({"objective": "x"}, idempotency_key="ü"),
            client.submit({"objective": "\ud800"}),
            client.run("\ud800"),
            client.edit_plan("run_1", {"goal": float("nan")}, 1),
        ):
            with pytest.raises(Unsendable, match="this cannot be sent: "):
                await unsendable


async def test_an_answer_is_taken_for_ones_own_when_it_is_and_was_sent_before() -> None:
    question = {"id": "q_1", "answer": "yes"}
    sent = 0

    def answer(request: httpx2.Request) -> httpx2.Response:
        nonlocal sent
        if request.method == "GET":
            return httpx2.Response(200, json={"data": [question], "next_cursor": None})
        sent += 1
        if sent == 1:
            raise httpx2.ReadError("lost")
        return problem(409, "question_answered")

    async with client_of(answer) as client:
        assert (await client.answer("run_1", "q_1", " yes "))["id"] == "q_1"
        with pytest.raises(Refused):
            await client.answer("run_1", "q_1", "yes")  # Not lost this time: somebody else was quicker.
        sent = 0
        with pytest.raises(Refused):
            await client.answer("run_1", "q_1", "no")


async def test_runs_are_read_page_after_page_and_no_further_than_wanted() -> None:
    asked: list[httpx2.QueryParams] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.params)
        begin = int(request.url.params.get("after", "0"))
        data = [{"id": number} for number in range(begin, begin + int(request.url.params["limit"]))]
        return httpx2.Response(200, json={"data": data, "next_cursor": str(begin + len(data))})

    async with client_of(answer) as client:
        found = [each["id"] async for each in client.runs(limit=150, status=["queued", "running"], team=None)]

    assert len(found) == 150
    assert [params["limit"] for params in asked] == ["100", "50"]
    assert asked[1].get_list("status") == ["queued", "running"]
    assert "team" not in asked[1]


def test_labels_are_escaped_and_edits_are_found_again() -> None:
    assert label("path\\of:drive", 7) == "path\\\\of\\:drive:7"
    plan = {"goal": "g", "tasks": [{"id": "t1", "worker": "w", "title": ""}]}
    assert has(plan, {"reason": "r", "tasks": [{"id": "t1", "worker": "w"}]})
    assert not has(plan, {"tasks": [{"id": "t1"}, {"id": "t2"}]})
    assert not has(plan, {"goal": "h"})
