"""What holds in every run, whatever the model, the tools, the clock, the client and the machine do."""

from collections import Counter
from dataclasses import replace
from functools import reduce
from itertools import groupby
from operator import add

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain import events as ev
from app.domain.conversation import Conversation
from app.domain.events import RUN_ENDS, Event, event_from
from app.domain.failures import remedy_for
from app.domain.fold import after, fold
from app.domain.policy.agenda import (
    ANSWERING,
    is_open,
    left_behind,
    max_steps,
    open_topics,
    step_in,
)
from app.domain.policy.approval import cause_of_approval
from app.domain.policy.commands import Converse
from app.domain.policy.decide import decide
from app.domain.protocol import SUPERVISOR_REPLIES, GiveUp
from app.domain.results import Result
from app.domain.snapshot import Snapshot
from app.domain.task_state import Attempt, TaskState
from app.domain.text import plain_words
from app.domain.timing import timing_of
from app.domain.topics import GO_ON, topic_named, topic_of
from app.domain.usage import Usage
from app.domain.values import changed
from tests.support.rehearsal import rehearse, runs
from tests.support.script import IMPATIENT, RESOLUTIONS, RULES, Script, scripts
from tests.support.story import Story, as_json, before_each

MANY = settings(
    max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
"""For each rule; every rule is tried on runs of its own, so that all together see more than a thousand."""
MORE = settings(MANY, max_examples=150)
TRIED = [methods for methods in RESOLUTIONS if methods]
DECIDED = ("plan.approved", "plan.rejected")


@MORE
@given(runs())
def test_every_run_ends_and_its_last_event_says_how(story: Story) -> None:
    assert story.run.ended
    assert [event.type in RUN_ENDS for event in story.log] == [False] * (len(story.log) - 1) + [True]
    assert story.log[-1].type == f"run.{story.run.status}"
    assert all(task.ended for task in story.run.tasks.values())
    assert list(open_topics(story.run)) == []


@MANY
@given(runs())
def test_events_are_numbered_without_gaps(story: Story) -> None:
    assert [event.seq for event in story.log] == list(range(1, len(story.log) + 1))


@MANY
@given(runs())
def test_no_task_starts_before_its_dependencies_have_ended_and_delivered_what_it_cannot_do_without(
    story: Story,
) -> None:
    for run, event in before_each(story):
        if event.type == "task.started":
            task = run.tasks[event.task_id or ""].task
            needed = [run.tasks[name] for name in task.depends_on]
            assert all(other.ended or other.dropped for other in needed)
            assert task.on_missing_input == "proceed" or all(other.delivered for other in needed)


@MANY
@given(runs())
def test_no_attempt_starts_twice_and_none_exceeds_the_limit(story: Story) -> None:
    begun = Counter((event.task_id, event.attempt) for event in story.log if event.type == "task.started")

    assert set(begun.values()) <= {1}
    for state in story.run.tasks.values():
        assert [attempt.number for attempt in state.attempts] == list(range(1, len(state.attempts) + 1))
        assert len(state.attempts) <= story.run.brief.limits.attempts


@MANY
@given(runs())
def test_never_more_tasks_run_at_once_than_allowed(story: Story) -> None:
    for run, _ in before_each(story):
        running = [len(state.running) for state in run.tasks.values() if state.status == "running"]
        assert sum(running) <= run.brief.limits.concurrency
        hedged = run.brief.team.stragglers.policy == "hedge"
        assert all(1 <= attempts <= 1 + hedged for attempts in running)


@MANY
@given(runs(IMPATIENT))
def test_two_attempts_run_side_by_side_only_where_a_team_hedges_and_one_delivers_at_most(story: Story) -> None:
    for state in story.run.tasks.values():
        ends = [attempt.status for attempt in state.attempts]
        assert "running" not in ends
        assert ends.count("succeeded") == state.delivered
        for attempt in state.attempts:
            if attempt.beside is not None:
                assert story.run.brief.team.stragglers.policy == "hedge"
                assert state.tried(attempt.beside).started_at <= attempt.started_at
                assert [other.beside for other in state.attempts].count(attempt.beside) == 1


@MORE
@given(runs(IMPATIENT))
def test_a_task_is_dropped_only_when_all_else_is_done_and_enough_has_been_delivered(story: Story) -> None:
    rules = story.run.brief.team.stragglers
    for run, event in before_each(story):
        if event.type == "task.dropped":
            assert rules.policy == "drop"
            task = run.tasks[event.task_id or ""]
            assert task.attempts
            assert isinstance(event.data, ev.TaskDropped)
            assert (event.at - task.attempts[0].started_at).total_seconds() >= event.data.after_s
            assert run.delivered
            others = [other for other in run.tasks.values() if other.is_awaited and not other.attempts]
            assert all(any(not run.tasks[name].ended for name in other.task.depends_on) for other in others)


@MORE
@given(runs(IMPATIENT))
def test_an_answer_rests_on_what_had_been_delivered_when_it_was_begun(story: Story) -> None:
    for run, event in before_each(story):
        following = after(run, event)
        goes_on = 0 < run.conversation(ANSWERING).steps <= following.conversation(ANSWERING).steps
        if goes_on and following.wants_answer:
            assert [task.task.id for task in run.reconcilable] == [task.task.id for task in following.reconcilable]


@MANY
@given(runs())
def test_no_conversation_takes_more_replies_than_allowed(story: Story) -> None:
    run = story.run
    whole = changed(run, tasks={task.task.id: task for task in run.every_task})
    for topic, talk in run.conversations.items():
        assert talk.steps <= (SUPERVISOR_REPLIES if topic.purpose != "work" else max_steps(whole, topic))


@MANY
@given(runs())
def test_what_is_to_be_done_is_to_hold_open_conversations_that_can_go_on(story: Story) -> None:
    for run, event in before_each(story):
        for command in decide(run, event.at).commands:
            assert isinstance(command, Converse)
            assert command.topic in open_topics(run)
            assert not isinstance(step_in(run, command.topic), GiveUp)


@MANY
@given(runs())
def test_a_conversation_is_open_when_it_is_among_those_that_are(story: Story) -> None:
    for run, _ in before_each(story):
        opened = list(open_topics(run))
        for topic in {*opened, *story.run.conversations}:
            assert is_open(run, topic) == (topic in opened)


@MANY
@given(runs())
def test_what_is_said_is_said_in_a_conversation_that_is_open_and_is_kept_there(story: Story) -> None:
    for run, event in before_each(story):
        purpose = getattr(event.data, "purpose", None)
        if purpose is not None or event.type in GO_ON:
            topic = topic_of(event)
            assert topic == topic_named(event.type, purpose, event.task_id, event.attempt)
            assert is_open(run, topic) or topic in left_behind(run)
            assert after(run, event).conversation(topic) != run.conversation(topic)


@MANY
@given(runs())
def test_nothing_that_a_model_writes_breaks_what_reads_it(story: Story) -> None:
    for event in story.log:
        if isinstance(event.data, ev.LlmFailed):
            assert event.data.error.message != "An internal error kept the reply from being read."


@MANY
@given(runs())
def test_a_run_is_told_of_a_breaker_once_when_it_opens_and_once_when_it_closes(story: Story) -> None:
    told: set[str] = set()
    for event in story.log:
        if isinstance(event.data, ev.BreakerOpened):
            assert event.data.name not in told
            told.add(event.data.name)
        elif isinstance(event.data, ev.BreakerClosed):
            told.remove(event.data.name)
    assert set(story.run.breakers) == told


@MANY
@given(runs())
def test_a_transient_failure_is_retried_unchanged_and_any_other_only_with_something_new(story: Story) -> None:
    refined = Counter((event.task_id, event.attempt) for event in story.log if event.type == "task.refined")
    alone = [state for state in story.run.every_task if all(attempt.beside is None for attempt in state.attempts)]
    for state in alone:
        for before, retry in zip(state.attempts, state.attempts[1:], strict=False):
            assert before.error is not None
            tried = {(earlier.worker, earlier.model) for earlier in state.attempts[: before.number]}
            if remedy_for(before.error.code) == "again":
                assert (retry.instruction, retry.worker) == (before.instruction, before.worker)
                assert (state.task.id, retry.number) not in refined
            elif refined[state.task.id, retry.number]:
                assert retry.instruction not in _instructions(state, before)
            elif retry.instruction in _instructions(state, before):
                assert (retry.worker, retry.model) not in tried


def _instructions(state: TaskState, last: Attempt) -> set[str]:
    return {attempt.instruction for attempt in state.attempts if attempt.number <= last.number}


@MANY
@given(runs())
def test_no_task_circles_between_workers_or_meets_the_same_terms_again_but_for_a_cause_that_passes(
    story: Story,
) -> None:
    for state in story.run.tasks.values():
        workers = [worker for worker, _ in groupby(attempt.worker for attempt in state.attempts)]
        assert len(workers) == len(set(workers))
        met = [
            (attempt.worker, attempt.model, plain_words(attempt.instruction))
            for attempt in state.attempts
            if attempt.error is None or remedy_for(attempt.error.code) != "again"
        ]
        assert len(met) == len(set(met))


@MANY
@given(runs())
def test_a_run_lacking_a_required_task_never_succeeds_and_one_lacking_none_of_anything_is_no_partial(
    story: Story,
) -> None:
    run = story.run
    if run.status == "succeeded":
        assert all(state.delivered for state in run.tasks.values() if state.task.required)
        assert run.result is not None
        assert run.result.answer
    if run.status == "partial":
        assert run.result is not None
        assert run.result.gaps or run.result.answer is None or _is_unreviewed(run) or _is_unchosen(run.result)


def _is_unchosen(result: Result) -> bool:
    return result.selection is not None and result.selection.task is None


def _is_unreviewed(run: Snapshot) -> bool:
    answering = run.answering
    is_accepted = answering.is_reviewed and answering.reviews[-1].verdict == "accepted"
    return run.brief.wants_review and not is_accepted


@MANY
@given(runs())
def test_an_answer_goes_out_as_accepted_only_when_the_critic_has_accepted_that_very_answer(story: Story) -> None:
    run, review = story.run, story.run.result.review if story.run.result else None
    assert (review is not None) == (run.result is not None and run.brief.wants_review)
    if run.status == "succeeded" and review is not None:
        assert review.verdict == "accepted"
        last = max((event.seq for event in story.log if event.type == "synthesis.completed"), default=0)
        assert [event.seq for event in story.log if event.type == "review.completed"][-1] > last
    looks = [event for event in story.log if event.type == "review.completed"]
    answers = [event for event in story.log if event.type == "synthesis.completed"]
    assert len(looks) <= max(len(answers), 1)


@MANY
@given(runs())
def test_rounds_of_work_are_bounded_and_one_that_brings_nothing_is_the_last(story: Story) -> None:
    run = story.run
    begun = [event.data.round for event in story.log if isinstance(event.data, ev.PlanRevised) and event.data.round]
    assert begun == list(range(2, run.answering.round + 1))
    assert run.answering.round <= run.brief.limits.rounds
    for before, event in before_each(story):
        if isinstance(event.data, ev.PlanRevised) and event.data.round is not None:
            assert before.answering.round == event.data.round - 1
            assert before.synthesis is not None
            old = event.data.redispatched
            assert set(old) <= set(before.tasks)
            assert set(old.values()) <= set(event.data.added)
            assert all(before.tasks[name].ended for name in old)


@MORE
@given(runs(resolutions=TRIED))
def test_what_is_tried_on_a_conflict_is_tried_once_and_no_method_is_claimed_without_it(story: Story) -> None:
    run = story.run
    judged = {event.data.id: event.data for event in story.log if isinstance(event.data, ev.ConflictJudged)}
    assert len(judged) == sum(event.type == "conflict.judged" for event in story.log)
    tried = [name for event in story.log if isinstance(event.data, ev.PlanRevised) for name in event.data.ties]
    assert len(tried) == len(set(tried))
    methods = run.brief.team.conflict_resolution
    assert not judged or "judge" in methods
    assert not tried or "tie_break" in methods
    for conflict in run.result.conflicts if run.result else ():
        if conflict.method == "judge":
            assert judged[conflict.id].resolution == conflict.resolution
        if conflict.method == "tie_break":
            task = run.tasks[run.answering.ties[conflict.id]]
            assert task.delivered
            assert task.task.id in {claim.task for claim in conflict.claims}


@MANY
@given(runs())
def test_a_result_accounts_for_every_task(story: Story) -> None:
    result = story.run.result
    if result is None:
        return
    tasks = story.run.tasks
    required = [name for name, state in tasks.items() if state.task.required]
    assert result.coverage.required == len(required) == result.coverage.delivered + len(result.coverage.missing)
    assert result.coverage.missing == tuple(name for name in required if not tasks[name].delivered)
    unheard = story.run.late | story.run.lacking
    gaps = [name for name, state in tasks.items() if not state.delivered or name in unheard]
    closed = [gap.task for gap in story.run.answering.closed]
    assert [gap.task for gap in result.gaps] == [*closed, *gaps]
    assert not set(closed) & set(tasks)
    assert [(report.task, report.status) for report in result.outputs] == [(n, s.status) for n, s in tasks.items()]
    assert _rests_only_on_what_was_delivered(result, story.run)


def _rests_only_on_what_was_delivered(result: Result, run: Snapshot) -> bool:
    delivered = {state.task.id for state in run.delivered}
    return all(statement.tasks and delivered.issuperset(statement.tasks) for statement in result.statements)


@MANY
@given(runs())
def test_a_gap_tells_the_error_of_its_task(story: Story) -> None:
    for gap in story.run.result.gaps if story.run.result else ():
        state = story.run.tasks.get(gap.task) or story.run.replaced[gap.task]
        untold = "timeout" if state.delivered else "cancelled"
        assert gap.reason == (state.error.code if state.error else untold)


@MANY
@given(runs())
def test_a_skipped_task_was_never_begun_and_a_dependency_of_it_delivered_nothing(story: Story) -> None:
    left_out = {question.task_id for question in story.run.questions.values() if question.default.action == "skip"}
    for state in story.run.tasks.values():
        if state.status == "skipped" and state.task.id not in left_out:
            assert state.error is not None
            assert (state.attempts, state.error.code) == ((), "dependency_failed")
            needed = [story.run.tasks[name] for name in state.task.depends_on]
            assert any(other.dropped or not other.delivered for other in needed)


@MANY
@given(runs())
def test_each_question_is_asked_once_and_answered_or_expired_once_or_closed_with_the_run(story: Story) -> None:
    asked = Counter(event.data.id for event in story.log if isinstance(event.data, ev.QuestionAsked))
    ended = Counter(
        event.data.id for event in story.log if isinstance(event.data, ev.QuestionAnswered | ev.QuestionExpired)
    )
    assert set(asked.values()) | set(ended.values()) <= {1}
    assert asked.keys() == story.run.questions.keys()
    assert {name for name, each in story.run.questions.items() if each.status != "open"} == ended.keys()


@MANY
@given(runs())
def test_a_question_expires_when_its_time_is_up_and_no_sooner(story: Story) -> None:
    for run, event in before_each(story):
        if isinstance(event.data, ev.QuestionExpired):
            assert event.at >= run.questions[event.data.id].expires_at


@MORE
@given(runs(rules=RULES))
def test_nothing_of_a_plan_begins_before_it_is_approved_once_where_that_is_wanted(story: Story) -> None:
    decided = Counter(event.type for event in story.log if event.type in DECIDED)
    assert decided.total() <= 1
    for run, event in before_each(story):
        if event.type == "task.started":
            assert decided["plan.approved"] or cause_of_approval(run) is None
            assert run.approval is None or run.approval.status == "approved"
        elif event.type in (*DECIDED, "plan.edited"):
            assert run.approval is not None
            assert run.plan is not None
            assert not any(state.attempts for state in run.every_task)
            by_default = getattr(event.data, "by", "client") == "default"
            assert (event.at >= run.approval.expires_at) == by_default
            assert not run.cancel_requested
    rejected = decided["plan.rejected"] == 1
    assert (story.run.stop_reason == "plan_rejected") == (rejected and not story.run.cancel_requested)


@MANY
@given(runs(rules=RULES))
def test_what_is_carried_out_is_the_plan_as_it_was_approved(story: Story) -> None:
    for run, event in before_each(story):
        if isinstance(event.data, ev.PlanApproved):
            assert run.plan is not None
            assert event.data.revision == run.plan.revision
            assert list(run.tasks) == [each.id for each in run.plan.tasks]
            assert run.replaced == {}
            assert [state.position for state in run.tasks.values()] == list(range(len(run.tasks)))


@MANY
@given(runs())
def test_the_answer_names_what_was_taken_for_granted(story: Story) -> None:
    run = story.run
    if run.result is not None and run.result.answer is not None:
        assert run.result.assumptions == run.assumptions
        assert all(each.assumption in run.result.answer for each in run.assumptions)


@MANY
@given(runs())
def test_a_cancelled_run_ends_cancelled_with_a_receipt_of_every_task(story: Story) -> None:
    receipt = story.run.cancellation
    assert (story.run.status == "cancelled") == story.run.cancel_requested == (receipt is not None)
    if receipt is None:
        return
    [asked] = [event for event in story.log if event.type == "run.cancel_requested"]
    assert {each.task: each.status for each in receipt.tasks} == {n: s.status for n, s in story.run.tasks.items()}
    ended_before = {
        event.task_id for event in story.log if event.type in ("task.succeeded", "task.failed", "task.skipped")
    }
    assert {each.task for each in receipt.tasks if each.stopped_at is None} == ended_before
    spent = _spent([event for event in story.log if event.seq > asked.seq])
    assert receipt.cost_usd_after_request == spent.cost_usd


@MANY
@given(runs())
def test_after_a_cancellation_was_asked_for_nothing_is_begun(story: Story) -> None:
    begun = ("run.started", "task.started", "llm.completed", "tool.started", "task.refined", "plan.created")
    for run, event in before_each(story):
        assert not run.cancel_requested or event.type not in begun


@MANY
@given(runs())
def test_usage_adds_up(story: Story) -> None:
    of_tasks = reduce(add, (state.usage for state in story.run.every_task), Usage())
    of_nobody = _spent([event for event in story.log if event.task_id is None])

    assert story.run.usage == of_tasks + of_nobody == _spent(story.log)
    for name, state in story.run.tasks.items():
        refining = _spent([e for e in story.log if e.task_id == name and getattr(e.data, "purpose", "") == "refine"])
        assert state.usage == reduce(add, (attempt.usage for attempt in state.attempts), refining)


def _spent(log: list[Event]) -> Usage:
    total = Usage()
    for event in log:
        if isinstance(event.data, ev.LlmCompleted | ev.LlmFailed | ev.RunResumed):
            total += event.data.usage
        if isinstance(event.data, ev.ToolCompleted | ev.ToolFailed):
            total += Usage(tool_calls=1)
    return total


@MANY
@given(runs())
def test_the_tokens_spent_never_pass_the_limit_whatever_fails_or_dies(story: Story) -> None:
    limit = story.run.brief.limits.tokens
    assert limit is None or (story.run.usage.amount + story.run.unsettled).tokens <= limit


@MANY
@given(runs())
def test_once_the_budget_is_exhausted_only_the_answer_is_still_asked_for(story: Story) -> None:
    for run, event in before_each(story):
        if run.exhausted is not None and isinstance(event.data, ev.LlmCompleted | ev.LlmFailed) and not _stopped(event):
            assert event.data.purpose in ("select", "synthesize")
            assert run.exhausted.call not in (event.data.purpose, "synthesize")


def _stopped(event: Event) -> bool:
    return isinstance(event.data, ev.LlmFailed) and event.data.error.code == "cancelled"


@MANY
@given(runs())
def test_no_call_is_begun_after_the_deadline(story: Story) -> None:
    for run, event in before_each(story):
        if run.deadline is not None and event.at >= run.deadline:
            assert event.type not in ("llm.completed", "task.started", "tool.started")


@MANY
@given(runs())
def test_a_fault_of_the_account_is_met_once(story: Story) -> None:
    for run, event in before_each(story):
        assert run.fatal is None or event.type not in ("llm.completed", "task.started", "tool.started")


@MANY
@given(runs())
def test_every_call_is_answered_before_the_model_is_asked_again(story: Story) -> None:
    assert all(_is_well_formed(talk) for talk in story.run.conversations.values())


@MANY
@given(runs())
def test_a_call_that_acts_once_is_not_carried_out_by_a_process_that_did_not_begin_it(story: Story) -> None:
    begun = {}
    for run, event in before_each(story):
        match event.data:
            case ev.ToolStarted(effect="once"):
                begun[event.task_id, event.attempt, event.data.call_id] = event.seq
            case ev.ToolCompleted() | ev.ToolFailed() as end:
                seq = begun.get((event.task_id, event.attempt, end.call_id), event.seq)
                lost = isinstance(end, ev.ToolFailed) and end.error.code == "tool_outcome_unknown"
                assert lost or seq > run.claimed_seq


def _is_well_formed(talk: Conversation) -> bool:
    """Whether every turn but the last answers each of its calls once, in order, and before any note."""
    said = talk.messages()
    for asked, answered in zip(said[::2], said[1::2], strict=False):
        calls = [block["id"] for block in asked.content if block["type"] == "tool_use"]
        results = [block.get("tool_use_id") for block in answered.content]
        if results[: len(calls)] != calls and answered is not said[-1]:
            return False
    return [message.role for message in said] == [("assistant", "user")[place % 2] for place in range(len(said))]


@MANY
@given(runs())
def test_the_same_state_and_time_give_the_same_decision_whether_lived_or_read_back(story: Story) -> None:
    live = read_back = Snapshot(story.run.brief)
    for event in story.log:
        assert decide(live, event.at) == decide(live, event.at) == decide(read_back, event.at)
        live = after(live, event)
        read_back = after(read_back, event_from(as_json(event)))
    assert live == read_back == fold(story.run.brief, story.log) == story.run


@MORE
@given(scripts(), st.data())
def test_a_run_broken_off_after_any_event_goes_on_to_a_legal_end(script: Script, data: st.DataObject) -> None:
    log = rehearse(script).log
    kept = log[: data.draw(st.integers(1, len(log)))]

    resumed = rehearse(script, kept)

    assert resumed.run.ended
    assert resumed.log[: len(kept)] == kept
    assert fold(script.brief, resumed.log) == resumed.run
    begun = Counter((event.task_id, event.attempt) for event in resumed.log if event.type == "task.started")
    assert set(begun.values()) <= {1}


@MORE
@given(scripts(), st.data())
def test_what_has_ended_before_a_crash_is_not_done_again(script: Script, data: st.DataObject) -> None:
    log = rehearse(script).log
    kept = log[: data.draw(st.integers(1, len(log)))]
    before = fold(script.brief, kept)

    resumed = rehearse(script, kept)

    for state in before.every_task:
        if state.ended:
            [same] = [each for each in resumed.run.every_task if each.task.id == state.task.id]
            assert replace(same, task=state.task) == state


@MANY
@given(runs())
def test_the_critical_path_is_no_longer_than_the_run_or_than_everything_in_a_row(story: Story) -> None:
    timing = timing_of(story.run, story.now)

    assert timing.critical_path_ms <= timing.wall_ms
    assert timing.critical_path_ms <= timing.sequential_ms
