"""Approval of plans by people: what is waited for, until when, and what became of it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from app.domain.errors import ChargehandError
from app.domain.flaws import Flaw

ApprovalCause = Literal["job", "team", "cost"]
"""Why a plan is to be approved: its job wants that, or its team, or its team since it is likely to cost too much."""
ApprovalDefault = Literal["approve", "reject"]
ApprovalStatus = Literal["requested", "approved", "rejected"]
Decider = Literal["client", "default"]
"""Who has decided: a client, or the default, since no client did in time."""

REASON_CHARACTERS = 2_000
"""What a client may say to its edit or its rejection."""


@dataclass(frozen=True)
class Approval:
    """The approval that a plan waits for, and what became of it."""

    cause: ApprovalCause
    expires_at: datetime
    """When the default is taken unless somebody has decided."""
    default: ApprovalDefault
    status: ApprovalStatus = "requested"
    by: Decider | None = None
    """Who has decided; None while nobody has."""
    reason: str | None = None
    """Why the plan was rejected, in the client's words."""

    @property
    def is_open(self) -> bool:
        """Whether nobody has decided yet."""
        return self.status == "requested"


Revisions = Collection[int] | None
"""The revisions of a plan that a client means; None for whichever is the newest."""


class ApprovalRefused(ChargehandError):
    """A decision on a plan, or an edit, that is not taken."""


class NotWaiting(ApprovalRefused):
    """The plan does not wait for approval: nobody wants it approved, or there is none yet."""


class Decided(ApprovalRefused):
    """The plan has been decided on: by a client, or by the default, its time being up."""

    def __init__(self, status: ApprovalStatus, by: Decider) -> None:
        super().__init__(status, by)
        self.status = status
        self.by = by


class PlanChanged(ApprovalRefused):
    """The plan is in another revision than the client means."""

    def __init__(self, revision: int) -> None:
        super().__init__(revision)
        self.revision = revision


class EditInvalid(ApprovalRefused):
    """The plan could not be carried out after the edit."""

    def __init__(self, flaws: Sequence[Flaw]) -> None:
        super().__init__()
        self.flaws = flaws
