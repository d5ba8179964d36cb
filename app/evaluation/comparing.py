"""Two sides against each other: the difference of each figure, and its noise.

The noise is that of repeating: how much the repetitions of one case differ from each other. With C cases that both
sides have, run n times each, the variance of the difference of means is Σ (s₁²/n₁ + s₂²/n₂) / C². The interval takes
the quantile of Student's t at the degrees of freedom of Welch and Satterthwaite. It says how sure the difference is
for these cases; other cases may differ by more.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import isfinite, sqrt
from statistics import NormalDist, fmean, variance

from app.evaluation.report import CaseReport, Difference
from app.evaluation.tallying import AMOUNTS

_Figure = Callable[[CaseReport], float | None]
_T_975 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Quantiles of Student's t for 1 to 30 degrees of freedom; beyond, the normal distribution's is close enough."""

_DIGITS = 12
"""Behind the point: what binary fractions leave over is no difference."""


def compared(first: Sequence[CaseReport], second: Sequence[CaseReport]) -> tuple[Difference, ...]:
    """Every figure that both sides have."""
    found = [_difference(name, figure, first, second) for name, figure in _FIGURES.items()]
    return tuple(difference for difference in found if difference is not None)


def _passed(case: CaseReport) -> float | None:
    return None if case.outcome in ("error", "skipped") else float(case.outcome == "passed")


def _routed(case: CaseReport) -> float | None:
    return None if case.routed is None else float(case.routed)


def _took(name: str) -> _Figure:
    return lambda case: float(getattr(case.took, name)) if case.run else None


_FIGURES: Mapping[str, _Figure] = {
    "pass_share": _passed, "routing_accuracy": _routed, **{name: _took(name) for name in AMOUNTS},
}  # fmt: skip


def _difference(
    name: str, figure: _Figure, first: Sequence[CaseReport], second: Sequence[CaseReport]
) -> Difference | None:
    one, other = _by_case(figure, first), _by_case(figure, second)
    both = [case for case in one if case in other]
    if not both:
        return None
    means = [fmean(fmean(side[case]) for case in both) for side in (one, other)]
    difference = round(means[0] - means[1], _DIGITS)
    error, freedom = _noise([side[case] for case in both for side in (one, other)], len(both))
    interval = None
    if error is not None:
        reach = _quantile(freedom) * error
        interval = (difference - reach, difference + reach)
    return Difference(
        name=name,
        first=means[0],
        second=means[1],
        difference=difference,
        standard_error=error,
        interval=interval,
        shown=None if interval is None else not interval[0] <= 0 <= interval[1],
        cases=len(both),
    )


def _by_case(figure: _Figure, cases: Sequence[CaseReport]) -> dict[str, list[float]]:
    found: defaultdict[str, list[float]] = defaultdict(list)
    for case in cases:
        if (value := figure(case)) is not None:
            found[case.id].append(value)
    return dict(found)


def _noise(cells: Sequence[Sequence[float]], cases: int) -> tuple[float | None, float]:
    """The standard error of the difference, None where a case has too few repetitions, and its degrees of freedom."""
    if any(len(values) < 2 for values in cells):
        return None, 0
    parts = [(variance(values) / len(values) / cases**2, len(values) - 1) for values in cells]
    total = sum(part for part, _ in parts)
    spread = sum(part**2 / freedom for part, freedom in parts)
    return sqrt(total), total**2 / spread if spread else float("inf")


def _quantile(freedom: float) -> float:
    """Of Student's t, at 97.5 %."""
    whole = max(int(freedom), 1) if isfinite(freedom) else len(_T_975) + 1
    return _T_975[whole - 1] if whole <= len(_T_975) else NormalDist().inv_cdf(0.975)
