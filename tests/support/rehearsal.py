"""A rehearsed run: the real agents at a desk where a script plays engine, model, tools and machine, until it ends.

Agents wait for nothing but that what they say is recorded. So each is taken up to there, dropped, and begun anew from
the state: what an agent does next is read off that alone, and a rehearsal can be broken off after any event and go on
from the log.
"""

from asyncio import CancelledError
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import count, cycle
from types import coroutine
from typing import Any, TypeVar

from hypothesis import note
from hypothesis import strategies as st

from app.agents.allowance import kept_for_answer
from app.agents.ask import ask, prepare
from app.agents.converse import consequences, converse
from app.agents.roles import ROLES
from app.agents.worker.tools import settle_unknown
from app.domain import events as ev
from app.domain.breaker_names import model_breaker
from app.domain.conversation import Block
from app.domain.errors import Held, HeldBack, ModelError, Transient
from app.domain.events import Entry, Event
from app.domain.job import JobInput
from app.domain.plan_decisions import approve, edit, reject
from app.domain.policy.agenda import is_open, left_behind, step_in
from app.domain.policy.breakers import Breaker, Fault, fail, leave_probe, stance, succeed, take_probe
from app.domain.policy.budget import Kept, WorstCase
from app.domain.policy.commands import Converse, Decision, PlaceFindings
from app.domain.policy.conditions import Conditions
from app.domain.policy.decide import ends_now
from app.domain.policy.endings import fail as fail_run
from app.domain.policy.failed_attempts import break_attempt
from app.domain.policy.load import Load
from app.domain.protocol import Ask, UseTools
from app.domain.questions import Question
from app.domain.results import Problem
from app.domain.snapshot import Snapshot
from app.domain.team_rules import ApprovalRules, ConflictMethod, Stragglers
from app.domain.topics import Topic
from app.domain.usage import Usage
from app.engine.placing import place_findings
from app.engine.recovery import reckon_lost
from app.engine.reservations import Reservations
from app.llm.model import Reply, Request
from app.llm.pricing import Prices
from app.tools.documents import Documents
from app.tools.sandbox import Sandbox
from app.tools.tool import Tool
from tests.support.script import BUGS, FAULTS, POLICIES, RESOLUTIONS, TOOLS, Script, scripts
from tests.support.scripted_replies import NOTES, STOP_REASONS, Scene, content_of
from tests.support.story import Story

TURNS_ALLOWED = 3_000
"""Far more than any run may take: eight tasks of three attempts with a few replies each."""
BROKEN_OFF = Usage(llm_calls=1, input_tokens=3, estimated=True)

_DOCUMENTS = Documents(Sandbox())
"""There are none in a rehearsal."""

T = TypeVar("T")


def rehearse(script: Script, log: Sequence[Event] = ()) -> Story:
    """The run from its beginning, or on from `log` after the process that wrote it has died."""
    story = Story(script.brief, log)
    stage = _Stage(script, story)
    if not log:
        story.queued(script.plan if script.own_plan else None, script.on_question)
    elif story.run.started_at and not story.run.ended:
        stage.crash()
    for turn in range(TURNS_ALLOWED):
        if story.run.ended:
            return story
        stage.take_turn(turn)
    raise AssertionError(f"the run does not end: {[event.type for event in story.log[-10:]]}")


def waits_for_approval(run: Snapshot, now: datetime) -> bool:
    """Whether a client may decide on the plan."""
    return run.approval is not None and run.approval.is_open and now < run.approval.expires_at and not ends_now(run)


def _edited(run: Snapshot, number: int) -> Mapping[str, Any]:
    """Another plan: without its first task, or with one more, or with the same tasks in other words."""
    assert run.plan is not None
    tasks = run.plan.tasks
    if number % 3 == 0 and len(tasks) > 1:
        gone = tasks[0].id
        left = [each.model_copy(update={"depends_on": tuple(set(each.depends_on) - {gone})}) for each in tasks[1:]]
        return {"tasks": tuple(left)}
    if number % 3 == 1 and len(tasks) < run.brief.limits.tasks:
        return {"tasks": (tasks[0].model_copy(update={"id": f"more-{number}", "depends_on": ()}), *tasks)}
    return {"tasks": tuple(each.model_copy(update={"instruction": f"{each.instruction}!"}) for each in tasks)}


