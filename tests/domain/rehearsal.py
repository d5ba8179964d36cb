"""A rehearsed run: engine, agents, model and tools played by a script, without I/O, until the run ends.

What an agent does next is read off the state alone, as in the real one, so a rehearsal can be broken off after any
event and go on from the log.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from decimal import Decimal
from itertools import count, cycle
from typing import Any

from app.domain.commands import Command, Decision, MakePlan, Refine, Synthesize, WorkOn
from app.domain.decisions import step_of, supervisor_step, unrefined
from hypothesis import note
from hypothesis import strategies as st

from app.domain import events as ev
from app.domain.conversation import Ask, Block, Conversation, Read, Step, UseTools
from app.domain.errors import ModelError, Transient
from app.domain.events import Event
from app.domain.fold import extended
from app.domain.results import Escalation, Output, Problem, Statement, Synthesis
from app.domain.retries import failures_that_count, next_call_at
from app.domain.snapshot import Snapshot
from app.domain.usage import Usage
from tests.domain.script import FAULTS, STOP_REASONS, Script, scripts
from tests.domain.story import USELESS, Story, call_block, text_block

TURNS_ALLOWED = 3_000
"""Far more than any run may take: eight tasks of three attempts with a few replies each."""


def rehearse(script: Script, log: Sequence[Event] = ()) -> Story:
    """The run from its beginning, or on from `log` after the process that wrote it has died."""
    story = Story(script.brief, log)
    if not log:
        story.queued(script.plan if script.own_plan else None)
    elif story.run.started_at and not story.run.ended:
        story.resumed()
    stage = _Stage(script, story)
    for turn in range(TURNS_ALLOWED):
        if story.run.ended:
            return story
        stage.take_turn(turn)
    raise AssertionError(f"the run does not end: {[event.type for event in story.log[-10:]]}")


class _Stage:
    def __init__(self, script: Script, story: Story) -> None:
        self._script = script
        self._story = story
        self._under_way: tuple[Command, ...] = ()
        self._calls = cycle(script.calls)
        self._tools = cycle(script.tools)
        self._choices = cycle(script.choices)
        self._delays = cycle(script.delays)
        self._numbers: Iterator[int] = count(len(story.log))

    def take_turn(self, number: int) -> None:
        run = self._story.run
        if number == self._script.cancel_at and run.cancel_requested is None:
            self._story.cancel_requested()
        elif run.status == "queued" and run.cancel_requested is None:
            self._story.started()
        elif run.started_at and number in self._script.crashes:
            self._crash()
        elif run.waiting and run.cancel_requested is None:
            self._story.now = max(self._story.now, run.waiting.until)
            self._story.resumed()
        else:
            self._advance(self._story.decide())

    def _crash(self) -> None:
        lost = [command for command in self._under_way if self._is_in_a_call(command)]
        self._under_way = ()
        self._story.resumed(Usage(llm_calls=len(lost), input_tokens=3 * len(lost), estimated=bool(lost)))

    def _advance(self, decision: Decision) -> None:
        unwanted = [command for command in self._under_way if command not in decision.commands]
        self._under_way = tuple(command for command in self._under_way if command not in unwanted)
        if unwanted:
            self._stop(unwanted)
        elif decision.events:
            self._story.record(*decision.events)
        elif decision.commands:
            self._under_way = decision.commands
            self._carry_on(decision.commands[next(self._choices) % len(decision.commands)])
            self._story.wait(next(self._delays))
        else:
            assert decision.wake_at is not None, "nothing goes on, nothing is settled, and nothing is waited for"
            assert decision.wake_at > self._story.now
            self._story.now = decision.wake_at

    def _stop(self, unwanted: Sequence[Command]) -> None:
        for command in unwanted:
            if self._is_in_a_call(command):
                error = ModelError("stopped", Usage(llm_calls=1, input_tokens=3, estimated=True), code="cancelled")
                self._story.record(self._call_failed(command, error))

    def _is_in_a_call(self, command: Command) -> bool:
        run = self._story.run
        match command:
            case WorkOn(name, number):
                state = run.tasks[name]
                if state.status != "running" or len(state.attempts) != number or state.attempts[-1].escalation:
                    return False
            case Refine(name) if not run.tasks[name].refine_first:
                return False
        return isinstance(_next(run, command), Ask)

    def _carry_on(self, command: Command) -> None:
        run = self._story.run
        step = _next(run, command)
        match step:
            case Ask():
                self._story.record(*self._asked(command))
            case UseTools(calls):
                self._story.record(*self._tools_used(command, calls))
            case Read():
                self._story.record(*self._consequences(command, run))
            case _:
                raise AssertionError(f"{command} was wanted with nothing to do but {step}")

    def _asked(self, command: Command) -> list[Event]:
        outcome = next(self._calls)
        if outcome == "break":
            return [self._broken(command)]
        if outcome in FAULTS:
            return [self._call_failed(command, FAULTS[outcome])]
        number = next(self._numbers)
        content = [text_block(f" {outcome}#{number}")]
        if outcome == "tools" and isinstance(command, WorkOn):
            content += [call_block(f"call_{number}_{each}") for each in range(1 + number % 2)]
        usage = Usage(llm_calls=1, input_tokens=5 + number % 3, output_tokens=2, cost_usd=Decimal("0.01"))
        reply = ev.ModelReplied(
            **_facts(command, usage), stop_reason=STOP_REASONS.get(outcome, "end_turn"), content=content
        )
        replied = ev.LlmCompleted(**self._whose(command), data=reply)
        ahead, _ = extended(self._story.run, [replied])
        return [replied, *self._consequences(command, ahead)]

    def _call_failed(self, command: Command, error: ModelError) -> Event:
        run, now = self._story.run, self._story.now
        assert run.deadline is not None
        talk = _talk(run, command)
        facts = _facts(command, error.usage)
        policy = run.brief.policy.towards(facts["purpose"])
        failures = failures_that_count(policy, error, talk.failures, talk.paid_failures)
        retry_at = next_call_at(policy, error, failures=failures, now=now, deadline=run.deadline, jitter=0.5)
        problem = Problem(code=error.code, message=error.message)
        asked = isinstance(error, Transient) and error.retry_after_s
        not_before = now + timedelta(seconds=asked) if asked else None
        data = ev.ModelFailed(**facts, error=problem, retry_at=retry_at, not_before=not_before, sent=error.sent)
        return ev.LlmFailed(**self._whose(command), data=data)

    def _broken(self, command: Command) -> Event:
        problem = Problem(code="internal_error", message="a bug")
        if isinstance(command, WorkOn):
            return ev.TaskFailed(**self._whose(command), data=ev.Failed(error=problem))
        return ev.RunFailed(**self._story.whose(), data=ev.EndedInFailure(stop_reason="internal_error", error=problem))

    def _tools_used(self, command: Command, calls: Sequence[Block]) -> list[Event]:
        """The intents of calls that have none yet, or the outcome of one."""
        intents = _talk(self._story.run, command).turns[-1].intents
        whose = self._whose(command)
        if missing := [call for call in calls if call["id"] not in intents]:
            called = [ev.ToolCalled(call_id=call["id"], name="look", effect="read", key=call["id"]) for call in missing]
            return [ev.ToolStarted(**whose, data=data) for data in called]
        facts: dict[str, Any] = {"call_id": calls[0]["id"], "name": "look", "duration_ms": 1}
        match next(self._tools):
            case "new":
                text = f"seen {next(self._numbers)}"
                return [ev.ToolCompleted(**whose, data=ev.ToolReturned(**facts, output=text))]
            case "same":
                return [ev.ToolCompleted(**whose, data=ev.ToolReturned(**facts, output="seen"))]
            case outcome:
                problem = Problem(code="tool_failed" if outcome == "broken" else "tool_call_invalid", message="no")
                return [ev.ToolFailed(**whose, data=ev.ToolBroke(**facts, error=problem))]

    def _consequences(self, command: Command, run: Snapshot) -> list[Event]:
        """What follows from the newest reply when it is a final one."""
        step = _next(run, command)
        if not isinstance(step, Read) or _talk(run, command).unusable:
            return []
        word = step.text.split()[-1].partition("#")[0]
        match command:
            case WorkOn():
                return [self._worked(command, run, word, step.text)]
            case Refine(name):
                return [self._refined(name, run, word, step.text)]
        if word != "useless":
            return [self._supervised(command, run)]
        note = "Again." if _talk(run, command).may_be_repaired else None
        refused = ev.Rejected(errors=(USELESS,), note=note)
        kind = ev.PlanInvalid if isinstance(command, MakePlan) else ev.SynthesisRejected
        return [kind(**self._whose(command), data=refused)]

    def _supervised(self, command: Command, run: Snapshot) -> Event:
        if isinstance(command, MakePlan):
            return ev.PlanCreated(**self._whose(command), data=self._script.plan)
        names = tuple(state.task.id for state in run.delivered)
        reconciled = Synthesis(answer="All told.", statements=(Statement(text="It is so.", tasks=names),))
        return ev.SynthesisCompleted(**self._whose(command), data=reconciled)

    def _worked(self, command: WorkOn, run: Snapshot, word: str, text: str) -> Event:
        whose = self._whose(command)
        if word == "escalate":
            return ev.TaskEscalated(**whose, data=Escalation(reason="out_of_scope", message="not mine"))
        if word == "useless":
            note = "Again." if _talk(run, command).may_be_repaired else None
            return ev.TaskRejected(**whose, data=ev.Rejected(errors=(USELESS,), note=note))
        return ev.TaskSucceeded(**whose, data=Output(summary=f"{command.task_id} done", text=text))

    def _refined(self, name: str, run: Snapshot, word: str, text: str) -> Event:
        state = run.tasks[name]
        if word == "useless":
            return unrefined(run, state, "it was the same as before", self._story.now)
        data = ev.Refined(instruction=f"{state.task.instruction}{text}", refined_from=len(state.attempts))
        return ev.TaskRefined(**self._story.whose(name, len(state.attempts) + 1), data=data)

    def _whose(self, command: Command) -> dict[str, Any]:
        match command:
            case WorkOn(name, number):
                return self._story.whose(name, number)
            case Refine(name):
                return self._story.whose(name, len(self._story.state(name).attempts) + 1)
            case _:
                return self._story.whose()


def _talk(run: Snapshot, command: Command) -> Conversation:
    match command:
        case MakePlan():
            return run.planning
        case Synthesize():
            return run.reconciling
        case Refine(name):
            return run.tasks[name].refining
        case WorkOn(name):
            return run.tasks[name].attempts[-1].conversation


def _next(run: Snapshot, command: Command) -> Step:
    if isinstance(command, WorkOn):
        return step_of(run, run.tasks[command.task_id])
    return supervisor_step(_talk(run, command))


def _facts(command: Command, usage: Usage) -> dict[str, Any]:
    purposes: dict[type[Command], ev.Purpose] = {
        MakePlan: "plan",
        Refine: "refine",
        WorkOn: "work",
        Synthesize: "synthesize",
    }
    return {"purpose": purposes[type(command)], "model": "model-1", "usage": usage, "duration_ms": 1}


@st.composite
def runs(draw: st.DrawFn) -> Story:
    """Runs that have ended."""
    script = draw(scripts())
    note(repr(script))
    return rehearse(script)
