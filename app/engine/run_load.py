"""What one run adds to the load of its workers, and what it is told of the load of others."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from app.domain.events import Entry
from app.domain.failures import OF_WORKERS
from app.domain.policy.load import Load, attempts_by_worker
from app.domain.snapshot import Snapshot
from app.engine.worker_doors import ends_in
from app.store.load_board import LoadBoard

_MOVING = ("run.", "task.", "attempt.", "question.")
"""Types of events with which attempts begin and end."""


class RunLoad:
    """The load of one run's workers. For a team in which no worker has a kind it is not looked at."""

    def __init__(self, board: LoadBoard, run: Snapshot) -> None:
        brief = run.brief
        self._board = board
        self._run_id = brief.run_id
        self._names = {name: f"{brief.tenant}:{brief.team.name}/{name}" for name in brief.team.workers_with_kinds}

    async def begin(self, run: Snapshot) -> None:
        """The run is ours: what others have its workers do must be known before any is chosen."""
        if self._names:
            self._count(run)
            await self._board.known()

    def besides(self) -> Mapping[str, Load]:
        """What other runs have the workers do that share a kind, by name."""
        if not self._names:
            return {}
        found = self._board.besides(self._run_id, self._names.values())
        return {name: found[full] for name, full in self._names.items()}

    def hear(self, before: Snapshot, entries: Sequence[Entry], after: Snapshot, now: datetime) -> None:
        """Take notice of the attempts that have begun and ended with `entries`."""
        if not self._names:
            return
        for _, attempt, code in ends_in(before, entries):
            if attempt.worker in self._names and (code is None or code in OF_WORKERS):
                took_s = max((now - before.clock_of(attempt, now)).total_seconds(), 0.0)
                self._board.took(self._names[attempt.worker], took_s, failed=code is not None)
        if any(entry.fact.type.startswith(_MOVING) for entry in entries):
            self._count(after)

    def leave(self) -> None:
        """The run is no longer ours."""
        if self._names:
            self._board.leave(self._run_id)
        self._names = {}  # Whatever is still said of it is not counted.

    def _count(self, run: Snapshot) -> None:
        attempts = attempts_by_worker(run)
        self._board.count(self._run_id, {full: attempts[name] for name, full in self._names.items() if attempts[name]})
