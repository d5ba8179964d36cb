"""What a model was sent in each call, and what it answered: told from a run's events, one after the other.

A conversation is kept for as long as it is open, and folded by the very function that the engine folds it with, so that
what is shown here is what was sent.
"""

from collections.abc import Mapping
from typing import Any

from app.domain import events as ev
from app.domain.conversation import Conversation
from app.domain.events import ANY_EVENT
from app.domain.hearing import heard
from app.domain.outcomes import Fact
from app.domain.spans import Talk

Content = dict[str, Any]

_ENDS = frozenset({"task.succeeded", "task.failed", "task.retrying", "task.refined", "task.skipped", "task.cancelled"})
"""Events behind which no conversation of their task goes on."""
_TALKS: Mapping[str, Talk] = {
    "plan.invalid": ("plan", None, None),
    "synthesis.rejected": ("synthesize", None, None),
}


class Contents:
    """Requests and replies of one run, as far as its events have been taken."""

    def __init__(self) -> None:
        self._talks: dict[Talk, Conversation] = {}
        self._terms: dict[str, ev.Terms] = {}

    def take(self, fact: Fact) -> Content | None:
        """Add one more event; they must come in order. Returns request and reply, if it is the event of a call."""
        match fact["type"]:
            case "llm.completed" | "llm.failed":
                return self._call(fact, (fact["data"]["purpose"], fact["task_id"], fact["attempt"]))
            case "tool.started" | "tool.completed" | "tool.failed" | "task.rejected":
                self._hear(("work", fact["task_id"], fact["attempt"]), fact)
            case "plan.invalid" | "synthesis.rejected":
                self._hear(_TALKS[fact["type"]], fact)
            case "plan.created":
                self._talks.pop(("plan", None, None), None)
            case kind if kind in _ENDS:
                for talk in [talk for talk in self._talks if talk[1] == fact["task_id"]]:
                    del self._talks[talk]
        return None

    def _call(self, fact: Fact, whose: Talk) -> Content:
        call = ANY_EVENT.validate_python(fact)
        assert isinstance(call, ev.LlmCompleted | ev.LlmFailed)
        if call.data.terms is not None and call.data.terms_id is not None:
            self._terms[call.data.terms_id] = call.data.terms
        before = self._talks.get(whose, Conversation())
        after = self._talks[whose] = heard(before, call)
        reply = call.data.content if isinstance(call, ev.LlmCompleted) else None
        return {"request": self._request(call.data, before, after), "reply": reply}

    def _request(self, call: ev.ModelCall, before: Conversation, after: Conversation) -> Content:
        terms = self._terms.get(call.terms_id or "")
        opening = after.prompt
        first = [before.opening(opening.message)] if opening else []
        messages = [*first, *before.messages()]
        return {
            "model": call.model,
            "max_tokens": call.max_tokens,
            "system": opening.system if opening else None,
            "messages": [{"role": message.role, "content": list(message.content)} for message in messages],
            "tools": list(terms.tools) if terms else None,
            "output_schema": terms.output_schema if terms else None,
        }

    def _hear(self, whose: Talk, fact: Fact) -> None:
        if whose in self._talks:
            self._talks[whose] = heard(self._talks[whose], ANY_EVENT.validate_python(fact))
