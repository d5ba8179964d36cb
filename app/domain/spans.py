"""Spans: what a run did when, told from its events.

Events are taken in the form clients get, JSON values, one after the other, so that a long log need not be held. Ids
are stable: `run`, `plan`, `task:t1`, `attempt:t1:1`, `llm:17`, `tool:18`, `synthesis` (numbers are those of events).
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

Fact = Mapping[str, Any]
"""An event as a JSON value."""
Span = dict[str, Any]

_SPENT = ("llm_calls", "tool_calls", "input_tokens", "output_tokens", "cost_usd")


class Spans:
    """The spans of one run, as far as its events have been taken."""

    def __init__(self) -> None:
        self._spans: dict[str, Span] = {}
        self._tools: dict[tuple[Any, ...], str] = {}
        """Open tool calls: the id of their span by task, attempt and call."""
        self._worked_until: str | None = None
        """When the last task ended."""

    def listed(self) -> list[Span]:
        """The spans, in the order of their beginning."""
        for span in self._spans.values():
            end = span["finished_at"]
            span["duration_ms"] = _ms(span["started_at"], end) if end else None
        return sorted(self._spans.values(), key=lambda span: datetime.fromisoformat(span["started_at"]))

    def take(self, fact: Fact) -> None:
        """Add one more event; they must come in order."""
        group, _, what = fact["type"].partition(".")
        match group:
            case "run":
                self._run(fact, what)
            case "plan" if what == "created":
                self._close("plan", fact["at"], "ok", {"tasks": len(fact["data"]["tasks"])})
            case "task":
                self._task(fact, what)
            case "llm":
                self._model_call(fact, what)
            case "tool":
                self._tool_call(fact, what)
            case "synthesis" if what == "completed":
                self._close("synthesis", fact["at"], "ok", {})

    def _run(self, fact: Fact, what: str) -> None:
        at, told = fact["at"], fact["data"]
        match what:
            case "queued":
                self._open("run", None, "run", told["team"]["name"], at, {"team": told["team"]})
            case "started":
                self._open("plan", "run", "plan", "plan", at, {})
            case "succeeded" | "partial":
                self._end(at, "ok", {"status": what, "stop_reason": told["stop_reason"]})
            case "failed":
                problem = _problem(told["error"])
                self._end(at, "error", {"status": what, "stop_reason": told["stop_reason"], **problem})
            case "cancelled":
                self._end(at, "cancelled", {"status": what, "stop_reason": what})

    def _end(self, at: str, status: str, attributes: Fact) -> None:
        """Close the run, and with it whatever is still open."""
        self._close("run", at, status, attributes)
        for name in self._spans:
            self._close(name, at, "cancelled" if status == "ok" else status, {})

    def _task(self, fact: Fact, what: str) -> None:
        at, told, task = fact["at"], fact["data"], f"task:{fact['task_id']}"
        attempt = f"attempt:{fact['task_id']}:{fact['attempt']}"
        if what == "started":
            self._open(task, "run", "task", fact["task_id"], at, {})
            attributes = {"worker": told["worker"], "model": told["model"], "tools": told["tools"]}
            self._open(attempt, task, "attempt", f"{fact['task_id']} attempt {fact['attempt']}", at, attributes)
        elif what == "escalated":
            self._spans[attempt]["attributes"]["escalation"] = told["reason"]
        elif what == "retrying":
            self._close_attempt(fact, attempt, "error", _problem(told["error"]))
        elif what in ("succeeded", "failed", "skipped", "cancelled"):
            self._open(task, "run", "task", fact["task_id"], at, {})
            status = {"succeeded": "ok", "cancelled": "cancelled"}.get(what, "error")
            attributes = {} if what == "succeeded" else _problem(told.get("error"))
            self._close_attempt(fact, attempt, status, attributes)
            self._close(task, at, status, {"status": what, **attributes})
            self._worked_until = at

    def _close_attempt(self, fact: Fact, attempt: str, status: str, attributes: Fact) -> None:
        """Close an attempt, and tool calls of it whose outcome never came."""
        for call in [call for call in self._tools if call[:2] == (fact["task_id"], fact["attempt"])]:
            self._close(self._tools.pop(call), fact["at"], "cancelled" if status == "ok" else status, {})
        self._close(attempt, fact["at"], status, attributes)

    def _model_call(self, fact: Fact, what: str) -> None:
        told, name = fact["data"], f"llm:{fact['seq']}"
        started = _before(fact["at"], told["duration_ms"])
        parent = self._parent_of_call(fact, started)
        attributes = {"purpose": told["purpose"], "model": told["model"], "request_id": told["request_id"]}
        attributes |= {spent: told["usage"][spent] for spent in _SPENT}
        self._open(name, parent, "llm", f"{told['purpose']} {told['model']}", started, attributes)
        if what == "completed":
            self._close(name, fact["at"], "ok", {"stop_reason": told["stop_reason"]})
        else:
            status = "cancelled" if told["error"]["code"] == "cancelled" else "error"
            self._close(name, fact["at"], status, {**_problem(told["error"]), "retry_at": told["retry_at"]})

    def _parent_of_call(self, fact: Fact, started: str) -> str:
        match fact["data"]["purpose"]:
            case "plan":
                return "plan"
            case "work":
                return f"attempt:{fact['task_id']}:{fact['attempt']}"
            case "synthesize":
                self._open("synthesis", "run", "synthesis", "synthesis", self._worked_until or started, {})
                return "synthesis"
            case _:
                return f"task:{fact['task_id']}"

    def _tool_call(self, fact: Fact, what: str) -> None:
        told = fact["data"]
        call = fact["task_id"], fact["attempt"], told["call_id"]
        if what == "started":
            self._tools[call] = self._open_tool(fact, fact["at"], {"effect": told["effect"], "key": told["key"]})
            return
        name = self._tools.pop(call, None) or self._open_tool(fact, _before(fact["at"], told["duration_ms"]), {})
        attributes = {"provider": told["provider"]}
        if what == "failed":
            self._close(name, fact["at"], "error", attributes | _problem(told["error"]))
        else:
            self._close(name, fact["at"], "ok", attributes)

    def _open_tool(self, fact: Fact, at: str, attributes: Fact) -> str:
        name, parent = f"tool:{fact['seq']}", f"attempt:{fact['task_id']}:{fact['attempt']}"
        call = {"call_id": fact["data"]["call_id"], **attributes}
        self._open(name, parent, "tool", fact["data"]["name"], at, call)
        return name

    def _open(self, name: str, parent: str | None, kind: str, title: str, at: str, attributes: Fact) -> None:
        """Begin a span, unless it is there already. None begins before its parent, whatever clocks say."""
        if name in self._spans:
            return
        if parent in self._spans:
            at = max(at, self._spans[parent]["started_at"], key=datetime.fromisoformat)
        self._spans[name] = {
            "id": name,
            "parent_id": parent,
            "kind": kind,
            "name": title,
            "started_at": at,
            "finished_at": None,
            "duration_ms": None,
            "status": "running",
            "attributes": dict(attributes),
        }

    def _close(self, name: str, at: str, status: str, attributes: Fact) -> None:
        """End a span, unless it has ended or never began."""
        span = self._spans.get(name)
        if span is None or span["finished_at"] is not None:
            return
        span["finished_at"], span["status"] = at, status
        span["attributes"] |= attributes


def _problem(error: Fact | None) -> dict[str, Any]:
    return {"error_code": error["code"], "error_message": error["message"]} if error else {}


def _before(at: str, duration_ms: int) -> str:
    started = datetime.fromisoformat(at) - timedelta(milliseconds=duration_ms)
    return started.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _ms(start: str, end: str) -> int:
    elapsed = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    return round(elapsed / timedelta(milliseconds=1))
