"""A run's life as log lines, one for each thing that an operator asks about: codes, numbers and ids, never content."""

from collections.abc import Sequence
from typing import Any, Literal

import structlog

from app.domain import events as ev
from app.domain.events import RUN_ENDS, Event
from app.domain.snapshot import Snapshot
from app.domain.timing import timing_of

log = structlog.get_logger(__name__)

Line = tuple[Literal["info", "warning"], str, dict[str, Any]]
"""Level, words and fields of a log line."""


def tell(run: Snapshot, events: Sequence[Event]) -> None:
    """Log what `events`, the newest of a run, say about its life; most say nothing."""
    for event in events:
        if line := _ended(run) if event.type in RUN_ENDS else _line(event):
            level, words, fields = line
            whose = {"task_id": event.task_id, "attempt": event.attempt} if event.task_id else {}
            log.log(_LEVELS[level], words, run_id=event.run_id, **whose, **fields)


_LEVELS = {"info": 20, "warning": 30}


def _line(event: Event) -> Line | None:
    match event:
        case ev.RunStarted(data=data):
            return "info", "run started", {"engine": data.engine, "epoch": data.epoch}
        case ev.RunResumed(data=data):
            return "info", "run resumed", {"engine": data.engine, "epoch": data.epoch, "lost_calls": data.lost_calls}
        case ev.RunWaiting(data=data):
            return "info", "run waits", {"reason": data.reason, "until": data.until.isoformat()}
        case ev.PlanCreated(data=plan):
            return "info", "plan made", {"tasks": len(plan.tasks), "revision": plan.revision}
        case ev.PlanInvalid(data=data):
            return "info", "plan rejected", {"codes": _codes(data)}
        case ev.SynthesisRejected(data=data):
            return "info", "answer rejected", {"codes": _codes(data)}
        case _:
            return _task_line(event)


def _task_line(event: Event) -> Line | None:
    match event:
        case ev.TaskRejected(data=data):
            return "info", "result rejected", {"codes": _codes(data)}
        case ev.TaskEscalated(data=data):
            return "info", "task escalated", {"reason": data.reason}
        case ev.TaskRetrying(data=data):
            return "info", "task retried", {"code": data.error.code, "refined": data.refine}
        case ev.TaskFailed(data=data):
            return "warning", "task failed", {"code": data.error.code}
        case ev.TaskSkipped(data=data):
            return "warning", "task skipped", {"code": data.error.code}
        case _:
            return None


def _codes(rejected: ev.Rejected) -> list[str]:
    return sorted({finding.code for finding in rejected.errors})


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
