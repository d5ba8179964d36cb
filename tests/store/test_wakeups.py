"""Notices come from whoever may connect, and the parts that hear them go on whatever they are told."""

import asyncio
from typing import Any

import psycopg
import pytest
import structlog

from app.parts import kept_up
from app.store.deltas import DELTAS_CHANNEL, LISTENERS_CHANNEL
from app.store.journal_sql import EVENTS_CHANNEL
from tests.support.service import Service
from tests.support.waiting import until


@pytest.mark.parametrize("payload", ["run_x:12:kind", "run_x:", "run_x", "", "run_x:1e9", "\n\n", ":::"])
@pytest.mark.parametrize("channel", [EVENTS_CHANNEL, LISTENERS_CHANNEL, DELTAS_CHANNEL])
async def test_a_notice_that_cannot_be_read_is_passed_over(
    service: Service, sql: psycopg.Connection, channel: str, payload: str
) -> None:
    heard: list[int] = []
    with structlog.testing.capture_logs() as lines, service.runtime.wakeups.listening("run_x", heard.append):
        for _ in range(3):
            sql.execute("SELECT pg_notify(%s, %s)", [channel, payload])
        sql.execute("SELECT pg_notify(%s, 'run_x:7')", [EVENTS_CHANNEL])

        await until(lambda: 7 in heard)

    assert len([line for line in lines if line["log_level"] == "warning"]) <= 1
    assert service.runtime.wakeups.connected.is_set()


@pytest.mark.parametrize("error", [RuntimeError("of no use"), asyncio.CancelledError()])
async def test_a_part_that_breaks_is_begun_again_and_does_not_keep_the_rest_from_closing(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    monkeypatch.setattr("app.parts.PAUSE_S", 0)
    begun: list[int] = []
    lasting = asyncio.Event()

    async def part() -> None:
        begun.append(1)
        if len(begun) < 3:
            raise error
        lasting.set()
        await asyncio.Event().wait()

    with structlog.testing.capture_logs() as lines:
        async with kept_up(part=part):
            await asyncio.wait_for(lasting.wait(), 5)

    errors: list[Any] = [line for line in lines if line["log_level"] == "error"]
    assert [line["part"] for line in errors] == ["part", "part"]


async def test_a_part_that_breaks_while_it_ends_is_no_hindrance() -> None:
    async def part() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise RuntimeError("at the very end")

    async with kept_up(part=part):
        await asyncio.sleep(0)
