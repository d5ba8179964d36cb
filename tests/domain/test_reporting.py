from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings

from app.domain import events as ev
from app.domain.busy import STRETCHES_KEPT, BusyTime
from app.domain.duplicates import CALLS_COMPARED, DuplicateWork
from app.domain.likeness import likeness, sketch_of
from app.domain.nested import ChildStatus
from app.domain.policy.rounds import begin_round, gaps_to_close, next_plan, rounds_left
from app.domain.report import Report
from app.domain.reporting import Reporter
from app.domain.results import Claim, Conflict, NestedResult, Problem
from app.domain.team import TeamRef
from app.domain.timing import timing_of
from app.domain.usage import Usage
from tests.domain.test_spans import FIRST_RELEASE
from tests.support.rehearsal import runs
from tests.support.story import START, Story, as_json, brief, called, plan_of, task, text_block

MANY = settings(
    max_examples=150, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)


def reported(story: Story, reused: ev.ResultsReused | None = None) -> Report:
    """The report on a run; one that has begun with results tells of them first."""
    reporter = Reporter()
    if reused is not None:
        reporter.take({**as_json(story.log[0]), "type": reused.type, "data": reused.model_dump(mode="json")})
    for event in story.log:
        reporter.take(as_json(event))
    return reporter.report(story.now)


@MANY
@given(runs())
def test_the_report_agrees_with_timing_and_usage_of_the_run(story: Story) -> None:
    report, timing, usage = reported(story), timing_of(story.run, story.now), story.run.usage
    path = report.critical_path

    assert path.planning_ms + path.tasks_ms + path.synthesis_ms == timing.critical_path_ms
    assert report.speedup == timing.speedup
    assert sum(part.tokens for part in report.parts) == usage.input_tokens + usage.output_tokens
    assert sum(part.cost_usd for part in report.parts) == usage.cost_usd
    assert sum(part.llm_calls for part in report.parts) == usage.llm_calls
    assert sum(worker.tool_calls for worker in report.workers) == usage.tool_calls
    [work] = [part for part in report.parts if part.part == "work"]
    assert sum(worker.input_tokens + worker.output_tokens for worker in report.workers) == work.tokens
    assert sum(worker.delivered for worker in report.workers) == sum(each.delivered for each in story.run.every_task)
    assert 0 <= report.waiting.busy_ms <= timing.wall_ms
    assert all(story.run.tasks.get(name) or story.run.replaced.get(name) for name in path.tasks)


@MANY
@given(runs())
def test_the_rounds_cost_together_what_the_run_has_cost_and_one_that_brought_nothing_is_the_last(story: Story) -> None:
    rounds, usage = reported(story).rounds, story.run.usage

    if story.run.plan is None:
        assert rounds == ()
        return
    assert [each.round for each in rounds] == list(range(1, story.run.answering.round + 1))
    assert sum(each.tokens for each in rounds) == usage.input_tokens + usage.output_tokens
    assert sum(each.llm_calls for each in rounds) == usage.llm_calls
    assert sum(each.cost_usd for each in rounds) == usage.cost_usd
    assert sum(each.wall_ms for each in rounds) == timing_of(story.run, story.now).wall_ms
    assert sum(each.tasks for each in rounds) == len(story.run.every_task)
    assert sum(each.delivered for each in rounds) == sum(task.delivered for task in story.run.every_task)
    assert all(each.delivered for each in rounds[:-1])


def spend(read: int, written: int) -> Usage:
    return Usage(llm_calls=1, input_tokens=read, output_tokens=written, cost_usd=Decimal(read + written) / 1000)


def answered(purpose: ev.Purpose, usage: Usage, duration_ms: int = 1000, **waits: int) -> ev.LlmCompleted:
    call = called(purpose, usage, duration_ms).model_copy(update=waits)
    return call.completed(stop_reason="end_turn", content=[text_block("words")])


def told() -> Story:
    """Two tasks side by side for 10 s and 4 s, one behind them for 3 s, planned in 5 s and answered in 2 s."""
    story = Story(brief())
    story.queued()
    story.started()
    story.wait(5)
    story.tell(answered("plan", spend(100, 10), 5000))
    story.tell(ev.PlanCreated.of(plan_of(task("a"), task("b"), task("c", "a", "b"))))
    story.start("a")
    story.start("b")
    story.wait(4)
    story.tell(answered("work", spend(200, 20), 4000, waited_ms=1000, room_ms=500), "b", 1)
    story.tell(ev.TaskSucceeded(summary="b", text="one two three four five"), "b", 1)
    story.wait(6)
    story.tell(answered("work", spend(300, 30), 3000), "a", 1)
    story.tell(ev.TaskSucceeded(summary="a", text="six seven eight nine ten"), "a", 1)
    story.start("c")
    story.wait(3)
    story.tell(answered("work", spend(400, 40), 3000), "c", 1)
    story.tell(ev.TaskSucceeded(summary="c", text="eleven twelve"), "c", 1)
    story.wait(2)
    story.tell(answered("synthesize", spend(500, 50), 2000))
    return story


