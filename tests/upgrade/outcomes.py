"""What a service of today makes of runs that were left, all of which it finds in one database."""

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from app.store.schema import migrate
from tests.support.effects import Effect, Ledger, example_tools
from tests.support.rows import every
from tests.support.service import Service, failed_in, plan_of, report, running_service, synthesis, task
from tests.support.stub_answers import Answer, as_json
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest, system_of
from tests.upgrade.left import LeftRun, put

_CASE = re.compile(r"\(case (\w+)\)")
TOOLS = ("send_mail", "put_record", "look_up")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a run."""

    url: str
    """The database it is in."""
    left: LeftRun
    row: dict[str, Any]
    log: Sequence[dict[str, Any]]
    requests: Sequence[SeenRequest]
    """What the provider was asked."""
    effects: Sequence[Effect]
    """What its tools did."""

    def request_of(self, role: str) -> dict[str, Any]:
        """The body of the role's only request."""
        return self._seen(role).body

    def sent_at(self, role: str) -> datetime:
        """When the role's only request came."""
        return datetime.now(UTC) - timedelta(seconds=time.monotonic() - self._seen(role).at)

    def _seen(self, role: str) -> SeenRequest:
        [seen] = [seen for seen in self.requests if seen.role == role]
        return seen


def opening_of(seen: SeenRequest) -> tuple[str, str]:
    """System prompt and first message of a request."""
    return system_of(seen.body), seen.body["messages"][0]["content"][0]["text"]


def case_of(seen: SeenRequest) -> str:
    """The file whose run a request belongs to: every objective and every instruction names it."""
    found = _CASE.search(opening_of(seen)[1])
    assert found is not None
    return found[1]


def _answer(seen: SeenRequest) -> Answer:
    opening = seen.body["messages"][0]["content"][0]["text"]
    return as_json(synthesis("All of it.", without=failed_in(opening)))


async def outcomes_of(left: Mapping[str, LeftRun], url: str, ledger: Ledger) -> Mapping[str, Outcome]:
    """Put the runs into the database, bring its schema up to date, and have a service take them to their ends."""
    for run in left.values():
        put(url, run)
    migrate(url)
    async with StubProvider() as stub:
        stub.on("plan", _plan)
        stub.on("refine", _refinement)
        stub.on("rule", _ruling)
        stub.on("work", as_json(report("done")))
        stub.on("synthesize", _answer)
        async with running_service(url, stub, poll_seconds=0.1, tools=example_tools(ledger)) as service:
            # One that does not end fails the tests of its own.
            await asyncio.gather(*(service.ended(run.id) for run in left.values()), return_exceptions=True)
            return {name: await _outcome(name, run, service, stub, ledger) for name, run in left.items()}


async def _outcome(name: str, left: LeftRun, service: Service, stub: StubProvider, ledger: Ledger) -> Outcome:
    [row] = await every(service.database, "SELECT * FROM runs WHERE id = :id", id=left.id)
    log = await every(service.database, "SELECT * FROM events WHERE run_id = :id ORDER BY seq", id=left.id)
    requests = [seen for seen in stub.log if case_of(seen) == name]
    effects = [effect for tool in TOOLS for effect in ledger.effects(tool) if effect.key.startswith(f"{left.id}:")]
    return Outcome(service.url, left, row, log, requests, effects)


def _plan(seen: SeenRequest) -> Answer:
    """The plan of all these runs."""
    case = case_of(seen)
    return as_json(
        plan_of(
            task("facts", "researcher", instruction=f"Find the facts (case {case})."),
            task("errands", "analyst", instruction=f"Run the errands (case {case})."),
            task("text", "writer", ["facts", "errands"], instruction=f"Write the text (case {case})."),
        )
    )


def _ruling(seen: SeenRequest) -> Answer:
    instruction = f"Find the newest facts (case {case_of(seen)})."
    return as_json(
        {"decision": "retry_stronger_model", "worker": None, "instruction": instruction, "reason": "The newest."}
    )


def _refinement(seen: SeenRequest) -> Answer:
    return as_json({"instruction": f"Find the newest facts (case {case_of(seen)}).", "change": "The newest."})
