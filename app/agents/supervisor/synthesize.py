"""Synthesis: from what the tasks delivered to one answer, whose statements rest on them; repaired at most once."""

from collections.abc import Iterable, Iterator, Sequence

from pydantic import BaseModel, ConfigDict, Field

from app.agents.aside import outputs_of
from app.agents.prompting import opening, render
from app.agents.reading import Unreadable, read_as, read_json_or_prose, without_nulls
from app.agents.results_shown import missing_of, results_of
from app.agents.role import Offer, Role
from app.agents.shapes import NUMBER, TEXT, Schema, closed, listed, one_of, or_null
from app.domain import events as ev
from app.domain.conversation import Prompt
from app.domain.events import Entry
from app.domain.findings import Finding
from app.domain.results import Claim, Conflict, Statement, Synthesis
from app.domain.snapshot import Snapshot, TaskState
from app.domain.text import is_blank
from app.domain.topics import Topic


def _open(run: Snapshot, _: Topic) -> Prompt:
    return opening(
        "synthesis",
        team=run.brief.team,
        objective=run.brief.objective,
        plan=run.plan,
        results=results_of(run.reconcilable),
        assumptions=run.assumed_by(run.reconcilable),
        missing=missing_of(_missing(run)),
    )


def _offer(run: Snapshot, _: Topic) -> Offer:
    return Offer(run.brief.team.supervisor.model, synthesis_schema(*_by_outcome(run)), visible_field="answer")


def _by_outcome(run: Snapshot) -> tuple[list[str], list[str]]:
    return [task.task.id for task in run.reconcilable], [task.task.id for task in _missing(run)]


def _missing(run: Snapshot) -> list[TaskState]:
    """The tasks that the answer has to do without; some of them may still deliver."""
    return [task for task in run.tasks.values() if not task.delivered or task.task.id in run.late]


def synthesis_schema(delivered: Sequence[str], missing: Sequence[str]) -> Schema:
    """An answer whose statements and claims rest on tasks that delivered; gaps name those that did not."""
    claim = closed(task=one_of(delivered), claim=TEXT)
    conflict = closed(
        topic=TEXT,
        claims=listed(claim),
        status=one_of(["resolved", "unresolved"]),
        resolution=or_null(TEXT),
        method=or_null(TEXT),
        confidence=or_null(NUMBER),
    )
    statement = closed(text=TEXT, tasks=listed(one_of(delivered)))
    gap = closed(task=one_of(missing) if missing else TEXT, impact=TEXT)
    return closed(
        answer=TEXT,
        confidence=NUMBER,
        statements=listed(statement),
        conflicts=listed(conflict),
        gaps=listed(gap),
    )


def _material(run: Snapshot, _: Topic) -> Iterable[object]:
    return [run.brief.objective, run.plan.final_instruction if run.plan else "", *outputs_of(run.reconcilable)]


def _read(run: Snapshot, topic: Topic, text: str) -> Sequence[Entry]:
    return [topic.entry(ev.SynthesisCompleted.of(read_synthesis(text, *_by_outcome(run))))]


def _reject(run: Snapshot, topic: Topic, findings: Sequence[Finding]) -> Sequence[Entry]:
    note = None
    if run.conversation(topic).may_be_repaired:
        note = render("synthesis_repair", findings=findings, delivered=_by_outcome(run)[0])
    return [topic.entry(ev.SynthesisRejected(errors=tuple(findings), note=note))]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _ConflictReply(_Reply):
    topic: str
    claims: tuple[Claim, ...]
    status: str = "unresolved"
    resolution: str | None = None
    method: str | None = None
    confidence: float | None = None


class _GapReply(_Reply):
    task: str
    impact: str = ""


class _SynthesisReply(_Reply):
    answer: str = Field(min_length=1)
    confidence: float | None = None
    statements: tuple[Statement, ...] = ()
    conflicts: tuple[_ConflictReply, ...] = ()
    gaps: tuple[_GapReply, ...] = ()


def read_synthesis(text: str, delivered: Sequence[str], missing: Sequence[str]) -> Synthesis:
    """The answer in a reply; prose is an answer without statements.

    Raises `Unreadable`, also when the answer is blank, and when something in it rests on nothing, or on tasks that
    delivered nothing.
    """
    value = without_nulls(read_json_or_prose(text, "output_invalid", {"answer"}))
    reply = read_as(_SynthesisReply, {"answer": value} if isinstance(value, str) else value, "output_invalid")
    if findings := [*_without_ground(reply, delivered)]:
        raise Unreadable(findings)
    return Synthesis(
        answer=reply.answer,
        confidence=min(max(reply.confidence, 0.0), 1.0) if reply.confidence is not None else None,
        statements=reply.statements,
        conflicts=tuple(_conflict(number, found) for number, found in enumerate(reply.conflicts, 1)),
        impacts={gap.task: gap.impact for gap in reply.gaps if gap.task in missing},
        free_form=isinstance(value, str),
    )


def _without_ground(reply: _SynthesisReply, delivered: Sequence[str]) -> Iterator[Finding]:
    """What the answer says without saying it, or without a task that bears it."""
    if is_blank(reply.answer):
        yield Finding(code="output_invalid", pointer="/answer", detail="answer is blank")
    for index, statement in enumerate(reply.statements):
        if is_blank(statement.text) or not statement.tasks:
            detail = "every statement needs a text and the tasks it rests on; leave it out when it rests on none"
            yield Finding(code="output_invalid", pointer=f"/statements/{index}", detail=detail)
    for index, conflict in enumerate(reply.conflicts):
        if is_blank(conflict.topic) or not conflict.claims or any(is_blank(each.claim) for each in conflict.claims):
            detail = "every conflict needs a topic and the claims that contradict each other; leave it out without them"
            yield Finding(code="output_invalid", pointer=f"/conflicts/{index}", detail=detail)
    named = {task for statement in reply.statements for task in statement.tasks}
    named |= {claim.task for conflict in reply.conflicts for claim in conflict.claims}
    if unknown := sorted(named - set(delivered)):
        listed = ", ".join(unknown)
        detail = f"statements and claims may rest only on tasks that delivered; these did not: {listed}"
        yield Finding(code="task_unknown", detail=detail)


def _conflict(number: int, found: _ConflictReply) -> Conflict:
    return Conflict(
        id=f"c{number}",
        topic=found.topic,
        claims=found.claims,
        status="resolved" if found.status == "resolved" else "unresolved",
        resolution=found.resolution,
        method=found.method,
        confidence=found.confidence,
    )


SYNTHESIZE = Role(open=_open, offer=_offer, material=_material, read=_read, reject=_reject)
