"""Which runs a request means: the filters of lists in a query, and the same in a body."""

import json
import re
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from fastapi import Depends, Query
from pydantic import BaseModel, ConfigDict, Field, field_validator

from app.api.deps import RUN_ID
from app.api.errors import Refusal
from app.api.moments import MOMENT, moment_of, parsed
from app.domain.codes import STOP_REASONS, StopReason
from app.domain.job import MetadataKey, MetadataText, TeamName
from app.domain.names import TEAM_NAME
from app.domain.states import RunStatus
from app.store.run_lists import Label, Order, RunFilter, Sort

LABELS_AT_MOST = 16
AMOUNT = r"^\d{1,9}(\.\d{1,9})?$"
RUN_PATTERN = f"^{RUN_ID.pattern}$"

_LABEL = re.compile(r"\A((?:[^:\\]|\\.){1,130}):(.{0,512})", re.DOTALL)
_LABEL_PATTERN = r"^([^:\\]|\\.)+:"

Statuses = Annotated[list[RunStatus], Query(max_length=7, description="Only runs in one of these statuses; repeat it.")]
Team = Annotated[str | None, Query(pattern=f"^{TEAM_NAME}$", description="Only runs of this team.")]
Parent = Annotated[str | None, Query(pattern=RUN_PATTERN, description="Only the nested runs of this run.")]
StopReasonQuery = Annotated[StopReason | None, Query(description="Only runs that have ended for this reason.")]
_Labels = Annotated[str, Field(pattern=_LABEL_PATTERN, max_length=700)]
Labels = Annotated[
    list[_Labels],
    Query(
        max_length=LABELS_AT_MOST,
        description=(
            "`key:value`: only runs whose metadata have this value under this key; repeat it for several, all of which "
            "must be there. In a key `:` and `\\` are written `\\:` and `\\\\`. `5`, `true` and `null` also mean the "
            "number, the truth value and null."
        ),
    ),
]


def _moment(which: str) -> Any:
    return Query(max_length=40, description=f"{MOMENT}: only runs that {which}.")


def _amount(which: str) -> Any:
    return Query(pattern=AMOUNT, description=f"US dollars: only runs that have ended and cost {which}.")


Amount = str | None
Moment = str | None


async def _by_name(
    status: Statuses = [],  # noqa: B006 - it is read alone
    team: Team = None,
    parent: Parent = None,
    stop_reason: StopReasonQuery = None,
    metadata: Labels = [],  # noqa: B006
) -> dict[str, Any]:
    _check_reason(stop_reason)
    named = {"team": team, "parent": parent, "stop_reason": stop_reason}
    return named | {"statuses": tuple(status), "labels": _labels(metadata)}


async def _by_time(
    created_after: Annotated[Moment, _moment("were accepted then or later")] = None,
    created_before: Annotated[Moment, _moment("were accepted before it")] = None,
    finished_after: Annotated[Moment, _moment("ended then or later")] = None,
    finished_before: Annotated[Moment, _moment("ended before it")] = None,
) -> dict[str, datetime | None]:
    given = {
        "created_after": created_after,
        "created_before": created_before,
        "finished_after": finished_after,
        "finished_before": finished_before,
    }
    return {name: moment_of(text, name) if text is not None else None for name, text in given.items()}


async def _by_cost(
    cost_usd_min: Annotated[Amount, _amount("as much or more")] = None,
    cost_usd_max: Annotated[Amount, _amount("as much or less")] = None,
) -> dict[str, Decimal | None]:
    given = {"cost_usd_min": cost_usd_min, "cost_usd_max": cost_usd_max}
    return {name: Decimal(text) if text is not None else None for name, text in given.items()}


async def _filter(
    by_name: Annotated[dict[str, Any], Depends(_by_name)],
    by_time: Annotated[dict[str, Any], Depends(_by_time)],
    by_cost: Annotated[dict[str, Any], Depends(_by_cost)],
) -> RunFilter:
    return RunFilter(**by_name, **by_time, **by_cost)


FilterOf = Annotated[RunFilter, Depends(_filter)]
SortedBy = Annotated[
    Sort,
    Query(description="By what they are sorted. By `finished_at` or `cost_usd` only runs that have ended are there."),
]
InOrder = Annotated[Order, Query(description="`desc`: the newest, or the dearest, first; `asc`: last.")]


def _labels(written: list[str]) -> dict[str, tuple[Label, ...]]:
    """The labels that a query asks for. Raises `Refusal`."""
    labels: dict[str, tuple[Label, ...]] = {}
    for text in written:
        found = _LABEL.fullmatch(text)
        key = re.sub(r"\\(.)", r"\1", found[1], flags=re.DOTALL) if found else ""
        if found is None or key in labels or "\0" in text:
            detail = (
                "This is `key:value`, with each key once and no NUL; in a key `:` is written `\\:` and `\\` is written "
                "`\\\\`."
            )
            errors = [{"parameter": "metadata", "detail": detail}]
            raise Refusal(422, "request_invalid", "The query asks for a label that cannot be.", errors=errors)
        labels[key] = _values(found[2])
    return labels


def _values(text: str) -> tuple[Label, ...]:
    """What a text may stand for: itself, and what it is as JSON."""
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        if value is None or isinstance(value, bool | int) or (isinstance(value, float) and abs(value) < float("inf")):
            return text, value
    return (text,)


def _check_reason(reason: str | None) -> None:
    if reason is not None and reason not in STOP_REASONS:
        detail = f"There is no such reason; there are: {', '.join(STOP_REASONS)}."
        errors = [{"parameter": "stop_reason", "detail": detail}]
        raise Refusal(422, "request_invalid", "The query names a reason that does not exist.", errors=errors)


class RunsMeant(BaseModel):
    """Which runs are meant: those that fit everything that is said, by the filters of `GET /v1/runs`."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    status: list[RunStatus] = Field(default_factory=list, max_length=7)
    """In one of these statuses."""
    team: TeamName | None = None
    """Of this team."""
    parent: Annotated[str, Field(pattern=RUN_PATTERN)] | None = None
    """The nested runs of this run."""
    metadata: dict[MetadataKey, MetadataText | int | float | bool | None] = Field(
        default_factory=dict, max_length=LABELS_AT_MOST
    )
    """With all of these labels."""
    created_after: str | None = Field(default=None, max_length=40)
    """Accepted then or later: a day of UTC, or a moment."""
    created_before: str | None = Field(default=None, max_length=40)
    """Accepted before it."""

    @field_validator("created_after", "created_before")
    @classmethod
    def _is_a_moment(cls, text: str | None) -> str | None:
        try:
            _ = parsed(text) if text is not None else None
        except (ValueError, OverflowError):
            raise ValueError("This is a day or a moment with its time zone (RFC 3339).") from None
        return text

    @property
    def as_filter(self) -> RunFilter:
        """The filter, as the store takes it."""
        return RunFilter(
            statuses=tuple(self.status),
            team=self.team,
            parent=self.parent,
            labels={key: (value,) for key, value in self.metadata.items()},
            created_after=parsed(self.created_after) if self.created_after is not None else None,
            created_before=parsed(self.created_before) if self.created_before is not None else None,
        )
