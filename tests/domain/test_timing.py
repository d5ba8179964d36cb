from app.domain.plan import Task
from app.domain.timing import Timing, timing_of
from tests.support.story import Story, brief, started, task


def worked(story: Story, name: str, seconds: float) -> None:
    story.start(name)
    story.wait(seconds)
    story.succeed(name)


def timing(story: Story) -> Timing:
    return timing_of(story.run, story.now)


def planned(*tasks: Task) -> Story:
    """A run that waited 2 s in the queue and was planned for 10 s."""
    story = Story(brief())
    story.queued()
    story.wait(2)
    story.started()
    story.wait(10)
    story.planned(*tasks)
    return story


def test_a_run_without_events_has_taken_no_time() -> None:
    assert timing(Story(brief())) == Timing()


def test_before_the_start_only_the_queue_takes_time() -> None:
    story = Story(brief())
    story.queued()
    story.wait(1.5)

    assert timing(story) == Timing(queued_ms=1_500)


def test_a_run_cancelled_in_the_queue_stops_its_clock() -> None:
    story = Story(brief())
    story.queued()
    story.wait(3)
    story.cancel_requested()
    story.settle()
    story.wait(60)

    assert timing(story) == Timing(queued_ms=3_000)


def test_while_planning_all_time_is_planning() -> None:
    story = Story(brief())
    story.queued()
    story.started()
    story.wait(4)

    assert timing(story) == Timing(wall_ms=4_000, critical_path_ms=4_000, sequential_ms=4_000, speedup=1.0)


def test_a_chain_takes_as_long_as_its_parts() -> None:
    story = planned(task("a"), task("b", "a"))
    worked(story, "a", 20)
    worked(story, "b", 30)
    story.wait(5)
    story.synthesize()
    story.settle()

    assert timing(story) == Timing(
        queued_ms=2_000, wall_ms=65_000, critical_path_ms=65_000, sequential_ms=65_000, speedup=1.0
    )


def test_tasks_side_by_side_are_faster_than_one_after_the_other() -> None:
    story = planned(task("a"), task("b"), task("c"))
    for name in "abc":
        story.start(name)
    story.wait(10)
    story.succeed("a")
    story.wait(10)
    story.succeed("b")
    story.wait(10)
    story.succeed("c")
    story.wait(10)
    story.synthesize()
    story.settle()

    assert timing(story) == Timing(
        queued_ms=2_000, wall_ms=50_000, critical_path_ms=50_000, sequential_ms=80_000, speedup=1.6
    )


def test_the_critical_path_is_the_heaviest_chain_and_not_the_longest() -> None:
    story = planned(task("sum", "a2", "b"), task("a2", "a1"), task("a1"), task("b"))
    story.start("b")
    worked(story, "a1", 10)
    worked(story, "a2", 10)
    story.wait(80)
    story.succeed("b")
    worked(story, "sum", 5)

    assert timing(story).critical_path_ms == 10_000 + 100_000 + 5_000
    assert timing(story).sequential_ms == 10_000 + 10_000 + 10_000 + 100_000 + 5_000


def test_waiting_for_a_slot_is_on_no_path() -> None:
    story = planned(task("a"), task("b"))
    worked(story, "a", 10)
    story.wait(100)
    worked(story, "b", 10)

    assert timing(story).wall_ms == 10_000 + 120_000
    assert timing(story).critical_path_ms == 10_000 + 10_000


def test_every_attempt_of_a_task_counts() -> None:
    story = started(task("a"))
    story.start("a")
    story.time_out("a")
    story.refine("a", "do a well")
    story.wait(100)
    worked(story, "a", 9)

    assert timing(story).sequential_ms == 70_000


def test_the_clock_of_an_ended_run_stands_still() -> None:
    story = planned(task("a"))
    worked(story, "a", 10)
    story.settle()
    before = timing(story)
    story.wait(1_000)

    assert timing(story) == before
