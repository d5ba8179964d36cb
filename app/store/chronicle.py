"""A run's life as it is told once it is fact: to the witness of the process, and as log lines, one for each thing that
an operator asks about: codes, numbers and ids, never content."""

from collections.abc import Sequence
from typing import Any, Literal

import structlog

from app.domain import events as ev
from app.domain.brief import Brief
from app.domain.events import RUN_ENDS, Event
from app.domain.snapshot import Snapshot
from app.domain.timing import timing_of
from app.store.witness import Witness

log = structlog.get_logger(__name__)

Line = tuple[Literal["info", "warning"], str, dict[str, Any]]
"""Level, words and fields of a log line."""


def whose(brief: Brief) -> dict[str, str]:
    """What names a run on each line about it."""
    return {"run_id": brief.run_id, "tenant": brief.tenant, "trace_id": brief.trace.trace_id}


def tell(witness: Witness, run: Snapshot, events: Sequence[Event]) -> None:
    """Have the witness, and who listens beside it, hear of `events`, the newest of a run, and log what they say about
    its life."""
    for hears in (witness.heard_facts, *witness.listeners):
        hears(run, events)
    for event in events:
        if line := _ended(run) if event.type in RUN_ENDS else _line(event.data):
            level, words, fields = line
            task = {"task_id": event.task_id, "attempt": event.attempt} if event.task_id else {}
            log.log(_LEVELS[level], words, **whose(run.brief), **task, **fields)


_LEVELS = {"info": 20, "warning": 30}


def _line(fact: ev.AnyFact) -> Line | None:
    match fact:
        case ev.RunStarted():
            return "info", "run started", {"engine": fact.engine, "epoch": fact.epoch}
        case ev.ResultsReused():
            return "info", "results reused", {"origin": fact.run, "tasks": len(fact.tasks)}
        case ev.RunResumed():
            return "info", "run resumed", {"engine": fact.engine, "epoch": fact.epoch, "lost_calls": fact.lost_calls}
        case ev.RunWaiting():
            return "info", "run waits", {"reason": fact.reason, "until": fact.until and fact.until.isoformat()}
        case ev.PlanCreated():
            return "info", "plan made", {"tasks": len(fact.tasks), "revision": fact.revision}
        case ev.PlanRevised():
            return "info", "plan revised", {"tasks": len(fact.tasks), "revision": fact.revision}
        case ev.PlanApprovalRequested():
            fields = {"cause": fact.cause, "revision": fact.revision, "expires_at": fact.expires_at.isoformat()}
            return "info", "plan waits for approval", fields
        case ev.PlanEdited():
            return "info", "plan edited", {"tasks": len(fact.tasks), "revision": fact.revision}
        case ev.PlanApproved():
            return "info", "plan approved", {"revision": fact.revision, "by": fact.by}
        case ev.PlanRejected():
            return "warning", "plan not approved", {"revision": fact.revision, "by": fact.by}
        case ev.PlanInvalid():
            return "info", "plan rejected", {"codes": _codes(fact)}
        case ev.SelectionCompleted():
            return "info", "result selected", {"candidates": len(fact.candidates)}
        case ev.SelectionRejected():
            return "info", "selection rejected", {"codes": _codes(fact)}
        case ev.SelectionFailed():
            return "warning", "selection failed", {"code": fact.error.code, "candidates": len(fact.candidates)}
        case ev.SynthesisRejected():
            return "info", "answer rejected", {"codes": _codes(fact)}
        case ev.ConflictFound():
            return "info", "conflict found", {"conflict": fact.id, "claims": len(fact.claims), "status": fact.status}
        case ev.ConflictJudged():
            return "info", "conflict judged", {"conflict": fact.id, "decided": fact.resolution is not None}
        case ev.JudgementRejected():
            return "info", "judgement rejected", {"codes": _codes(fact)}
        case ev.ConflictLeftOpen():
            return "info", "conflict left open", {"conflict": fact.id, "method": fact.method, "reason": fact.reason}
        case ev.GapFound():
            return "info", "gap found", {"reason": fact.reason, "redispatched_as": fact.redispatched_as}
        case ev.ReductionCompleted():
            return "info", "results reduced", {"tree_level": fact.level, "group": fact.group, "tasks": len(fact.tasks)}
        case ev.ReductionRejected():
            return "info", "reduction rejected", {"codes": _codes(fact)}
        case ev.ReductionSkipped():
            fields = {"tree_level": fact.level, "group": fact.group, "tasks": len(fact.tasks), "reason": fact.reason}
            return "warning", "reduction skipped", fields
        case ev.ReviewCompleted():
            return "info", "answer reviewed", {"verdict": fact.verdict, "round": fact.round}
        case ev.ReviewRejected():
            return "info", "review rejected", {"codes": _codes(fact)}
        case ev.ChildStarted():
            return "info", "nested run begun", {"child": fact.run, "team": f"{fact.team.name}@{fact.team.version}"}
        case ev.ChildEnded():
            return "info", "nested run ended", {"child": fact.run, "status": fact.status}
        case ev.BudgetExhausted():
            return "warning", "budget exhausted", {"limit": fact.limit, "call": fact.call}
        case ev.BreakerOpened():
            return "warning", "run held by breaker", {"breaker": fact.name, "reason": fact.reason}
        case ev.BreakerClosed():
            return "info", "run no longer held", {"breaker": fact.name}
        case _:
            return _line_of_findings(fact)


