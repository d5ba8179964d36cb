"""Adds up what became of the cases: totals, the confusion table, and the bars."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean, median

from app.evaluation.report import Amounts, Bar, CaseReport, Confusion, Means, Overhead, Totals, WorkerRouting
from app.evaluation.suite import Bars

AMOUNTS = tuple(Amounts.model_fields)


def totals_of(cases: Sequence[CaseReport]) -> Totals:
    """All cases together."""
    count = {outcome: sum(case.outcome == outcome for case in cases) for outcome in ("passed", "failed", "error")}
    graded = sum(count.values())
    labelled = [case for case in cases if case.routed is not None]
    return Totals(
        cases=len({case.id for case in cases}),
        runs=len(cases),
        passed=count["passed"],
        failed=count["failed"],
        errors=count["error"],
        skipped=len(cases) - graded,
        pass_share=count["passed"] / graded if graded else None,
        routing_accuracy=fmean(bool(case.routed) for case in labelled) if labelled else None,
        mean=_mean([case.took for case in cases if case.run]),
    )


def _mean(took: Sequence[Amounts]) -> Means | None:
    return Means(**{name: fmean(getattr(each, name) for each in took) for name in AMOUNTS}) if took else None


def confusion_of(cases: Sequence[CaseReport]) -> tuple[Confusion, ...]:
    """Expected workers against used ones: of each label the most frequent first."""
    found: defaultdict[tuple[tuple[str, ...], tuple[str, ...]], list[bool]] = defaultdict(list)
    for case in cases:
        if case.routed is not None:
            found[case.expected_workers, case.used_workers].append(case.routed)
    table = [
        Confusion(expected=expected, used=used, right=sum(right), runs=len(right))
        for (expected, used), right in found.items()
    ]
    return tuple(sorted(table, key=lambda row: (row.expected, -row.runs, row.used)))


def routing_by_worker(cases: Sequence[CaseReport], secondary: dict[str, frozenset[str]]) -> tuple[WorkerRouting, ...]:
    """How well each worker was found; `secondary` holds by case who may be used beside its label."""
    labelled = [case for case in cases if case.routed is not None]
    names = sorted({name for case in labelled for name in (*case.expected_workers, *case.used_workers)})
    return tuple(
        WorkerRouting(
            worker=name,
            expected=sum(name in case.expected_workers for case in labelled),
            used=sum(name in case.used_workers for case in labelled),
            both=sum(name in case.expected_workers and name in case.used_workers for case in labelled),
            unwanted=sum(
                name in case.used_workers and name not in {*case.expected_workers, *secondary.get(case.id, ())}
                for case in labelled
            ),
        )
        for name in names
    )


def bars_of(bars: Bars, totals: Totals) -> tuple[Bar, ...]:
    """The bars that the suite has, held against the totals."""
    reached = {"pass_share": totals.pass_share, "routing_accuracy": totals.routing_accuracy}
    spent = {f"mean_{name}": getattr(totals.mean, name, None) for name in AMOUNTS}
    found: list[Bar] = []
    for name in Bars.model_fields:
        wanted = getattr(bars, name)
        if wanted is None:
            continue
        got = reached[name] if name in reached else spent[name]
        met = got is None or (got >= float(wanted) if name in reached else got <= float(wanted))
        found.append(Bar(name=name, wanted=float(wanted), got=got, met=met))
    return tuple(found)


def overhead_of(cases: Sequence[CaseReport], elapsed_ms: float) -> Overhead:
    """What the harness took over the runs themselves; `elapsed_ms` is the time of all cases side by side."""
    had = [case for case in cases if case.run]
    over = [case.overhead_ms for case in had] or [0.0]
    walls = [round(case.took.wall_s * 1000) for case in had] or [0]
    return Overhead(
        elapsed_ms=round(elapsed_ms, 1),
        runs_ms=sum(walls),
        longest_run_ms=max(walls),
        mean_ms=round(fmean(over), 1),
        median_ms=round(median(over), 1),
        largest_ms=round(max(over), 1),
    )
