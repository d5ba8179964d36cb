"""Synthesis: from what the tasks delivered to one answer, whose statements rest on them; repaired at most once.

It may happen several times in a run: with results that came late, with what a person has said about a conflict. Each
time the answer is held against the ground that there is then.
"""

from collections.abc import Iterable, Sequence

from app.agents.aside import outputs_of
from app.agents.files import BOUNDS
from app.agents.findings_shown import findings_shown
from app.agents.parts_shown import shown_to_answer
from app.agents.prompting import opening, render
from app.agents.reading import Unreadable
from app.agents.results_shown import missing_of
from app.agents.role import Offer, Role
from app.agents.supervisor.checks import objections_to
from app.agents.supervisor.conflict_checks import untold
from app.agents.supervisor.follow_ups import gap_schema, read_follow_ups
from app.agents.supervisor.ground import Ground, broken_ties, ground_of, known_conflicts
from app.agents.supervisor.mended import MENDED, mended
from app.agents.supervisor.synthesis_reply import read_reply, synthesis_in, synthesis_schema
from app.domain import events as ev
from app.domain.answering import claims_alike
from app.domain.conversation import Prompt
from app.domain.events import Entry
from app.domain.flaws import Flaw
from app.domain.policy.rounds import gaps_to_close
from app.domain.results import Conflict, Synthesis
from app.domain.snapshot import Snapshot
from app.domain.text import plain_words
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
        file_bounds=BOUNDS,
    )


def _offer(run: Snapshot, _: Topic) -> Offer:
    delivered, missing = _by_outcome(run)
    gap, methods = gap_schema(run, missing), _further_methods(run)
    supervisor = run.brief.team.supervisor
    schema = synthesis_schema(delivered, gap, data=run.brief.output_schema, methods=methods, files=supervisor.artifacts)
    return Offer(supervisor.model, schema, visible_field="answer")


def _further_methods(run: Snapshot) -> list[str]:
    """By what a conflict may be decided in this run beside what is always possible."""
    judged = any(each.method == "judge" for each in run.answering.settled)
    return ["human", *(["judge"] if judged else []), *(["tie_break"] if broken_ties(run) else [])]


def _by_outcome(run: Snapshot) -> tuple[list[str], list[str]]:
    return [task.task.id for task in run.reconcilable], [task.task.id for task in run.lacked]


def _material(run: Snapshot, _: Topic) -> Iterable[object]:
    return [run.brief.objective, run.plan.final_instruction if run.plan else "", *outputs_of(run.reconcilable)]


def _read(run: Snapshot, topic: Topic, text: str) -> Sequence[Entry]:
    """What a reply amounts to: an answer and the conflicts it tells of, or why it is none, with what it said."""
    reply = read_reply(text)
    files = run.brief.team.supervisor.artifacts
    told, ground = synthesis_in(reply, *_by_outcome(run), run.brief.output_schema, files=files), ground_of(run)
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


SYNTHESIZE = Role(open=_open, offer=_offer, material=_material, read=_read, reject=_reject)
