import asyncio
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from pydantic import Field
from structlog.testing import capture_logs

from app.domain.errors import ToolError
from app.tools.tool import EMPTY, Arguments, Tool, ToolAnswer, ToolContext, call


class Note(Arguments):
    text: str = ""
    numbers: list[int] = Field(default_factory=list)


def tool_that(run: Callable[[Note, ToolContext], Any], **changes: Any) -> dict[str, Tool]:
    return {"note": Tool("note", "Takes a note.", Note, "read", run, **changes)}


def returning(output: Any, **changes: Any) -> dict[str, Tool]:
    async def run(arguments: Note, context: ToolContext) -> Any:
        return output

    return tool_that(run, **changes)


def raising(error: BaseException) -> dict[str, Tool]:
    async def run(arguments: Note, context: ToolContext) -> Any:
        raise error

    return tool_that(run)


async def echo(arguments: Note, context: ToolContext) -> dict[str, Any]:
    return arguments.model_dump()


async def answered(tools: Mapping[str, Tool], arguments: Any = None, name: str = "note") -> ToolAnswer:
    return await call(tools, name, {} if arguments is None else arguments, ToolContext((), "call-1"))


async def test_an_unknown_tool_is_answered_with_the_names_there_are() -> None:
    answer = await answered(tool_that(echo), name="nóte")

    assert answer.error_code == "tool_call_invalid"
    assert "note" in answer.text
    assert "nóte" in answer.text


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "excess"),
    [([[0] * 1_000] * 1_000, "20000 values"), ([0] * 10**6, "20000 values"), (nested(5_000), "200 levels")],
)
async def test_input_of_more_than_can_be_looked_at_is_refused_unread(value: Any, excess: str) -> None:
    answer = await answered(tool_that(echo), {"numbers": value})

    assert answer.error_code == "tool_call_invalid"
    assert answer.text == f"tool_call_invalid: the input of note has more than {excess}"


@pytest.mark.parametrize("value", [[0] * 19_000, nested(190)])
async def test_input_that_can_be_looked_at_is_looked_at(value: Any) -> None:
    answer = await answered(tool_that(echo), {"numbers": value})

    assert "more than" not in answer.text


@pytest.mark.parametrize("arguments", [["x"], "x", 7, None, True])
async def test_input_that_is_no_object_is_an_error(arguments: Any) -> None:
    answer = await call(tool_that(echo), "note", arguments, ToolContext((), "call-1"))

    assert answer.error_code == "tool_call_invalid"
    assert "input" in answer.text


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"text": 7}, "text"),
        ({"text": None}, "text"),
        ({"numbers": "[1,2]"}, "numbers"),
        ({"numbers": [1, "2"]}, "numbers.1"),
        ({"numbers": [1.5]}, "numbers.0"),
        ({"txet": "x"}, "txet"),
    ],
)
async def test_a_wrong_or_unknown_field_is_named(arguments: dict[str, Any], field: str) -> None:
    answer = await answered(tool_that(echo), arguments)

    assert answer.error_code == "tool_call_invalid"
    assert f"{field}: " in answer.text


async def test_text_that_looks_like_json_stays_text() -> None:
    answer = await answered(tool_that(echo), {"text": '{"a":1}'})

    assert json.loads(answer.text)["text"] == '{"a":1}'


async def test_a_huge_output_is_shown_with_head_tail_and_total() -> None:
    output = "HEAD" + "\U0001f378" * 4_999_992 + "TAIL"

    answer = await answered(returning(output))

    assert len(answer.text) <= 20_000
    assert answer.text.startswith("HEAD\U0001f378")
    assert answer.text.endswith("\U0001f378TAIL")
    assert "5000000" in answer.text
    assert answer.omitted > 4_900_000
    assert answer.text.encode()


async def test_a_huge_json_output_is_labelled_and_stays_within_the_limit() -> None:
    answer = await answered(returning(["x" * 100] * 50_000))

    assert len(answer.text) <= 20_000
    assert answer.text.startswith("(JSON, cut in the middle: do not parse)")
    assert answer.omitted > 0


