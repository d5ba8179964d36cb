"""Who makes an attempt: whoever was chosen, the less loaded of its kind, or a stand-in for one that a breaker keeps."""

from collections import Counter
from collections.abc import Iterator

from app.domain import events as ev
from app.domain.breaker_names import worker_breaker
from app.domain.policy.breakers import stance
from app.domain.policy.commands import DecisionBuilder
from app.domain.policy.load import Load, attempts_by_worker, by_load
from app.domain.policy.routing import is_sent_by_rule
from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState
from app.domain.team import Team
from app.domain.worker import Worker


def who_starts(run: Snapshot, task: TaskState, draft: DecisionBuilder) -> Worker:
    """Who makes the next attempt at a task.

    Where nobody stands in, the attempt goes ahead all the same: a worker that fails at others' tasks may do this one.
    """
    team, chosen = run.brief.team, task.next.worker
    order = dict.fromkeys([*_by_load(run, task, draft), *_in_turn(team, chosen)])
    name = next((name for name in order if draft.may_begin(worker_breaker(team.name, name))), chosen)
    worker = team.worker(name)
    assert worker is not None  # The plan was validated against this very team.
    return worker


def _in_turn(team: Team, chosen: str) -> Iterator[str]:
    """A worker, its fallback, and so on."""
    seen: set[str] = set()
    name: str | None = chosen
    while name is not None and name not in seen:
        yield name
        seen.add(name)
        worker = team.worker(name)
        name = worker.fallback if worker else None


def _by_load(run: Snapshot, task: TaskState, draft: DecisionBuilder) -> list[str]:
    """The workers of the chosen one's kind, whoever is likely to be done first before the others.

    That is asked before the first attempt alone: later ones are for whom the ladder or a ruling says. A task that a
    rule sends to its worker stays there, and only the chosen worker may be probed.
    """
    chosen, planned = task.next.worker, task.task
    peers = run.brief.team.peers_of(chosen) if not task.attempts else ()
    if planned.id in run.answering.ties.values():
        return [chosen]  # Another of the kind may have written one of the claims.
    if not peers or (planned.worker == chosen and is_sent_by_rule(run, planned)):
        return [chosen]
    breakers, team = draft.conditions.breakers, run.brief.team.name
    able = [name for name in peers if stance(breakers.get(worker_breaker(team, name)), draft.now) == "pass"]
    return by_load(chosen, able, _loads(run, draft, (chosen, *able)))


def _loads(run: Snapshot, draft: DecisionBuilder, names: tuple[str, ...]) -> dict[str, Load]:
    """What other runs have these workers do, and this one, with what has just been decided."""
    begun = Counter(entry.fact.worker for entry in draft.entries if isinstance(entry.fact, ev.TaskStarted))
    own, others = attempts_by_worker(run) + begun, draft.conditions.load
    return {name: others.get(name, Load()).plus(Load(own[name])) for name in names}
