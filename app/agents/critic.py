"""The critic: holds an answer against criteria before it goes out. It sees what was asked, the answer and the results,
never how the supervisor came from one to the other."""

from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from pydantic import BaseModel, ConfigDict

from app.agents.aside import outputs_of
from app.agents.findings_shown import findings_shown
from app.agents.parts_shown import shown_to_answer
from app.agents.prompting import opening, render
from app.agents.reading import Unreadable, misfit, read_as, read_json, without_nulls
from app.agents.results_shown import missing_of
from app.agents.role import Offer, Role
from app.agents.shapes import FLAG, TEXT, closed, listed, one_of
from app.domain import events as ev
from app.domain.conversation import Prompt
from app.domain.events import Entry
from app.domain.flaws import Flaw
from app.domain.policy.endings import answer_of
from app.domain.reviews import Criterion, Verdict
from app.domain.snapshot import Snapshot
from app.domain.text import is_blank, shorten
from app.domain.topics import Topic

NOTES_CHARACTERS = 4_000
NOTE_CHARACTERS = 1_000
ALWAYS = (
    "It answers what was asked, all of it.",
    "What it says follows from the results, and nothing in it goes beyond them.",
    "It says what is missing and what is uncertain.",
)
"""What every answer must be like, where neither the team nor the job says more."""


def criteria_of(run: Snapshot) -> dict[str, str]:
    """What the answer is held against, by the names under which the critic speaks of it."""
    rubric = [run.brief.rubric] if run.brief.rubric is not None else []
    said = [*run.brief.team.review.criteria, *rubric] or ALWAYS
    return {f"c{number}": each for number, each in enumerate(said, 1)}


def _open(run: Snapshot, _: Topic) -> Prompt:
    answer, _confidence, statements = answer_of(run)
    shown = shown_to_answer(run)
    return opening(
        "review",
        criteria=criteria_of(run),
        objective=run.brief.objective,
        final_instruction=run.plan.final_instruction if run.plan else "",
        answer=answer or "",
        statements=[statement.model_dump() for statement in statements],
        data=findings_shown(run) or (run.synthesis.data if run.synthesis else None),
        results=shown.results,
        reductions=shown.reductions,
        missing=missing_of(task for task in run.lacked if not task.delivered),
    )


def _offer(run: Snapshot, _: Topic) -> Offer:
    look = closed(criterion=one_of([*criteria_of(run)]), met=FLAG, note=TEXT)
    schema = closed(verdict=one_of(get_args(Verdict)), criteria=listed(look), notes=TEXT)
    return Offer(run.brief.team.critic_model, schema, visible_field="notes")


def _material(run: Snapshot, _: Topic) -> Iterable[object]:
    return [run.brief.objective, answer_of(run)[0] or "", *outputs_of(run.reconcilable)]


class _Look(BaseModel):
    model_config = ConfigDict(extra="ignore")

    criterion: str
    met: bool
    note: str = ""


class _ReviewReply(BaseModel):
    model_config = ConfigDict(extra="ignore")

    verdict: Verdict
    criteria: tuple[_Look, ...] = ()
    notes: str = ""


def _read(run: Snapshot, topic: Topic, text: str) -> Sequence[Entry]:
    reply = read_as(_ReviewReply, without_nulls(read_json(text, "output_invalid")), "output_invalid")
    wanted = criteria_of(run)
    if not run.conversation(topic).may_be_repaired and any(not look.met for look in reply.criteria):
        reply = reply.model_copy(update={"verdict": "needs_revision"})  # What it says in particular counts.
    if flaws := [*_faults(reply, wanted)]:
        raise Unreadable(flaws)
    said = {look.criterion: look for look in reply.criteria}
    reviewed = ev.ReviewCompleted(
        verdict=reply.verdict,
        notes=shorten(reply.notes, NOTES_CHARACTERS)[0],
        criteria=tuple(
            Criterion(criterion=words, met=said[name].met, note=shorten(said[name].note, NOTE_CHARACTERS)[0])
            for name, words in wanted.items()
        ),
        round=len(run.answering.reviews) + 1,
    )
    return [topic.entry(reviewed)]


def _faults(reply: _ReviewReply, wanted: Iterable[str]) -> Iterator[Flaw]:
    """Why a verdict cannot be taken: it does not look at everything, or contradicts itself."""
    said = [look.criterion for look in reply.criteria]
    if sorted(said) != sorted(wanted):
        yield misfit("/criteria", f"criteria must say of each of these once whether it is met: {', '.join(wanted)}")
    unmet = [look.criterion for look in reply.criteria if not look.met]
    if unmet and reply.verdict == "accepted":
        yield misfit("/verdict", f"an answer that does not meet {', '.join(unmet)} cannot be accepted")
    if reply.verdict == "needs_revision" and is_blank(reply.notes):
        yield misfit("/notes", "notes must say what is to be better")


def _reject(run: Snapshot, topic: Topic, flaws: Sequence[Flaw]) -> Sequence[Entry]:
    note = None
    if run.conversation(topic).may_be_repaired:
        note = render("review_repair", flaws=flaws, criteria=criteria_of(run))
    return [topic.entry(ev.ReviewRejected(errors=tuple(flaws), note=note))]


REVIEW = Role(open=_open, offer=_offer, material=_material, read=_read, reject=_reject)