@pytest.mark.parametrize("output", ["", "   ", "\n\t "])
async def test_an_empty_output_is_shown_as_such(output: str) -> None:
    assert await answered(returning(output)) == ToolAnswer(EMPTY)


async def test_an_output_within_the_limit_is_unchanged() -> None:
    assert await answered(returning("x" * 20_000)) == ToolAnswer("x" * 20_000)


async def test_text_that_cannot_be_stored_is_cleaned_in_outputs() -> None:
    odd = {
        "a": "a\x00b",
        "b": "\\u0000",
        "c": "x\ud83c y",
        "d": "\ud83c\udf78",
        "e": float("nan"),
        "f\x00": float("inf"),
    }

    answer = await answered(returning(odd))

    cleaned = json.loads(answer.text, parse_constant=lambda constant: pytest.fail(constant))
    assert cleaned == {"a": "a\ufffdb", "b": "\\u0000", "c": "x\ufffd y", "d": "\U0001f378", "e": None, "f\ufffd": None}
    assert answer.text.encode()


@pytest.mark.parametrize("error", [RuntimeError("a\x00b \ud83c c"), ToolError("a\x00b \ud83c c")])
async def test_text_that_cannot_be_stored_is_cleaned_in_errors(error: Exception) -> None:
    answer = await answered(raising(error))

    assert answer.error_code == "tool_failed"
    assert "a\ufffdb \ufffd c" in answer.text
    assert answer.text.encode()


@pytest.mark.parametrize("error", [RuntimeError(), KeyError("x"), RecursionError(), ToolError(""), TimeoutError()])
async def test_whatever_a_tool_raises_becomes_an_error_with_text(error: Exception) -> None:
    answer = await answered(raising(error))

    assert answer.error_code == "tool_failed"
    assert answer.text.strip()


async def test_a_long_error_is_shortened() -> None:
    assert len((await answered(raising(RuntimeError("x" * 1_000_000)))).text) <= 2_000


class Unshowable:
    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__


@dataclass
class Order:
    number: int
    placed: date


CYCLE: list[Any] = [1]
CYCLE.append(CYCLE)
DEEP: list[Any] = []
for _ in range(100_000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (None, EMPTY),
        (True, "true"),
        ("Größe".encode(), "Größe"),
        ("Größe".encode("cp1252"), "Größe"),
        ("Größe 日本".encode("utf-16"), "Größe 日本"),
        ("plain".encode("utf-16-le"), "plain"),
        (bytearray(b"\xef\xbb\xbfx"), "x"),
        (memoryview(b"x"), "x"),
        (b"\x89PNG\r\n\x1a\n" + b"\x00" * 92, "(a PNG picture, 100 bytes, which cannot be shown)"),
        (b"\x00\x01\x02\xff" * 25, "(binary data, 100 bytes, which cannot be shown)"),
        (datetime(2025, 4, 3, 10, tzinfo=timezone(timedelta(hours=2))), "2025-04-03T10:00:00+02:00"),
        ([date(2025, 4, 3), timedelta(days=1, seconds=5)], '["2025-04-03", "1 day, 0:00:05"]'),
        (Decimal("1.10"), "1.10"),
        ({Decimal("1.10"): None}, '{"1.10": null}'),
        ({3, 1, 2}, "[1, 2, 3]"),
        ({1: "a", "1": "b"}, '{"1": "a", "1\'": "b"}'),
        ({"a": {b"x", None}}, '{"a": [null, "x"]}'),
        (Order(7, date(2025, 4, 3)), '{"number": 7, "placed": "2025-04-03"}'),
        (Note(text="x"), '{"text": "x", "numbers": []}'),
        ([10**5_000], '["(a whole number of about 5,001 digits)"]'),
        ([Unshowable()], '["(an object of type Unshowable, which cannot be shown)"]'),
        ({"x": object()}, '{"x": "(an object of type object, which cannot be shown)"}'),
        (CYCLE, '[1, "(a value that lies within itself)"]'),
    ],
)
async def test_whatever_a_tool_brings_back_can_be_read(output: Any, text: str) -> None:
    assert await answered(returning(output)) == ToolAnswer(text)


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (DEEP, "nested more than 50 levels deep"),
        (list(range(3_000_000)), "more)"),
        (dict.fromkeys(range(1_000_000), "x"), "more)"),
        ([["x" * 1_000_000] * 1_000] * 100, "omitted"),
        (b"x" * 50_000_000, "omitted"),
        (b"\x00" * 50_000_000, "50,000,000 bytes"),
    ],
)
async def test_what_is_very_deep_or_wide_is_shown_in_part_at_once(output: Any, said: str) -> None:
    started = time.thread_time()
    answer = await answered(returning(output))

    assert time.thread_time() - started < 0.5
    assert answer.error_code is None
    assert said in answer.text
    assert len(answer.text) <= 20_000