def _line_of_findings(fact: ev.AnyFact) -> Line | None:
    match fact:
        case ev.FindingsPlaced():
            fields = {"reported": fact.reported, "placed": fact.placed, "moved": len(fact.moved)}
            return "info", "findings placed", fields
        case ev.FindingsMerged():
            fields = {"left": fact.left, "duplicates": fact.duplicates, "looks": len(fact.looks)}
            return "info", "findings merged", fields
        case ev.FindingVerified(verdict="unverified"):
            return "warning", "finding not verified", {"finding": fact.id, "reason": fact.reason}
        case ev.FindingVerified():
            return "info", "finding verified", {"finding": fact.id, "verdict": fact.verdict}
        case ev.VerificationRejected():
            return "info", "verdict rejected", {"finding": f"f{fact.number}", "codes": _codes(fact)}
        case ev.FindingsFiltered():
            fields = {"left": fact.left, "below": len(fact.below), "refuted": len(fact.refuted)}
            return "info", "findings filtered", fields
        case _:
            return _task_line(fact)


def _task_line(fact: ev.AnyFact) -> Line | None:
    match fact:
        case ev.TaskRejected():
            return "info", "result rejected", {"codes": _codes(fact)}
        case ev.TaskEscalated():
            return "info", "task escalated", {"reason": fact.reason}
        case ev.RulingRejected():
            return "info", "ruling rejected", {"codes": _codes(fact)}
        case ev.TaskStarted(beside=int()):
            return "info", "task hedged", {"beside": fact.beside, "worker": fact.worker}
        case ev.TaskDropped():
            return "warning", "task dropped", {"after_s": fact.after_s}
        case ev.AttemptFailed():
            return "info", "attempt failed", {"code": fact.error.code}
        case ev.TaskRetrying():
            fields = {"code": fact.error.code, "refined": fact.refine, "model": fact.model, "ruled": fact.decision}
            return "info", "task retried", fields
        case ev.TaskReassigned():
            return "info", "task reassigned", {"code": fact.error.code, "to": fact.worker, "ruled": fact.decision}
        case ev.QuestionAsked():
            fields = {"question_id": fact.id, "expires_at": fact.expires_at.isoformat(), "ruled": fact.decision}
            return "info", "question asked", fields
        case ev.QuestionAnswered():
            return "info", "question answered", {"question_id": fact.id}
        case ev.QuestionExpired():
            return "warning", "question expired", {"question_id": fact.id}
        case ev.TaskSplit():
            return "info", "task split", {"code": fact.error.code, "parts": len(fact.into)}
        case ev.TaskFailed():
            return "warning", "task failed", {"code": fact.error.code}
        case ev.TaskSkipped():
            return "warning", "task skipped", {"code": fact.error.code}
        case _:
            return None


def _codes(rejected: ev.Rejected) -> list[str]:
    return sorted({flaw.code for flaw in rejected.errors})


def _ended(run: Snapshot) -> Line:
    assert run.finished_at is not None
    usage = run.usage
    fields = {
        "status": run.status,
        "stop_reason": run.stop_reason,
        "cost_usd": str(usage.cost_usd),
        "wall_ms": timing_of(run, run.finished_at).wall_ms,
        "llm_calls": usage.llm_calls,
        "tool_calls": usage.tool_calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
    }
    return "warning" if run.status in ("partial", "failed") else "info", "run ended", fields
