"""Synthesis: from what the tasks delivered to one answer, whose statements rest on them; repaired at most once.

It may happen several times in a run: with results that came late, with what a person has said about a conflict. Each
time the answer is held against the ground that there is then.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from app.agents.aside import outputs_of
from app.agents.findings_shown import findings_shown
from app.agents.parts_shown import shown_to_answer
from app.agents.prompting import opening, render
from app.agents.reading import Unreadable, read_as, read_json_or_prose, without_nulls
from app.agents.results_shown import missing_of
from app.agents.role import Offer, Role
from app.agents.shapes import NUMBER, TEXT, Schema, closed, listed, one_of, or_null
from app.agents.supervisor.caller_shape import data_schema, sources_schema, taken
from app.agents.supervisor.checks import objections_to
from app.agents.supervisor.conflict_checks import METHODS, untold
from app.agents.supervisor.follow_ups import GapReply, gap_schema, read_follow_ups
from app.agents.supervisor.ground import Ground, broken_ties, ground_of, known_conflicts
from app.agents.supervisor.mended import MENDED, mended
from app.domain import events as ev
from app.domain.answering import claims_alike
from app.domain.conversation import Prompt
from app.domain.events import Entry
from app.domain.flaws import Flaw
from app.domain.policy.rounds import gaps_to_close
from app.domain.results import Claim, Conflict, DataSource, Statement, Synthesis
from app.domain.snapshot import Snapshot
from app.domain.text import is_blank, plain_words
from app.domain.topics import Topic


def _open(run: Snapshot, _: Topic) -> Prompt:
    shown = shown_to_answer(run)
    return opening(
        "synthesis",
        team=run.brief.team,
        objective=run.brief.objective,
        plan=run.plan,
        results=shown.results,
        reductions=shown.reductions,
        findings=findings_shown(run),
        assumptions=run.assumed_by(run.reconcilable),
        missing=missing_of(run.lacked),
        conflicts=known_conflicts(run),
        settled=[each for each in run.answering.settled if each.method == "human"],
        judged=[each for each in run.answering.settled if each.method == "judge"],
        ties=broken_ties(run),
        data_schema=run.brief.output_schema,
        review=run.answering.reviews[-1] if run.is_refused else None,
        closable=gaps_to_close(run),
        chosen=run.selection.task if run.selection else None,
        workers=run.brief.team.workers,
    )


def _offer(run: Snapshot, _: Topic) -> Offer:
    delivered, missing = _by_outcome(run)
    gap, methods = gap_schema(run, missing), _further_methods(run)
    schema = synthesis_schema(delivered, gap, data=run.brief.output_schema, methods=methods)
    return Offer(run.brief.team.supervisor.model, schema, visible_field="answer")


def _further_methods(run: Snapshot) -> list[str]:
    """By what a conflict may be decided in this run beside what is always possible."""
    judged = any(each.method == "judge" for each in run.answering.settled)
    return ["human", *(["judge"] if judged else []), *(["tie_break"] if broken_ties(run) else [])]


def _by_outcome(run: Snapshot) -> tuple[list[str], list[str]]:
    return [task.task.id for task in run.reconcilable], [task.task.id for task in run.lacked]


def synthesis_schema(
    delivered: Sequence[str], gap: Schema, data: Schema | None = None, methods: Sequence[str] = ("human",)
) -> Schema:
    """An answer whose statements and claims rest on tasks that delivered; `gap` is the form of what it lacks.

    `data` is the schema of the caller. What it defines is defined for the whole, where its references look. `methods`
    are those by which a conflict may be decided beside the supervisor's own.
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
    if data is None:
        return closed(**fields)
    wanted, definitions = data_schema(data)
    whole = closed(**fields, data=wanted, data_sources=sources_schema(list(delivered)))
    return whole | {"$defs": definitions} if definitions else whole


def _material(run: Snapshot, _: Topic) -> Iterable[object]:
    return [run.brief.objective, run.plan.final_instruction if run.plan else "", *outputs_of(run.reconcilable)]