@pytest.mark.parametrize(("status", "gaps"), [("succeeded", 0), ("partial", 1)])
def test_nested_runs_count_in_the_rounds_and_leave_no_estimate_of_one_agent(status: ChildStatus, gaps: int) -> None:
    story = Story(brief())
    story.begin(task("a"), task("b"))
    story.start("a")
    story.start("b")
    story.tell(answered("work", spend(200, 20)), "b", 1)
    story.tell(ev.TaskSucceeded(summary="b", text="one two"), "b", 1)
    story.tell(ev.ChildStarted(run="run_2", team=TeamRef(name="crew", version=1)), "a", 1)
    story.tell(ev.ChildEnded(run="run_2", status=status, stop_reason="gaps", usage=spend(900, 90)), "a", 1)
    nested = NestedResult.model_validate({"run": "run_2", "status": status, "stop_reason": "gaps"})
    story.tell(ev.TaskSucceeded(summary="a", text="three four", nested=nested), "a", 1)

    report = reported(story)
    [only] = report.rounds

    assert (only.llm_calls, only.tokens, only.cost_usd) == (2, 1210, story.run.usage.cost_usd)
    assert (only.delivered, only.gaps_left) == (2, gaps)
    assert report.one_agent is None


def test_the_critical_path_names_the_tasks_that_bounded_the_run() -> None:
    path = reported(told()).critical_path

    assert path.tasks == ("a", "c")
    assert (path.planning_ms, path.tasks_ms, path.synthesis_ms) == (5_000, 13_000, 2_000)


def test_parts_and_workers_say_what_each_took() -> None:
    report = reported(told())
    parts = {part.part: part for part in report.parts}

    assert [part.tokens for part in report.parts] == [110, 990, 0, 550, 0]
    assert parts["planning"].duration_ms == 5_000
    assert parts["work"].duration_ms == 17_000
    assert parts["synthesis"].tokens_share == round(550 / 1650, 3)
    assert sum(part.duration_share for part in report.parts) == pytest.approx(1, abs=0.01)
    [able] = report.workers
    assert (able.worker, able.tasks, able.attempts, able.delivered, able.llm_calls) == ("able", 3, 3, 3, 3)
    assert (able.input_tokens, able.output_tokens, able.cost_usd) == (900, 90, Decimal("0.99"))


def test_busy_time_is_that_of_calls_without_what_they_waited() -> None:
    waiting = reported(told()).waiting

    assert waiting.busy_ms == 5_000 + 3_000 + 3_000 + 3_000 + 2_000
    assert waiting.idle_ms == 20_000 - waiting.busy_ms
    assert (waiting.provider_ms, waiting.budget_ms) == (1_000, 500)


def test_one_agent_reads_before_each_call_what_was_said_before() -> None:
    agent = reported(told()).one_agent

    assert agent is not None
    # b, then a behind the 220 tokens of b, then c behind these and the 330 of a, then the answer behind all of it.
    assert agent.input_tokens == 200 + (300 + 220) + (400 + 220 + 330) + (220 + 330 + 440)
    assert agent.output_tokens == 20 + 30 + 40 + 50
    assert agent.llm_calls == 4
    assert agent.largest_context_tokens == 220 + 330 + 440 + 50
    assert agent.duration_ms == (4 + 10 + 3 + 2) * 1000
    assert agent.cost_usd == Decimal(agent.input_tokens + agent.output_tokens) / 1000
    assert agent.duration_ratio == round(19 / 20, 2)


def test_waits_for_a_retry_and_for_an_answer_are_counted() -> None:
    story = Story(brief())
    story.begin(task("a"))
    story.start("a")
    failed = called("work").failed(
        Problem(code="rate_limited", message="no"), retry_at=story.now + timedelta(seconds=7)
    )
    story.tell(failed, "a", 1)
    story.wait(10)
    story.tell(answered("work", spend(1, 1), 3000), "a", 1)

    assert reported(story).waiting.provider_ms == 7_000


