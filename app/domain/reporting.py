"""The arithmetic of the report: told from a run's events, one after the other, so that a long log need not be held.

What is kept grows with the plan and its attempts alone, but for the different tool calls, which are bounded. Events are
JSON values, as `spans.py` takes them.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from app.domain.busy import BusyTime
from app.domain.duplicates import DuplicateWork
from app.domain.outcomes import Told
from app.domain.report import CriticalPath, Report, Waiting
from app.domain.round_tallies import RoundTallies
from app.domain.tallies import AttemptTally, Spent, TaskTally, one_agent, shares_of, workers_in
from app.domain.timing import longest_chain, milliseconds
from app.domain.topics import Topic, topic_told

_PARTS: Mapping[str, str] = {
    "plan": "planning", "work": "work", "select": "synthesis", "reduce": "synthesis", "synthesize": "synthesis",
}  # fmt: skip
"""The part of the run that the calls of a purpose belong to; others are supervision."""
_TASK_ENDS = frozenset({"task.succeeded", "task.failed", "task.skipped", "task.cancelled", "task.split"})
_ATTEMPT_ENDS = (_TASK_ENDS - {"task.skipped"}) | {
    "task.retrying", "task.reassigned", "question.asked", "attempt.failed", "attempt.cancelled",
}  # fmt: skip


class Reporter:
    """The report of one run, as far as its events have been taken."""

    def __init__(self) -> None:
        self._tasks: dict[str, TaskTally] = {}
        self._current: Sequence[str] = ()
        """Ids of the tasks of the newest plan."""
        self._claims: dict[str, Sequence[str]] = {}
        """Whose claims contradict each other, by conflict."""
        self._reused: set[str] = set()
        """Those that another run has done."""
        self._parts: defaultdict[str, Spent] = defaultdict(Spent)
        self._duplicates = DuplicateWork()
        self._rounds = RoundTallies()
        self._busy = BusyTime()
        self._answer = Spent()
        """The newest call for the answer."""
        self._started_at: datetime | None = None
        self._planned_at: datetime | None = None
        self._executed_at: datetime | None = None
        self._ended_at: datetime | None = None
        self._parked_at: datetime | None = None
        self._waits: dict[Topic, tuple[datetime, datetime]] = {}
        """Failed calls that are to be sent again: when they failed, and when that is."""
        self._asked_at: dict[str, datetime] = {}
        """When tasks began to wait for an answer."""
        self._waited: defaultdict[str, int] = defaultdict(int)

    def take(self, event: Told) -> None:
        """Add one more event; they must come in order."""
        at, told, kind = datetime.fromisoformat(event["at"]), event["data"], event["type"]
        self._rounds.take(event, at)
        match kind.partition(".")[0]:
            case "run":
                self._run(kind, told, at)
            case "plan":
                self._plan(kind, told, at)
            case "llm":
                self._model_call(event, at)
            case "tool":
                self._tool_call(event, at)
            case "conflict" if kind == "conflict.found":
                self._claims[told["id"]] = [claim["task"] for claim in told["claims"]]
            case "results":
                self._reused = {each["task"] for each in told["tasks"]}
            case "child" if kind == "child.ended":
                self._child(event)
            case "task" | "attempt" | "question":
                self._task(event, at)

    def _run(self, kind: str, told: Told, at: datetime) -> None:
        match kind:
            case "run.started":
                self._started_at = at
            case "run.waiting":
                self._parked_at = at
            case "run.resumed":
                self._unpark(at)
                if lost := told.get("usage"):  # The first release did not always tell.
                    self._parts["lost"].add(lost, 0)
            case "run.succeeded" | "run.partial" | "run.failed" | "run.cancelled":
                self._unpark(at)
                self._ended_at = at

    def _unpark(self, at: datetime) -> None:
        if self._parked_at is not None:
            self._waited["parked"] += milliseconds(self._parked_at, at)
            self._parked_at = None

    def _plan(self, kind: str, told: Told, at: datetime) -> None:
        if "tasks" not in told:
            return  # It is about a plan, and none.
        if kind == "plan.created":
            self._planned_at = at
        self._current = [task["id"] for task in told["tasks"]]
        for task in told["tasks"]:
            known = self._tasks.setdefault(task["id"], TaskTally())
            known.needs = tuple(task["depends_on"])
        for before, name in told.get("redispatched", {}).items():
            self._tasks[name].needs = (*self._tasks[name].needs, before)
        for conflict, name in told.get("ties", {}).items():
            claims = [task for task in self._claims[conflict] if task in self._tasks]
            self._tasks[name].needs = (*self._tasks[name].needs, *claims)
        for name in self._reused & set(self._current):
            self._tasks[name].ended_at = at
        if all(self._tasks[name].ended_at is not None for name in self._current):
            self._executed_at = self._executed_at or at
        else:
            self._executed_at = None

    def _model_call(self, event: Told, at: datetime) -> None:
        told, topic = event["data"], topic_told(event)
        duration, waited = told["duration_ms"], told.get("waited_ms", 0)
        began = at - timedelta(milliseconds=duration + told.get("room_ms", 0))
        self._end_wait(topic, began)
        self._waited["provider"] += waited
        self._waited["budget"] += told.get("room_ms", 0)
        self._busy.add(at - timedelta(milliseconds=max(duration - waited, 0)), at)
        self._parts[_PARTS.get(topic.purpose, "supervision")].add(told["usage"], duration)
        is_reply = event["type"] == "llm.completed"
        if not is_reply and told["retry_at"]:
            self._waits[topic] = at, datetime.fromisoformat(told["retry_at"])
        if topic.purpose == "synthesize" and is_reply:
            self._answer = Spent()
            self._answer.add(told["usage"], duration)
        if topic.purpose == "work" and (attempt := self._attempt(event)) is not None:
            attempt.spent.add(told["usage"], duration)
            if is_reply:
                attempt.replies += 1
                attempt.left_behind = told["usage"]["input_tokens"] + told["usage"]["output_tokens"]

    def _end_wait(self, topic: Topic, at: datetime) -> None:
        if topic in self._waits:
            failed_at, retry_at = self._waits.pop(topic)
            self._waited["provider"] += milliseconds(failed_at, min(retry_at, at))

    def _attempt(self, event: Told) -> AttemptTally | None:
        task = self._tasks.get(event["task_id"] or "")
        number = (event["attempt"] or 0) - 1
        return task.attempts[number] if task is not None and 0 <= number < len(task.attempts) else None

    def _tool_call(self, event: Told, at: datetime) -> None:
        told = event["data"]
        attempt = self._attempt(event)
        if event["type"] == "tool.started" or told["provider"]:
            self._duplicates.called(told["name"], told.get("input"), event["task_id"] or "", event["attempt"] or 0)
        if event["type"] == "tool.started" or attempt is None:
            return
        attempt.tool_calls += 1
        if not told["provider"]:
            self._busy.add(at - timedelta(milliseconds=told["duration_ms"]), at)

    def _child(self, event: Told) -> None:
        """What a nested run has spent is work, as if one worker had done it all."""
        usage = event["data"]["usage"]
        self._parts["work"].add(usage, 0)
        if (attempt := self._attempt(event)) is not None:
            attempt.spent.add(usage, 0)
            attempt.tool_calls += usage["tool_calls"]
            attempt.is_nested = True

    def _task(self, event: Told, at: datetime) -> None:
        name, kind, told = event["task_id"] or "", event["type"], event["data"]
        task = self._tasks.get(name)
        if task is None:
            return
        if kind == "question.asked":
            self._asked_at[name] = at
        elif name in self._asked_at and kind in {"question.answered", "question.expired", *_TASK_ENDS}:
            self._waited["questions"] += milliseconds(self._asked_at.pop(name), at)
        if kind == "task.started":
            task.attempts.append(AttemptTally(told["worker"], at))
        elif kind == "task.dropped":
            task.dropped = True
        if kind in _ATTEMPT_ENDS and (attempt := self._attempt(event)) is not None:
            attempt.ended_at = attempt.ended_at or at
        if kind in _TASK_ENDS:
            self._end_task(name, task, event, at)

    def _end_task(self, name: str, task: TaskTally, event: Told, at: datetime) -> None:
        task.ended_at = at
        for topic in [topic for topic in self._waits if topic.task_id == name]:
            self._end_wait(topic, at)
        if event["type"] == "task.succeeded":
            task.delivered_by = event["attempt"]
            self._duplicates.delivered(name, f"{event['data']['summary']} {event['data']['text']}")
        elif event["type"] == "task.split":
            for part in event["data"]["into"]:
                self._tasks.setdefault(part, TaskTally()).part_of = name
        if all(self._tasks[each].ended_at is not None for each in self._current):
            self._executed_at = at

    def report(self, now: datetime) -> Report:
        """What the events say, up to `now` while the run has not ended."""
        end = self._ended_at or now
        for topic in list(self._waits):
            self._end_wait(topic, end)
        started = self._started_at or end
        planning = milliseconds(started, self._planned_at or end)
        answering = milliseconds(self._executed_at, end) if self._executed_at else 0
        worked = {name: task.worked_ms(end) for name, task in self._tasks.items()}
        path = longest_chain(
            {name: task.waits_for for name, task in self._tasks.items()},
            worked,
            {name for name, task in self._tasks.items() if task.dropped},
        )
        wall, sequential = milliseconds(started, end), planning + sum(worked.values()) + answering
        supervision = self._parts["supervision"].duration_ms
        lasted = {
            "planning": planning,
            "work": sum(worked.values()),
            "supervision": supervision,
            "synthesis": answering,
        }
        return Report(
            critical_path=CriticalPath(
                tasks=tuple(name for name in path if self._tasks[name].attempts),
                planning_ms=planning,
                tasks_ms=sum(worked[name] for name in path),
                synthesis_ms=answering,
            ),
            speedup=round(sequential / wall, 2) if wall else 1.0,
            workers=workers_in(self._tasks.values()),
            parts=shares_of(self._parts, lasted),
            rounds=self._rounds.told(end),
            duplicates=self._duplicates.told(),
            waiting=self._waiting(wall, end),
            one_agent=one_agent(self._tasks.values(), self._parts, self._answer, wall),
        )

    def _waiting(self, wall: int, end: datetime) -> Waiting:
        parked = milliseconds(self._parked_at, end) if self._parked_at else 0
        asked = sum(milliseconds(at, end) for at in self._asked_at.values())
        busy = min(self._busy.total_ms, wall)
        return Waiting(
            busy_ms=busy,
            idle_ms=wall - busy,
            parked_ms=self._waited["parked"] + parked,
            provider_ms=self._waited["provider"],
            questions_ms=self._waited["questions"] + asked,
            budget_ms=self._waited["budget"],
        )