@pytest.mark.parametrize("number", [2.0, -0.0, 9_007_199_254_740_992.0])
async def test_a_whole_number_written_as_a_fraction_is_an_integer(number: float) -> None:
    answer = await answered(tool_that(echo), {"numbers": [number]})

    assert json.loads(answer.text)["numbers"] == [int(number)]
    assert ".0" not in answer.text


@pytest.mark.parametrize("number", [2.5, 1e300, True, "2", "2.0", None, [2.0]])
async def test_nothing_else_passes_for_an_integer(number: Any) -> None:
    assert (await answered(tool_that(echo), {"numbers": [number]})).error_code == "tool_call_invalid"


async def test_a_tool_that_waits_for_something_cancelled_is_an_error() -> None:
    assert (await answered(raising(asyncio.CancelledError()))).error_code == "tool_failed"


async def test_cancelling_the_caller_cancels_the_tool() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def run(arguments: Note, context: ToolContext) -> str:
        started.set()
        try:
            return await asyncio.Future[str]()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    task = asyncio.create_task(answered(tool_that(run)))
    await started.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert cancelled.is_set()


async def test_calls_side_by_side_are_answered_each_on_its_own() -> None:
    async def never(arguments: Note, context: ToolContext) -> str:
        return await asyncio.Future[str]()

    answers = await asyncio.gather(
        answered(returning("A")),
        answered(raising(RuntimeError())),
        answered(returning("C")),
        answered(tool_that(never, timeout_s=0.05)),
    )

    assert [answer.error_code for answer in answers] == [None, "tool_failed", None, "tool_timeout"]
    assert [answers[0].text, answers[2].text] == ["A", "C"]
    assert all(answer.text for answer in answers)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_blocking_tool_leaves_the_loop_free_and_times_out_on_time() -> None:
    release, finished = threading.Event(), threading.Event()

    def block(arguments: Note, context: ToolContext) -> str:
        release.wait(10)
        finished.set()
        return "late"

    started = time.perf_counter()
    task = asyncio.create_task(answered(tool_that(block, timeout_s=0.3)))
    assert (await answered(returning("meanwhile"))).text == "meanwhile"
    answer = await task

    assert answer.error_code == "tool_timeout"
    assert "0.3 s" in answer.text
    assert time.perf_counter() - started < 1
    assert not finished.is_set()
    release.set()
    assert await asyncio.to_thread(finished.wait, 5)


async def test_a_failure_is_logged_with_its_place_and_without_its_message() -> None:
    with capture_logs() as lines:
        await answered(raising(RuntimeError("postgresql://svc:p4ss@db/x")))

    assert [(line["event"], line["tool"], line["error"]) for line in lines] == [("tool failed", "note", "RuntimeError")]
    assert "raise error" in lines[0]["where"]
    assert "p4ss" not in str(lines)
