"""The strategy of a plan where its job or its team has fixed one: a plan that says nothing gets it, and no other will
do."""

from collections.abc import Iterator

from app.domain.crew import Crew
from app.domain.findings import Finding
from app.domain.plan import Plan


def following(plan: Plan, crew: Crew) -> Plan:
    """The plan with the strategy that is fixed, if any is."""
    if crew.strategy in (None, plan.strategy):
        return plan
    return plan.model_copy(update={"strategy": crew.strategy})


def strategy_faults(plan: Plan, crew: Crew) -> Iterator[Finding]:
    """What is wrong with the strategy of a plan."""
    if crew.strategy not in (None, plan.strategy):
        who = "job" if crew.own_strategy is not None else "team"
        detail = f"the plan has the strategy {plan.strategy}, and its {who} wants {crew.strategy}"
        yield Finding(code="strategy_fixed", pointer="/strategy", detail=detail)
