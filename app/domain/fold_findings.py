"""The part of the fold that concerns findings: where they are, which are one, which are left."""

from app.domain import events as ev
from app.domain.errors import IllegalMove
from app.domain.findings import Finding, suppressed
from app.domain.merging import stands_for
from app.domain.sifting import Sifting
from app.domain.snapshot import Snapshot
from app.domain.values import changed

Step = ev.FindingsPlaced | ev.FindingsMerged | ev.FindingVerified | ev.FindingsFiltered | ev.FindingsRanked


def fold_step(run: Snapshot, step: Step) -> Snapshot:
    sifting = run.answering.sifting
    match step:
        case ev.FindingsPlaced():
            after = _placed(sifting, step)
        case ev.FindingsMerged():
            after = _merged(sifting, step)
        case ev.FindingVerified():
            after = _verified(sifting, step)
        case ev.FindingsFiltered():
            after = changed(sifting, below=frozenset(step.below), threshold=step.threshold)
        case ev.FindingsRanked():
            after = changed(sifting, order=step.order, is_settled=True)
    return changed(run, answering=changed(run.answering, sifting=after))


def _placed(sifting: Sifting, step: ev.FindingsPlaced) -> Sifting:
    if again := sorted(sifting.tasks & set(step.tasks)):
        raise IllegalMove(f"the findings of these tasks have their places: {', '.join(again)}")
    return changed(
        sifting,
        tasks=sifting.tasks | set(step.tasks),
        reported=sifting.reported + step.reported,
        findings={**sifting.findings, **{each.id: each for each in step.findings}},
        dropped=(*sifting.dropped, *step.dropped),
        below=frozenset(),
        is_settled=False,
    )


def _merged(sifting: Sifting, step: ev.FindingsMerged) -> Sifting:
    left, dropped = dict(sifting.findings), [*sifting.dropped]
    for merge in step.merges:
        same = f"The same as {merge.id}."
        dropped += [suppressed(left.pop(name), "duplicate", same, merge.id) for name in merge.duplicates]
        left[merge.id] = stands_for(merge, left)
    for name in step.unlooked:
        left[name] = left[name].model_copy(update={"verdict": "unverified", "note": "limit_reached"})
    looks = {**sifting.looks, **{look.id: look for look in step.looks}}
    return changed(
        sifting,
        findings=left,
        dropped=tuple(dropped),
        looks={name: look for name, look in looks.items() if name in left},
    )


def _verified(sifting: Sifting, step: ev.FindingVerified) -> Sifting:
    finding = sifting.findings.get(step.id)
    if finding is None or step.id not in sifting.looks:
        raise IllegalMove(f"nobody was to look at {step.id}")
    return changed(sifting, findings={**sifting.findings, step.id: looked_at(finding, step)})


def looked_at(finding: Finding, step: ev.FindingVerified) -> Finding:
    """The finding after a second look: a confirmation never makes it less sure, a correction is as sure as it says."""
    update: dict[str, object] = {"verdict": step.verdict, "note": step.reason}
    if step.verdict == "confirmed" and step.confidence is not None:
        update["confidence"] = max(finding.confidence, step.confidence)
    elif step.verdict == "corrected":
        said = {name: getattr(step, name) for name in ("confidence", "severity", "message", "suggestion")}
        update |= {name: value for name, value in said.items() if value is not None}
    return finding.model_copy(update=update)
