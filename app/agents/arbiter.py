"""The judge: which claim of a conflict holds, by what is in front of it.

It learns neither whose the claims are nor which tasks they come from, and meets them in an order that the ids of the
run and the conflict make up, always the same one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from string import ascii_uppercase
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict

from app.agents.aside import outputs_of
from app.agents.prompting import opening, render
from app.agents.reading import Unreadable, misfit, read_as, read_json, without_nulls
from app.agents.results_shown import evidence_of
from app.agents.role import Offer, Role
from app.agents.shapes import NUMBER, TEXT, closed, listed, one_of
from app.domain import events as ev
from app.domain.conversation import Prompt
from app.domain.events import Entry
from app.domain.flaws import Flaw
from app.domain.policy.resolution import untried
from app.domain.results import Claim, Conflict
from app.domain.snapshot import Snapshot
from app.domain.text import is_blank, shorten
from app.domain.topics import Topic

UNDECIDED = "undecided"
REASON_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True)
class Case:
    """A conflict as the judge meets it."""

    conflict: Conflict
    claims: dict[str, Claim]
    """Its claims by the letters under which the judge speaks of them."""


def cases_of(run: Snapshot) -> dict[str, Case]:
    """The conflicts that the judge is asked about, by their ids."""
    return {each.id: Case(each, _lettered(run.brief.run_id, each)) for each in untried(run, "judge")}


def _lettered(run_id: str, conflict: Conflict) -> dict[str, Claim]:
    def place(claim: Claim) -> str:
        return sha256("\0".join((run_id, conflict.id, claim.task, claim.claim)).encode()).hexdigest()

    return dict(zip(_letters(len(conflict.claims)), sorted(conflict.claims, key=place), strict=True))


def _letters(count: int) -> list[str]:
    """A to Z, then A1 to Z1 and so on."""
    size = len(ascii_uppercase)
    return [ascii_uppercase[n % size] + (str(n // size) if n >= size else "") for n in range(count)]


def _open(run: Snapshot, _: Topic) -> Prompt:
    cases = cases_of(run)
    total = sum(len(case.claims) for case in cases.values())
    shown = [{"conflict": name, "topic": case.conflict.topic, "claims": _shown(run, case, total)}
             for name, case in cases.items()]  # fmt: skip
    return opening("arbitrate", objective=run.brief.objective, conflicts=shown, undecided=UNDECIDED)


def _shown(run: Snapshot, case: Case, total: int) -> dict[str, Any]:
    return {
        letter: {"claim": claim.claim, "evidence": evidence_of(run.tasks[claim.task], total)}
        for letter, claim in case.claims.items()
    }


def _offer(run: Snapshot, _: Topic) -> Offer:
    cases = cases_of(run)
    letters = sorted({letter for case in cases.values() for letter in case.claims})
    judgement = closed(conflict=one_of([*cases]), reason=TEXT, holds=one_of([*letters, UNDECIDED]), confidence=NUMBER)
    return Offer(run.brief.team.critic_model, closed(judgements=listed(judgement), notes=TEXT), visible_field="notes")


def _material(run: Snapshot, _: Topic) -> Iterable[object]:
    return [run.brief.objective, *outputs_of(run.reconcilable)]


def _letter(holds: str) -> str:
    """As the claims are lettered, however it is written."""
    said = holds.strip()
    return UNDECIDED if said.lower() == UNDECIDED else said.upper()


class _Judgement(BaseModel):
    model_config = ConfigDict(extra="ignore")

    conflict: str
    reason: str = ""
    holds: Annotated[str, AfterValidator(_letter)]
    confidence: float | None = None


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore")

    judgements: tuple[_Judgement, ...]


def _read(run: Snapshot, topic: Topic, text: str) -> Sequence[Entry]:
    reply = read_as(_Reply, without_nulls(read_json(text, "output_invalid")), "output_invalid")
    cases = cases_of(run)
    if flaws := [*_faults(reply, cases)]:
        raise Unreadable(flaws)
    said = {each.conflict: each for each in reply.judgements}
    sitting = run.answering.sittings + 1
    return [topic.entry(_judged(case, said[name], sitting)) for name, case in cases.items()]


def _judged(case: Case, said: _Judgement, sitting: int) -> ev.ConflictJudged:
    holds = case.claims.get(said.holds)
    return ev.ConflictJudged(
        id=case.conflict.id,
        resolution=holds.claim if holds is not None else None,
        reason=shorten(said.reason, REASON_CHARACTERS)[0],
        confidence=min(max(said.confidence, 0.0), 1.0) if said.confidence is not None else None,
        sitting=sitting,
    )


def _faults(reply: _Reply, cases: dict[str, Case]) -> Iterator[Flaw]:
    """Why a judgement cannot be taken: it leaves a conflict out, names no claim of it, or gives no reason."""
    if sorted(each.conflict for each in reply.judgements) != sorted(cases):
        yield misfit("/judgements", f"judgements must decide each of these once: {', '.join(cases)}")
        return
    for index, each in enumerate(reply.judgements):
        claims = cases[each.conflict].claims
        if each.holds not in claims and each.holds != UNDECIDED:
            detail = f"of {each.conflict} one of these holds, or it is {UNDECIDED}: {', '.join(claims)}"
            yield misfit(f"/judgements/{index}/holds", detail)
        if is_blank(each.reason):
            yield misfit(f"/judgements/{index}/reason", f"the judgement of {each.conflict} needs a reason")


def _reject(run: Snapshot, topic: Topic, flaws: Sequence[Flaw]) -> Sequence[Entry]:
    note = None
    if run.conversation(topic).may_be_repaired:
        note = render("arbitrate_repair", flaws=flaws, conflicts=[*cases_of(run)])
    return [topic.entry(ev.JudgementRejected(errors=tuple(flaws), note=note))]


ARBITRATE = Role(open=_open, offer=_offer, material=_material, read=_read, reject=_reject)
