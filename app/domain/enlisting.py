"""Taking on the workers that a plan brings along: checked like those of a team, and from then on some of them."""

from collections import Counter
from collections.abc import Collection, Iterator

from app.domain.crew import Crew
from app.domain.flaws import Flaw
from app.domain.lint import linted
from app.domain.names import is_plain_name
from app.domain.plan import NAME_SHOWN, Plan, Validation, validated
from app.domain.plan_strategy import candidates_of, following, strategy_faults, unsaid_of, with_optional
from app.domain.planned_worker import PlannedWorker
from app.domain.team import Team
from app.domain.text import is_blank


def checked(plan: Plan, crew: Crew) -> Plan:
    """The plan with its full report: of its workers, its graph, and what is odd about it."""
    if "strategy" not in plan.model_fields_set:
        plan = following(plan, crew)
    plan = with_optional(plan, unsaid_of(plan, candidates_of(plan)))
    problems = (*strategy_faults(plan, crew), *_problems(plan, crew.team))
    crew = crew.joined_by(() if problems else plan.workers)
    names = [*crew.workers, *(worker.name for worker in plan.workers if problems)]
    plan = validated(plan, names, crew.limits.tasks)
    if problems:
        report = Validation(ok=False, errors=(*problems, *plan.validation.errors))
        return plan.model_copy(update={"validation": report, "shape": None})
    return linted(plan, crew)


def _problems(plan: Plan, team: Team) -> Iterator[Flaw]:
    rules = team.dynamic
    if plan.workers and rules is None:
        yield _invalid("", "the team allows no workers beside its own")
        return
    if rules is not None and len(plan.workers) > rules.at_most:
        yield _invalid("", f"the plan brings {len(plan.workers)} workers along; at most {rules.at_most} are allowed")
        return
    names = Counter(worker.name for worker in plan.workers)
    shared = _tools_of_several(plan, team)
    for index, worker in enumerate(plan.workers):
        for field, why in _faults_of(worker, team, names, shared):
            yield _invalid(f"/{index}/{field}", f"worker {worker.name[:NAME_SHOWN]!r} {why}")


def _faults_of(
    worker: PlannedWorker, team: Team, names: Counter[str], of_several: Collection[str]
) -> Iterator[tuple[str, str]]:
    if not is_plain_name(worker.name):
        yield "name", "must have a name that matches [a-z0-9][a-z0-9_-]{0,63}"
    if names[worker.name] > 1 or team.worker(worker.name) is not None:
        yield "name", "has a name that another one has"
    if is_blank(worker.instructions):
        yield "instructions", "has no instructions"
    allowed = team.dynamic_tools
    if foreign := [tool[:NAME_SHOWN] for tool in worker.tools if tool not in allowed]:
        yield "tools", f"may not have {', '.join(foreign)}; allowed are: {', '.join(allowed) or 'none'}"
    if shared := [tool for tool in worker.tools if tool in of_several]:
        yield "tools", f"shares {', '.join(shared)} with another worker, which the team's tool_isolation forbids"


def _tools_of_several(plan: Plan, team: Team) -> frozenset[str]:
    """The tools that several would have where no two workers may share one; none of the team's is allowed there."""
    brought = Counter(tool for worker in plan.workers for tool in worker.tools)
    return frozenset(tool for tool, count in brought.items() if count > 1 and team.tool_isolation == "exclusive")


def _invalid(place: str, detail: str) -> Flaw:
    return Flaw(code="worker_invalid", pointer=f"/workers{place}", detail=detail)
