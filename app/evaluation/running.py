"""Runs the cases of a suite side by side, and grades each as it ends."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from app.evaluation.client import Client, NoRun
from app.evaluation.comparing import compared
from app.evaluation.evidence import Evidence, Resource
from app.evaluation.expectations import Rubric
from app.evaluation.grading import grade
from app.evaluation.judging import NotJudged, checks_of, job_of, verdict_of
from app.evaluation.report import CaseReport, Check, Outcome, SideReport, SuiteReport
from app.evaluation.sides import Side
from app.evaluation.suite import Case
from app.evaluation.suite_file import SuiteFile, SuiteInvalid
from app.evaluation.tallying import bars_of, confusion_of, overhead_of, routing_by_worker, totals_of
from app.yaml_places import Place

BY_DEMO = "the demo model answers, which works by rules alone"

_Sides = Sequence[tuple[Side, Resource]]
"""Sides with their teams."""


async def run_suites(
    client: Client, files: Sequence[SuiteFile], sides: Sequence[Side], repeat: int
) -> list[SuiteReport]:
    """Every case, `repeat` times with each side. Raises `SuiteInvalid` or `ServiceUnusable` before anything runs."""
    teams = [await _teams_of(client, file, sides) for file in files]
    return [await _run_suite(client, file, of, repeat) for file, of in zip(files, teams, strict=True)]


async def _teams_of(client: Client, file: SuiteFile, sides: Sequence[Side]) -> _Sides:
    """The sides with their teams, which have what the suite names."""
    found = [(side, await _team_of(client, file, side)) for side in sides]
    for side, team in found:
        _check_names(file, side, team)
    if any(case.expect.rubric for case in file.suite.cases):
        await _check_judge(client, file)
    return found


async def _check_judge(client: Client, file: SuiteFile) -> None:
    """Raises `SuiteInvalid` for a judge that there is not."""
    judge = file.suite.judge
    team = await client.team(judge.team)
    if team is None:
        raise file.invalid(("judge", "team"), f"the service has no team {judge.team}")
    names = [worker["name"] for worker in team["workers"]]
    if judge.worker not in names:
        raise file.invalid(
            ("judge", "worker"), f"{judge.team} has no worker {judge.worker}; it has: {', '.join(names)}"
        )


async def _run_suite(client: Client, file: SuiteFile, sides: _Sides, repeat: int) -> SuiteReport:
    suite = file.suite
    reports = await _run_sides(client, file, sides, repeat)
    bars = bars_of(suite.bars, reports[0].totals)
    return SuiteReport(
        suite=suite.name,
        file=str(file.path),
        repeat=repeat,
        met=all(bar.met for bar in bars) and not any(report.totals.errors for report in reports),
        bars=bars,
        sides=tuple(reports),
        comparison=compared(*(report.cases for report in reports)) if len(reports) > 1 else (),
    )


async def _team_of(client: Client, file: SuiteFile, side: Side) -> Resource:
    reference = side.team or file.suite.team
    team = await client.team(reference)
    if team is None:
        raise file.invalid(("team",), f"the service has no team {reference}")
    return team


def _check_names(file: SuiteFile, side: Side, team: Resource) -> None:
    """Raises `SuiteInvalid` for workers that the team does not have: a label that nothing could fulfil is a slip."""
    names = {worker["name"] for worker in team["workers"]}
    known = f"{team['name']} has: {', '.join(sorted(names))}"
    if unknown := sorted(side.models.keys() - names - {"supervisor"}):
        raise SuiteInvalid(f"{file.path}:1: no worker is called {', '.join(unknown)}; {known}")
    for number, case in enumerate(file.suite.cases):
        if side.models and file.suite.is_plan_only(case):
            why = "its job is only planned, and other models work on a plan that is there"
            raise file.invalid(("cases", number, "id"), f"the case cannot be run with other models: {why}")
        if side.team is None and not team["dynamic_workers"]:
            for place, name in _labels(case):
                if name not in names:
                    raise file.invalid(("cases", number, "expect", *place), f"no worker is called {name}; {known}")


def _labels(case: Case) -> Iterator[tuple[Place, str]]:
    for label in ("workers", "secondary"):
        for number, name in enumerate(getattr(case.expect, label)):
            yield (label, number), name


async def _run_sides(client: Client, file: SuiteFile, sides: _Sides, repeat: int) -> list[SideReport]:
    """Every case with every side, in turns, so that what else the service has to do falls on all sides alike."""
    running = [_Running(client, file, side, f"{team['name']}@{team['version']}") for side, team in sides]
    begun = perf_counter()
    await _side_by_side(running, [case for case in file.suite.cases if not case.needs_model], repeat)
    for each in running:
        each.skips_beyond_rules = each.met_demo  # Nothing that needs a model has to be run to know that.
    await _side_by_side(running, [case for case in file.suite.cases if case.needs_model], repeat)
    elapsed_ms = _since(begun)
    return [_side_report(each, elapsed_ms, repeat) for each in running]


def _side_report(running: "_Running", elapsed_ms: float, repeat: int) -> SideReport:
    cases = running.file.suite.cases
    reports = tuple(running.found[case.id, number] for case in cases for number in _counted(repeat))
    secondary = {case.id: frozenset(case.expect.secondary) for case in cases}
    return SideReport(
        team=running.team,
        models=dict(running.side.models),
        totals=totals_of(reports),
        confusion=confusion_of(reports),
        workers=routing_by_worker(reports, secondary),
        overhead=overhead_of(reports, elapsed_ms),
        cases=reports,
    )


async def _side_by_side(running: Sequence["_Running"], cases: Sequence[Case], repeat: int) -> None:
    """Each case in each repetition with each side, as many at once as the suite allows."""
    places = asyncio.Semaphore(running[0].file.suite.defaults.at_once)

    async def in_turn(each: _Running, case: Case, number: int) -> None:
        async with places:
            each.found[case.id, number] = await each.report(case, number)

    async with asyncio.TaskGroup() as group:
        for number in _counted(repeat):
            for case in cases:
                for each in running:
                    group.create_task(in_turn(each, case, number))


def _counted(repeat: int) -> range:
    return range(1, repeat + 1)


@dataclass(slots=True)
class _Running:
    """Runs single cases with one side."""

    client: Client
    file: SuiteFile
    side: Side
    team: str
    """The team in the version that is measured."""
    found: dict[tuple[str, int], CaseReport] = field(default_factory=dict)
    """What became of the cases, by their id and repetition."""
    met_demo: bool = False
    """Whether the demo model has answered."""
    skips_beyond_rules: bool = False
    """Whether cases that need a model are skipped without a run."""

    async def report(self, case: Case, number: int) -> CaseReport:
        """What becomes of a case in a repetition."""
        if case.needs_model and self.skips_beyond_rules:
            return _skipped(case, number)
        begun = perf_counter()
        try:
            evidence = await self._evidence(case)
        except NoRun as error:
            return CaseReport(id=case.id, repeat=number, outcome="error", error=str(error), elapsed_ms=_since(begun))
        self.met_demo |= evidence.is_by_demo
        checks = grade(case.expect, evidence)
        report = _reported(case, number, evidence, checks, _since(begun))
        if case.needs_model and evidence.is_by_demo:
            return _skipped(case, number)
        if case.expect.rubric is not None:
            return await self._judged(report, case.expect.rubric, evidence)
        return report

    async def _evidence(self, case: Case) -> Evidence:
        wait_s = self.file.suite.defaults.wait_s
        job = {
            "objective": case.objective,
            "team": self.team,
            "inputs": self.file.inputs[case.id],
            "limits": self.file.suite.limits_of(case),
            "plan": case.plan and case.plan.model_dump(mode="json", exclude_unset=True),
            "output_schema": case.output_schema,
            "on_question": case.on_question,
            "metadata": {"purpose": "evaluation", "suite": self.file.suite.name, "case": case.id},
        }
        if self.file.suite.is_plan_only(case):
            return await self.client.evidence(await self.client.planned(job, wait_s))
        if not self.side.models:
            return await self.client.evidence(await self.client.done(job, wait_s))
        planning = await self.client.planned(job, wait_s)
        if planning["status"] != "succeeded":
            return await self.client.evidence(planning)
        run = await self.client.forked(planning, self.side.models, wait_s)
        return await self.client.evidence(run, planning)

    async def _judged(self, report: CaseReport, rubric: Rubric, evidence: Evidence) -> CaseReport:
        """The report with what a judge finds."""
        suite = self.file.suite
        if evidence.is_by_demo:
            outcome: Outcome = "failed" if report.outcome == "failed" else "skipped"
            return report.model_copy(update={"outcome": outcome, "error": f"no judge was asked: {BY_DEMO}"})
        try:
            judged = await self.client.evidence(
                await self.client.done(job_of(suite.judge, rubric, evidence), suite.defaults.wait_s)
            )
            checks = (*report.checks, *checks_of(rubric, verdict_of(rubric, judged)))
        except (NoRun, NotJudged) as error:
            return report.model_copy(update={"outcome": "error", "error": f"no verdict: {error}"})
        told = {"checks": checks, "outcome": _outcome(checks), "judge": judged.run["id"]}
        return report.model_copy(update={**told, "judging_usd": judged.cost_usd})


def _reported(case: Case, number: int, evidence: Evidence, checks: Sequence[Check], elapsed_ms: float) -> CaseReport:
    routed = next((check.passed for check in checks if check.name == "workers"), None)
    return CaseReport(
        id=case.id,
        repeat=number,
        outcome=_outcome(checks),
        run=evidence.run["id"],
        checks=tuple(checks),
        expected_workers=tuple(sorted(case.expect.workers)),
        used_workers=tuple(sorted(evidence.workers)),
        routed=routed,
        took=evidence.took,
        elapsed_ms=elapsed_ms,
        overhead_ms=round(elapsed_ms - evidence.wall_ms - evidence.queued_ms, 1),
    )


def _skipped(case: Case, number: int) -> CaseReport:
    return CaseReport(id=case.id, repeat=number, outcome="skipped", error=BY_DEMO)


def _outcome(checks: Sequence[Check]) -> Outcome:
    return "passed" if all(check.passed for check in checks) else "failed"


def _since(begun: float) -> float:
    """Milliseconds."""
    return round((perf_counter() - begun) * 1000, 1)
