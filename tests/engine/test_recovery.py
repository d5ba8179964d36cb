"""What is reckoned as lost when a process has vanished: the calls it had under way, and no other."""

from datetime import timedelta

from app.domain.snapshot import Snapshot
from app.engine.recovery import resumption
from app.llm.demo import DemoModel
from tests.domain.story import Story, planning, started, task

LEASE_S = 15


def lost_calls(run: Snapshot, story: Story, after_s: float) -> int:
    """Calls lost by a process that was at work for so long after the last event at the most."""
    lost = resumption(run, story.now + timedelta(seconds=after_s), DemoModel())
    return int(lost.get("lost_calls", 0))


def test_a_call_that_nobody_has_answered_is_lost() -> None:
    story = started(task("t1"), task("t2"))
    story.start("t1")

    lost = resumption(story.run, story.now, DemoModel())

    assert lost["lost_calls"] == lost["usage"].llm_calls == 1
    assert lost["usage"].estimated
    assert lost_calls(planning().run, story, 0) == 1


def test_a_call_that_was_not_due_while_the_process_was_at_work_is_not_lost() -> None:
    story = started(task("t1"))
    story.start("t1")
    story.fail_call("work", "provider_unavailable", "t1", again_in=LEASE_S + 1)

    assert lost_calls(story.run, story, LEASE_S) == 0
    assert lost_calls(story.run, story, LEASE_S + 1) == 1


def test_whoever_took_a_run_that_waits_and_said_nothing_has_lost_nothing() -> None:
    story = started(task("t1"))
    story.start("t1")
    story.fail_call("work", "rate_limited", "t1", again_in=60)

    assert story.settle() == ["run.waiting"]
    assert lost_calls(story.run, story, 60 + LEASE_S) == 0


def test_an_answer_that_needs_no_synthesis_has_no_call_to_lose() -> None:
    story = started(task("t1"))
    story.succeed("t1")

    assert story.run.phase == "synthesizing"
    assert lost_calls(story.run, story, LEASE_S) == 0
