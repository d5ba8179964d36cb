"""What the codes mean by which runs, tasks and calls say why they ended: one list each, for code and for the document.

In a log a code is text, so that a release can read what another wrote. The document lists those of this release.
"""

from collections.abc import Mapping
from typing import Annotated, TypeVar

from pydantic import WithJsonSchema
from typing_extensions import TypeAliasType

from app.domain.errors import ErrorCode

STOP_REASONS: Mapping[str, str] = {
    "completed": "Every required task delivered, and there is an answer.",
    "planned": "A dry run has its plan; nothing was executed.",
    "gaps": "There is an answer, but a required task delivered nothing.",
    "synthesis_failed": "The tasks delivered, but their results could not be put together into one answer.",
    "review_failed": "There is an answer, but the critic did not accept it, or no verdict could be had.",
    "budget_exhausted": "The tokens or the money of the run were spent.",
    "deadline_exceeded": "The time of the run was up.",
    "plan_invalid": "The supervisor wrote no plan that can be carried out.",
    "plan_empty": "The supervisor wrote a plan without tasks.",
    "plan_too_large": "The supervisor wrote a plan with more tasks than the run may have.",
    "plan_truncated": "The supervisor's plan broke off at the longest reply its model can write.",
    "plan_unparseable": "The supervisor's reply could not be read as a plan.",
    "worker_unknown": "The supervisor's plan gives a task to a worker that the team does not have.",
    "plan_rejected": "The plan was rejected, or nobody approved it in time.",
    "no_results": "No task delivered anything.",
    "model_refusal": "The supervisor's model declined to plan the job.",
    "request_rejected": "The provider will never accept the supervisor's request; often a wrong model name or address.",
    "provider_auth": "The provider does not accept the key.",
    "provider_billing": "The account at the provider cannot pay.",
    "provider_unavailable": "The provider could not be reached for as long as the run was patient.",
    "question_expired": "Nobody answered a question in time, without which the run was not to go on.",
    "internal_error": "A fault of this service; its log knows more.",
    "cancelled": "A client asked for it.",
}

ERROR_CODES: Mapping[ErrorCode, str] = {
    "dependency_failed": "A task that it depends on delivered nothing.",
    "max_steps": "The worker was not done after as many replies as it may give.",
    "timeout": "The attempt, or the run, had no time left.",
    "output_truncated": "The reply broke off at the longest that the model can write.",
    "output_invalid": "What the worker handed in does not have the form that was asked for.",
    "result_rejected": "The result was checked and turned down.",
    "no_progress": "The worker repeated itself and came no further.",
    "tool_call_invalid": "The worker kept calling its tools in a way they do not take.",
    "model_refusal": "The model declined to do it.",
    "context_exceeded": "The conversation is longer than the model can read.",
    "provider_stream_incomplete": "The provider's reply broke off.",
    "provider_unavailable": "The provider is overloaded, failing or out of reach.",
    "rate_limited": "The provider asks for fewer requests.",
    "budget_exceeded": "The tokens or the money of the task or the run were spent.",
    "breaker_open": "What the task needs has failed so often that it is left alone for a while.",
    "attempts_exhausted": "Every attempt that the task may have has failed.",
    "unexpected_stop_reason": "The model stopped for a reason that this release does not know.",
    "result_too_large": "The result is larger than can be kept.",
    "internal_error": "A fault of this service; its log knows more.",
    "excluded": "The client left its result out when the answer was made anew.",
    "request_rejected": "The provider will never accept this request; often a wrong model name or address. Of a nested "
    "run: it cannot be begun.",
    "template_empty": "The inputs have nothing that the plan template of a nested run's team could be about.",
    "template_too_large": "The plan template of a nested run's team makes more tasks, or longer ones, than may be.",
    "input_unparseable": "An input cannot be read as what the plan template of a nested run's team needs.",
    "provider_auth": "The provider does not accept the key.",
    "provider_billing": "The account at the provider cannot pay.",
    "cancelled": "It was stopped before it was done.",
}


CodeT = TypeVar("CodeT", bound=str)


def described(codes: Mapping[CodeT, str], about: str) -> WithJsonSchema:
    """A text that the document shows as one of `codes`, with the meaning of each."""
    listed = "\n".join(f"- `{code}`: {meaning}" for code, meaning in codes.items())
    return WithJsonSchema(
        {
            "type": "string",
            "enum": list(codes),
            "description": f"{about}\n\n{listed}",
            "x-enumDescriptions": dict(codes),
        }
    )


StopReason = TypeAliasType("StopReason", Annotated[str, described(STOP_REASONS, "Why a run ended as it did.")])
TaskErrorCode = TypeAliasType(
    "TaskErrorCode", Annotated[str, described(ERROR_CODES, "What went wrong with a task, an attempt or a model call.")]
)
