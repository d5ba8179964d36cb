"""Findings between the reports of workers and the answer: placed, merged, looked at again, filtered and ranked.

Placing needs the inputs, which no decision has: it is a command. The other steps follow from the state.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from app.domain import events as ev
from app.domain.findings import Finding, Suppressed, counted
from app.domain.job import JobInput
from app.domain.merging import merged, stands_for, worth_a_look
from app.domain.placing import Source, placed, source_of
from app.domain.policy.agenda import step_in, why_over
from app.domain.policy.commands import DecisionBuilder, PlaceFindings
from app.domain.policy.findings_due import is_to_sift, look_topic, looks_under_way, reported_in, unplaced
from app.domain.protocol import GiveUp
from app.domain.sifting import filtered
from app.domain.snapshot import Snapshot
from app.domain.surroundings import look_at


def sift_first(run: Snapshot, now: datetime, draft: DecisionBuilder) -> bool:
    """Go on with what is to become of findings before the answer is made; whether there is anything to do.

    Second looks have as much time as work has. Those for which none is left, nor money, are given up.
    """
    if not is_to_sift(run):
        return False
    if tasks := unplaced(run):
        assert run.deadline is not None
        draft.wakes.append(run.deadline)
        draft.commands.append(PlaceFindings(tasks))
        return True
    assert run.wrap_up_at is not None
    draft.wakes.append(run.wrap_up_at)
    over = why_over(run, now)
    for name in [each.id for each in run.answering.sifting.due] if over else ():
        draft.settle(_unverified(name, str(over)))
    for topic in [] if over else looks_under_way(run):
        step = step_in(run, topic)
        if run.conversation(topic).unusable:
            draft.settle(_unverified(f"f{topic.number}", "output_invalid"))
        elif isinstance(step, GiveUp):
            draft.settle(_unverified(f"f{topic.number}", step.code))
        else:
            draft.converse(topic)
    if not run.answering.sifting.due:
        _rank(run, draft)
    return True


def _unverified(name: str, reason: str) -> ev.FindingVerified:
    return ev.FindingVerified(id=name, number=look_topic(name).number, verdict="unverified", reason=reason)


def _rank(run: Snapshot, draft: DecisionBuilder) -> None:
    threshold, findings = run.brief.team.findings.threshold, [*run.answering.sifting.findings.values()]
    done = filtered(run.answering.sifting, threshold)
    told = ev.FindingsFiltered(
        threshold=threshold,
        left=len(done.left),
        below=tuple(each.id for each in findings if each.id in done.below),
        refuted=tuple(each.id for each in findings if each.verdict == "refuted"),
        unverified=tuple(each.id for each in findings if each.verdict == "unverified"),
    )
    draft.settle(told)
    draft.settle(ev.FindingsRanked(order=tuple(each.id for each in done.left), counts=counted(done.left)))


def named_by_findings(run: Snapshot, tasks: Sequence[str]) -> frozenset[str]:
    """The inputs that findings are about: those of these tasks, and those that there were before."""
    said = {each.location.input for _, each in reported_in(run, tasks)}
    return frozenset(said | {each.location.input for each in run.answering.sifting.findings.values()})


def placing(
    run: Snapshot, tasks: Sequence[str], inputs: Sequence[JobInput], texts: Mapping[str, str]
) -> list[ev.AnyFact]:
    """What comes of looking up the places of what these tasks report, and of comparing it with what there was before.

    `texts` are those of documents among the inputs, by name. Linear in the inputs that findings name, once for each
    piece of evidence.
    """
    said = [
        each.numbered(number, task)
        for number, (task, each) in enumerate(reported_in(run, tasks), run.answering.sifting.reported + 1)
    ]
    wanted = named_by_findings(run, tasks)
    sources = {given.name: source_of(given, texts.get(given.name)) for given in inputs if given.name in wanted}
    looked_up = [placed(each, sources) for each in said]
    found = [each for each in looked_up if not isinstance(each, Suppressed)]
    named = {each.id: range(each.location.line, each.location.end_line + 1) for each in said}
    told = ev.FindingsPlaced(
        tasks=tuple(tasks),
        reported=len(said),
        placed=len(found),
        moved=tuple(each.id for each in found if each.location.line not in named[each.id]),
        findings=tuple(found),
        dropped=tuple(each for each in looked_up if isinstance(each, Suppressed)),
    )
    return [told, _merging(run, found, sources)]


def _merging(run: Snapshot, new: Sequence[Finding], sources: dict[str, Source]) -> ev.FindingsMerged:
    sifting, rules = run.answering.sifting, run.brief.team.findings
    known = {**sifting.findings, **{each.id: each for each in new}}

    def lens_of(task: str) -> str:
        return run.brief.team.lens_of(run.tasks[task].worker) if task in run.tasks else task

    merges = merged(list(known.values()), lens_of)
    gone = {name for merge in merges for name in merge.duplicates}
    known |= {merge.id: stands_for(merge, known) for merge in merges}
    left = [each for name, each in known.items() if name not in gone]
    unseen = [each for each in left if each.verdict is None and each.id not in sifting.looks]
    wanted = worth_a_look(unseen, rules.threshold)
    room = max(rules.second_looks - len(sifting.looks), 0)
    return ev.FindingsMerged(
        left=len(left),
        duplicates=len(gone),
        merges=tuple(merges),
        looks=tuple(look_at(each, sources) for each in wanted[:room]),
        unlooked=tuple(each.id for each in wanted[room:]),
    )