def test_the_same_call_by_two_attempts_is_duplicate_work_and_by_one_attempt_is_not() -> None:
    work = DuplicateWork()
    for name, attempt in [("a", 1), ("a", 1), ("b", 1), ("b", 2)]:
        work.called("look", {"q": "x", "n": 1}, name, attempt)
    work.called("look", {"n": 1, "q": "x"}, "c", 1)
    for _ in range(3):
        work.called("look", {"q": "another"}, "a", 1)

    told = work.told()

    [repeated] = told.tool_calls
    assert (repeated.tool, repeated.calls, told.repeated_calls) == ("look", 5, 3)
    assert [(each.task, each.attempt) for each in repeated.by] == [("a", 1), ("b", 1), ("b", 2), ("c", 1)]


def test_so_many_calls_are_compared_and_it_is_said_when_there_were_more() -> None:
    work = DuplicateWork()
    for number in range(CALLS_COMPARED):
        work.called("look", number, "a", 1)
    assert work.told().complete

    work.called("look", "one more", "a", 1)

    assert not work.told().complete


def test_outputs_that_say_much_the_same_are_named() -> None:
    work, words = DuplicateWork(), [f"word{number}" for number in range(300)]
    work.delivered("a", " ".join(words))
    work.delivered("b", " ".join(words).upper() + ".")
    work.delivered("c", " ".join(reversed(words)))
    work.delivered("d", "17")

    [alike] = work.told().outputs

    assert (alike.tasks, alike.likeness) == (("a", "b"), 1.0)


def test_likeness_estimates_the_share_of_common_runs_of_words() -> None:
    one = [f"one{number}" for number in range(1000)]
    both = [f"both{number}" for number in range(1000)]

    alike = likeness(sketch_of(" ".join(both + one)), sketch_of(" ".join(both + [f"x{word}" for word in one])))

    assert alike == pytest.approx(1 / 3, abs=0.12)


def test_busy_time_counts_what_overlaps_once_in_little_memory() -> None:
    busy = BusyTime()
    at = START
    for _ in range(STRETCHES_KEPT + 50):
        busy.add(at, at + timedelta(seconds=2))
        busy.add(at + timedelta(seconds=1), at + timedelta(seconds=3))
        at += timedelta(seconds=10)

    assert busy.total_ms == 3_000 * (STRETCHES_KEPT + 50)
    busy.add(START, at)
    assert busy.total_ms > 3_000 * (STRETCHES_KEPT + 50)


def test_a_log_of_the_first_release_is_reported_on() -> None:
    reporter = Reporter()
    for each in FIRST_RELEASE:
        reporter.take(each)

    report = reporter.report(START)

    assert report.workers
    assert report.one_agent is not None


def test_a_round_tells_what_it_cost_and_which_gaps_and_conflicts_it_has_closed() -> None:
    claims = (Claim(task="a", claim="2009"), Claim(task="b", claim="2011"))
    conflict = Conflict(id="c1", topic="the year", claims=claims, status="unresolved")
    story = Story(brief())
    story.begin(task("a"), task("b"), task("c"))
    story.succeed("a")
    story.succeed("b")
    story.fail("c")
    story.tell(ev.ConflictFound.of(conflict))
    story.synthesize(conflicts=(conflict,))
    story.wait(3)
    plan, names = next_plan(story.run, {"c": task("c", title="Again")})
    story.record(begin_round(story.run, plan, names))
    story.wait(2)
    story.succeed("c-1")
    decided = {"status": "resolved", "resolution": "2011", "method": "evidence"}
    story.synthesize(conflicts=(conflict.model_copy(update=decided),))
    story.settle()

    first, second = reported(story).rounds
    assert (first.tasks, first.delivered, first.llm_calls, first.gaps_left, first.wall_ms) == (3, 2, 3, 1, 3000)
    assert (first.gaps_closed, first.conflicts_resolved) == (0, 0)
    assert (second.tasks, second.delivered, second.llm_calls, second.gaps_left, second.wall_ms) == (1, 1, 2, 0, 2000)
    assert (second.gaps_closed, second.conflicts_resolved) == (1, 1)
    assert (second.tokens, str(second.cost_usd)) == (30, "0.02")


def test_after_a_round_that_brought_nothing_there_is_no_other() -> None:
    story = Story(brief(rounds=5))
    story.begin(task("a"), task("c"))
    story.succeed("a")
    story.fail("c")
    story.synthesize()
    assert gaps_to_close(story.run) == ["c"]
    story.record(begin_round(story.run, *next_plan(story.run, {"c": task("c", title="Again")})))
    assert rounds_left(story.run) == 0  # For now: nothing has come yet.
    story.fail("c-1")

    assert gaps_to_close(story.run) == []
    assert [each.delivered for each in reported(story).rounds] == [1, 0]
