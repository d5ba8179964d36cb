"""What an answer of the supervisor looks like: the schema it is held to, and how its reply is read."""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from app.agents.caller_shape import data_schema, sources_schema, taken
from app.agents.files import FILES, read_files
from app.agents.reading import Unreadable, misfit, read_as, read_json_or_prose, without_nulls
from app.agents.shapes import NUMBER, TEXT, Schema, closed, listed, one_of, or_null
from app.agents.supervisor.conflict_checks import METHODS
from app.agents.supervisor.follow_ups import GapReply
from app.domain.flaws import Flaw
from app.domain.results import Claim, Conflict, DataSource, Statement, Synthesis
from app.domain.text import is_blank


def synthesis_schema(
    delivered: Sequence[str],
    gap: Schema,
    data: Schema | None = None,
    methods: Sequence[str] = ("human",),
    *,
    files: bool = False,
) -> Schema:
    """An answer whose statements and claims rest on tasks that delivered; `gap` is the form of what it lacks.

    `data` is the schema of the caller. What it defines is defined for the whole, where its references look. `methods`
    are those by which a conflict may be decided beside the supervisor's own. `files` says that some may come with it.
    """
    claim = closed(task=one_of(delivered), claim=TEXT)
    conflict = closed(
        topic=TEXT,
        claims=listed(claim),
        status=one_of(["resolved", "unresolved"]),
        resolution=or_null(TEXT),
        method=or_null(one_of([*METHODS, *methods])),
        confidence=or_null(NUMBER),
    )
    statement = closed(text=TEXT, tasks=listed(one_of(delivered)))
    fields = {
        "answer": TEXT,
        "confidence": NUMBER,
        "statements": listed(statement),
        "conflicts": listed(conflict),
        "gaps": listed(gap),
    }
    if files:
        fields["artifacts"] = FILES
    if data is None:
        return closed(**fields)
    wanted, definitions = data_schema(data)
    whole = closed(**fields, data=wanted, data_sources=sources_schema(list(delivered)))
    return whole | {"$defs": definitions} if definitions else whole


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _ConflictReply(_Reply):
    topic: str
    claims: tuple[Claim, ...]
    status: str = "unresolved"
    resolution: str | None = None
    method: str | None = None
    confidence: float | None = None


class SynthesisReply(_Reply):
    """An answer, as the supervisor writes it."""

    answer: str = Field(min_length=1)
    confidence: float | None = None
    statements: tuple[Statement, ...] = ()
    conflicts: tuple[_ConflictReply, ...] = ()
    gaps: tuple[GapReply, ...] = ()
    data_sources: tuple[DataSource, ...] = ()
    found: Any = None
    """What was found in the text: an object, or prose."""


def read_reply(text: str) -> SynthesisReply:
    """What a reply says; prose is an answer without statements. Raises `Unreadable`."""
    found = read_json_or_prose(text, "output_invalid", {"answer"})
    value = without_nulls(found)
    reply = read_as(SynthesisReply, {"answer": value} if isinstance(value, str) else value, "output_invalid")
    return reply.model_copy(update={"found": found})


def read_synthesis(
    text: str, delivered: Sequence[str], missing: Sequence[str], schema: Schema | None = None
) -> Synthesis:
    """The answer in the text of a reply. Raises `Unreadable`."""
    return synthesis_in(read_reply(text), delivered, missing, schema)


def synthesis_in(
    reply: SynthesisReply,
    delivered: Sequence[str],
    missing: Sequence[str],
    schema: Schema | None = None,
    *,
    files: bool = False,
) -> Synthesis:
    """The answer in a reply. `schema` is that of the caller's data; `files` says whether some may come with it.

    Raises `Unreadable`, also when the answer is blank, and when something in it rests on nothing, or on tasks that
    delivered nothing.
    """
    if flaws := [*_without_ground(reply, delivered)]:
        raise Unreadable(flaws)
    return Synthesis(
        answer=reply.answer,
        confidence=min(max(reply.confidence, 0.0), 1.0) if reply.confidence is not None else None,
        statements=reply.statements,
        conflicts=tuple(_conflict(number, found) for number, found in enumerate(reply.conflicts, 1)),
        impacts={gap.task: gap.impact for gap in reply.gaps if gap.task in missing},
        free_form=isinstance(reply.found, str),
        data=_data(reply.found, schema) if schema is not None else None,
        data_sources=reply.data_sources if schema is not None else (),
        artifacts=read_files(reply.found) if files else (),
    )


def _data(reply: Any, schema: Schema) -> Any:
    """The caller's data. Raises `Unreadable` when the reply has none."""
    if not isinstance(reply, dict) or "data" not in reply:
        raise Unreadable([Flaw(code="data_unfit", pointer="/data", detail="the reply lacks the field data")])
    return taken(reply["data"], schema)


def _without_ground(reply: SynthesisReply, delivered: Sequence[str]) -> Iterator[Flaw]:
    """What the answer says without saying it, or without a task that bears it."""
    if is_blank(reply.answer):
        yield misfit("/answer", "answer is blank")
    for index, statement in enumerate(reply.statements):
        if is_blank(statement.text) or not statement.tasks:
            detail = "every statement needs a text and the tasks it rests on; leave it out when it rests on none"
            yield misfit(f"/statements/{index}", detail)
    for index, conflict in enumerate(reply.conflicts):
        if is_blank(conflict.topic) or not conflict.claims or any(is_blank(each.claim) for each in conflict.claims):
            detail = "every conflict needs a topic and the claims that contradict each other; leave it out without them"
            yield misfit(f"/conflicts/{index}", detail)
    named = {task for statement in reply.statements for task in statement.tasks}
    named |= {claim.task for conflict in reply.conflicts for claim in conflict.claims}
    named |= {task for source in reply.data_sources for task in source.tasks}
    if unknown := sorted(named - set(delivered)):
        listed = ", ".join(unknown)
        detail = f"statements and claims may rest only on tasks that delivered; these did not: {listed}"
        yield Flaw(code="task_unknown", detail=detail)


def _conflict(number: int, found: _ConflictReply) -> Conflict:
    is_resolved = found.status == "resolved"
    return Conflict(
        id=f"c{number}",
        topic=found.topic,
        claims=found.claims,
        status="resolved" if is_resolved else "unresolved",
        resolution=found.resolution if is_resolved else None,
        method=_method(found.method or "") if is_resolved else None,
        confidence=found.confidence,
    )


def _method(said: str) -> str:
    """The method that is meant: models put it in words of their own where nothing holds them to a list."""
    plain = said.casefold().replace("-", "_").replace(" ", "_")
    return next((method for method in (*METHODS, "tie_break") if method[:8] in plain), said)
