"""Spans: what a run did when, told from its events.

Events are taken in the form clients get, JSON values, one after the other, so that a long log need not be held: the
spans of calls are handed on as soon as it is known what became of them. Those that hold them are kept, for a plan
bounds their number. Ids are stable: `run`, `plan`, `task:t1`, `attempt:t1:1`, `llm:17`, `tool:18`, `synthesis` (numbers
are those of events).
"""

from collections.abc import Mapping
from datetime import datetime

from app.domain.outcomes import Outcome, Told, form_of, outcome_of, problem_of, rejection, status_of
from app.domain.span_values import Span, begun_before, ended, status_when_holder_ends, timed
from app.domain.topics import Topic, topic_told

_SPENT = ("llm_calls", "tool_calls", "input_tokens", "output_tokens", "cost_usd")
_CACHED = ("cache_read_tokens", "cache_write_tokens")
_HOLDERS: Mapping[str, str] = {
    "plan": "plan",
    "work": "attempt:{0}:{1}",
    "rule": "attempt:{0}:{1}",
    "select": "synthesis",
    "synthesize": "synthesis",
    "reduce": "reduction:{1}",
    "verify": "synthesis",
    "review": "review",
}
"""The span that holds the calls of a purpose, by task and attempt; others are held by their task, or by the run."""
_MADE_AGAIN = ("synthesis", "review")
"""Frames that have ended for good when the run has."""
_CALLED = ("purpose", "model", "max_tokens", "request_id")


