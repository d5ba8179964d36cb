"""What comes of suites, as `--json` writes it."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict

Outcome = Literal["passed", "failed", "error", "skipped"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Check(_Part):
    """One thing that a case expects, held against its run."""

    name: str
    """What was looked at."""
    passed: bool
    """Whether it is as expected."""
    detail: str = ""
    """What was found where it is not; empty otherwise."""

    @classmethod
    def of(cls, name: str, passed: bool, detail: str) -> Self:
        """A check, whose detail is of interest only when it fails."""
        return cls(name=name, passed=passed, detail="" if passed else detail)


class Amounts(_Part):
    """What a run took, planning included."""

    cost_usd: float = 0
    """US dollars."""
    llm_calls: int = 0
    """Model calls."""
    tool_calls: int = 0
    """Tool calls."""
    tokens: int = 0
    """Tokens read and written."""
    wall_s: float = 0
    """Seconds from its start to its end."""


class Means(_Part):
    """What a run took on the average."""

    cost_usd: float
    """US dollars."""
    llm_calls: float
    """Model calls."""
    tool_calls: float
    """Tool calls."""
    tokens: float
    """Tokens read and written."""
    wall_s: float
    """Seconds from its start to its end."""


class CaseReport(_Part):
    """What became of a case, in one of its repetitions."""

    id: str
    """The case."""
    repeat: int
    """Which repetition, from 1."""
    outcome: Outcome
    """`error`: its run could not be had. `skipped`: it was not held against what it expects, and why is in `error`."""
    error: str | None = None
    """Why the run could not be had, or was skipped."""
    run: str | None = None
    """The run; null when there is none."""
    checks: tuple[Check, ...] = ()
    """Each thing that was expected."""
    expected_workers: tuple[str, ...] = ()
    """Its label for the routing, in alphabetical order; empty when it has none."""
    used_workers: tuple[str, ...] = ()
    """The workers that were used."""
    routed: bool | None = None
    """Whether the right workers were used; null for a case without a label, or without a run."""
    took: Amounts = Amounts()
    """What the run took."""
    judge: str | None = None
    """The run of the judge; null when nobody judged. What it cost is in `judging_usd`."""
    judging_usd: float = 0
    """What the judge cost, in US dollars: no part of what the run took."""
    elapsed_ms: float = 0
    """From before its job was sent until it was graded, without the judge."""
    overhead_ms: float = 0
    """What of this was not the run: `elapsed_ms` without the `wall_ms` and `queued_ms` of its run."""

    @property
    def wrong(self) -> list[str]:
        """What is not as expected, a line each."""
        return [f"{check.name}: {check.detail}" for check in self.checks if not check.passed]


class Totals(_Part):
    """All cases of a side together."""

    cases: int
    """Cases of the suite."""
    runs: int
    """Cases times repetitions."""
    passed: int
    """As expected."""
    failed: int
    """Not as expected."""
    errors: int
    """Without a run."""
    skipped: int
    """Not graded."""
    pass_share: float | None
    """Passed ones, of all but the skipped; null when all were skipped."""
    routing_accuracy: float | None
    """Rightly routed ones, of those with a label and a run; null when there are none."""
    mean: Means | None
    """What a run took on the average; null when there was none."""


class Confusion(_Part):
    """How often certain workers were used where others were expected, or the same."""

    expected: tuple[str, ...]
    """The label."""
    used: tuple[str, ...]
    """The workers that were used."""
    right: int
    """How many of these runs count as right: those whose other workers are secondary ones."""
    runs: int
    """How many runs."""


class WorkerRouting(_Part):
    """How well one worker was found."""

    worker: str
    """Its name."""
    expected: int
    """Runs in which it was expected."""
    used: int
    """Runs in which it was used."""
    both: int
    """Runs in which it was expected and used."""
    unwanted: int
    """Runs in which it was used, and neither expected nor secondary."""


class Bar(_Part):
    """A bar of the suite."""

    name: str
    """What it is about."""
    wanted: float
    """The least, or the most, by its name."""
    got: float | None
    """What came of it; null when nothing could be said."""
    met: bool
    """Whether it is met; one about which nothing could be said is, since every case that says something was skipped."""


class Overhead(_Part):
    """What the harness took over the runs themselves."""

    elapsed_ms: float
    """From the first job to the last grade, of all cases with all sides."""
    runs_ms: int
    """The `wall_ms` of all runs added up."""
    longest_run_ms: int
    """The longest of them: no harness can be faster."""
    mean_ms: float
    """Mean `overhead_ms` of a case."""
    median_ms: float
    """Median `overhead_ms` of a case."""
    largest_ms: float
    """Largest `overhead_ms` of a case."""


class SideReport(_Part):
    """All cases with one team."""

    team: str
    """The team with its version."""
    models: dict[str, str]
    """Models that differ from the team's, by worker or `supervisor`."""
    totals: Totals
    """All cases together."""
    confusion: tuple[Confusion, ...]
    """Expected workers against used ones, of cases with a label."""
    workers: tuple[WorkerRouting, ...]
    """The same by worker."""
    overhead: Overhead
    """What the harness itself took."""
    cases: tuple[CaseReport, ...]
    """Each case in each repetition."""

    @property
    def named(self) -> str:
        """The side as `--team` spells it."""
        models = ",".join(f"{name}={model}" for name, model in sorted(self.models.items()))
        return f"{self.team}:{models}" if models else self.team


class Difference(_Part):
    """A figure of the first side less that of the second, and its noise."""

    name: str
    """Which figure."""
    first: float
    """Its mean on the first side, over the cases that both sides have."""
    second: float
    """Its mean on the second side."""
    difference: float
    """First less second."""
    standard_error: float | None
    """Of the difference, from how the repetitions of each case differ; null when a case has fewer than two."""
    interval: tuple[float, float] | None
    """The difference is in it with a confidence of 95 %; null without a standard error."""
    shown: bool | None
    """Whether a difference is shown: the interval does not hold 0. Null without an interval."""
    cases: int
    """How many cases it rests on."""


class SuiteReport(_Part):
    """What came of a suite."""

    suite: str
    """Its name."""
    file: str
    """Its file."""
    repeat: int
    """How often each case was run."""
    met: bool
    """Whether the first side meets all bars, and no case of either side ended in an error."""
    bars: tuple[Bar, ...]
    """The bars, for the first side."""
    sides: tuple[SideReport, ...]
    """The first side, and the one it is compared with."""
    comparison: tuple[Difference, ...] = ()
    """The two sides against each other; empty for one."""


class Report(_Part):
    """What `--json` writes."""

    met: bool
    """Whether all suites are met."""
    suites: tuple[SuiteReport, ...]
    """One for each file, in their order."""
