"""Counts what this process does as it hears of it: facts when they are committed, and what it takes to commit them.

No label has a value without bound: teams, workers, models and tools have so many series, what comes then shares one;
codes are those of this release. Nothing is labelled by run, tenant, or anything of a job.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, get_args

from prometheus_client import CollectorRegistry, disable_created_metrics

from app.domain import events as ev
from app.domain.codes import ERROR_CODES, STOP_REASONS
from app.domain.events import Event
from app.domain.policy.breakers import BreakerKind, BreakerState
from app.domain.quotas import COST_PERIODS, LIMIT_NAMES, LimitName
from app.domain.schedules import OUTCOMES, Outcome
from app.domain.snapshot import Snapshot
from app.domain.team import Team
from app.domain.usage import Usage
from app.metrics.bounded import OTHER, Bounded
from app.metrics.calls import CallMeters
from app.metrics.instruments import Instruments
from app.store.witness import Witness

TEAMS, WORKERS, MODELS, TOOLS = 50, 200, 20, 100
"""Values that may come beside those of the operator's own files and settings."""
DYNAMIC = "dynamic"
"""The worker that stands for all that plans bring along."""
LOST = "lost"
"""The purpose of calls that were under way when their process ended."""

Failed = ev.TaskRetrying | ev.TaskReassigned | ev.TaskSplit | ev.TaskFailed | ev.AttemptFailed
_Hears = Callable[[Snapshot, Event, Any], None]


