"""The verifier: whether one finding holds, by what stands around its place.

It learns neither who has found it, nor how sure they were, nor what else was found.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from app.agents.finding_shapes import VERDICT
from app.agents.prompting import opening, render
from app.agents.reading import Unreadable, misfit, read_as, read_json, without_nulls
from app.agents.role import Offer, Role
from app.domain import events as ev
from app.domain.conversation import Prompt
from app.domain.events import Entry
from app.domain.findings import MESSAGE_CHARACTERS, SUGGESTION_CHARACTERS, Confidence, Finding, SecondLook, Severity
from app.domain.flaws import Flaw
from app.domain.snapshot import Snapshot
from app.domain.text import is_blank, shorten
from app.domain.topics import Topic

REASON_CHARACTERS = 1_000
_SHOWN = {"severity", "category", "message", "location", "evidence", "suggestion"}


def _finding(run: Snapshot, topic: Topic) -> tuple[Finding, SecondLook]:
    sifting, name = run.answering.sifting, f"f{topic.number}"
    return sifting.findings[name], sifting.looks[name]


def _open(run: Snapshot, topic: Topic) -> Prompt:
    finding, look = _finding(run, topic)
    return opening(
        "verify",
        objective=run.brief.objective,
        finding=finding.model_dump(include=_SHOWN),
        lines=look.lines,
        change=look.change,
    )


def _offer(run: Snapshot, _: Topic) -> Offer:
    return Offer(run.brief.team.findings.model, VERDICT, visible_field="reason")


def _material(run: Snapshot, topic: Topic) -> Iterable[object]:
    _, look = _finding(run, topic)
    return [run.brief.objective, look.lines, look.change]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore")

    verdict: Literal["confirmed", "corrected", "refuted"]
    reason: str = ""
    confidence: Confidence
    severity: Severity | None = None
    message: str | None = None
    suggestion: str | None = None


def _read(run: Snapshot, topic: Topic, text: str) -> Sequence[Entry]:
    reply = read_as(_Reply, without_nulls(read_json(text, "output_invalid")), "output_invalid")
    if flaws := [*_faults(reply)]:
        raise Unreadable(flaws)
    corrects = reply.verdict == "corrected"
    verified = ev.FindingVerified(
        id=f"f{topic.number}",
        number=topic.number,
        verdict=reply.verdict,
        confidence=reply.confidence,
        severity=reply.severity if corrects else None,
        message=shorten(reply.message, MESSAGE_CHARACTERS)[0] if corrects and reply.message else None,
        suggestion=shorten(reply.suggestion, SUGGESTION_CHARACTERS)[0] if corrects and reply.suggestion else None,
        reason=shorten(reply.reason, REASON_CHARACTERS)[0],
    )
    return [topic.entry(verified)]


def _faults(reply: _Reply) -> Iterator[Flaw]:
    """Why a verdict cannot be taken: it gives no reason, or corrects nothing."""
    if is_blank(reply.reason):
        yield misfit("/reason", "reason must say what decides it")
    changes = (reply.severity, reply.message, reply.suggestion)
    if reply.verdict == "corrected" and not any(changes):
        yield misfit("/verdict", "a corrected finding needs the severity, the message or the suggestion that is right")


def _reject(run: Snapshot, topic: Topic, flaws: Sequence[Flaw]) -> Sequence[Entry]:
    note = render("verify_repair", flaws=flaws) if run.conversation(topic).may_be_repaired else None
    return [topic.entry(ev.VerificationRejected(errors=tuple(flaws), note=note, number=topic.number))]


VERIFY = Role(open=_open, offer=_offer, material=_material, read=_read, reject=_reject)