def open_questions(run: Snapshot) -> list[Question]:
    """The questions that wait for an answer."""
    return [question for question in run.questions.values() if question.status == "open"]


class Bug(ValueError):
    """A fault of our own code, as the script has it."""


class _Model:
    """Answers as the script says."""

    def __init__(self, script: Script, story: Story) -> None:
        self.prices = Prices()
        self.topic = Topic("plan")
        """What it is asked about."""
        self.stopped = False
        """Whether the next call is broken off."""
        self._plan = script.plan
        self._story = story
        self._outcomes = cycle(script.calls)
        self._shares = cycle(script.shares)
        self._numbers = count(len(story.log) or 1)
        self._brakes: dict[str, datetime] = {}

    async def reply(self, request: Request) -> Reply:
        if self.stopped:
            request.progress.usage = BROKEN_OFF
            raise CancelledError
        if request.before_sending is not None:
            await request.before_sending()
        outcome = next(self._outcomes)
        if outcome in BUGS:
            request.progress.usage = BROKEN_OFF if outcome == "break late" else None
            raise Bug
        if outcome in FAULTS:
            raise self._fault(FAULTS[outcome], request.model)
        scene = Scene(self._plan, self._story.run, self.topic, next(self._numbers))
        share = next(self._shares, None)
        written = min(1_500, request.max_tokens) if share is None else int(share * request.max_tokens)
        usage = Usage(llm_calls=1, input_tokens=500 + scene.number % 3, output_tokens=written, cost_usd=Decimal("0.01"))
        return Reply(content_of(outcome, scene), STOP_REASONS.get(outcome, "end_turn"), usage, request.model)

    def _fault(self, fault: ModelError, model: str) -> ModelError:
        if isinstance(fault, Transient) and fault.retry_after_s is not None:
            self._brakes[model] = self._story.now + timedelta(seconds=fault.retry_after_s)
        return fault.with_traceback(None)

    def model_id(self, model: str) -> str:
        return model

    def brakes(self) -> Mapping[str, datetime]:
        return self._brakes

    def lift(self, model: str) -> None:
        self._brakes.pop(model, None)

    async def close(self) -> None:
        pass


class _Door:
    """A way through a breaker that nobody else has to hear of."""

    def __init__(self, breakers: dict[str, Breaker], name: str, story: Story) -> None:
        self._breakers = breakers
        self._name = name
        self._story = story
        self._prober: str | None = None

    @property
    def _breaker(self) -> Breaker:
        return self._breakers.get(self._name, Breaker(self._name))

    async def enter(self) -> None:
        now, breaker = self._story.now, self._breaker
        says = stance(breaker, now)
        if says == "probe":
            self._prober = f"probe {len(self._story.log)}"
            self._breakers[self._name] = take_probe(breaker, self._prober, now, 120)
        elif says != "pass":
            left = breaker.state == "open" and breaker.probe_at and (breaker.probe_at - now).total_seconds()
            raise Held("held", retry_after_s=left or None, breaker=self._name)

    def answered(self) -> None:
        self._breakers[self._name] = succeed(self._breaker, self._prober)

    def failed(self, code: str, retry_after_s: float | None = None) -> Breaker:
        run, fault = self._story.run, Fault(code, retry_after_s)
        after = fail(self._breaker, fault, self._story.now, run.brief.patience, self._prober)
        self._breakers[self._name] = after
        return after

    def leave(self) -> None:
        if self._prober is not None:
            self._breakers[self._name] = leave_probe(self._breaker, self._prober, self._story.now)


