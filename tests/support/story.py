"""A run told fact by fact: what tests of the domain are written with."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from pydantic_core import from_json, to_json

from app.domain import events as ev
from app.domain.brief import Brief
from app.domain.conversation import Block, Conversation
from app.domain.errors import ErrorCode
from app.domain.events import Entry, Event
from app.domain.flaws import Flaw
from app.domain.fold import after, extend
from app.domain.job import Limits
from app.domain.plan import Plan, Task, validated
from app.domain.policy.commands import Converse, Decision
from app.domain.policy.conditions import UNKNOWN
from app.domain.policy.decide import decide
from app.domain.policy.failed_attempts import Ruling, follow
from app.domain.policy.splitting import split
from app.domain.questions import Default, DefaultAction, Inquiry, OnQuestion, Question
from app.domain.results import Escalation, EscalationDecision, Problem
from app.domain.snapshot import Snapshot
from app.domain.strategies import USUAL, Strategy
from app.domain.task_state import TaskState
from app.domain.team import Team, TeamRef
from app.domain.topics import Topic
from app.domain.usage import Amount, Usage
from app.domain.worker import Worker

START = datetime(2026, 1, 1, tzinfo=UTC)
WORKER = Worker(name="able", description="Does things.", instructions="Do them.", max_steps=4, timeout_s=60)
BAKER = Worker(name="baker", description="Bakes things.", instructions="Bake them.", timeout_s=60)
TEAM = Team(name="crew", workers=(WORKER,))
PAIR = Team(name="crew", workers=(WORKER.model_copy(update={"fallback": "baker"}), BAKER))
"""A team in which one worker may stand in for another."""
SPENT = Usage(llm_calls=1, input_tokens=10, output_tokens=5, cost_usd=Decimal("0.01"))
USELESS = Flaw(code="output_invalid", detail="it does not fit")


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


def called(purpose: ev.Purpose, usage: Usage = SPENT, duration_ms: int = 1, number: int | None = None) -> ev.ModelCall:
    """A call of the model."""
    return ev.ModelCall(purpose=purpose, model="model-1", usage=usage, duration_ms=duration_ms, number=number)


class Story:
    """A run, its log so far, and the time. Every fact is folded as it is told, so an impossible one is an error."""

    def __init__(self, brief: Brief, log: Sequence[Event] = ()) -> None:
        self.run = Snapshot(brief)
        self.log: list[Event] = []
        self.now = START
        self.conditions = UNKNOWN
        for event in log:
            self.run = after(self.run, event)
            self.log.append(event)
            self.now = event.at

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def record(self, *entries: Entry) -> None:
        self.run, events = extend(self.run, entries, self.now)
        self.log.extend(events)

    def tell(self, fact: ev.AnyFact, name: str | None = None, attempt: int | None = None) -> None:
        """Record one fact, of the run or of a task."""
        self.record(Entry(fact, name, attempt))

    def decide(self) -> Decision:
        return decide(self.run, self.now, self.conditions)

    def talking(self) -> list[Topic]:
        """The conversations that are to be held now."""
        return [command.topic for command in self.decide().commands if isinstance(command, Converse)]

    def starting(self) -> list[tuple[str | None, int | None]]:
        """The attempts that are to start now, by task and number."""
        return [(name, number) for fact, name, number in self.decide().entries if fact.type == "task.started"]

    def settle(self) -> list[str]:
        """Record what is settled until there is something to do, to wait for, or nothing more; the types recorded."""
        seen = len(self.log)
        while entries := self.decide().entries:
            self.record(*entries)
        return [event.type for event in self.log[seen:]]

    def state(self, name: str) -> TaskState:
        return self.run.tasks[name]

    def topic(self, purpose: ev.Purpose, name: str | None = None) -> Topic:
        """What is talked about for this purpose now; for the sake of a task, its attempt or the one to come."""
        if name is None:
            return Topic(purpose)
        return Topic(purpose, name, len(self.state(name).attempts) + (purpose == "refine"))

    def talk(self, topic: Topic) -> Conversation:
        """What was said about it."""
        return self.run.conversation(topic)

    def queued(self, plan: Plan | None = None, on_question: OnQuestion | None = None) -> None:
        brief = self.run.brief
        team = TeamRef(name=brief.team.name, version=1)
        queued = ev.RunQueued(
            objective=brief.objective, team=team, limits=brief.limits, plan=plan, on_question=on_question
        )
        self.tell(queued)

    def started(self) -> None:
        self.tell(ev.RunStarted(engine="one", epoch=1))

    def resumed(self, lost: Usage | None = None, unsettled: Amount | None = None) -> None:
        unsettled = unsettled or Amount()
        self.tell(ev.RunResumed(engine="two", epoch=2, usage=lost or Usage(), unsettled=unsettled))

    def parked(self) -> None:
        """The run waits for its provider; it may go on at once."""
        self.tell(ev.RunWaiting(reason="provider", until=self.now))

    def cancel_requested(self, reason: str | None = None) -> None:
        self.tell(ev.RunCancelRequested(reason=reason))

    def planned(self, *tasks: Task, strategy: Strategy = USUAL) -> None:
        self.tell(ev.PlanCreated.of(plan_of(*tasks).model_copy(update={"strategy": strategy})))

    def begin(self, *tasks: Task, on_question: OnQuestion | None = None) -> None:
        self.queued(on_question=on_question)
        self.started()
        self.planned(*tasks)

    def start(self, name: str) -> None:
        state = self.state(name)
        begun = ev.TaskStarted(worker=state.next.worker, model="model-1", instruction=state.next.words)
        self.tell(begun, name, len(state.attempts) + 1)

    def hear(
        self, purpose: ev.Purpose, content: Sequence[Block], stop_reason: str = "end_turn", name: str | None = None
    ) -> None:
        """A reply of the model."""
        reply = called(purpose).completed(stop_reason=stop_reason, content=list(content))
        self.record(self.topic(purpose, name).entry(reply))

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
        failure = called(purpose, SPENT if sent else Usage()).failed(
            Problem(code=code, message=f"{code}!"),
            retry_at=None if again_in is None else self.now + timedelta(seconds=again_in),
            not_before=None if not_before is None else self.now + timedelta(seconds=not_before),
            sent=sent,
        )
        self.record(self.topic(purpose, name).entry(failure))

    def time_out(self, name: str) -> None:
        """An attempt whose reply was not finished within the worker's time, and what follows from that."""
        self.wait(61)
        failure = called("work", Usage(), 61_000).failed(Problem(code="timeout", message="too slow"))
        self.record(self.topic("work", name).entry(failure))
        self.settle()

    def use_tool(self, name: str, call_id: str, output: str = "seen", code: str | None = None) -> None:
        """A tool call that ran, and what it brought back."""
        topic = self.topic("work", name)
        end: ev.ToolCompleted | ev.ToolFailed
        if code is None:
            end = ev.ToolCompleted(call_id=call_id, name="look", output=output, duration_ms=1)
        else:
            problem = Problem(code=code, message=output)
            end = ev.ToolFailed(call_id=call_id, name="look", error=problem, duration_ms=1)
        begun = ev.ToolStarted(call_id=call_id, name="look", effect="read", key=call_id)
        self.record(topic.entry(begun))
        self.record(topic.entry(end))

    def escalate(self, name: str, message: str, partial: str | None = None) -> Escalation:
        """The worker has stopped, and says so in its reply."""
        self.hear("work", [text_block("!")], name=name)
        escalation = ev.TaskEscalated(reason="out_of_scope", message=message, partial=partial)
        self.record(self.topic("work", name).entry(escalation))
        return escalation

    def rule(
        self, name: str, decision: EscalationDecision, worker: str | None = None, instruction: str | None = None
    ) -> None:
        """The supervisor has ruled on an escalation."""
        self._follow(name, Ruling(decision, worker, instruction, reason="so it is"))

    def split(self, name: str, *parts: Task) -> None:
        """The worker has stopped, and smaller tasks take the task's place."""
        self.escalate(name, "Too much.")
        plan = split(self.run, self.state(name), parts)
        assert plan.validation.ok
        self._follow(name, Ruling("split", plan=plan, reason="too much"))

    def ask(self, name: str, action: DefaultAction = "proceed", *choices: str) -> Question:
        """The worker has stopped, and the supervisor has ruled that a person is asked."""
        self.escalate(name, "Which one?")
        assumption = "this one" if action == "proceed" else None
        default = Default(action=action, assumption=assumption)
        inquiry = Inquiry(question=f"Which one for {name}?", choices=choices, default=default)
        self._follow(name, Ruling("ask_human", inquiry=inquiry))
        return self.run.questions[self.state(name).question or ""]

    def _follow(self, name: str, ruling: Ruling) -> None:
        self.hear("rule", [text_block(ruling.decision or "")], name=name)
        self.record(*follow(self.run, self.state(name), ruling))

    def answer(self, question: Question, answer: str = "the other one") -> None:
        """A person has answered."""
        attempt = len(self.state(question.task_id).attempts) if question.task_id is not None else None
        self.tell(ev.QuestionAnswered(id=question.id, answer=answer), question.task_id, attempt)

    def reject_result(self, name: str, note: str | None = "Again.", flaw: Flaw = USELESS) -> None:
        self.record(self.topic("work", name).entry(ev.TaskRejected(errors=(flaw,), note=note)))

    def refine(self, name: str, instruction: str) -> None:
        last = len(self.state(name).attempts)
        refined = ev.TaskRefined(instruction=instruction, refined_from=last, change="said more")
        self.record(self.topic("refine", name).entry(refined))

    def succeed(self, name: str, **output: Any) -> None:
        """A task started, done and delivered at once."""
        if self.state(name).status == "pending":
            self.start(name)
        self.hear("work", [text_block(f"{name} done")], name=name)
        delivered = ev.TaskSucceeded(**{"summary": f"{name} done", "text": f"All about {name}.", **output})
        self.record(self.topic("work", name).entry(delivered))

    def fail(self, name: str, code: ErrorCode = "model_refusal") -> None:
        """A task started and failed for good."""
        if self.state(name).status == "pending":
            self.start(name)
        self.record(self.topic("work", name).entry(ev.TaskFailed(error=Problem(code=code, message=f"{code}!"))))

    def select(self, name: str, *others: str) -> None:
        """The judge's choice, taken."""
        self.hear("select", [text_block(name)])
        self.tell(ev.SelectionCompleted(task=name, reason="It is better.", candidates=(*others, name)))

    def synthesize(self, **synthesis: Any) -> None:
        """The supervisor's reconciliation, taken."""
        self.hear("synthesize", [text_block("all told")])
        self.tell(ev.SynthesisCompleted(**{"answer": "All told.", **synthesis}))

    def error(self, name: str) -> str | None:
        """The code a task ended with."""
        error = self.state(name).error
        return error.code if error else None

    def attempt_errors(self, name: str) -> list[str | None]:
        """The codes that the attempts at a task ended with."""
        return [attempt.error.code if attempt.error else None for attempt in self.state(name).attempts]


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


def as_json(event: Event) -> dict[str, Any]:
    """The event as it is stored and streamed: a JSON object."""
    envelope = {name: getattr(event, name) for name in ("seq", "type", "at", "run_id", "task_id", "attempt", "data")}
    stored: dict[str, Any] = from_json(to_json(envelope))
    return stored