class Spans:
    """The spans of one run, as far as its events have been taken."""

    def __init__(self) -> None:
        self._frames: dict[str, Span] = {}
        self._tools: dict[Topic, dict[str, Span]] = {}
        """Tool calls under way, by conversation and call."""
        self._replies: dict[Topic, Span] = {}
        """Replies of which the next event may say that they were rejected."""
        self._complete: list[Span] = []
        self._over: dict[str, None] = {}
        """Frames that have ended for good since somebody asked."""
        self._titles: dict[str, str] = {}
        self._worked_until: str | None = None
        """When the last task ended."""

    def frames(self) -> list[Span]:
        """The spans that hold those of calls: of the run, its plan, tasks, attempts and synthesis, as they began."""
        return sorted(map(timed, self._frames.values()), key=lambda span: datetime.fromisoformat(span["started_at"]))

    def ended_frames(self) -> list[Span]:
        """Those of them that have ended for good since this was last asked."""
        over, self._over = self._over, {}
        return [timed(self._frames[name]) for name in over]

    def unfinished(self) -> list[Span]:
        """The spans of calls that are left at the end of the events, the run being under way."""
        left = [*self._replies.values(), *(span for calls in self._tools.values() for span in calls.values())]
        return list(map(timed, left))

    def take(self, event: Told) -> list[Span]:
        """Add one more event; they must come in order. Returns the spans of calls that are complete with it."""
        group, _, what = event["type"].partition(".")
        match group:
            case "run":
                self._run(event, what)
            case "plan":
                self._plan(event, what)
            case "task":
                self._task(event, what)
            case "attempt":
                status = "error" if what == "failed" else "cancelled"
                self._end_attempt(event, status, problem_of(event["data"].get("error")))
            case "llm":
                self._model_call(event, what)
            case "tool":
                self._tool_call(event, what)
            case "question" if what == "asked":
                self._end_attempt(event, "error", problem_of(event["data"]["error"]))
            case "child":
                self._child(event, what)
            case "synthesis":
                self._synthesis(event, what)
            case "selection":
                self._judge(Topic("select"), rejection(event["data"]) if what == "rejected" else {})
            case "reduction":
                self._reduction(event, what)
            case "review":
                self._review(event, what)
            case "conflict" | "judgement":
                self._judge(Topic("arbitrate"), rejection(event["data"]) if what == "rejected" else {})
            case "finding" | "verification":
                topic = Topic("verify", number=event["data"]["number"])
                self._judge(topic, rejection(event["data"]) if what == "rejected" else {})
            case "ruling":
                self._judge(Topic("rule", event["task_id"], event["attempt"]), rejection(event["data"]))
        complete, self._complete = self._complete, []
        return list(map(timed, complete))

    def _run(self, event: Told, what: str) -> None:
        at, told = event["at"], event["data"]
        match what:
            case "queued":
                self._open("run", None, "run", told["team"]["name"], at, {"team": told["team"]})
            case "started":
                self._open("plan", "run", "plan", "plan", at, {})
            case "succeeded" | "partial":
                self._end(at, "ok", {"status": what, "stop_reason": told["stop_reason"]})
            case "failed":
                problem = problem_of(told["error"])
                self._end(at, "error", {"status": what, "stop_reason": told["stop_reason"], **problem})
            case "cancelled":
                self._end(at, "cancelled", {"status": what, "stop_reason": what})

    def _end(self, at: str, status: str, attributes: Told) -> None:
        """Close the run, and with it whatever is still open."""
        self._close("run", at, status, attributes)
        self._over |= {name: None for name in _MADE_AGAIN if name in self._frames}
        for name in self._frames:
            self._close(name, at, status_when_holder_ends(status), {})
        for topic in [*self._replies, *self._tools]:
            self._end_calls(topic, at, status)

    def _plan(self, event: Told, what: str) -> None:
        if what in ("created", "revised", "edited"):
            tasks = event["data"]["tasks"]
            self._titles |= {task["id"]: task.get("title") or task["id"] for task in tasks}
            self._close("plan", event["at"], "ok", {"tasks": len(tasks)})
        self._judge(Topic("plan"), rejection(event["data"]) if what == "invalid" else {})

    def _synthesis(self, event: Told, what: str) -> None:
        told = event["data"]
        if what == "completed":
            ended(self._frames["synthesis"], event["at"], "ok", form_of(told))  # It may be made again.
        self._judge(Topic("synthesize"), rejection(told) if what == "rejected" else form_of(told))

    def _reduction(self, event: Told, what: str) -> None:
        told = event["data"]
        self._judge(Topic("reduce", number=told["number"]), rejection(told) if what == "rejected" else {})
        if what != "rejected":
            status = "ok" if what == "completed" else "error"
            attributes = {name: told.get(name) for name in ("level", "group", "tasks", "reason")}
            self._close(f"reduction:{told['number']}", event["at"], status, attributes)

    def _review(self, event: Told, what: str) -> None:
        told = event["data"]
        if what == "completed":
            ended(self._frames["review"], event["at"], "ok", {"verdict": told["verdict"], "round": told["round"]})
        self._judge(Topic("review"), rejection(told) if what == "rejected" else {})

    def _task(self, event: Told, what: str) -> None:
        at, told, number = event["at"], event["data"], event["attempt"]
        name: str = event["task_id"]
        task, attempt = f"task:{name}", f"attempt:{name}:{number}"
        title = self._titles.get(name, name)
        match what:
            case "started":
                self._open(task, "run", "task", title, at, {"task_id": name})
                attributes = {"number": number} | {key: told[key] for key in ("worker", "model", "tools")}
                attributes |= {"beside": told["beside"]} if told.get("beside") else {}
                self._open(attempt, task, "attempt", f"{title}, attempt {number}", at, attributes)
            case "dropped":
                self._frames[task]["attributes"]["dropped"] = True
            case "rejected":
                self._judge(Topic("work", name, number), rejection(told))
            case "refined":
                self._judge(Topic("refine", name, number), form_of(told))
            case "escalated":
                self._frames[attempt]["attributes"]["escalation"] = told["reason"]
                self._judge(Topic("work", name, number))
            case "retrying" | "reassigned":
                self._end_attempt(event, "error", problem_of(told["error"]))
            case "succeeded":
                self._judge(Topic("work", name, number), form_of(told))
                self._end_task(event, title, "ok", {"status": what, **form_of(told)})
            case "split":
                self._end_task(event, title, "cancelled", {"status": "cancelled", **problem_of(told["error"])})
            case "failed" | "skipped" | "cancelled":
                status = "cancelled" if what == "cancelled" else "error"
                self._end_task(event, title, status, {"status": what, **problem_of(told.get("error"))})

    def _child(self, event: Told, what: str) -> None:
        """A nested run has its own trace; the attempt says which, and what that came to."""
        attributes = self._frames[f"attempt:{event['task_id']}:{event['attempt']}"]["attributes"]
        if what == "started":
            attributes["child"] = event["data"]["run"]
        else:
            attributes |= {"child": event["data"]["run"], "child_status": event["data"]["status"]}

    def _end_task(self, event: Told, title: str, status: str, attributes: Told) -> None:
        at, name, problem = event["at"], event["task_id"], problem_of(event["data"].get("error"))
        self._open(f"task:{name}", "run", "task", title, at, {"task_id": name})
        for topic in [topic for topic in self._replies if topic[:2] == ("refine", name)]:
            # What would have rewritten the instruction is followed by the end of the task: it was of no use.
            self._judge(topic, {"outcome": "rejected", **problem} if status == "error" else {})
        self._end_attempt(event, status, problem)
        self._close(f"task:{name}", at, status, attributes)
        self._worked_until = at

    def _end_attempt(self, event: Told, status: str, attributes: Told) -> None:
        """Close an attempt, and what is left open in it."""
        for purpose in ("work", "rule"):
            self._end_calls(Topic(purpose, event["task_id"], event["attempt"] or 1), event["at"], status)
        self._close(f"attempt:{event['task_id']}:{event['attempt']}", event["at"], status, attributes)

    def _end_calls(self, topic: Topic, at: str, status: str) -> None:
        """Take leave of a conversation: its last reply, and tool calls whose outcome never came."""
        self._judge(topic)
        for span in self._tools.pop(topic, {}).values():
            self._complete.append(ended(span, at, status_when_holder_ends(status), {}))

    def _model_call(self, event: Told, what: str) -> None:
        told, topic = event["data"], topic_told(event)
        self._judge(topic)
        started = begun_before(event["at"], told["duration_ms"])
        attributes = {name: told.get(name) for name in _CALLED} | {spent: told["usage"][spent] for spent in _SPENT}
        attributes |= {cached: told["usage"].get(cached, 0) for cached in _CACHED}
        parent, title = self._holder_of_call(topic, started), f"{told['purpose']} {told['model']}"
        span = self._begun(f"llm:{event['seq']}", parent, "llm", title, started, attributes)
        if what == "completed":
            judged = outcome_of(told)
            judged |= {"stop_reason": told["stop_reason"]}
            self._replies[topic] = ended(span, event["at"], status_of(judged["outcome"]), judged)
        else:
            outcome: Outcome = "cancelled" if told["error"]["code"] == "cancelled" else "failed"
            failure = {"outcome": outcome, **problem_of(told["error"]), "retry_at": told["retry_at"]}
            self._complete.append(ended(span, event["at"], status_of(outcome), failure))

    def _judge(self, topic: Topic, found: Told | None = None) -> None:
        """Complete the span of a conversation's last reply with what has been `found` about the reply since."""
        span = self._replies.pop(topic, None)
        if span is None:
            return
        if span["attributes"]["outcome"] == "used":
            span["attributes"] |= found or {}
            span["status"] = status_of(span["attributes"]["outcome"])
        self._complete.append(span)

    def _holder_of_call(self, topic: Topic, started: str) -> str:
        """The span that holds the calls of a conversation. That of the synthesis begins with the first of its own."""
        if topic.purpose in ("verify", "select", "reduce", "synthesize"):
            self._open("synthesis", "run", "synthesis", "synthesis", self._worked_until or started, {})
        if topic.purpose == "reduce":
            self._open(f"reduction:{topic.number}", "synthesis", "synthesis", "reduction", started, {})
        if topic.purpose == "review":
            self._open("review", "run", "review", "review", started, {})
        holder = _HOLDERS.get(topic.purpose) or ("run" if topic.task_id is None else "task:{0}")
        return holder.format(topic.task_id, topic.number)

    def _tool_call(self, event: Told, what: str) -> None:
        told, topic = event["data"], topic_told(event)
        if what == "started":
            self._judge(topic)
            attributes = {"input": told["input"], "effect": told["effect"], "key": told["key"]}
            self._tools.setdefault(topic, {})[told["call_id"]] = self._begun_tool(event, event["at"], attributes)
            return
        span = self._tools.get(topic, {}).pop(told["call_id"], None)
        if span is None:  # The provider ran it: there is but one event of it.
            span = self._begun_tool(event, begun_before(event["at"], told["duration_ms"]), {"input": told.get("input")})
        attributes = {"provider": told["provider"]}
        if what == "failed":
            attributes |= {"output": None, **problem_of(told["error"])}
        else:
            attributes |= {"output": told["output"], "omitted": told["omitted"]}
        self._complete.append(ended(span, event["at"], "error" if what == "failed" else "ok", attributes))

    def _begun_tool(self, event: Told, at: str, attributes: Told) -> Span:
        parent, call = f"attempt:{event['task_id']}:{event['attempt']}", {"call_id": event["data"]["call_id"]}
        return self._begun(f"tool:{event['seq']}", parent, "tool", event["data"]["name"], at, {**call, **attributes})

    def _open(self, name: str, parent: str | None, kind: str, title: str, at: str, attributes: Told) -> None:
        """Begin a span that holds others, unless it is there already."""
        if name not in self._frames:
            self._frames[name] = self._begun(name, parent, kind, title, at, attributes)

    def _begun(self, name: str, parent: str | None, kind: str, title: str, at: str, attributes: Told) -> Span:
        """A new span. None begins before its parent, whatever clocks say."""
        if parent in self._frames:
            at = max(at, self._frames[parent]["started_at"], key=datetime.fromisoformat)
        return {
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

    def _close(self, name: str, at: str, status: str, attributes: Told) -> None:
        """End a span that holds others, unless it has ended or never began."""
        span = self._frames.get(name)
        if span is not None and span["finished_at"] is None:
            ended(span, at, status, attributes)
            self._over[name] = None
