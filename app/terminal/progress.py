"""What is shown of a run, folded from its events and from text while it is written. No clock, nothing printed."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from app.client import Delta, Event

TEXT_KEPT = 2_000
"""Characters of text under way that are kept, and of which half is dropped at once: its last lines are shown, and would
be broken anew with every character that goes.
"""
SUPERVISOR = ""
"""Whose text it is that belongs to no task."""
_ENDED = frozenset({"succeeded", "failed", "skipped", "cancelled"})
_DOING = {
    "plan": "planning",
    "rule": "ruling on an escalation",
    "refine": "rewriting an instruction",
    "select": "choosing the best result",
    "reduce": "putting results together",
    "synthesize": "writing the answer",
    "review": "reviewing the answer",
    "arbitrate": "judging a conflict",
    "verify": "verifying a finding",
}
WAITS = {
    "plan_approval": "waiting for approval of its plan",
    "answer": "waiting for an answer",
    "children": "waiting for nested runs",
    "provider": "waiting for the model's provider",
}


@dataclass(slots=True)
class ShownTask:
    """A task as it is shown."""

    id: str
    title: str
    worker: str
    needs: tuple[str, ...] = ()
    status: str = "pending"
    attempt: int = 0
    """0 before there is one."""
    started_at: datetime | None = None
    """When its first attempt began."""
    ended_at: datetime | None = None
    cost_usd: Decimal = Decimal(0)
    doing: str = ""
    """The tool that is called, or the nested run that does the work."""
    note: str = ""
    """Why it is as it is: its last failure, what was decided on it, its question."""
    is_planned: bool = True
    """Whether the newest plan has it."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more becomes of it."""
        return self.status in _ENDED


