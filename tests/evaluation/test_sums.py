"""What cases come to together: totals, the confusion table, bars, and two sides against each other."""

import pytest

from app.evaluation.comparing import compared
from app.evaluation.report import CaseReport
from app.evaluation.sides import Side, SideInvalid, side_of
from app.evaluation.suite import Bars
from app.evaluation.tallying import bars_of, confusion_of, overhead_of, routing_by_worker, totals_of
from tests.evaluation.cases import case


def routed(name: str, expected: str, used: str, *, right: bool) -> CaseReport:
    found = case(name, 1, passed=right, routed=right)
    return found.model_copy(update={"expected_workers": (expected,), "used_workers": (*used.split(),)})


ERROR = CaseReport(id="e", repeat=1, outcome="error", error="HTTP 500")
SKIPPED = CaseReport(id="s", repeat=1, outcome="skipped", error="no model")


def test_errors_count_among_those_that_do_not_pass_and_skipped_ones_not_at_all() -> None:
    cases = [case("a", 1, passed=True, llm_calls=4), case("b", 1, passed=False, llm_calls=2), ERROR, SKIPPED]

    totals = totals_of(cases)

    assert (totals.passed, totals.failed, totals.errors, totals.skipped) == (1, 1, 1, 1)
    assert totals.pass_share == pytest.approx(1 / 3)
    assert (totals.routing_accuracy, totals.mean and totals.mean.llm_calls) == (None, 3)


def test_nothing_is_said_where_all_were_skipped() -> None:
    assert (totals_of([SKIPPED]).pass_share, totals_of([SKIPPED]).mean) == (None, None)
    assert overhead_of([SKIPPED], 5).mean_ms == 0


def test_the_confusion_table_counts_what_was_used_where_something_was_expected() -> None:
    cases = [
        routed("1", "billing", "billing", right=True),
        routed("2", "billing", "billing", right=True),
        routed("3", "billing", "support", right=False),
        routed("4", "support", "billing support", right=False),
        ERROR,
    ]

    table = [(row.expected, row.used, row.runs, row.right) for row in confusion_of(cases)]
    by_worker = {row.worker: (row.expected, row.used, row.both, row.unwanted) for row in routing_by_worker(cases, {})}

    assert table == [
        (("billing",), ("billing",), 2, 2),
        (("billing",), ("support",), 1, 0),
        (("support",), ("billing", "support"), 1, 0),
    ]
    assert by_worker == {"billing": (3, 3, 2, 1), "support": (1, 2, 1, 1)}
    assert totals_of(cases).routing_accuracy == 0.5


def test_a_secondary_worker_is_not_unwanted() -> None:
    cases = [routed("1", "billing", "billing support", right=True)]

    assert [row.unwanted for row in routing_by_worker(cases, {"1": frozenset({"support"})})] == [0, 0]


@pytest.mark.parametrize(
    ("bars", "met"),
    [
        (Bars(pass_share=0.5), [True]),
        (Bars(pass_share=0.51), [False]),
        (Bars(pass_share=0, routing_accuracy=0.5), [True, True]),
        (Bars(pass_share=0, routing_accuracy=0.6), [True, False]),
        (Bars.model_validate({"pass_share": 0, "mean_cost_usd": "0.02", "mean_wall_s": 3}), [True, True, True]),
        (Bars.model_validate({"pass_share": 0, "mean_cost_usd": "0.019", "mean_wall_s": 2.9}), [True, False, False]),
        (Bars(pass_share=0, mean_llm_calls=4, mean_tokens=99), [True, True, False]),
    ],
)
def test_a_bar_is_a_least_share_or_a_most_on_the_average(bars: Bars, met: list[bool]) -> None:
    took = {"cost_usd": 0.02, "wall_s": 3, "llm_calls": 4, "tokens": 100}
    cases = [case("a", 1, passed=True, routed=True, **took), case("b", 1, passed=False, routed=False, **took)]

    assert [bar.met for bar in bars_of(bars, totals_of(cases))] == met


def test_a_bar_of_which_nothing_is_known_is_met() -> None:
    assert [bar.met for bar in bars_of(Bars(routing_accuracy=1), totals_of([SKIPPED]))] == [True, True]


def cases_of(calls: dict[str, list[int]]) -> list[CaseReport]:
    return [
        case(name, repeat, passed=True, llm_calls=count)
        for name, counts in calls.items()
        for repeat, count in enumerate(counts, 1)
    ]


def test_a_difference_larger_than_its_noise_is_shown_with_its_interval() -> None:
    first, second = cases_of({"a": [10, 12], "b": [20, 22]}), cases_of({"a": [4, 6], "b": [5, 7]})

    found = {each.name: each for each in compared(first, second)}
    calls = found["llm_calls"]

    assert (calls.first, calls.second, calls.difference, calls.cases) == (16, 5.5, 10.5, 2)
    # Each cell has a variance of 2 over two repetitions, so the error is √(4 · 2/2 / 2²), with 4 degrees of freedom.
    assert calls.standard_error == pytest.approx(1)
    assert calls.interval == pytest.approx((10.5 - 2.776, 10.5 + 2.776))
    assert calls.shown is True
    assert (found["pass_share"].shown, found["pass_share"].interval) == (False, (0, 0))
    assert "routing_accuracy" not in found


def test_a_difference_within_its_noise_is_not_shown() -> None:
    first, second = cases_of({"a": [10, 14]}), cases_of({"a": [9, 13]})

    [calls] = [each for each in compared(first, second) if each.name == "llm_calls"]

    assert (calls.difference, calls.shown) == (1, False)


def test_without_repetitions_the_noise_is_unknown() -> None:
    [calls] = [each for each in compared(cases_of({"a": [9]}), cases_of({"a": [3]})) if each.name == "llm_calls"]

    assert (calls.difference, calls.standard_error, calls.interval, calls.shown) == (6, None, None, None)


def test_cases_that_one_side_lacks_are_left_out() -> None:
    first = [*cases_of({"a": [9]}), ERROR.model_copy(update={"id": "b"})]

    assert {each.cases for each in compared(first, cases_of({"a": [3], "b": [100]}))} == {1}
    assert compared([ERROR], [ERROR]) == ()


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("general", Side("general")),
        ("general@2", Side("general@2")),
        ("general@2:analyst=fast,supervisor=deep", Side("general@2", {"analyst": "fast", "supervisor": "deep"})),
        (":writer=claude-opus-5-5", Side(None, {"writer": "claude-opus-5-5"})),
    ],
)
def test_a_side_is_a_team_a_version_or_other_models(text: str, side: Side) -> None:
    assert side_of(text, "--team") == side


@pytest.mark.parametrize("text", ["", ":", "General", "general@0", "general:", "general:analyst", "general:a=b,"])
def test_a_side_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(SideInvalid, match="--against"):
        side_of(text, "--against")
