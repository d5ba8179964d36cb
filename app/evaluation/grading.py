"""Holds a run against what its case expects. Each grader is a function from the evidence to checks."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from app.domain.figures import figures_in
from app.domain.plan import levels_of
from app.evaluation.evidence import Evidence
from app.evaluation.expectations import ConflictExpected, Expected, Fact, GapExpected, folded
from app.evaluation.lookups import matches, values_at
from app.evaluation.report import Amounts, Check

_SHOWN = 160
_EXACT = 1e-9
Grader = Callable[[Expected, Evidence], Iterator[Check]]


def grade(expected: Expected, evidence: Evidence) -> list[Check]:
    """Everything that a case expects, held against its run; what only a judge can say is not among it."""
    return [check for grader in GRADERS for check in grader(expected, evidence)]


def _ending(expected: Expected, evidence: Evidence) -> Iterator[Check]:
    run = evidence.run
    ended = f"{run['status']}, {run['stop_reason']}"
    yield Check.of("status", run["status"] in expected.status, f"the run ended {ended}")
    if expected.stop_reason is not None:
        yield Check.of("stop_reason", run["stop_reason"] == expected.stop_reason, f"the run ended {ended}")


def _routing(expected: Expected, evidence: Evidence) -> Iterator[Check]:
    if not expected.workers:
        return
    used = evidence.workers
    missing, extra = {*expected.workers} - used, used - {*expected.workers, *expected.secondary}
    said = [f"not used: {_listed(missing)}"] * bool(missing) + [f"one too many: {_listed(extra)}"] * bool(extra)
    yield Check.of("workers", not said, "; ".join(said))


def _plan(expected: Expected, evidence: Evidence) -> Iterator[Check]:
    wanted = expected.plan
    if wanted is None:
        return
    plan = evidence.plan
    if plan is None:
        yield Check.of("plan", False, "the run has no plan")
        return
    tasks = plan["tasks"]
    if wanted.tasks is not None:
        most = len(tasks) if wanted.tasks.most is None else wanted.tasks.most
        yield Check.of("plan.tasks", wanted.tasks.least <= len(tasks) <= most, f"the plan has {len(tasks)} tasks")
    if wanted.parallel_share is not None:
        share = parallel_share(tasks)
        detail = f"{share:.2f} of the tasks have one beside them"
        yield Check.of("plan.parallel_share", share >= wanted.parallel_share, detail)
    if wanted.without:
        flaws = [flaw for flaw in plan["validation"]["warnings"] if flaw["code"] in wanted.without]
        yield Check.of("plan.without", not flaws, "; ".join(f"{flaw['code']}: {flaw['detail']}" for flaw in flaws))
    if wanted.shape is not None:
        shape = plan["shape"]["strategy"]
        yield Check.of("plan.shape", shape == wanted.shape, f"the plan is {shape}")
    if wanted.strategy is not None:
        yield Check.of("plan.strategy", plan["strategy"] == wanted.strategy, f"the plan says {plan['strategy']}")


def parallel_share(tasks: Sequence[Mapping[str, Any]]) -> float:
    """The part of the tasks on whose level of the graph there is another one; a level is the longest way to it."""
    on_level = Counter(levels_of({task["id"]: task["depends_on"] for task in tasks}).values())
    return sum(count for count in on_level.values() if count > 1) / len(tasks) if tasks else 0.0


def _facts(expected: Expected, evidence: Evidence) -> Iterator[Check]:
    for number, fact in enumerate(expected.facts, 1):
        holds, detail = _holds(fact, values_at(fact.at, evidence.document))
        yield Check.of(f"fact {number}: {fact.way}", holds, detail)


def _holds(fact: Fact, values: Sequence[Any]) -> tuple[bool, str]:
    """Whether what stands at its place says what the fact says, and what it says if not."""
    if fact.way == "count":
        return len(values) == fact.count, f"{fact.at} finds {len(values)}"
    values = [value for value in values if value is not None]
    if fact.way == "equals":
        is_there = any(_same(value, fact.equals) for value in values)
        return is_there or (fact.equals is None and not values), f"{fact.at} is {_shown(values)}"
    if not values:
        return False, f"nothing is at {fact.at}"
    texts = [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values]
    match fact.way:
        case "contains" | "lacks":
            words = str(fact.contains or fact.lacks)
            has = any(folded(words) in folded(text) for text in texts)
            return has == (fact.way == "contains"), f"{words!r} {'stands' if has else 'does not stand'} at {fact.at}"
        case "matches" | "lacks_match":
            pattern = str(fact.matches or fact.lacks_match)
            has = any(matches(pattern, text) for text in texts)
            return has == (fact.way == "matches"), f"{pattern!r} {'matches' if has else 'matches nothing'} at {fact.at}"
        case _:
            return _has_number(fact, texts), f"{fact.number:.12g} does not stand at {fact.at}: {_shown(values)}"


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same; true is no 1."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _has_number(fact: Fact, texts: Sequence[str]) -> bool:
    """Whether the number stands there; signs are left aside, as texts write a loss of 4 as -4 and as 4."""
    assert fact.number is not None
    wanted = abs(fact.number)
    allowed = max(fact.tolerance, wanted * fact.percent / 100, wanted * _EXACT)
    readings = (reading for text in texts for figure in figures_in(text) for reading in figure.readings)
    return any(abs(reading.value - wanted) <= allowed for reading in readings)


def _conflicts(expected: Expected, evidence: Evidence) -> Iterator[Check]:
    listed = evidence.result.get("conflicts", ())
    for number, planted in enumerate(expected.conflicts, 1):
        found = any(_is_the_conflict(planted, conflict) for conflict in listed)
        topics = _shown([conflict["topic"] for conflict in listed]) if listed else "none"
        yield Check.of(f"conflict {number}", found, f"it is not among those listed: {topics}")


def _is_the_conflict(planted: ConflictExpected, conflict: Mapping[str, Any]) -> bool:
    said = folded(" ".join([conflict["topic"], *(claim["claim"] for claim in conflict["claims"])]))
    by = {claim["task"] for claim in conflict["claims"]}
    return (
        all(folded(words) in said for words in planted.words)
        and by >= {*planted.tasks}
        and planted.status in (None, conflict["status"])
    )


def _gaps(expected: Expected, evidence: Evidence) -> Iterator[Check]:
    named = evidence.result.get("gaps", ())
    for number, wanted in enumerate(expected.gaps, 1):
        found = any(_is_the_gap(wanted, gap) for gap in named)
        shown = _shown([f"{gap['task']}: {gap['reason']}" for gap in named]) if named else "none"
        yield Check.of(f"gap {number}", found, f"it is not among those named: {shown}")


def _is_the_gap(wanted: GapExpected, gap: Mapping[str, Any]) -> bool:
    said = folded(f"{gap['reason']} {gap['impact']}")
    return wanted.task in (None, gap["task"]) and all(folded(words) in said for words in wanted.words)


def _spending(expected: Expected, evidence: Evidence) -> Iterator[Check]:
    most = expected.most
    if most is None:
        return
    for name in sorted(Amounts.model_fields):
        taken, allowed = getattr(evidence.took, name), getattr(most, name)
        if allowed is not None:
            yield Check.of(f"most.{name}", taken <= float(allowed), f"it took {taken:g} of {allowed}")


GRADERS: Sequence[Grader] = (_ending, _routing, _plan, _facts, _conflicts, _gaps, _spending)


def _listed(names: set[str] | frozenset[str]) -> str:
    return ", ".join(sorted(names))


def _shown(value: Any) -> str:
    text = " ".join(json.dumps(value, ensure_ascii=False).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
