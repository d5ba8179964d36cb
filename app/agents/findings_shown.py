"""Findings as whoever writes or judges the answer gets them: those that are left, and how many are not."""

from typing import Any

from app.domain.findings import Finding, counted
from app.domain.sifting import reasons_of
from app.domain.snapshot import Snapshot
from app.domain.text import shorten

ROOM_CHARACTERS = 60_000
EXCERPT_CHARACTERS = 500


def findings_shown(run: Snapshot) -> dict[str, Any] | None:
    """The findings that the answer tells of, the most important first; None where no worker has reported any.

    Those for which there is no room are counted, and stand in the result all the same.
    """
    sifting = run.answering.sifting
    if not sifting.tasks:
        return None
    shown: list[dict[str, Any]] = []
    room = ROOM_CHARACTERS
    for finding in sifting.left:
        told = _told(finding)
        room -= sum(len(str(value)) for value in told.values())
        if room < 0:
            break
        shown.append(told)
    left, gone = len(sifting.left), sifting.suppressed
    return {"left": left, "not_shown": left - len(shown), "suppressed": reasons_of(gone), "shown": shown}


def _told(finding: Finding) -> dict[str, Any]:
    told = finding.model_dump(exclude={"note"})
    texts = {name: shorten(told[name], EXCERPT_CHARACTERS)[0] for name in ("message", "evidence", "suggestion")}
    return told | texts


def counts_said(run: Snapshot) -> list[str]:
    """The same counts in words, for figures of the answer to rest on."""
    sifting = run.answering.sifting
    if not sifting.tasks:
        return []
    gone = reasons_of(sifting.suppressed)
    said = [f"{count} {reason}" for reason, count in gone.items()]
    counts = sifting.reported, len(sifting.left), sum(gone.values()), *counted(sifting.left).values()
    return [f"findings: {', '.join(map(str, counts))}", *said]
