"""One line for each thing that an operator asks about, each with the fields that find what it is about."""

from typing import Any

from structlog.testing import capture_logs
from structlog.typing import EventDict

from app.domain.policy.breakers import trip
from app.store.breakers import change_breaker
from tests.support.fixtures import Services
from tests.support.service import plan_of, report, task
from tests.support.stub_answers import as_json, held
from tests.support.stub_provider import StubProvider

WORDS = ("Murmur", "whispered", "Do t1")


def one(lines: list[EventDict], event: str) -> Any:
    [line] = [line for line in lines if line["event"] == event]
    return line


async def test_a_run_has_a_line_for_its_start_its_takeover_and_its_end(services: Services, stub: StubProvider) -> None:
    stub.on("work", held(as_json(report("whispered"))))
    with capture_logs() as lines:
        first = await services.start()
        run_id = await first.submit("Murmur.", plan=plan_of(task("t1")))
        await stub.seen(1, role="work")
        await services.crash(first)
        second = await services.start()
        stub.release()
        await second.ended(run_id)

    whose = {"run_id": run_id, "tenant": "default", "trace_id": run_id.removeprefix("run_")}
    told = {name: one(lines, name) for name in ("run accepted", "run started", "run taken over", "run resumed")}
    told["run ended"] = one(lines, "run ended")
    assert [name for name, line in told.items() if line | whose != line] == []
    assert told["run started"]["engine"] == first.runtime.name
    assert told["run taken over"].keys() == {*whose, "event", "log_level", "epoch", "lapsed_at"}
    assert (told["run resumed"]["engine"], told["run resumed"]["lost_calls"]) == (second.runtime.name, 1)
    assert {"status", "stop_reason", "cost_usd", "wall_ms", "llm_calls"} <= told["run ended"].keys()
    assert [word for word in WORDS if word in str(lines)] == []


async def test_a_breaker_that_changes_has_a_line_that_names_its_tenant(services: Services) -> None:
    service = await services.start(engine=False)
    with capture_logs() as lines:
        await change_breaker(service.database, "acme", "tool:calculate", trip)

    line = one(lines, "breaker changed")
    assert (line["tenant"], line["breaker"], line["state"]) == ("acme", "tool:calculate", "open")
