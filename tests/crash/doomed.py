"""Engines that die at a point they were told.

`python -m tests.crash.doomed` loads everything an engine needs, as the first start of one does, and then forks one
for each line of its input, a `Doom` as JSON: a death costs a fork and not a start of Python. It answers each with the
engine's process id, and with its exit code once it is gone. No code of the service knows of this: what dies is a
claim, the journal's commit, or a tool.
"""

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import SecretStr

import app.engine.engine
import app.store.journal
from app.engine.engine import running_engine
from app.runtime import open_runtime
from app.settings import Settings
from app.store.database import Database
from app.store.journal_sql import Batch, commit
from app.store.ownership import Claimant, ClaimedRun, claim_if_free
from app.telemetry import set_up_logging
from tests.crash.features import PARK_AFTER_S
from tests.support.effects import Ledger, Point, Switch, die, example_tools
from tests.support.service import FEW_TEAMS

DIES_WITHIN_S = 40
FIRST_OF_A_CLAIM = 2
"""Number of the event that the first claim of a run records."""
HASTE_S = 0.05


@dataclass(frozen=True, slots=True)
class Doom:
    """An engine to start, and where it dies."""

    database_url: str
    stub_url: str
    ledger: str
    logs: str
    """File that the engine's output is added to."""
    at: int = 0
    """Number of the event whose commit kills; 0 for none."""
    when: Point = "before"
    """Whether it dies right before that commit or right after it."""
    key: str = "sk-doomed"
    """The key it shows to the provider: so its requests can be told from those of others."""
    switch: dict[str, Any] = field(default_factory=dict)
    """The fields of a `Switch` for the tools."""


def main(lines: Iterable[str]) -> None:
    """Fork an engine for each line, and say when it is gone."""
    is_warm = False
    for line in lines:
        doom = Doom(**json.loads(line))
        if not is_warm:
            asyncio.run(_warm_up(doom))
            gc.freeze()
            is_warm = True
        engine = os.fork()
        if engine == 0:
            _become(doom)
        print(engine, flush=True)
        _, status = os.waitpid(engine, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


async def _warm_up(doom: Doom) -> None:
    """Start and stop what an engine needs: most of that is imports, which each fork would do again."""
    async with open_runtime(_settings(doom), doom.database_url, built_in=FEW_TEAMS):
        pass


def _become(doom: Doom) -> None:
    """Be the engine, for as long as that may last."""
    try:
        output = os.open(doom.logs, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        set_up_logging()
        asyncio.run(_execute(doom))
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _settings(doom: Doom) -> Settings:
    return Settings(
        anthropic_api_key=SecretStr(doom.key),
        anthropic_base_url=doom.stub_url,
        model="claude",
        # Long enough that a slow machine never loses a lease: who dies here leaves its lease to the test.
        lease_seconds=60,
        poll_seconds=0.1,
        retry_base_s=0.02,
    )


async def _execute(doom: Doom) -> None:
    _kill_at_claim(doom.at, doom.when)
    _kill_at_commit(doom.at, doom.when)
    async with open_runtime(_settings(doom), doom.database_url, built_in=FEW_TEAMS) as runtime:
        runtime.patience = replace(runtime.patience, park_after_s=PARK_AFTER_S)
        tools = example_tools(Ledger(Path(doom.ledger)), Switch(**doom.switch))
        runtime.tools = {**runtime.tools, **{tool.name: tool for tool in tools}}
        async with running_engine(runtime):
            await asyncio.Event().wait()


def _kill_at_claim(at: int, when: Point) -> None:
    """Have the engine die at the claim that begins a run, if that records event `at`."""

    async def fatal(database: Database, run_id: str, claimant: Claimant, *, suspects: bool) -> ClaimedRun | None:
        if at == FIRST_OF_A_CLAIM and when == "before":
            die()
        claim = await claim_if_free(database, run_id, claimant, suspects=suspects)
        if claim is not None and claim.begins and claim.snapshot.last_seq == at:
            die()
        return claim

    vars(app.engine.engine)["claim_if_free"] = fatal  # The name that the engine itself calls.


def _kill_at_commit(at: int, when: Point) -> None:
    """Have the journal die at the commit that carries event `at`."""

    async def fatal(database: Database, owner: str, batches: Sequence[Batch]) -> set[str]:
        runs = {batch.run.brief.run_id for batch in batches if any(event.seq == at for event in batch.events)}
        if runs and when == "before":
            await asyncio.sleep(HASTE_S)  # Time for whoever acts on what is not recorded yet to do so.
            die()
        recorded = await commit(database, owner, batches)
        if runs & recorded:
            die()
        return recorded

    vars(app.store.journal)["commit"] = fatal  # The name that the journal itself calls.


class Zygote:
    """The process that the doomed engines are forked from."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.doomed"],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate(timeout=DIES_WITHIN_S)

    @asynccontextmanager
    async def doomed(self, doom: Doom) -> AsyncIterator[int]:
        """The process id of an engine that lives at most as long as the block; one that should die has died then."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asdict(doom)) + "\n")
        self._process.stdin.flush()
        engine = int(await self._answer())
        gone = asyncio.create_task(self._answer())
        try:
            yield engine
            async with asyncio.timeout(DIES_WITHIN_S):
                code = int(await asyncio.shield(gone))
            assert code == -signal.SIGKILL, f"the engine ended with {code}, see {doom.logs}"
        finally:
            if not gone.done():
                os.kill(engine, signal.SIGKILL)
                await gone

    async def _answer(self) -> str:
        assert self._process.stdout is not None
        return await asyncio.to_thread(self._process.stdout.readline)


if __name__ == "__main__":
    main(sys.stdin)
