"""Teams with plan templates, and inputs for them."""

from collections.abc import Sequence
from typing import Any

from app.domain.crew import Crew
from app.domain.expansion import expanded
from app.domain.job import JobInput, Limits
from app.domain.plan import Plan
from app.domain.strategies import Strategy
from app.domain.team import Team

WORKERS = [
    {"name": "reviewer", "description": "Reviews.", "instructions": "Review."},
    {"name": "writer", "description": "Writes.", "instructions": "Write."},
]
REVIEW: dict[str, Any] = {
    "id": "review",
    "for_each": "files",
    "title": "Review {{path}}",
    "instruction": "Review the change to {{path}} for bugs.",
    "context": "{{text}}",
    "success_criterion": "Each of the {{count}} files was looked at.",
    "worker": "reviewer",
}
SUMMARY: dict[str, Any] = {
    "id": "summary",
    "instruction": "Write one review from the results that you are given.",
    "success_criterion": "It has every finding.",
    "worker": "writer",
    "depends_on": ["review"],
}


def team_of(
    *tasks: dict[str, Any], name: str = "reviews", template: dict[str, Any] | None = None, **fields: Any
) -> Team:
    """A team with a template of these tasks."""
    values = {"name": name, "workers": WORKERS, "plan_template": {"tasks": tasks} | (template or {})}
    return Team.model_validate(values | fields)


def plan_for(
    team: Team,
    inputs: Sequence[JobInput],
    objective: str = "Review it.",
    strategy: Strategy | None = None,
    **limits: Any,
) -> Plan:
    """The plan that the team's template makes."""
    assert team.plan_template is not None
    names = tuple(given.name for given in inputs)
    crew = Crew(team, limits=Limits(**limits), inputs=names, own_strategy=strategy)
    return expanded(team.plan_template, objective, inputs, crew)


def diff_of(*files: tuple[str, int]) -> str:
    """A unified diff that adds so many lines to each file."""
    return "".join(
        f"--- a/{path}\n+++ b/{path}\n@@ -1,1 +1,{lines + 1} @@\n here it begins\n"
        + "".join(f"+line {number} of {path}\n" for number in range(lines))
        for path, lines in files
    )


def given(name: str, content: str, media_type: str = "text/plain") -> JobInput:
    """An input of a job."""
    return JobInput(name=name, content=content, media_type=media_type)
