"""Rows as the resources of the API. Plain values: they are built for every request and checked by the tests."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from app.api.console import console_of
from app.domain.moments import written
from app.domain.policy.breakers import Breaker
from app.domain.states import TERMINAL_RUN
from app.store.plans import PlanRevision
from app.store.runs import WholeRun
from app.store.teams import StoredTeam, TeamVersion

Resource = dict[str, Any]
Row = Mapping[str, Any]


INERT = {"Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff"}
"""Headers of what others have written: a browser takes it for what it is called, and runs nothing in it."""


def instant(at: datetime | None) -> str | None:
    """A moment as clients see it; null for none."""
    return written(at) if at else None


def run_resource(row: Row, now: datetime) -> Resource:
    """The Run of a row, with clocks that still tick read at `now`."""
    path = f"/v1/runs/{row['id']}"
    return {
        "id": row["id"],
        "object": "run",
        "status": row["status"],
        "phase": row["phase"],
        "stop_reason": row["stop_reason"],
        "objective": row["objective"],
        "team": {"name": row["team_name"], "version": row["team_version"]},
        "parent": row["parent"]["run"] if row["parent"] else None,
        "parent_task": _parent_task(row["parent"]),
        "origin": row["origin"],
        "schedule": row["schedule"],
        "metadata": row["metadata"],
        "plan_revision": row["plan_revision"],
        "progress": row["progress"],
        "result": row["result"],
        "error": row["error"],
        "waiting_for": row["waiting_for"],
        "cancellation": row["cancellation"],
        "limits": row["limits"],
        "quote": row["quote"],
        "usage": row["usage"],
        "timing": _timing(row, now),
        "last_seq": row["last_seq"],
        "created_at": instant(row["created_at"]),
        "started_at": instant(row["started_at"]),
        "finished_at": instant(row["finished_at"]),
        "links": {
            "self": path,
            "plan": f"{path}/plan",
            "tasks": f"{path}/tasks",
            "events": f"{path}/events",
            "trace": f"{path}/trace",
            "inputs": f"{path}/inputs",
            "artifacts": f"{path}/artifacts",
            "console": console_of(row["id"]),
        },
    }


def _parent_task(parent: Row | None) -> Resource | None:
    """The attempt of its parent that a nested run does the work of."""
    return {"task": parent["task"], "attempt": parent["attempt"]} if parent else None


def _timing(row: Row, now: datetime) -> Resource:
    """The timing of a row, which is as of its last event, brought up to `now`."""
    timing: Resource = row["timing"]
    if row["status"] in TERMINAL_RUN:
        return timing
    if row["started_at"] is None:
        return timing | {"queued_ms": _ms(row["created_at"], now)}
    wall = _ms(row["started_at"], now)
    grown = max(wall - timing["wall_ms"], 0)
    under_way = row["progress"]["tasks"]["running"] if row["phase"] == "executing" else int(row["phase"] is not None)
    sequential = timing["sequential_ms"] + grown * under_way
    return timing | {
        "wall_ms": wall,
        "critical_path_ms": timing["critical_path_ms"] + (grown if under_way else 0),
        "sequential_ms": sequential,
        "speedup": round(sequential / wall, 2) if wall else 1.0,
    }


def _ms(start: datetime, end: datetime) -> int:
    return max(round((end - start).total_seconds() * 1000), 0)


def task_resources(run: WholeRun) -> list[Resource]:
    """The tasks of the newest plan with what became of them, then those that a revision has replaced."""
    by_id = {row["task_id"]: row for row in run.tasks}
    tried: defaultdict[str, list[Resource]] = defaultdict(list)
    for row in run.attempts:
        tried[row["task_id"]].append(_attempt(row))
    planned: dict[str, Row] = {}
    for plan in reversed(run.plans):
        for task in plan["tasks"]:
            planned.setdefault(task["id"], task)
    return [_task(task, by_id[name], tried[name]) for name, task in planned.items() if name in by_id]


def _task(task: Row, row: Row, attempts: list[Resource]) -> Resource:
    return {
        **task,
        "status": row["status"],
        "error": row["error"],
        "usage": row["usage"],
        "output": row["output"],
        "escalations": [attempt["escalation"] for attempt in attempts if attempt["escalation"]],
        "attempts": attempts,
    }


def _attempt(row: Row) -> Resource:
    detail = row["detail"]
    return {
        "number": row["number"],
        "worker": row["worker"],
        "model": row["model"],
        "instruction": detail["instruction"],
        "refined_from": detail["refined_from"],
        "change": detail["change"] or None,
        "beside": detail.get("beside"),
        "status": row["status"],
        "error": detail["error"],
        "escalation": detail["escalation"],
        "steps": detail["steps"],
        "tool_calls": detail["tool_calls"],
        "child": detail.get("child"),
        "usage": detail["usage"],
        "started_at": instant(row["started_at"]),
        "finished_at": instant(row["finished_at"]),
    }


def revision_resource(made: PlanRevision) -> Resource:
    """A revision of a plan."""
    told = made.difference
    return {
        "revision": made.plan.revision,
        "reason": made.reason,
        "created_at": instant(made.made_at),
        "difference": told.model_dump(mode="json") if told else None,
        "tasks": [task.id for task in made.plan.tasks],
    }


def team_resource(stored: StoredTeam) -> Resource:
    """A team in one of its versions."""
    definition = stored.team.model_dump(mode="json")
    return definition | {
        "version": stored.version,
        "created_at": instant(stored.created_at),
        "origin": stored.origin,
        "archived_at": instant(stored.archived_at),
    }


def team_version_resource(name: str, kept: TeamVersion) -> Resource:
    """A version of a team in a list."""
    return {
        "version": kept.version,
        "digest": kept.digest,
        "origin": kept.origin,
        "created_at": instant(kept.created_at),
        "archived_at": instant(kept.archived_at),
        "url": team_path(name, kept.version),
    }


def team_path(name: str, version: int) -> str:
    """Where a version of a team is read."""
    return f"/v1/teams/{name}@{version}"


def breaker_resource(breaker: Breaker) -> Resource:
    """A circuit breaker."""
    return {
        "name": breaker.name,
        "kind": breaker.kind,
        "state": breaker.state,
        "reason": breaker.reason,
        "failures": breaker.failures,
        "opened_at": breaker.opened_at and instant(breaker.opened_at),
        "probe_at": breaker.probe_at and instant(breaker.probe_at),
    }


def page(resources: Sequence[Resource], next_cursor: str | None = None) -> Resource:
    """A list as every endpoint answers it."""
    return {"data": list(resources), "has_more": next_cursor is not None, "next_cursor": next_cursor}