def _read(run: Snapshot, topic: Topic, text: str) -> Sequence[Entry]:
    """What a reply amounts to: an answer and the conflicts it tells of, or why it is none, with what it said."""
    reply = read_reply(text)
    told, ground = synthesis_in(reply, *_by_outcome(run), run.brief.output_schema), ground_of(run)
    gaps, faults = read_follow_ups(run, reply.gaps)
    objections = [*objections_to(told, ground), *faults]
    if not run.conversation(topic).may_be_repaired:
        objections = [each for each in objections if each.code not in MENDED and each not in faults]
    if objections:
        rejected = _rejection(run, topic, Unreadable(objections).flaws)
        return [topic.entry(rejected.model_copy(update={"answer": told.answer}))]
    told = mended(told, ground)
    told = told.model_copy(update={"conflicts": _conflicts(run, told, ground)})
    known = {found.id for found in run.answering.found}
    new = [conflict for conflict in told.conflicts if conflict.id not in known]
    found = [topic.entry(ev.ConflictFound.of(conflict)) for conflict in new]
    return [*found, topic.entry(ev.SynthesisCompleted.of(told)), *gaps]


def _conflicts(run: Snapshot, told: Synthesis, ground: Ground) -> tuple[Conflict, ...]:
    """Every conflict: those that the answer lists, those that code knows of, and those that somebody else has settled.

    One that was found before keeps its id.
    """
    conflicts = [*_heeding(told.conflicts, ground), *untold(told, ground)]
    before = [run.answering.same_as(conflict) for conflict in conflicts]
    taken = {found.id for found in before if found is not None}
    named: list[Conflict] = []
    new = len(run.answering.found)
    for conflict, known in zip(conflicts, before, strict=True):
        found = known or run.answering.reworded(conflict, taken)
        if found is not None and any(found.id == each.id for each in named):
            found = None  # Two of an answer are never one.
        new += found is None
        named.append(conflict.model_copy(update={"id": found.id if found else f"c{new}"}))
    return tuple(named)


def _heeding(told: Sequence[Conflict], ground: Ground) -> list[Conflict]:
    """The conflicts that an answer lists, settled as somebody else has settled them; one that it leaves out follows."""
    settled = {
        plain_words(each.topic): each.conflict.model_copy(
            update={
                "status": "resolved",
                "resolution": each.answer,
                "method": each.method,
                "confidence": each.confidence,
            }
        )
        for each in ground.settled
    }
    heeded: list[Conflict] = []
    left = {topic: each for topic, each in settled.items() if topic not in {plain_words(it.topic) for it in told}}
    for conflict in told:
        reworded = next((topic for topic, each in left.items() if claims_alike(each, conflict)), None)
        known = settled.get(plain_words(conflict.topic))
        heeded.append(known or (left.pop(reworded) if reworded is not None else conflict))
    return [*heeded, *left.values()]


def _reject(run: Snapshot, topic: Topic, flaws: Sequence[Flaw]) -> Sequence[Entry]:
    return [topic.entry(_rejection(run, topic, flaws))]


def _rejection(run: Snapshot, topic: Topic, flaws: Sequence[Flaw]) -> ev.SynthesisRejected:
    note = None
    if run.conversation(topic).may_be_repaired:
        note = render("synthesis_repair", flaws=flaws, delivered=_by_outcome(run)[0])
    return ev.SynthesisRejected(errors=tuple(flaws), note=note)


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
    reply: SynthesisReply, delivered: Sequence[str], missing: Sequence[str], schema: Schema | None = None
) -> Synthesis:
    """The answer in a reply. `schema` is that of the caller's data.

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
    )


def _data(reply: Any, schema: Schema) -> Any:
    """The caller's data. Raises `Unreadable` when the reply has none."""
    if not isinstance(reply, dict) or "data" not in reply:
        raise Unreadable([Flaw(code="data_unfit", pointer="/data", detail="the reply lacks the field data")])
    return taken(reply["data"], schema)


def _without_ground(reply: SynthesisReply, delivered: Sequence[str]) -> Iterator[Flaw]:
    """What the answer says without saying it, or without a task that bears it."""
    if is_blank(reply.answer):
        yield Flaw(code="output_invalid", pointer="/answer", detail="answer is blank")
    for index, statement in enumerate(reply.statements):
        if is_blank(statement.text) or not statement.tasks:
            detail = "every statement needs a text and the tasks it rests on; leave it out when it rests on none"
            yield Flaw(code="output_invalid", pointer=f"/statements/{index}", detail=detail)
    for index, conflict in enumerate(reply.conflicts):
        if is_blank(conflict.topic) or not conflict.claims or any(is_blank(each.claim) for each in conflict.claims):
            detail = "every conflict needs a topic and the claims that contradict each other; leave it out without them"
            yield Flaw(code="output_invalid", pointer=f"/conflicts/{index}", detail=detail)
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


SYNTHESIZE = Role(open=_open, offer=_offer, material=_material, read=_read, reject=_reject)
