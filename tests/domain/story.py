"""A run told event by event: what tests of the domain are written with."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from app.domain.commands import Decision
from app.domain.decisions import decide

from app.domain import events as ev
from app.domain.conversation import Block
from app.domain.errors import ErrorCode
from app.domain.events import Event
from app.domain.fold import after, extended
from app.domain.job import Limits
from app.domain.plan import Finding, Plan, Task, validated
from app.domain.results import Output, Problem, Synthesis
from app.domain.snapshot import Brief, Snapshot, TaskState
from app.domain.team import Team, TeamRef, Worker
from app.domain.usage import Usage

START = datetime(2026, 1, 1, tzinfo=UTC)
WORKER = Worker(name="able", description="Does things.", instructions="Do them.", max_steps=4, timeout_s=60)
TEAM = Team(name="crew", workers=(WORKER,))
SPENT = Usage(llm_calls=1, input_tokens=10, output_tokens=5, cost_usd=Decimal("0.01"))
USELESS = Finding(code="output_invalid", detail="it does not fit")


def brief(**limits: Any) -> Brief:
    return Brief("run_1", "Find out.", TEAM, Limits(**limits))


def task(name: str, *needs: str, **changes: Any) -> Task:
    return Task(id=name, instruction=f"do {name}", worker="able", depends_on=needs, **changes)


def plan_of(*tasks: Task) -> Plan:
    plan = validated(Plan(tasks=tasks), ["able"], 100)
    assert plan.validation.ok
    return plan


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def call_block(call_id: str, name: str = "look", **arguments: Any) -> Block:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


class Story:
    """A run, its log so far, and the time. Every event is folded as it is told, so an impossible one is an error."""

    def __init__(self, brief: Brief, log: Sequence[Event] = ()) -> None:
        self.run = Snapshot(brief)
        self.log: list[Event] = []
        self.now = START
        for event in log:
            self.run = after(self.run, event)
            self.log.append(event)
            self.now = event.at

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def record(self, *events: Event) -> None:
        self.run, numbered = extended(self.run, events)
        self.log.extend(numbered)

    def decide(self) -> Decision:
        return decide(self.run, self.now)

    def starting(self) -> list[tuple[str | None, int | None]]:
        """The attempts that are to start now, by task and number."""
        return [(event.task_id, event.attempt) for event in self.decide().events if event.type == "task.started"]

    def settle(self) -> list[str]:
        """Record what is settled until there is something to do, to wait for, or nothing more; the types recorded."""
        seen = len(self.log)
        while events := self.decide().events:
            self.record(*events)
        return [event.type for event in self.log[seen:]]

    def whose(self, name: str | None = None, attempt: int | None = None) -> dict[str, Any]:
        return {"at": self.now, "run_id": self.run.brief.run_id, "task_id": name, "attempt": attempt}

    def queued(self, plan: Plan | None = None) -> None:
        team = TeamRef(name=self.run.brief.team.name, version=1)
        job = ev.JobAccepted(objective=self.run.brief.objective, team=team, limits=self.run.brief.limits, plan=plan)
        self.record(ev.RunQueued(**self.whose(), data=job))

    def started(self) -> None:
        self.record(ev.RunStarted(**self.whose(), data=ev.Claimed(engine="one", epoch=1)))

    def resumed(self, lost: Usage | None = None) -> None:
        self.record(ev.RunResumed(**self.whose(), data=ev.Resumed(engine="two", epoch=2, usage=lost or Usage())))

    def cancel_requested(self, reason: str | None = None) -> None:
        self.record(ev.RunCancelRequested(**self.whose(), data=ev.CancelRequested(reason=reason)))

    def planned(self, *tasks: Task) -> None:
        self.record(ev.PlanCreated(**self.whose(), data=plan_of(*tasks)))

    def begin(self, *tasks: Task) -> None:
        self.queued()
        self.started()
        self.planned(*tasks)

    def start(self, name: str) -> None:
        state = self.run.tasks[name]
        data = ev.AttemptStarted(worker="able", model="model-1", instruction=state.instruction)
        self.record(ev.TaskStarted(**self.whose(name, len(state.attempts) + 1), data=data))

    def hear(
        self, purpose: ev.Purpose, content: Sequence[Block], stop_reason: str = "end_turn", name: str | None = None
    ) -> None:
        """A reply of the model."""
        data = ev.ModelReplied(
            purpose=purpose, model="model-1", usage=SPENT, duration_ms=1, stop_reason=stop_reason, content=list(content)
        )
        self.record(ev.LlmCompleted(**self.whose(name, self._attempt(name)), data=data))

    def fail_call(
        self,
        purpose: ev.Purpose,
        code: ErrorCode,
        name: str | None = None,
        again_in: float | None = None,
        not_before: float | None = None,
        *,
        sent: bool = True,
    ) -> None:
        """A call of the model that failed, to be sent again in so many seconds or never."""
        retry_at = None if again_in is None else self.now + timedelta(seconds=again_in)
        problem = Problem(code=code, message=f"{code}!")
        data = ev.ModelFailed(
            purpose=purpose,
            model="model-1",
            usage=SPENT if sent else Usage(),
            duration_ms=1,
            error=problem,
            retry_at=retry_at,
            not_before=None if not_before is None else self.now + timedelta(seconds=not_before),
            sent=sent,
        )
        self.record(ev.LlmFailed(**self.whose(name, self._attempt(name)), data=data))

    def time_out(self, name: str) -> None:
        """An attempt whose reply was not finished within the worker's time, and what follows from that."""
        self.wait(61)
        problem = Problem(code="timeout", message="too slow")
        data = ev.ModelFailed(purpose="work", model="model-1", usage=Usage(), duration_ms=61_000, error=problem)
        self.record(ev.LlmFailed(**self.whose(name, self._attempt(name)), data=data))
        self.settle()

    def use_tool(self, name: str, call_id: str, output: str = "seen", code: str | None = None) -> None:
        """A tool call that ran, and what it brought back."""
        whose = self.whose(name, self._attempt(name))
        called = ev.ToolCalled(call_id=call_id, name="look", effect="read", key=call_id)
        self.record(ev.ToolStarted(**whose, data=called))
        if code is None:
            returned = ev.ToolReturned(call_id=call_id, name="look", output=output, duration_ms=1)
            self.record(ev.ToolCompleted(**whose, data=returned))
        else:
            problem = Problem(code=code, message=output)
            self.record(
                ev.ToolFailed(**whose, data=ev.ToolBroke(call_id=call_id, name="look", error=problem, duration_ms=1))
            )

    def reject_result(self, name: str, note: str | None = "Again.") -> None:
        data = ev.Rejected(errors=(USELESS,), note=note)
        self.record(ev.TaskRejected(**self.whose(name, self._attempt(name)), data=data))

    def refine(self, name: str, instruction: str) -> None:
        last = len(self.run.tasks[name].attempts)
        data = ev.Refined(instruction=instruction, refined_from=last, change="said more")
        self.record(ev.TaskRefined(**self.whose(name, last + 1), data=data))

    def succeed(self, name: str, **output: Any) -> None:
        """A task started, done and delivered at once."""
        if self.run.tasks[name].status == "pending":
            self.start(name)
        self.hear("work", [text_block(f"{name} done")], name=name)
        data = Output(**{"summary": f"{name} done", "text": f"All about {name}.", **output})
        self.record(ev.TaskSucceeded(**self.whose(name, self._attempt(name)), data=data))

    def fail(self, name: str, code: ErrorCode = "model_refusal") -> None:
        """A task started and failed for good."""
        if self.run.tasks[name].status == "pending":
            self.start(name)
        data = ev.Failed(error=Problem(code=code, message=f"{code}!"))
        self.record(ev.TaskFailed(**self.whose(name, self._attempt(name)), data=data))

    def synthesize(self, **synthesis: Any) -> None:
        """The supervisor's reconciliation, taken."""
        self.hear("synthesize", [text_block("all told")])
        self.record(ev.SynthesisCompleted(**self.whose(), data=Synthesis(**{"answer": "All told.", **synthesis})))

    def state(self, name: str) -> TaskState:
        return self.run.tasks[name]

    def error(self, name: str) -> str | None:
        """The code a task ended with."""
        error = self.state(name).error
        return error.code if error else None

    def attempt_errors(self, name: str) -> list[str | None]:
        """The codes that the attempts at a task ended with."""
        return [attempt.error.code if attempt.error else None for attempt in self.state(name).attempts]

    def _attempt(self, name: str | None) -> int | None:
        return len(self.run.tasks[name].attempts) if name else None


def started(*tasks: Task, **limits: Any) -> Story:
    """A run that has just got its plan."""
    story = Story(brief(**limits))
    story.begin(*tasks)
    return story


def planning() -> Story:
    """A run that has just started."""
    story = Story(brief())
    story.queued()
    story.started()
    return story


def statuses(run: Snapshot) -> dict[str, str]:
    return {name: state.status for name, state in run.tasks.items()}


def before_each(story: Story) -> Iterable[tuple[Snapshot, Event]]:
    """Every event with the state it met."""
    run = Snapshot(story.run.brief)
    for event in story.log:
        yield run, event
        run = after(run, event)


def with_team(told: Brief, **changes: Any) -> Brief:
    """The brief with its one worker changed."""
    return replace(told, team=Team(name="crew", workers=(WORKER.model_copy(update=changes),)))
