"""The attempts of a run as calls of their workers: each goes through its worker's breaker, and says how it ended."""

from collections.abc import Iterator, Sequence

from app.domain import events as ev
from app.domain.breaker_names import worker_breaker
from app.domain.errors import Held
from app.domain.events import Entry
from app.domain.failures import OF_WORKERS
from app.domain.snapshot import Snapshot
from app.domain.task_state import Attempt
from app.engine.brake import Brake, Door
from app.store.breakers import Which


class WorkerDoors:
    """The doors of one run's workers."""

    def __init__(self, brake: Brake) -> None:
        self._brake = brake
        self._probes: dict[tuple[str | None, int | None], Door] = {}
        """Those of the attempts that are probes."""

    async def may_begin(self, run: Snapshot, entries: Sequence[Entry]) -> bool:
        """Take the probes that the attempts which start among `entries` are; False when another run has one of them."""
        taken: dict[str, tuple[Entry, Door]] = {}
        have_all = False
        try:
            for entry, name in self.probes_in(run, entries):
                if name not in taken:
                    taken[name] = entry, self._brake.door(Which(run.brief.tenant, name), run.brief.run_id)
                    await taken[name][1].enter()
            have_all = True
        except Held:
            return False
        finally:
            for _, door in () if have_all else taken.values():
                door.leave()
        self._probes |= {(entry.task_id, entry.attempt): door for entry, door in taken.values()}
        return True

    def probes_in(self, run: Snapshot, entries: Sequence[Entry]) -> list[tuple[Entry, str]]:
        """The attempts among them that would be probes of their workers, with the names of the breakers."""
        started = [
            (entry, worker_breaker(run.brief.team.name, entry.fact.worker))
            for entry in entries
            if isinstance(entry.fact, ev.TaskStarted) and _is_of_the_team(run, entry.fact.worker)
        ]
        return [(entry, name) for entry, name in started if self._brake.is_due(Which(run.brief.tenant, name))]

    def hear(self, run: Snapshot, entries: Sequence[Entry]) -> None:
        """Tell the breakers how attempts ended."""
        for entry, attempt, code in ends_in(run, entries):
            if not _is_of_the_team(run, attempt.worker):
                continue
            key = entry.task_id, entry.attempt
            name, about = worker_breaker(run.brief.team.name, attempt.worker), run.brief.run_id
            door = self._probes.pop(key, None) or self._brake.door(
                Which(run.brief.tenant, name), about, attempt.started_at
            )
            if code is None:
                door.answered()
            elif code in OF_WORKERS:
                door.failed(code)
            door.leave()


def _is_of_the_team(run: Snapshot, worker: str) -> bool:
    """One that the plan has brought along is of this run alone: what it fails at says nothing of those of its name."""
    return run.plan is None or all(each.name != worker for each in run.plan.workers)


def ends_in(run: Snapshot, entries: Sequence[Entry]) -> Iterator[tuple[Entry, Attempt, str | None]]:
    """The attempts that end in `entries`, and the code they failed with, if they did.

    An escalation is no failure of the worker's, nor is what was stopped.
    """
    for entry in entries:
        task = run.tasks.get(entry.task_id or "")
        if task is None or entry.attempt not in [attempt.number for attempt in task.running]:
            continue
        attempt = task.tried(entry.attempt or 0)
        match entry.fact:
            case ev.TaskSucceeded():
                yield entry, attempt, None
            case ev.TaskFailed() | ev.TaskRetrying() | ev.TaskReassigned() | ev.AttemptFailed() as failed:
                yield entry, attempt, failed.error.code if attempt.escalation is None else "cancelled"
            case ev.TaskCancelled() | ev.AttemptCancelled() | ev.QuestionAsked() | ev.TaskSplit():
                yield entry, attempt, "cancelled"
            case _:
                pass
