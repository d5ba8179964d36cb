"""What is reckoned as lost when a process has vanished: the calls it had under way, and no other."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from app.agents.ask import ask, prepare
from app.agents.desk import Door
from app.agents.roles import ROLES
from app.domain import events as ev
from app.domain.errors import Held, HeldBack
from app.domain.events import Entry
from app.domain.job import JobInput
from app.domain.policy.budget import WorstCase
from app.domain.snapshot import Snapshot
from app.domain.topics import Topic
from app.engine.recovery import Lost, reckon_lost
from app.llm.demo import DemoModel
from app.tools.tool import Tool
from tests.support.story import Story, brief, planning, started, task, text_block

LEASE_S = 15


class StoryDesk:
    """The desk of a run that is told: what is recorded is a fact at once."""

    model = DemoModel()
    tools: Mapping[str, Tool] = {}

    def __init__(self, story: Story) -> None:
        self._story = story

    @property
    def run(self) -> Snapshot:
        return self._story.run

    async def inputs(self) -> Sequence[JobInput]:
        return ()

    def now(self) -> datetime:
        return self._story.now

    async def record(self, *entries: Entry) -> None:
        self._story.record(*entries)

    def record_soon(self, *entries: Entry) -> None:
        self._story.record(*entries)

    async def admit(self, *, even_when_leaving: bool = False) -> None:
        """Nobody else wants the run."""

    def door(self, breaker: str, about: str | None = None) -> Door:
        raise AssertionError("nobody calls anybody here")

    def reserve(self, topic: Topic, call: WorstCase) -> AbstractAsyncContextManager[int]:
        raise AssertionError("nobody calls anybody here")

    def listener(self, _: Topic) -> Callable[[str], None] | None:
        return None


async def lost(story: Story, after_s: float = 0) -> Lost:
    """What is lost by a process that was at work for so long after the last event at the most."""
    return await reckon_lost(StoryDesk(story), story.now + timedelta(seconds=after_s))


async def lost_calls(story: Story, after_s: float) -> int:
    return (await lost(story, after_s)).calls


async def test_a_call_that_nobody_has_answered_is_lost() -> None:
    story = started(task("t1"), task("t2"))
    story.start("t1")

    reckoned = await lost(story)

    assert reckoned.calls == reckoned.usage.llm_calls == 1
    assert reckoned.usage.estimated
    assert await lost_calls(planning(), 0) == 1


async def test_calls_that_were_under_way_when_their_breaker_opened_are_lost_too() -> None:
    story = started(*map(task, "abcd"))
    for name in "abcd":
        story.start(name)
    story.wait(1)
    opened = ev.BreakerOpened(
        name="model:model-1", kind="model", reason="rate_limited", failures=1, opened_at=story.now, probe_at=story.now
    )
    story.tell(opened)
    assert await lost_calls(story, 1) == 4
    story.wait(1)
    story.hear("work", [text_block("…")], "max_tokens", "a")
    story.hear("work", [text_block("…")], "max_tokens", "b")
    assert await lost_calls(story, 1) == 3  # Of those two one at most has been sent.

    story.resumed()

    assert await lost_calls(story, 1) == 1


async def test_what_is_decided_on_and_what_stands_at_the_door_is_one_breaker() -> None:
    story = started(task("a"))
    story.start("a")
    topic = story.topic("work", "a")
    entered: list[str] = []

    class Shut:
        def __init__(self, name: str) -> None:
            self.name = name

        async def enter(self) -> None:
            entered.append(self.name)
            raise Held("shut", breaker=self.name)

        def leave(self) -> None:
            pass

    desk = StoryDesk(story)
    desk.door = lambda name, about=None: Shut(name)  # type: ignore[assignment, method-assign, return-value]

    with pytest.raises(HeldBack):
        await ask(desk, await prepare(ROLES["work"], story.run, topic, {}))

    assert entered == [f"model:{story.run.model_of(topic)}"]


async def test_a_lost_call_is_reckoned_by_the_request_that_was_sent() -> None:
    stories = [Story(replace(brief(), objective="Find out. " * times)) for times in (1, 1_000)]
    for story in stories:
        story.queued()
        story.started()

    short, long = [(await lost(story)).usage.input_tokens for story in stories]

    assert long - short > 1_000


async def test_a_call_that_was_not_due_while_the_process_was_at_work_is_not_lost() -> None:
    story = started(task("t1"))
    story.start("t1")
    story.fail_call("work", "provider_unavailable", "t1", again_in=LEASE_S + 1)

    assert await lost_calls(story, LEASE_S) == 0
    assert await lost_calls(story, LEASE_S + 1) == 1


async def test_whoever_took_a_run_that_waits_and_said_nothing_has_lost_nothing() -> None:
    story = started(task("t1"))
    story.start("t1")
    story.fail_call("work", "rate_limited", "t1", again_in=60)

    assert story.settle() == ["run.waiting"]
    assert await lost_calls(story, 60 + LEASE_S) == 0


async def test_an_answer_that_needs_no_synthesis_has_no_call_to_lose() -> None:
    story = started(task("t1"))
    story.succeed("t1")

    assert story.run.phase == "synthesizing"
    assert await lost_calls(story, LEASE_S) == 0