@dataclass(slots=True)
class Progress:
    """A run as it is shown."""

    run_id: str
    objective: str = ""
    team: str = ""
    status: str = "queued"
    phase: str = ""
    """What the supervisor does, or what the run waits for."""
    limits: dict[str, Any] = field(default_factory=dict)
    revision: int | None = None
    tasks: dict[str, ShownTask] = field(default_factory=dict)
    """In the order of the plan; what it has lost stands behind."""
    texts: dict[str, str] = field(default_factory=dict)
    """Text under way, by task."""
    questions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Those that nobody has answered yet, by id."""
    approval: dict[str, Any] | None = None
    """What `plan.approval_requested` said, while the plan waits."""
    cost_usd: Decimal = Decimal(0)
    tokens: int = 0
    started_at: datetime | None = None
    ended_at: datetime | None = None
    away: str = ""
    """Why the stream is away; empty while it is there."""

    @property
    def is_over(self) -> bool:
        """Whether the run has ended."""
        return self.ended_at is not None

    @property
    def planned(self) -> list[ShownTask]:
        """The tasks of the newest plan."""
        return [task for task in self.tasks.values() if task.is_planned]

    def forget_text(self) -> None:
        """Drop text under way, of which pieces may be missing."""
        self.texts.clear()

    def hear(self, delta: Delta) -> None:
        """Take in a piece of text."""
        whose = delta["task_id"] or SUPERVISOR
        text = self.texts.get(whose, "") + delta["data"]["text"]
        self.texts[whose] = text if len(text) <= TEXT_KEPT else text[-TEXT_KEPT // 2 :]
        if not delta["task_id"] and (doing := _DOING.get(delta["data"]["purpose"])):
            self.phase = doing

    def take(self, event: Event) -> None:
        """Take in an event. One that a later release adds changes nothing."""
        group, _, what = event["type"].partition(".")
        at = datetime.fromisoformat(event["at"])
        data, task = event["data"], self.tasks.get(event["task_id"] or "")
        match group:
            case "run":
                self._run(what, at, data)
            case "plan":
                self._plan(what, data)
            case "llm":
                self._spend(data["usage"], task)
                self.texts.pop(event["task_id"] or SUPERVISOR, None)
            case "results":
                self._reuse(data)
            case "question":
                self._question(what, data, task)
            case "synthesis" | "review" | "conflict" | "selection":
                self._answer(event["type"])
            case _ if task is not None:
                _take(task, event, at)
                if group == "child" and what == "ended":
                    self._spend(data["usage"], task)

    def _run(self, what: str, at: datetime, data: dict[str, Any]) -> None:
        match what:
            case "queued":
                self.objective, self.limits = data["objective"], data["limits"]
                self.team = f"{data['team']['name']}@{data['team']['version']}"
            case "started":
                self.status, self.started_at, self.phase = "running", at, "planning"
            case "resumed":
                self.status, self.phase = "running", self._work()
                self._spend(data["usage"], None)
            case "waiting":
                self.status, self.phase = "waiting", WAITS.get(data["reason"], f"waiting: {data['reason']}")
            case "cancel_requested":
                self.phase = "being cancelled"
            case "succeeded" | "partial" | "failed" | "cancelled":
                self.status, self.ended_at, self.phase, self.approval = what, at, "", None
                self.questions.clear()
                self.forget_text()

    def _plan(self, what: str, data: dict[str, Any]) -> None:
        match what:
            case "created" | "revised" | "edited":
                self._follow(data)
            case "approval_requested":
                self.approval, self.phase = data, WAITS["plan_approval"]
            case "approved" | "rejected":
                self.approval, self.phase = None, self._work()
            case "invalid":
                self.phase = "planning again"

    def _follow(self, plan: dict[str, Any]) -> None:
        """Have the tasks of a plan in its order."""
        before, self.tasks = self.tasks, {}
        self.revision, self.phase = plan["revision"], WAITS["plan_approval"] if self.approval else "executing"
        for each in plan["tasks"]:
            task = before.pop(each["id"], None) or ShownTask(each["id"], "", "")
            task.title = each["title"] or each["instruction"]
            task.needs, task.is_planned = tuple(each["depends_on"]), True
            if not task.attempt:
                task.worker = each["worker"]
            self.tasks[task.id] = task
        for task in before.values():
            if task.attempt:
                task.is_planned = False
                self.tasks[task.id] = task

    def _spend(self, usage: dict[str, Any], task: ShownTask | None) -> None:
        cost = Decimal(usage["cost_usd"])
        self.cost_usd += cost
        self.tokens += usage["input_tokens"] + usage["output_tokens"]
        if task is not None:
            task.cost_usd += cost

    def _reuse(self, data: dict[str, Any]) -> None:
        for each in data["tasks"]:
            task = self.tasks.setdefault(each["task"], ShownTask(each["task"], "", each["worker"]))
            task.status, task.note = each["status"], f"from {data['run']}"

    def _question(self, what: str, data: dict[str, Any], task: ShownTask | None) -> None:
        if what == "asked":
            self.questions[data["id"]] = data
            if task is not None:
                task.status, task.note, task.doing = "waiting", f"asks: {data['question']}", ""
            return
        asked = self.questions.pop(data["id"], None)
        if task is not None and asked is not None:
            said = f"was answered: {data['answer']}" if what == "answered" else "got no answer in time"
            task.status, task.note = "pending", said

    def _answer(self, type_: str) -> None:
        if type_ in ("synthesis.rejected", "selection.rejected"):
            self.phase = "writing the answer again"
        elif not self.is_over:
            self.phase = "writing the answer"

    def _work(self) -> str:
        return "executing" if self.tasks else "planning"


def _take(task: ShownTask, event: Event, at: datetime) -> None:
    """What an event tells of its task."""
    data = event["data"]
    match event["type"]:
        case "task.started":
            task.status, task.worker, task.attempt = "running", data["worker"], event["attempt"] or 1
            task.started_at = task.started_at or at
            task.ended_at, task.doing = None, ""
            if task.attempt == 1:
                task.note = ""
        case "task.succeeded":
            _end(task, "succeeded", at, "" if task.attempt == 1 else task.note)
        case "task.failed" | "task.skipped" | "task.cancelled":
            _end(task, event["type"].removeprefix("task."), at, _why(data.get("error")))
        case "task.split":
            _end(task, "failed", at, f"split into {', '.join(data['into'])}")
        case "task.retrying":
            task.status, task.doing = "pending", ""
            task.note = f"attempt {task.attempt} failed, {_why(data['error'])}; once more"
        case "task.reassigned":
            task.status, task.doing = "pending", ""
            task.note = f"attempt {task.attempt} failed, {_why(data['error'])}; {data['worker']} takes over"
        case "task.refined":
            task.note = f"told anew: {data['change']}" if data.get("change") else "told anew"
        case "task.rejected":
            task.note = f"result sent back: {data['errors'][0]['detail']}" if data["errors"] else "result sent back"
        case "task.escalated":
            task.note = f"escalates ({data['reason']}): {data['message']}"
        case "task.dropped":
            task.note = f"not waited for: it has taken more than {data['after_s']:g} s"
        case "tool.started":
            task.doing = f"calls {data['name']}"
        case "tool.completed":
            task.doing = ""
        case "tool.failed":
            task.doing, task.note = "", f"{data['name']} failed, {data['error']['code']}"
        case "child.started":
            task.status, task.doing = "waiting", f"{data['team']['name']} at work in {data['run']}"
        case "child.ended":
            task.doing = ""


def _end(task: ShownTask, status: str, at: datetime, note: str) -> None:
    task.status, task.ended_at, task.doing, task.note = status, at, "", note


def _why(problem: dict[str, Any] | None) -> str:
    return f"{problem['code']}: {problem['message']}" if problem else ""
