"""Which conversations are open in a run, what comes next in each, and the bounds they are held within.

Policy, agents and recovery all ask here, so that they never differ about what is going on.
"""

from collections.abc import Iterator
from datetime import datetime

from app.domain.conversation import Ask, Conversation, GiveUp, Step, next_step
from app.domain.policy.ladder import ruling_on
from app.domain.policy.routing import plan_by_rule
from app.domain.snapshot import Attempt, Snapshot, TaskState
from app.domain.team import Worker
from app.domain.topics import Topic

SUPERVISOR_REPLIES = 4
"""Replies that one conversation of the supervisor may take: an answer, a repair, and what a cut reply costs."""

PLANNING = Topic("plan")
ANSWERING = Topic("synthesize")


def open_topics(run: Snapshot) -> Iterator[Topic]:
    """Every conversation that is to be held now, or once something it waits for has passed."""
    if run.ended or run.started_at is None:
        return
    if run.plan is None:
        if run.own_plan is None and plan_by_rule(run) is None:
            yield PLANNING
        return
    for task in run.tasks.values():
        topic = topic_of_task(run, task)
        if topic is not None:
            yield topic
    if run.phase == "synthesizing" and run.delivered and run.synthesis is None and not answers_alone(run):
        yield ANSWERING


def topic_of_task(run: Snapshot, task: TaskState) -> Topic | None:
    """What is talked about for the sake of a task now: its running attempt, its escalation, or the next attempt."""
    if task.status == "running":
        if task.attempt.escalation is not None:
            return ruling_on(run, task)
        return Topic("work", task.task.id, task.attempt.number)
    return task.next.first if task.status == "pending" else None


def is_open(run: Snapshot, topic: Topic) -> bool:
    """Whether a conversation is to be held, now or later."""
    if topic.task_id is not None and not run.ended and topic.task_id in run.tasks:
        return topic_of_task(run, run.tasks[topic.task_id]) == topic
    return topic in open_topics(run)


def needs_no_answer(run: Snapshot) -> bool:
    """Whether the plan is a single task whose result is to be the answer as it stands."""
    return run.plan is not None and len(run.tasks) == 1 and not run.plan.final_instruction.strip()


def answers_alone(run: Snapshot) -> bool:
    """Whether the plan's only task has said it all: there is nothing to reconcile, and no form to put it into."""
    if not needs_no_answer(run) or not run.delivered:
        return False
    output = run.delivered[0].output
    return output is not None and bool(output.text.strip() or output.summary.strip())


def step_in(run: Snapshot, topic: Topic, talk: Conversation | None = None) -> Step:
    """What comes next in a conversation, within its bounds; or what would, if it stood as in `talk`."""
    talk = run.conversation(topic) if talk is None else talk
    if topic.purpose != "work":
        return next_step(talk, SUPERVISOR_REPLIES, tools=())
    task = run.tasks[topic.task_id or ""]
    worker = worker_of(run, task.attempt)
    step = next_step(talk, max_steps(run, task), worker.tools or None)
    allowed = task.task.budget.tokens
    spent = task.usage.input_tokens + task.usage.output_tokens
    if isinstance(step, Ask) and allowed is not None and spent >= allowed:
        return GiveUp("budget_exceeded", f"The task's {allowed} tokens are spent.")
    return step


def worker_of(run: Snapshot, attempt: Attempt) -> Worker:
    """Who makes an attempt."""
    worker = run.brief.team.worker(attempt.worker)
    assert worker is not None  # Plans are validated against the team, and a run keeps its team.
    return worker


def model_of(run: Snapshot, topic: Topic) -> str:
    """Id of the model that is asked in a conversation."""
    if topic.purpose == "work":
        return run.tasks[topic.task_id or ""].attempt.model
    supervisor = run.brief.team.supervisor.model
    return run.brief.models.get(supervisor, supervisor)


def max_steps(run: Snapshot, task: TaskState) -> int:
    """Model replies that the running attempt at a task may take."""
    return task.task.budget.steps or worker_of(run, task.attempt).max_steps


def timeout_s(run: Snapshot, task: TaskState) -> float:
    """Seconds that the running attempt at a task may take."""
    return task.task.budget.timeout_s or worker_of(run, task.attempt).timeout_s


def time_left_s(run: Snapshot, topic: Topic, now: datetime) -> float | None:
    """Seconds that an attempt may still work; None for a conversation with no time of its own."""
    if topic.purpose != "work":
        return None
    task = run.tasks[topic.task_id or ""]
    return max(timeout_s(run, task) - (now - run.clock_of(task.attempt, now)).total_seconds(), 0)
