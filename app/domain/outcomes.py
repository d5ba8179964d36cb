"""What became of a model call and of its reply, in the words of a trace."""

from collections.abc import Mapping
from typing import Any, Literal

from app.domain.conversation import Conversation
from app.domain.fold_conversation import thrown_away

Told = Mapping[str, Any]
"""An event as a JSON value, or its data."""

Outcome = Literal["used", "continued", "cut", "refused", "unusable", "rejected", "failed", "cancelled"]
"""What became of a model call: its reply was read or acted on (`used`); was broken off by the provider and gone on with
(`continued`); was thrown away since it was `cut` at the cap, `refused`, or ended otherwise than a reply may
(`unusable`); was read and `rejected`; or there was none: the call `failed`, or was `cancelled` by us."""

_OUTCOMES: Mapping[str, Outcome] = {"output_truncated": "cut", "model_refusal": "refused", "cancelled": "cancelled"}


def outcome_of(told: Told) -> dict[str, Any]:
    """What a reply says of its own use. Events of the first release leave that to be found out."""
    content, stop_reason = told["content"], told["stop_reason"]
    if "thrown_away" in told:
        problem = told["thrown_away"]
    else:
        found = thrown_away(Conversation(), content, stop_reason)
        problem = found and found.model_dump()
    if problem is None:
        return {"outcome": "continued" if stop_reason == "pause_turn" else "used"}
    return {"outcome": _OUTCOMES.get(problem["code"], "unusable"), **problem_of(problem)}


def rejection(told: Told) -> dict[str, Any]:
    """What reading the reply has brought up, and whether the model was asked again."""
    errors = told["errors"]
    message = "; ".join(error["detail"] for error in errors)
    problem = problem_of({"code": errors[0]["code"], "message": message} if errors else None)
    return {"outcome": "rejected", **problem, "asked_again": told["note"] is not None}


def form_of(told: Told) -> dict[str, Any]:
    return {"free_form": True} if told.get("free_form") else {}


def status_of(outcome: Outcome) -> str:
    return {"used": "ok", "continued": "ok", "cancelled": "cancelled"}.get(outcome, "error")


def problem_of(error: Told | None) -> dict[str, Any]:
    return {"error_code": error["code"], "error_message": error["message"]} if error else {}
