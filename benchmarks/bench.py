"""What a benchmark stands on: a Postgres with known commits, a stub provider and measured processes, each on its core.

Two cores: the measured process has the first, everything that serves it (Postgres, provider, clients) the second.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from app.store.embedded import LOCAL_SETTINGS, embedded_postgres
from app.store.schema import migrate

COMMIT_MS = 3.5
"""What a commit takes here, whatever this machine's disk can do."""
MEASURED, SERVING = {0}, {1}
PROBES = 40


@dataclass(frozen=True, slots=True)
class Written:
    """What has been written to the database."""

    commits: float
    """Transactions that wrote something."""
    inserted: float
    updated: float
    """Rows."""
    log_bytes: float

    @property
    def rows(self) -> float:
        """Inserted and updated ones."""
        return self.inserted + self.updated

    def per_run(self, before: "Written", runs: int) -> "Written":
        """What each of so many runs has written since `before`."""
        return Written(
            (self.commits - before.commits) / runs,
            (self.inserted - before.inserted) / runs,
            (self.updated - before.updated) / runs,
            (self.log_bytes - before.log_bytes) / runs,
        )


@dataclass(frozen=True, slots=True)
class Bench:
    """The surroundings of a measurement."""

    database_url: str
    stub_url: str
    commit_ms: float
    """As measured."""

    def measured(self, module: str, *arguments: object) -> dict[str, Any]:
        """The figures that a module prints as its last line, from a process of its own on the measured core."""
        command = [sys.executable, "-m", module, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, preexec_fn=_on_measured_core)
        if done.returncode:
            raise RuntimeError(f"{module} failed:\n{done.stderr[-4000:]}")
        figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return figures

    def written(self) -> Written:
        """What has been written so far, as Postgres counts it."""
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            connection.execute("SELECT pg_stat_force_next_flush()")
            row = connection.execute(
                """
                SELECT CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text) AS bigint), -- ids go to writers alone
                       sum(n_tup_ins), sum(n_tup_upd), pg_current_wal_lsn() - '0/0'::pg_lsn
                FROM pg_stat_user_tables
                """
            ).fetchone()
            assert row is not None
            return Written(*map(float, row))


def _on_measured_core() -> None:
    os.sched_setaffinity(0, MEASURED)


@contextmanager
def bench(*, call_seconds: float, script: str = "script") -> Iterator[Bench]:
    """Surroundings in which every model call takes `call_seconds` and every commit `COMMIT_MS`.

    `script` of `reference_job` says what the model answers.
    """
    os.sched_setaffinity(0, SERVING)
    with tempfile.TemporaryDirectory() as home, embedded_postgres(Path(home), settings=_settings(), erase=True) as url:
        migrate(url)
        commit_ms = _with_commits_of(url, COMMIT_MS)
        with _stub(call_seconds, script) as stub_url:
            yield Bench(url, stub_url, commit_ms)


def _settings() -> dict[str, str]:
    return {
        **LOCAL_SETTINGS,
        "commit_siblings": "0",
        "max_wal_size": "8GB",
        "checkpoint_timeout": "1h",
        "track_commit_timestamp": "on",
    }


def _with_commits_of(url: str, wanted_ms: float) -> float:
    """Slow commits down to the wanted time; what they take then."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE probe (n int)")
        for _ in range(3):
            lacking = wanted_ms - _commit_ms(connection)
            now = int(connection.execute("SHOW commit_delay").fetchone()[0])  # type: ignore[index]
            delay = min(max(now + round(lacking * 1000), 0), 100_000)
            connection.execute(f"ALTER SYSTEM SET commit_delay = {delay}")
            connection.execute("SELECT pg_reload_conf()")
            time.sleep(0.2)  # the setting takes effect when the server has reread its files
        return _commit_ms(connection)


def _commit_ms(connection: psycopg.Connection) -> float:
    times = []
    for n in range(PROBES):
        start = time.perf_counter()
        connection.execute("INSERT INTO probe VALUES (%s)", [n])
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


@contextmanager
def _stub(call_seconds: float, script: str) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.support.stub_provider", "--script", f"benchmarks.reference_job:{script}"]
    environment = os.environ | {"CALL_SECONDS": str(call_seconds)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
