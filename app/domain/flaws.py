"""Flaws: what is wrong or odd about something that a model or a client wrote, as data."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict
from typing_extensions import TypeAliasType

from app.domain.answer_flaws import ANSWER_CODES, AnswerCode
from app.domain.codes import described

_Code = Literal[
    "plan_empty", "plan_too_large", "id_invalid", "id_duplicate", "worker_missing", "worker_unknown",
    "dependency_unknown", "dependency_on_itself", "cycle", "instruction_blank", "field_invalid",
    "plan_unparseable", "output_invalid", "result_rejected", "breaker_open", "task_unknown",
    "tool_missing", "reference_unmet", "results_too_many", "instruction_vague", "reference_vague", "tasks_overlap",
    "dependency_unused", "budget_unfit", "criterion_missing", "worker_invalid", "strategy_fixed", "candidate_alone",
    "candidate_required", "material_cut",
] | AnswerCode  # fmt: skip

FLAW_CODES: Mapping[str, str] = {
    "plan_empty": "The plan has no tasks.",
    "plan_too_large": "The plan has more tasks than are allowed.",
    "id_invalid": "A task id has characters that ids may not have, or too many.",
    "id_duplicate": "Two tasks have the same id.",
    "worker_missing": "A task names no worker.",
    "worker_unknown": "A task names a worker that the team does not have.",
    "dependency_unknown": "A task depends on one that is not in the plan.",
    "dependency_on_itself": "A task depends on itself.",
    "cycle": "Tasks wait for each other in a circle.",
    "instruction_blank": "A task has no instruction.",
    "field_invalid": "A field does not have the form it should have.",
    "plan_unparseable": "The reply could not be read as a plan.",
    "output_invalid": "The reply does not have the form that was asked for.",
    "result_rejected": "The result does not show that the work was done.",
    "breaker_open": "The work cannot be done without a tool that is left alone for a while.",
    "task_unknown": "The reply names a task that the plan does not have.",
    "tool_missing": "A task plainly orders what its worker has no tool for.",
    "reference_unmet": "An instruction speaks of another task whose result the worker will not see.",
    "results_too_many": "There are more results than one answer, or one task, can be made from.",
    "instruction_vague": "An instruction does not say what is to be found out or made.",
    "reference_vague": "An instruction speaks of something above or before it that the worker may not know.",
    "tasks_overlap": "Two tasks of one worker ask for the same.",
    "dependency_unused": "A task waits for another one whose result it does not use.",
    "budget_unfit": "The budgets of tasks do not fit into what the run has, or are too small for any work.",
    "criterion_missing": "A task does not say by what one sees that it is done.",
    "worker_invalid": "A worker that the plan brings along is not as the team allows it.",
    "strategy_fixed": "The plan has another strategy than its job or its team wants.",
    "candidate_alone": "The plan is to select, and has one candidate only.",
    "candidate_required": "A task is one of several tries, and its failure would keep the run from succeeding.",
    "material_cut": "A task made by the team's template does not show all of what it is about.",
    **ANSWER_CODES,
}
FlawCode = TypeAliasType("FlawCode", Annotated[_Code, described(FLAW_CODES, "What is wrong with a plan.")])


def pointer_to(*path: str | int) -> str:
    """The JSON pointer (RFC 6901) to a place."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


class Flaw(BaseModel):
    """One thing that is wrong about what a model wrote."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    code: FlawCode
    """What is wrong, for programs."""
    pointer: str = ""
    """JSON pointer to the place."""
    detail: str
    """What is wrong, for people."""


def rejected(detail: str, *path: str | int, part: str = "data") -> Flaw:
    """What is wrong with a result that code has checked, at a place within a part of it."""
    return Flaw(code="result_rejected", pointer=pointer_to(part, *path), detail=detail)