class _Desk:
    """The agents' `Desk`. Whoever has something recorded there waits for good."""

    def __init__(self, story: Story, model: _Model) -> None:
        self.model = model
        self.breakers: dict[str, Breaker] = {}
        self._story = story
        self._reservations = Reservations()

    @property
    def run(self) -> Snapshot:
        return self._story.run

    @property
    def tools(self) -> Mapping[str, Tool]:
        return TOOLS

    async def inputs(self) -> Sequence[JobInput]:
        return (NOTES,)

    def now(self) -> datetime:
        return self._story.now

    async def record(self, *entries: Entry) -> None:
        self.record_soon(*entries)
        await _for_good()

    def record_soon(self, *entries: Entry) -> None:
        self._story.record(*map(_timed, entries))

    async def admit(self, *, even_when_leaving: bool = False) -> None:
        pass

    def door(self, breaker: str, about: str | None = None) -> _Door:
        return _Door(self.breakers, breaker, self._story)

    def reserve(self, topic: Topic, call: WorstCase) -> AbstractAsyncContextManager[int]:
        async def kept() -> Kept:
            return Kept() if topic.purpose == "synthesize" else await kept_for_answer(self.run, self.model, topic)

        return self._reservations.hold(call, lambda: self.run, kept)

    def listener(self, topic: Topic) -> Callable[[str], None] | None:
        return None


@coroutine
def _for_good() -> Generator[None, None, None]:
    yield


def _timed(entry: Entry) -> Entry:
    """A call takes a millisecond here: rehearsed twice, a run is the same."""
    if isinstance(entry.fact, ev.LlmCompleted | ev.LlmFailed):
        return entry._replace(fact=entry.fact.model_copy(update={"duration_ms": 1}))
    return entry


def _taken_up(work: Coroutine[Any, Any, T]) -> T | None:
    """What the work returns; None when it comes to wait, and is dropped."""
    try:
        work.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    work.close()
    return None


async def _call(desk: _Desk, topic: Topic) -> None:
    """The call that a conversation is in."""
    await ask(desk, await prepare(ROLES[topic.purpose], desk.run, topic, desk.tools))


