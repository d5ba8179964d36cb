"""The state of a run as a value.

A conversation is part of the state, so that a resumed worker goes on in the middle of it. Values are never changed:
`app.domain.fold` makes the next one from an event.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from app.domain import events as ev
from app.domain.answering import Answering
from app.domain.approvals import Approval
from app.domain.artifacts import Filed
from app.domain.breaker_names import model_breaker
from app.domain.brief import Brief
from app.domain.conversation import Conversation
from app.domain.nested import Child
from app.domain.plan import Plan, PlanSource
from app.domain.questions import Assumption, OnQuestion, Question
from app.domain.quote import Quote
from app.domain.results import Problem, Result, Synthesis
from app.domain.selecting import FEWEST_CANDIDATES, basis_of, candidates_in, leaves_of, selection_among
from app.domain.selection import Selection
from app.domain.states import TERMINAL_RUN, Phase, RunStatus
from app.domain.task_state import Attempt, TaskState, without_findings
from app.domain.topics import Topic
from app.domain.usage import Amount, Usage
from app.domain.values import changed

WRAP_UP_SHARE = 0.15
WRAP_UP_CEILING_S = 30.0
"""The last part of a run's time is kept for the synthesis of what is there."""
_NOTHING_SAID = Conversation()


@dataclass(frozen=True)
class Snapshot:
    """Everything known about a run at one point of its log."""

    brief: Brief
    status: RunStatus = "queued"
    last_seq: int = 0
    newest_at: datetime | None = None
    """When its newest event happened."""
    created_at: datetime | None = None
    started_at: datetime | None = None
    claimed_seq: int = 0
    """Number of the event with which the last process that took the run began."""
    claimed_at: datetime | None = None
    """When that was."""
    planned_at: datetime | None = None
    executed_at: datetime | None = None
    """When the last task ended."""
    finished_at: datetime | None = None
    waiting: ev.RunWaiting | None = None
    own_plan: Plan | None = None
    """The plan that the run has come with."""
    plan_source: PlanSource | None = None
    on_question: OnQuestion = "ask"
    """What becomes of a question to a person."""
    questions: Mapping[str, Question] = field(default_factory=dict)
    """Every question that was asked, by its id."""
    assumptions: tuple[Assumption, ...] = ()
    """What was taken for granted where nobody answered."""
    conversations: Mapping[Topic, Conversation] = field(default_factory=dict)
    """Everything that was said, by what it was about."""
    flaws: tuple[Any, ...] = ()
    """What was wrong with the last rejected plan."""
    sound_plan: Plan | None = None
    """A rejected plan that is followed if no better one comes."""
    plan: Plan | None = None
    quote: Quote | None = None
    approval: Approval | None = None
    """The approval that the plan waits for, or that was decided on; None where nobody was asked."""
    tasks: Mapping[str, TaskState] = field(default_factory=dict)
    """Those of the newest plan, in its order."""
    replaced: Mapping[str, TaskState] = field(default_factory=dict)
    """Those of earlier revisions that the newest plan lacks."""
    synthesis: Synthesis | None = None
    """The newest answer."""
    answering: Answering = field(default_factory=Answering)
    lacking: frozenset[str] = frozenset()
    """Dropped tasks that delivered too late for the newest answer: another one is to be made with them."""
    late: frozenset[str] = frozenset()
    """Dropped tasks that have delivered since the answer in the making was begun, which goes without them."""
    usage: Usage = Usage()
    unsettled: Amount = Amount()
    """What calls may have cost beyond `usage` whose end was lost with a process."""
    exhausted: ev.BudgetExhausted | None = None
    """Set once a call did not fit into what the run may spend."""
    breakers: Mapping[str, datetime] = field(default_factory=dict)
    """The open breakers that the log has told of, by name: since when. The clocks of attempts that they hold stand."""
    probes_due: Mapping[str, datetime | None] = field(default_factory=dict)
    """When what they hold may be tried again, as the log says; None for one that somebody has to close."""
    terms_told: frozenset[str] = frozenset()
    """Terms of model calls that the log has spelled out, by their ids."""
    usage_at_cancel: Usage = Usage()
    ended_before_cancel: frozenset[str] = frozenset()
    """The nested runs that had ended when a client asked for the end."""
    fatal: Problem | None = None
    stop_reason: str | None = None
    result: Result | None = None
    files: tuple[Filed, ...] = ()
    """The files that it has handed over so far, in the order in which they came."""
    error: Problem | None = None
    cancellation: ev.Cancellation | None = None
    """Set once a client has asked for the end: what has come of that so far."""

    @property
    def ended(self) -> bool:
        return self.status in TERMINAL_RUN

    @property
    def cancel_requested(self) -> bool:
        """Whether a client has asked for the end."""
        return self.cancellation is not None

    @property
    def phase(self) -> Phase | None:
        """What a running run is busy with."""
        if self.status != "running":
            return None
        if self.plan is None:
            return "planning"
        if any(task.is_awaited for task in self.tasks.values()):
            return "executing"
        return "reviewing" if self.is_under_review else "synthesizing"

    @property
    def deadline(self) -> datetime | None:
        """When the run ends, whatever is done by then. None before it has started."""
        if self.started_at is None:
            return None
        own, others = self.started_at + timedelta(seconds=self.brief.limits.timeout_s), self.brief.ends_by
        return own if others is None else min(own, others)

    @property
    def wrap_up_at(self) -> datetime | None:
        """When work stops so that there is time left for the synthesis."""
        kept = min(self.brief.limits.timeout_s * WRAP_UP_SHARE, WRAP_UP_CEILING_S)
        return self.deadline and self.deadline - timedelta(seconds=kept)

    @property
    def delivered(self) -> list[TaskState]:
        """Tasks with a result, in plan order."""
        return [task for task in self.tasks.values() if task.delivered]

    @property
    def every_task(self) -> list[TaskState]:
        """All the tasks that the run has had: those of the plan, then those that were replaced."""
        return [*self.tasks.values(), *self.replaced.values()]

    @property
    def children(self) -> list[tuple[TaskState, Child]]:
        """The nested runs that it has begun, each with the task whose work it does."""
        tried = ((task, attempt) for task in self.every_task for attempt in task.attempts)
        return [(task, attempt.child) for task, attempt in tried if attempt.child is not None]

    @property
    def open_children(self) -> list[tuple[TaskState, Child]]:
        """Those of them that have not ended, as far as is known."""
        return [(task, child) for task, child in self.children if not child.ended]

    @property
    def allotted(self) -> Amount:
        """What is kept for nested runs that have not ended."""
        return sum((child.allowance.amount for _, child in self.open_children), Amount())

    @property
    def answers_alone(self) -> bool:
        """Whether the plan's only task has said it all: there is nothing to reconcile, and no form to put it into."""
        if self.synthesis is not None or self.plan is None or not self.delivered:
            return False
        if not self.brief.needs_no_answer(self.plan):
            return False
        output = self.delivered[0].output
        if output is None or (output.nested is not None and output.nested.unresolved):
            return False  # What is contradictory in it is for the supervisor.
        return bool(output.text.strip() or output.summary.strip())

    @property
    def has_answer(self) -> bool:
        """Whether there is an answer, be it one that is to be made again."""
        return self.synthesis is not None or self.answers_alone

    @property
    def is_refused(self) -> bool:
        """Whether the critic has refused the newest answer, and it is to be revised."""
        return self.answering.is_refused(self.brief.team.review.rounds)

    @property
    def wants_answer(self) -> bool:
        """Whether the answer is still to be made, or made again: with what has come since, what a person has said of a
        conflict, or what the critic has. While people are asked nobody begins."""
        is_overtaken = bool(self.lacking) or self.answering.is_overtaken or self.is_refused
        return not self.has_answer or (is_overtaken and not self.answering.waiting)

    @property
    def is_under_review(self) -> bool:
        """Whether there is an answer at which a critic is to look, once all work is done."""
        return self.brief.wants_review and not self.wants_answer and not self.answering.is_reviewed

    @property
    def heard(self) -> list[TaskState]:
        """The tasks whose results are there for the answer in the making, in plan order."""
        return [task for task in self.delivered if task.task.id not in self.late]

    @property
    def candidates(self) -> list[TaskState]:
        """Those of them that are tries of the same thing; none where the plan does not select."""
        return candidates_in(self.plan, self.heard, self.answering.later)

    @property
    def lacks_candidate(self) -> bool:
        """Whether one of several tries is to be chosen, and none has delivered."""
        return self.plan is not None and self.plan.strategy == "select" and not self.candidates

    @property
    def selection(self) -> Selection | None:
        """What was chosen among them; None where nothing is to be, or not yet."""
        return selection_among(self.candidates, self.answering.selections)

    @property
    def wants_choice(self) -> bool:
        """Whether one of them is still to be chosen before the answer is made."""
        return bool(self.candidates) and self.selection is None

    @property
    def chooses_first(self) -> bool:
        """Whether a choice may have to come before the answer: one is wanted, or will be once more has delivered."""
        if self.plan is None or self.plan.strategy != "select" or len(leaves_of(self.plan)) < FEWEST_CANDIDATES:
            return False
        return self.wants_choice or any(task.is_awaited for task in self.tasks.values())

    @property
    def reconcilable(self) -> list[TaskState]:
        """The tasks that the answer in the making rests on, in plan order."""
        return without_findings(basis_of(self.heard, self.selection, self.tasks), self.answering.sifting.tasks)

    @property
    def lacked(self) -> list[TaskState]:
        """The tasks that the answer in the making has to do without; some of them may still deliver. Where one result
        was chosen, it lacks of the others only what is required, and what the chosen one lacks itself.
        """
        missing = [task for task in self.tasks.values() if not task.delivered or task.task.id in self.late]
        if self.selection is None or self.selection.task is None:
            return missing
        needed = {need for task in self.reconcilable for need in task.task.depends_on}
        return [task for task in missing if task.task.id in needed or (task.task.required and not task.delivered)]

    def keeps_off(self, breaker: str) -> bool:
        """Whether the log tells that this breaker is open, and its probe was not due at the newest event.

        From then on the run uses what is behind it like any other: somebody has to be the probe.
        """
        due = self.probes_due.get(breaker)
        return breaker in self.breakers and (due is None or self.newest_at is None or self.newest_at < due)

    def clock_of(self, attempt: Attempt, now: datetime) -> datetime:
        """When the clock of a running attempt started, as of now: set on by the time that a breaker has held it."""
        held_at = self.breakers.get(model_breaker(attempt.model))
        if held_at is None:
            return attempt.since
        return attempt.since + max(now - max(held_at, attempt.since), timedelta())

    @property
    def unheard(self) -> frozenset[str]:
        """Dropped tasks whose results came too late for the newest answer, or for the one in the making."""
        return self.late | self.lacking

    def assumed_by(self, tasks: Iterable[TaskState]) -> tuple[Assumption, ...]:
        """What these tasks rest on that was taken for granted, by themselves or by those whose parts they are."""
        by_name = {task.task.id: task for task in tasks}
        wholes = {name for name, task in self.replaced.items() if by_name.keys() & set(task.split_into)}
        own = [each for each in self.assumptions if each.task in by_name.keys() | wholes]
        nested = [(name, task.output.nested) for name, task in by_name.items() if task.output and task.output.nested]
        below = [each.model_copy(update={"task": name}) for name, told in nested for each in told.assumptions]
        return (*own, *below)

    def model_of(self, topic: Topic) -> str:
        """Id of the model that is asked in a conversation, also of one about a task that was replaced since."""
        if topic.purpose == "work":
            name = topic.task_id or ""
            return (self.tasks.get(name) or self.replaced[name]).tried(topic.number).model
        judges, team = topic.purpose in ("review", "select", "arbitrate"), self.brief.team
        name = team.critic_model if judges else team.supervisor.model
        name = team.findings.model if topic.purpose == "verify" else name
        return self.brief.models.get(name, name)

    def conversation(self, topic: Topic) -> Conversation:
        """What was said about `topic` so far."""
        return self.conversations.get(topic, _NOTHING_SAID)

    def with_task(self, task: TaskState) -> "Snapshot":
        """The state with one task changed."""
        return changed(self, tasks={**self.tasks, task.task.id: task})
