"""Which conversations are open in a run, what comes next in each, and the bounds they are held within.

Policy, agents and recovery all ask here, so that they never differ about what is going on.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from app.domain.conversation import Conversation
from app.domain.failures import PASSING
from app.domain.policy.conflicts import asks_people
from app.domain.policy.findings_due import is_to_sift, looks_under_way
from app.domain.policy.ladder import ruling_on
from app.domain.policy.resolution import next_method
from app.domain.policy.routing import plan_by_rule
from app.domain.protocol import SUPERVISOR_REPLIES, Ask, GiveUp, Step, next_step
from app.domain.reduction_tree import groups_due
from app.domain.snapshot import Snapshot
from app.domain.task_state import Attempt, TaskState
from app.domain.topics import Topic
from app.domain.worker import Worker

PLANNING = Topic("plan")
SELECTING = Topic("select")
ANSWERING = Topic("synthesize")
REVIEWING = Topic("review")
ARBITRATING = Topic("arbitrate")


def open_topics(run: Snapshot) -> Iterator[Topic]:
    """Every conversation that is to be held now, or once something it waits for has passed."""
    if run.ended or run.started_at is None:
        return
    if run.plan is None:
        if run.own_plan is None and plan_by_rule(run) is None:
            yield PLANNING
        return
    for task in run.tasks.values():
        yield from topics_of_task(run, task)
    if run.phase in ("synthesizing", "reviewing") and (method := next_method(run)) is not None:
        if method == "judge":
            yield ARBITRATING
        return
    if run.phase == "synthesizing" and run.delivered and run.wants_answer:
        yield from topics_of_answer(run)
    if run.phase == "reviewing" and not asks_people(run):
        yield REVIEWING


def topics_of_answer(run: Snapshot) -> list[Topic]:
    """What is talked about for the sake of the answer: findings that are looked at again, which result is chosen, or
    groups of results, as long as any are to be put together."""
    if is_to_sift(run):
        return looks_under_way(run)
    if run.wants_choice:
        return [SELECTING]
    return [Topic("reduce", number=group.named.number) for group in groups_due(run)] or [ANSWERING]


def topics_of_task(run: Snapshot, task: TaskState) -> list[Topic]:
    """What is talked about for the sake of a task now: its running attempts, an escalation, or the next attempt.

    An escalation is ruled on once no attempt runs beside it.
    """
    if task.status != "running":
        first = task.next.first if task.status == "pending" else None
        return [] if first is None else [first]
    working = [each for each in task.running if each.escalation is None and not is_nested(run, each)]
    ruling = ruling_on(run, task) if len(task.running) == 1 else None
    return [Topic("work", task.task.id, attempt.number) for attempt in working] + ([ruling] if ruling else [])


def left_behind(run: Snapshot) -> Iterator[Topic]:
    """The conversations of attempts whose task has ended without them: to be stopped, and still with last words."""
    for task in run.tasks.values():
        if task.ended:
            own = (attempt for attempt in task.running if not is_nested(run, attempt))
            yield from (Topic("work", task.task.id, attempt.number) for attempt in own)


def is_open(run: Snapshot, topic: Topic) -> bool:
    """Whether a conversation is to be held, now or later."""
    if topic.task_id is not None and not run.ended and topic.task_id in run.tasks:
        return topic in topics_of_task(run, run.tasks[topic.task_id])
    return topic in open_topics(run)


def step_in(run: Snapshot, topic: Topic, talk: Conversation | None = None) -> Step:
    """What comes next in a conversation, within its bounds; or what would, if it stood as in `talk`."""
    talk = run.conversation(topic) if talk is None else talk
    if topic.purpose != "work":
        return next_step(talk, SUPERVISOR_REPLIES, tools=())
    task = run.tasks[topic.task_id or ""]
    step = next_step(talk, max_steps(run, topic), worker_of(run, attempt_in(run, topic)).tools or None)
    allowed = task.task.budget.tokens
    spent = task.usage.input_tokens + task.usage.output_tokens
    if isinstance(step, Ask) and allowed is not None and spent >= allowed:
        return GiveUp("budget_exceeded", f"The task's {allowed} tokens are spent.")
    return step


def why_over(run: Snapshot, now: datetime) -> Literal["budget", "timeout"] | None:
    """Why the run has no more of what work takes, money or time; None while it has both."""
    if run.exhausted is not None:
        return "budget"
    return "timeout" if run.wrap_up_at is not None and now >= run.wrap_up_at else None


def sends_lost_before(run: Snapshot, topic: Topic) -> int:
    """How many calls earlier attempts at the task have ended with that failed for causes which pass."""
    earlier = run.tasks[topic.task_id or ""].attempts[: topic.number - 1]
    lost = [attempt for attempt in earlier if attempt.error is not None and attempt.error.code in PASSING]
    return sum(run.conversation(Topic("work", topic.task_id, attempt.number)).failures for attempt in lost)


def attempt_in(run: Snapshot, topic: Topic) -> Attempt:
    """The attempt that a conversation of a worker is about."""
    return run.tasks[topic.task_id or ""].tried(topic.number)


def is_beside_another(run: Snapshot, topic: Topic) -> bool:
    """Whether a conversation is that of an attempt which was begun beside another that still runs."""
    if topic.purpose != "work":
        return False
    task = run.tasks[topic.task_id or ""]
    return len(task.running) > 1 and task.tried(topic.number).beside is not None


def worker_of(run: Snapshot, attempt: Attempt) -> Worker:
    """Who makes an attempt."""
    worker = run.brief.team.worker(attempt.worker)
    assert worker is not None  # Plans are validated against the team, and a run keeps its team.
    return worker


def is_nested(run: Snapshot, attempt: Attempt) -> bool:
    """Whether a nested run does the work of an attempt, and nobody talks with a model about it here."""
    return worker_of(run, attempt).team is not None


def max_steps(run: Snapshot, topic: Topic) -> int:
    """Model replies that an attempt may take."""
    return run.tasks[topic.task_id or ""].task.budget.steps or worker_of(run, attempt_in(run, topic)).max_steps


def timeout_s(run: Snapshot, topic: Topic) -> float:
    """Seconds that an attempt may take."""
    return run.tasks[topic.task_id or ""].task.budget.timeout_s or worker_of(run, attempt_in(run, topic)).timeout_s


def time_left_s(run: Snapshot, topic: Topic, now: datetime) -> float | None:
    """Seconds that an attempt may still work; None for a conversation with no time of its own."""
    if topic.purpose != "work":
        return None
    return max(timeout_s(run, topic) - (now - run.clock_of(attempt_in(run, topic), now)).total_seconds(), 0)