class _Stage:
    """The engine's part: it takes up what `decide` wants, one step of one conversation at a time."""

    def __init__(self, script: Script, story: Story) -> None:
        self._script = script
        self._story = story
        self._model = _Model(script, story)
        self._desk = _Desk(story, self._model)
        self._under_way: tuple[Topic, ...] = ()
        self._gone_on: set[Topic] = set()
        """Those that this process has gone on with since it took them up."""
        self._held = False
        """Whether a breaker has held what was wanted last."""
        self._tools = cycle(script.tools)
        self._choices = cycle(script.choices)
        self._delays = cycle(script.delays)
        self._people = cycle(script.people)
        self._approvers = iter(script.approvers)

    def take_turn(self, number: int) -> None:
        run = self._story.run
        if number == self._script.cancel_at and not run.cancel_requested:
            self._story.cancel_requested()
        elif run.status == "queued" and not run.cancel_requested:
            self._story.started()
        elif run.started_at and number in self._script.crashes:
            self.crash()
        elif (asked := open_questions(run)) and not run.cancel_requested and next(self._people):
            self._story.answer(asked[number % len(asked)])
            if self._story.run.waiting:
                self._story.resumed()
        elif waits_for_approval(run, self._story.now) and (done := next(self._approvers, "wait")) != "wait":
            self._decide_on_plan(done, number)
        elif run.waiting and not ends_now(run):
            self._story.now = max(self._story.now, run.waiting.until or self._story.now)
            self._story.resumed()
        else:
            if number in self._script.outages:
                self._open_a_breaker(number)
            opened = {name: breaker for name, breaker in self._desk.breakers.items() if breaker.state != "closed"}
            load = {"able": Load(number % 5), "baker": Load(number % 3)}
            self._story.conditions = Conditions(self._model.brakes(), opened, frozenset(self._under_way), load)
            self._advance(self._story.decide())

    def _decide_on_plan(self, what: str, number: int) -> None:
        """What a client does about a plan that waits for approval. An edit leaves a run that is parked where it is."""
        run, now = self._story.run, self._story.now
        if what == "edit":
            self._story.record(*edit(run, None, now, _edited(run, number), f"turn {number}"))
            return
        self._story.record(*(approve(run, None, now) if what == "approve" else reject(run, None, now, None)))
        if self._story.run.waiting and not ends_now(self._story.run):
            self._story.resumed()

    def _open_a_breaker(self, number: int) -> None:
        team, now = self._story.run.brief.team, self._story.now
        model = team.supervisor.model if number % 3 == 0 else team.workers[0].model
        fault = Fault("provider_unavailable", retry_after_s=6 + number % 40)
        name = model_breaker(model)
        closed = Breaker(name)
        self._desk.breakers[name] = fail(closed, fault, now, self._story.run.brief.patience)

    def crash(self) -> None:
        """The process dies; the next one takes the run."""
        self._under_way = ()
        self._gone_on.clear()
        lost = _taken_up(reckon_lost(self._desk, self._story.now))
        assert lost is not None
        self._story.resumed(lost.usage, lost.unsettled)

    def _advance(self, decision: Decision) -> None:
        wanted = [command.topic for command in decision.commands if isinstance(command, Converse)]
        placing = next((command for command in decision.commands if isinstance(command, PlaceFindings)), None)
        unwanted = [topic for topic in self._under_way if topic not in wanted]
        self._under_way = tuple(topic for topic in self._under_way if topic in wanted)
        self._gone_on &= set(wanted)
        if unwanted:
            self._stop(unwanted)
        elif decision.entries:
            self._story.record(*decision.entries)
        elif placing is not None:
            _taken_up(place_findings(self._desk, _DOCUMENTS, placing))
        elif wanted:
            self._under_way = tuple(wanted)
            self._carry_on(wanted[next(self._choices) % len(wanted)])
            self._story.wait(next(self._delays))
        else:
            assert decision.wake_at is not None, "nothing goes on, nothing is settled, and nothing is waited for"
            assert decision.wake_at > self._story.now
            self._story.now = decision.wake_at

    def _stop(self, unwanted: Sequence[Topic]) -> None:
        """Break off calls that are under way; their agents say what these have cost."""
        self._model.stopped = True
        for topic in unwanted:
            if self._is_in_a_call(topic):
                told = _call if topic in left_behind(self._story.run) else converse
                with suppress(CancelledError):
                    _taken_up(told(self._desk, topic))
        self._model.stopped = False

    def _is_in_a_call(self, topic: Topic) -> bool:
        run = self._story.run
        waits = run.conversation(topic).waits(self._story.now)
        is_held = is_open(run, topic) or topic in left_behind(run)
        return is_held and not waits and isinstance(step_in(run, topic), Ask)

    def _carry_on(self, topic: Topic) -> None:
        run, seen = self._story.run, len(self._story.log)
        self._held = False
        step = step_in(run, topic)
        if topic not in self._gone_on:
            _taken_up(settle_unknown(self._desk, topic))
        if len(self._story.log) > seen:
            return
        self._gone_on.add(topic)
        if isinstance(step, UseTools) and not consequences(run, topic, run.conversation(topic), TOOLS):
            self._use_tool(topic, step.calls[0])
        else:
            self._converse(topic)
        assert self._held or len(self._story.log) > seen, f"{topic} was wanted with nothing to do but {step}"

    def _converse(self, topic: Topic) -> None:
        self._model.topic = topic
        try:
            _taken_up(converse(self._desk, topic))
        except HeldBack:
            self._held = True
            self._under_way = tuple(other for other in self._under_way if other != topic)
        except Bug:
            self._story.record(*self._broken(topic))

    def _use_tool(self, topic: Topic, call: Block) -> None:
        facts: dict[str, Any] = {"call_id": call["id"], "name": call["name"], "duration_ms": 1}
        end: ev.ToolCompleted | ev.ToolFailed
        match next(self._tools):
            case "new":
                end = ev.ToolCompleted(**facts, output=f"seen {len(self._story.log)}")
            case "same":
                end = ev.ToolCompleted(**facts, output="seen")
            case outcome:
                code = "tool_failed" if outcome == "broken" else "tool_call_invalid"
                end = ev.ToolFailed(**facts, error=Problem(code=code, message="no"))
        self._story.record(topic.entry(end))

    def _broken(self, topic: Topic) -> list[Entry]:
        if topic.task_id is None:
            return fail_run(self._story.run, "internal_error", "a bug")
        return [break_attempt(self._story.run, topic)]


@st.composite
def runs(
    draw: st.DrawFn,
    policies: Sequence[Stragglers] = POLICIES,
    rules: Sequence[ApprovalRules] = (),
    resolutions: Sequence[tuple[ConflictMethod, ...]] = RESOLUTIONS,
) -> Story:
    """Runs that have ended, of teams with one of these policies, one of these rules for the approval of plans, and one
    of these ways with conflicts."""
    script = draw(scripts(policies, rules, resolutions))
    note(repr(script))
    return rehearse(script)
