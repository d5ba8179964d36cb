"""What each round of work cost and brought: told from a run's events, one after the other, like the rest of the report.

A round begins with the revision of the plan that says so, and the answer that led to it belongs to the one before. So
what all rounds cost together is what the run has cost.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from app.domain.outcomes import Told
from app.domain.report import RoundShare
from app.domain.tallies import Spent
from app.domain.timing import milliseconds

_FRUITLESS = frozenset({"task.failed", "task.skipped", "task.cancelled"})


@dataclass(slots=True)
class _Round:
    """One round."""

    number: int = 1
    began_at: datetime | None = None
    ended_at: datetime | None = None
    tasks: set[str] = field(default_factory=set)
    """Those that were new in it."""
    closing: set[str] = field(default_factory=set)
    """Those of them that were to close a gap."""
    spent: Spent = field(default_factory=Spent)
    resolved: int = 0
    """Conflicts that its answers have resolved, and those before had not."""
    gaps_left: int = 0


class RoundTallies:
    """The rounds of one run, as far as its events have been taken."""

    def __init__(self) -> None:
        self._rounds = [_Round()]
        self._plan: Sequence[str] = ()
        """Ids of the tasks of the newest plan."""
        self._delivered: set[str] = set()
        self._fruitless: set[str] = set()
        self._halved: set[str] = set()
        """Those whose nested run brought only a part."""
        self._instead: dict[str, str] = {}
        """Which tasks were to close the gaps of others, by these."""
        self._resolved: set[str] = set()

    def take(self, event: Told, at: datetime) -> None:
        """Add one more event; they must come in order."""
        told, kind, name = event["data"], event["type"], event["task_id"] or ""
        match kind:
            case "run.started":
                self._rounds[0].began_at = at
            case "run.resumed" if lost := told.get("usage"):
                self._rounds[-1].spent.add(lost, 0)
            case "llm.completed" | "llm.failed":
                self._rounds[-1].spent.add(told["usage"], told["duration_ms"])
            case "child.ended":
                self._rounds[-1].spent.add(told["usage"], 0)
            case "plan.created" | "plan.edited" | "plan.revised":
                self._replan(told, at, is_edit=kind == "plan.edited")
            case "task.succeeded":
                self._delivered.add(name)
                if (told.get("nested") or {}).get("status") == "partial":
                    self._halved.add(name)
            case "synthesis.completed":
                done = {each["id"] for each in told["conflicts"] if each["status"] == "resolved"}
                self._rounds[-1].resolved += len(done - self._resolved)
                self._resolved |= done
            case _ if kind in _FRUITLESS:
                self._fruitless.add(name)

    def _replan(self, told: Told, at: datetime, *, is_edit: bool) -> None:
        if (number := told.get("round")) is not None:
            before = self._rounds[-1]
            before.ended_at, before.gaps_left = at, self._gaps()
            self._rounds.append(_Round(number, at, closing={*told.get("redispatched", {}).values()}))
        self._instead |= told.get("redispatched", {})
        self._plan = [task["id"] for task in told["tasks"]]
        known = {name for each in self._rounds[:-1] for name in each.tasks}
        kept = set[str]() if is_edit else self._rounds[-1].tasks
        self._rounds[-1].tasks = kept | ({*self._plan} - known)

    def _gaps(self) -> int:
        open_parts = {name for name in self._halved if self._instead.get(name) not in self._delivered}
        return len((self._fruitless | open_parts).intersection(self._plan))

    def told(self, end: datetime) -> tuple[RoundShare, ...]:
        """What each round took and brought, up to `end`; nothing of a run that has no plan."""
        if not self._plan:
            return ()
        self._rounds[-1].gaps_left = self._gaps()
        return tuple(self._share(each, end) for each in self._rounds)

    def _share(self, each: _Round, end: datetime) -> RoundShare:
        delivered = each.tasks & self._delivered
        return RoundShare(
            round=each.number,
            tasks=len(each.tasks),
            delivered=len(delivered),
            llm_calls=each.spent.calls,
            tokens=each.spent.tokens,
            cost_usd=each.spent.cost_usd,
            wall_ms=milliseconds(each.began_at, each.ended_at or end) if each.began_at else 0,
            gaps_closed=len(each.closing & delivered),
            gaps_left=each.gaps_left,
            conflicts_resolved=each.resolved,
        )
