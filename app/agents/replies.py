"""Reading what the supervisor wrote: a plan, a new instruction, an answer; or why it cannot be used."""

from collections.abc import Iterator, Sequence

from pydantic import BaseModel, ConfigDict, Field

from app.agents.reading import Unreadable, read_as, read_json, read_json_or_prose, without_nulls
from app.domain.plan import Finding, Plan, Task
from app.domain.results import Claim, Conflict, Statement, Synthesis
from app.domain.text import is_blank


class _PlanReply(BaseModel):
    goal: str = ""
    final_instruction: str = ""
    tasks: tuple[Task, ...]


def read_plan(text: str) -> Plan:
    """The plan in a reply; a bare list of tasks counts as one. Raises `Unreadable`."""
    value = without_nulls(read_json(text, "plan_unparseable"))
    if isinstance(value, list):
        value = {"tasks": value}
    if "tasks" not in value:
        raise Unreadable([Finding(code="plan_unparseable", detail="the reply has no field tasks")])
    reply = read_as(_PlanReply, value, "field_invalid")
    return Plan(goal=reply.goal, final_instruction=reply.final_instruction, tasks=reply.tasks)


class Refinement(BaseModel):
    """A rewritten instruction."""

    instruction: str = Field(min_length=1)
    change: str = ""
    free_form: bool = False
    """Whether it was prose."""


def read_refinement(text: str) -> Refinement:
    """The new instruction in a reply; prose is one. Raises `Unreadable`, also when it says nothing."""
    value = without_nulls(read_json_or_prose(text, "output_invalid", {"instruction"}))
    reply = read_as(Refinement, {"instruction": value} if isinstance(value, str) else value, "output_invalid")
    if is_blank(reply.instruction):
        raise Unreadable([Finding(code="output_invalid", pointer="/instruction", detail="instruction is blank")])
    return reply.model_copy(update={"free_form": isinstance(value, str)})


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
