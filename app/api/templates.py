"""Plans made from templates of teams, as jobs are accepted: the plan, or why there can be none."""

import asyncio
from collections.abc import Sequence

from app.api.errors import Refusal
from app.domain.crew import Crew
from app.domain.expansion import expanded, takes_template
from app.domain.job import JobInput
from app.domain.plan import Plan, Planning
from app.domain.team import Team


def wants_template(team: Team, planning: Planning | None, objective: str, *, has_inputs: bool) -> bool:
    """Whether the plan of a job is made from the template of its team. Raises `Refusal` where the job wants it so and
    the team has none."""
    if planning == "template" and team.plan_template is None:
        errors = [{"pointer": "/planning", "detail": "The team has no plan_template; its supervisor plans by a model."}]
        raise Refusal(422, "template_missing", "There is no template to plan this job by.", errors=errors)
    return takes_template(team, planning, objective, has_inputs=has_inputs)


async def plan_of_template(crew: Crew, objective: str, inputs: Sequence[JobInput]) -> Plan:
    """The plan that the template of the team makes for a job. Raises `JobRefused`.

    It is made in a thread: inputs may be long.
    """
    template = crew.team.plan_template
    assert template is not None
    return await asyncio.to_thread(expanded, template, objective, inputs, crew)
