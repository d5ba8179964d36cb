"""The strategy of a plan where its job or its team has fixed one: a plan that says nothing gets it, and no other will
do."""

from collections.abc import Collection, Iterator

from app.domain.crew import Crew
from app.domain.flaws import Flaw
from app.domain.plan import Plan
from app.domain.selecting import FEWEST_CANDIDATES, leaves_of


def following(plan: Plan, crew: Crew) -> Plan:
    """The plan with the strategy that is fixed, if any is."""
    if crew.strategy in (None, plan.strategy):
        return plan
    return plan.model_copy(update={"strategy": crew.strategy})


def candidates_of(plan: Plan) -> frozenset[str]:
    """The tasks of a plan that are to try the same thing: none in one that does not select, or has too few."""
    leaves = leaves_of(plan) if plan.strategy == "select" else frozenset()
    return leaves if len(leaves) >= FEWEST_CANDIDATES else frozenset()


def with_optional(plan: Plan, names: Collection[str]) -> Plan:
    """The plan, which does not require these tasks: of several tries one will do."""
    tasks = tuple(task.model_copy(update={"required": False}) if task.id in names else task for task in plan.tasks)
    return plan.model_copy(update={"tasks": tasks}) if names else plan


def unsaid_of(plan: Plan, names: Collection[str]) -> list[str]:
    """Those of the tasks of which it does not say whether they are required."""
    return [task.id for task in plan.tasks if task.id in names and "required" not in task.model_fields_set]


def strategy_faults(plan: Plan, crew: Crew) -> Iterator[Flaw]:
    """What is wrong with the strategy of a plan."""
    if crew.strategy not in (None, plan.strategy):
        who = "job" if crew.own_strategy is not None else "team"
        detail = f"the plan has the strategy {plan.strategy}, and its {who} wants {crew.strategy}"
        yield Flaw(code="strategy_fixed", pointer="/strategy", detail=detail)
