"""How calls are admitted."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from app.domain.errors import Held
from app.domain.policy.breakers import LONG_PAUSE_S, LONGEST_PAUSE_S
from app.llm.gate import LONGEST_COUNTED_HOLD_S, Gate
from app.llm.model import Progress

MODEL = "claude-haiku-5-5"


def _limits(seconds: float, *, limit: str = "requests", remaining: str = "0") -> dict[str, str]:
    reset = (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
    return {f"anthropic-ratelimit-{limit}-remaining": remaining, f"anthropic-ratelimit-{limit}-reset": reset}


async def _wait_of(gate: Gate, model_id: str = MODEL) -> float:
    """Seconds that the gate would make a call of this model wait; 0 when it lets it in."""
    try:
        async with gate.slot(model_id, Progress()):
            return 0
    except Held as error:
        return error.retry_after_s or 0


async def test_a_slot_is_free_again_when_its_call_fails() -> None:
    gate = Gate(1)
    for _ in range(3):
        with pytest.raises(ValueError, match="call"):
            async with gate.slot(MODEL, Progress()):
                raise ValueError("call")


async def test_a_cancelled_wait_takes_no_slot() -> None:
    gate = Gate(1)
    async with gate.slot(MODEL, Progress()):
        waiting = asyncio.create_task(_wait_of(gate))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert await _wait_of(gate) == 0


async def test_a_held_model_waits_and_others_do_not() -> None:
    gate = Gate(1)
    gate.hold(MODEL, 30)
    assert await _wait_of(gate) == pytest.approx(30, abs=1)
    assert await _wait_of(gate, "claude-opus-5-5") == 0


async def test_a_short_hold_is_waited_for() -> None:
    gate = Gate(1)
    now = asyncio.get_running_loop().time
    began = now()
    gate.hold(MODEL, 0.05)
    async with gate.slot(MODEL, Progress()):
        assert 0.05 <= now() - began < 1


async def test_waiting_for_a_held_model_takes_no_slot() -> None:
    gate = Gate(1)
    gate.hold(MODEL, LONG_PAUSE_S - 1)
    waiting = asyncio.create_task(_wait_of_long(gate))
    await asyncio.sleep(0)
    assert await _wait_of(gate, "claude-opus-5-5") == 0
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def _wait_of_long(gate: Gate) -> None:
    async with gate.slot(MODEL, Progress()):
        raise AssertionError("admitted")


async def test_a_hold_that_began_while_a_call_waited_for_its_slot_counts() -> None:
    gate = Gate(1)
    async with gate.slot(MODEL, Progress()):
        waiting = asyncio.create_task(_wait_of(gate))
        await asyncio.sleep(0)
        gate.hold(MODEL, 30)
    assert await waiting == pytest.approx(30, abs=1)


async def test_a_shorter_hold_does_not_end_a_longer_one() -> None:
    gate = Gate(1)
    gate.hold(MODEL, 30)
    gate.hold(MODEL, 1)
    assert await _wait_of(gate) == pytest.approx(30, abs=1)


async def test_what_a_refusal_asks_for_is_honoured_within_reason_and_a_counter_for_less() -> None:
    gate = Gate(1)
    gate.hold(MODEL, 4_000_000)
    gate.note("claude-opus-5-5", _limits(4_000))
    assert await _wait_of(gate) == pytest.approx(LONGEST_PAUSE_S, abs=1)
    assert await _wait_of(gate, "claude-opus-5-5") == pytest.approx(LONGEST_COUNTED_HOLD_S, abs=1)


async def test_a_wait_is_told_while_it_lasts_and_after() -> None:
    gate = Gate(1)
    gate.hold(MODEL, 0.05)
    progress = Progress()
    waiting = asyncio.create_task(_through(gate, progress))
    await asyncio.sleep(0)
    assert progress.held
    await waiting
    assert not progress.held
    assert progress.waited_s >= 0.05


async def _through(gate: Gate, progress: Progress) -> None:
    async with gate.slot(MODEL, progress):
        pass


@pytest.mark.parametrize("limit", ["requests", "tokens", "input-tokens", "output-tokens"])
async def test_an_exhausted_limit_holds_the_model_until_it_is_reset(limit: str) -> None:
    gate = Gate(1)
    gate.note(MODEL, _limits(20, limit=limit))
    assert await _wait_of(gate) == pytest.approx(20, abs=2)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        _limits(20, remaining="1"),
        _limits(-20),
        {"anthropic-ratelimit-requests-remaining": "0"},
        {"anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": "tomorrow"},
        {"anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": "2999-01-01T00:00:00"},
    ],
    ids=["none", "some remaining", "reset already", "no reset", "unreadable", "no zone"],
)
async def test_other_headers_hold_nothing(headers: dict[str, str]) -> None:
    gate = Gate(1)
    gate.note(MODEL, headers)
    assert await _wait_of(gate) == 0