class Meters(Witness):
    """The counters of one process, and what they hear."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # They double the series, and say what the start of the process says.
        self.registry = CollectorRegistry()
        self._count = Instruments(self.registry)
        self._teams, self._workers = Bounded(TEAMS), Bounded(WORKERS)
        self._models, self._tools = Bounded(MODELS), Bounded(TOOLS)
        self._models.expect([OTHER])
        self._calls: dict[tuple[str, str], CallMeters] = {}
        self._hears = self._by_fact()
        for kind in get_args(BreakerKind):
            for state in get_args(BreakerState):
                self._count.breaker_changes.labels(kind, state)
        for limit in LIMIT_NAMES:
            if limit != "runs_in_flight":  # What goes beyond that one waits.
                self._count.limit_refusals.labels(limit)
        for limit in COST_PERIODS:
            self._count.limit_warnings.labels(limit)
        for outcome in OUTCOMES:
            self._count.firings.labels(outcome)

    def expect(self, teams: Iterable[Team], models: Iterable[str]) -> None:
        """Give these teams, their workers, and these models series of their own."""
        for team in teams:
            self._teams.expect([team.name])
            self._workers.expect((team.name, worker.name) for worker in team.workers)
        self._models.expect(models)

    def _by_fact(self) -> Mapping[type[ev.Fact], _Hears]:
        return {
            ev.RunQueued: self._accepted,
            ev.RunStarted: self._begun,
            ev.RunResumed: self._resumed,
            **dict.fromkeys((ev.RunSucceeded, ev.RunPartial, ev.RunFailed, ev.RunCancelled), self._ended),
            ev.TaskStarted: self._attempted,
            ev.TaskRetrying: self._retried,
            ev.TaskReassigned: self._reassigned,
            ev.TaskRefined: self._refined,
            ev.TaskEscalated: self._escalated,
            ev.AttemptFailed: self._failed,
            ev.TaskSplit: self._split,
            **dict.fromkeys((ev.TaskSucceeded, ev.TaskSkipped, ev.TaskCancelled), self._task_ended),
            ev.TaskFailed: self._task_failed,
            ev.LlmCompleted: self._replied,
            ev.LlmFailed: self._not_replied,
            **dict.fromkeys((ev.ToolCompleted, ev.ToolFailed), self._tool_ended),
        }

    # What the store says.

    def heard_facts(self, run: Snapshot, events: Sequence[Event]) -> None:
        """Count what these facts say; most say nothing."""
        for event in events:
            if hears := self._hears.get(type(event.data)):
                hears(run, event, event.data)

    def heard_unreadable(self) -> None:
        """Count the run under no team: nobody can read whose it was."""
        self._count.runs_ended.labels(OTHER, "failed", "internal_error").inc()

    def heard_commit(self, events: int, seconds: float) -> None:
        """Count a commit."""
        self._count.commits.inc()
        self._count.committed_events.inc(events)
        self._count.commit_s.observe(seconds)

    def heard_failed_commit(self) -> None:
        """Count a commit that was not one."""
        self._count.commit_failures.inc()

    def heard_renewals(self, leases: int) -> None:
        """Count leases."""
        self._count.renewals.inc(leases)

    def heard_loss(self) -> None:
        """Count a run that is lost."""
        self._count.losses.inc()

    def heard_firing(self, outcome: Outcome, late_s: float) -> None:
        """Count a time of a schedule."""
        self._count.firings.labels(outcome).inc()
        if outcome == "fired":
            self._count.firing_s.observe(late_s)

    def heard_takeover(self) -> None:
        """Count a run that was taken over."""
        self._count.takeovers.inc()

    def heard_breaker(self, kind: BreakerKind, state: BreakerState) -> None:
        """Count a change."""
        self._count.breaker_changes.labels(kind, state).inc()

    def heard_limit(self, limit: LimitName) -> None:
        """Count a refusal."""
        self._count.limit_refusals.labels(limit).inc()

    def heard_limit_warning(self, limit: LimitName) -> None:
        """Count a warning."""
        self._count.limit_warnings.labels(limit).inc()

    # Runs.

    def _accepted(self, run: Snapshot, _event: Event, _fact: ev.RunQueued) -> None:
        self._count.runs_accepted.labels(self._team(run)).inc()

    def _begun(self, run: Snapshot, event: Event, _fact: ev.RunStarted) -> None:
        self._count.queue_s.observe(_waited(run, event))

    def _resumed(self, _run: Snapshot, _event: Event, fact: ev.RunResumed) -> None:
        if fact.usage.llm_calls:
            self._spent(OTHER, LOST, fact.usage)

    def _ended(self, run: Snapshot, event: Event, _fact: ev.AnyFact) -> None:
        reason = run.stop_reason if run.stop_reason in STOP_REASONS else OTHER
        self._count.runs_ended.labels(self._team(run), run.status, reason).inc()
        if run.started_at is not None:
            seconds = max((event.at - run.started_at).total_seconds(), 0)
            self._count.run_s.labels(run.status).observe(seconds)

    # Tasks.

    def _attempted(self, run: Snapshot, event: Event, fact: ev.TaskStarted) -> None:
        self._count.attempts.labels(*self._labels(run, fact.worker)).inc()
        if _is_first(run, event):
            self._count.start_s.observe(_waited(run, event))

    def _retried(self, run: Snapshot, event: Event, fact: ev.TaskRetrying) -> None:
        self._count.retries.labels(*self._worker(run, event)).inc()
        self._failed(run, event, fact)

    def _reassigned(self, run: Snapshot, event: Event, fact: ev.TaskReassigned) -> None:
        self._count.reassignments.labels(*self._worker(run, event)).inc()
        self._failed(run, event, fact)

    def _refined(self, run: Snapshot, event: Event, _fact: ev.TaskRefined) -> None:
        self._count.refinements.labels(*self._worker(run, event)).inc()

    def _escalated(self, run: Snapshot, event: Event, _fact: ev.TaskEscalated) -> None:
        self._count.escalations.labels(*self._worker(run, event)).inc()

    def _failed(self, _run: Snapshot, _event: Event, fact: Failed) -> None:
        self._count.failures.labels(_code(fact.error.code)).inc()

    def _split(self, run: Snapshot, event: Event, fact: ev.TaskSplit) -> None:
        self._failed(run, event, fact)
        self._count.tasks_ended.labels(*self._worker(run, event), "split").inc()

    def _task_failed(self, run: Snapshot, event: Event, fact: ev.TaskFailed) -> None:
        if event.attempt is not None:
            self._failed(run, event, fact)
        self._task_ended(run, event, fact)

    def _task_ended(self, run: Snapshot, event: Event, fact: ev.AnyFact) -> None:
        self._count.tasks_ended.labels(*self._worker(run, event), fact.type.removeprefix("task.")).inc()

    # Calls.

    def _replied(self, _run: Snapshot, _event: Event, fact: ev.LlmCompleted) -> None:
        self._called(fact, fact.thrown_away.code if fact.thrown_away else None)

    def _not_replied(self, _run: Snapshot, _event: Event, fact: ev.LlmFailed) -> None:
        if fact.sent:
            self._called(fact, fact.error.code)

    def _called(self, fact: ev.LlmCompleted | ev.LlmFailed, error: str | None) -> None:
        model = self._models.label(fact.model)
        self._spent(model, fact.purpose, fact.usage)
        self._count.call_s.labels(model, fact.purpose).observe(fact.duration_ms / 1000)
        if error is not None:
            self._count.call_errors.labels(model, fact.purpose, _code(error)).inc()

    def _spent(self, model: str, purpose: str, usage: Usage) -> None:
        meters = self._calls.get((model, purpose))
        if meters is None:
            meters = self._calls[model, purpose] = CallMeters(self._count, model, purpose)
        meters.spent(usage)

    def _tool_ended(self, run: Snapshot, _event: Event, fact: ev.ToolCompleted | ev.ToolFailed) -> None:
        # A model may call what it likes: what is no tool has no name here.
        is_one = fact.provider or fact.name in run.brief.means
        tool = self._tools.label(fact.name) if is_one else OTHER
        self._count.tool_calls.labels(tool, fact.type.removeprefix("tool.")).inc()
        if not fact.provider:
            self._count.tool_s.labels(tool).observe(fact.duration_ms / 1000)

    # Labels.

    def _team(self, run: Snapshot) -> str:
        return self._teams.label(run.brief.team.name)

    def _worker(self, run: Snapshot, event: Event) -> tuple[str, str]:
        """Team and worker of the attempt that an event is about; of the task, for one without an attempt."""
        name = event.task_id or ""
        task = run.tasks.get(name) or run.replaced.get(name)
        if task is None:
            return self._team(run), OTHER
        of_attempt = (each.worker for each in task.attempts if each.number == event.attempt)
        return self._labels(run, next(of_attempt, task.next.worker))

    def _labels(self, run: Snapshot, worker: str) -> tuple[str, str]:
        team = self._team(run)
        if run.plan is not None and any(each.name == worker for each in run.plan.workers):
            return team, DYNAMIC
        has_room = team != OTHER and self._workers.admits((team, worker))
        return team, worker if has_room else OTHER


def _code(code: str) -> str:
    return code if code in ERROR_CODES else OTHER


def _waited(run: Snapshot, event: Event) -> float:
    """Seconds from the acceptance of a run to an event of it."""
    return max((event.at - run.created_at).total_seconds(), 0) if run.created_at is not None else 0.0


def _is_first(run: Snapshot, event: Event) -> bool:
    """Whether no attempt of the run was begun before this one."""
    begun = [(each.started_at, task.task.id, each.number) for task in run.every_task for each in task.attempts]
    _, task_id, number = min(begun, key=lambda each: each[0], default=(None, event.task_id, event.attempt))
    return (task_id, number) == (event.task_id, event.attempt)
