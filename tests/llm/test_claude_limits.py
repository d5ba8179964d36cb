"""How long a call of the Claude client may take, how many run at once, and what a cancelled one leaves behind."""

import asyncio
from typing import Any

import pytest

from app.domain.errors import OutOfTime, ProviderUnavailable
from app.domain.usage import Usage
from app.llm.claude import Claude
from tests.support.model_calls import claude_at, failure_of, ignored, request
from tests.support.stub_answers import delayed, held, text
from tests.support.stub_provider import StubProvider


@pytest.mark.parametrize("listener", [None, ignored], ids=["whole", "streamed"])
async def test_a_call_that_takes_too_long_ends_and_may_have_been_billed(
    claude: Claude, stub: StubProvider, listener: Any
) -> None:
    stub.on("work", held(text("late")))
    failure = await failure_of(claude, on_text=listener, timeout_s=0.2)
    assert isinstance(failure, ProviderUnavailable)
    assert failure.usage.estimated
    assert await stub.ended(stub.log[0]) == "client_disconnected"


async def test_silence_inside_a_stream_ends_the_call(stub: StubProvider) -> None:
    claude = claude_at(stub.url, read_timeout_s=0.2)
    heard: list[str] = []
    stub.on("work", text("abcdef", stall_after_events=4, latch="never"))
    failure = await failure_of(claude, on_text=heard.append)
    await claude.close()
    assert isinstance(failure, ProviderUnavailable)
    assert heard == ["ab"]
    assert failure.usage.estimated


async def test_silence_before_the_reply_ends_the_call_too_and_is_the_providers(stub: StubProvider) -> None:
    claude = claude_at(stub.url, read_timeout_s=0.2)
    stub.on("work", held(text("4"), "never"))
    failure = await failure_of(claude, reply_within_s=0.01)
    await claude.close()
    assert isinstance(failure, ProviderUnavailable)


async def test_the_time_of_whoever_asks_begins_with_the_first_word(claude: Claude, stub: StubProvider) -> None:
    stub.on("work", text("abcdef", stall_after_events=4, latch="never", start_usage={"input_tokens": 9}))
    failure = await failure_of(claude, reply_within_s=0.1)
    assert (type(failure), failure.code) == (OutOfTime, "timeout")
    assert (failure.usage.input_tokens, failure.usage.estimated) == (9, True)


async def test_a_reply_that_meets_the_end_of_the_call_itself_is_the_providers_affair(
    claude: Claude, stub: StubProvider
) -> None:
    stub.on("work", text("abcdef", stall_after_events=4, latch="never"))
    failure = await failure_of(claude, timeout_s=0.2, reply_within_s=60)
    assert isinstance(failure, ProviderUnavailable)


async def test_a_call_tells_how_long_its_provider_was_silent(claude: Claude, stub: StubProvider) -> None:
    stub.on("work", delayed(text("4"), 0.1))
    asked = request()
    await claude.reply(asked)
    assert 0.1 <= asked.progress.silent_s < 5


async def test_a_call_stopped_while_it_waits_for_a_slot_has_cost_nothing(stub: StubProvider) -> None:
    claude = claude_at(stub.url, calls_at_once=1)
    stub.on("work", held(text("4"), "never"))
    first, second = request(), request()
    calls = [asyncio.create_task(claude.reply(first))]
    await stub.seen(1)
    calls.append(asyncio.create_task(claude.reply(second)))
    await asyncio.sleep(0)
    for calling in reversed(calls):
        calling.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    await claude.close()
    assert (second.progress.held, second.progress.usage) == (True, Usage())
    assert first.progress.usage is not None
    assert (first.progress.held, first.progress.usage.estimated) == (False, True)
    assert len(stub.log) == 1


async def test_a_call_stopped_in_the_middle_costs_what_the_provider_had_told(stub: StubProvider) -> None:
    claude = claude_at(stub.url)
    usage = {"input_tokens": 10_000, "output_tokens": 1}
    heard = asyncio.Event()
    stub.on("work", text("x" * 400, start_usage=usage, pieces=1, stall_after_events=4, latch="never"))
    asked = request(on_text=lambda _: heard.set())
    calling = asyncio.create_task(claude.reply(asked))
    await heard.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    await claude.close()
    assert asked.progress.usage is not None
    assert (asked.progress.usage.input_tokens, asked.progress.usage.output_tokens) == (10_000, 100)
    assert asked.progress.usage.estimated


@pytest.mark.parametrize("listener", [None, ignored], ids=["whole", "streamed"])
async def test_a_cancelled_call_closes_its_connection_and_frees_its_slot(stub: StubProvider, listener: Any) -> None:
    claude = claude_at(stub.url, calls_at_once=1)
    stub.on("work", call=1, reply=text("abcdef", latch="never", stall_after_events=4 if listener else None))
    calling = asyncio.create_task(claude.reply(request(on_text=listener)))
    seen = await stub.seen(1)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert await stub.ended(seen) == "client_disconnected"
    assert (await claude.reply(request())).content == [{"type": "text", "text": "ok"}]
    await claude.close()


async def test_a_stream_that_is_given_up_closes_its_connection(claude: Claude, stub: StubProvider) -> None:
    def broken(_: str) -> None:
        raise KeyError("ours")

    stub.on("work", text("abcdef", stall_after_events=4, latch="never"))
    with pytest.raises(KeyError, match="ours") as caught:
        await claude.reply(request(on_text=broken))
    assert await stub.ended(stub.log[0]) == "client_disconnected"
    assert caught.value.args == ("ours",)


async def test_no_more_calls_run_at_once_than_allowed(stub: StubProvider) -> None:
    claude = claude_at(stub.url, calls_at_once=2)
    stub.on("work", held(text("4")))
    calls = [asyncio.create_task(claude.reply(request())) for _ in range(6)]
    await stub.seen(2)
    stub.release()
    await asyncio.gather(*calls)
    await claude.close()
    assert len(stub.log) == 6
    assert stub.most_in_flight == 2
