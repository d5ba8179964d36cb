"""What a model was sent in each call, and what it answered: told from a run's events, one after the other.

A conversation is kept for as long as it is open, and folded by the very function that the engine folds it with, so that
what is shown here is what was sent.
"""

from typing import Any

from app.domain import events as ev
from app.domain.conversation import Conversation
from app.domain.fold_conversation import conversation_after
from app.domain.outcomes import Told
from app.domain.span_values import Span
from app.domain.topics import GO_ON, Topic, topic_of, topic_told

Content = dict[str, Any]

_ENDS = frozenset({"task.failed", "task.retrying", "task.refined", "task.skipped", "task.cancelled"})
"""Events behind which no conversation of their task goes on."""


class Contents:
    """Requests and replies of one run, as far as its events have been taken."""

    def __init__(self) -> None:
        self._talks: dict[Topic, Conversation] = {}
        self._terms: dict[str, ev.Terms] = {}

    def take(self, told: Told) -> Content | None:
        """Add one more event; they must come in order. Returns request and reply, if it is the event of a call."""
        match told["type"]:
            case "llm.completed" | "llm.failed":
                return self._call(ev.event_from(told))
            case kind if kind in GO_ON:
                self._hear(told)
            case "plan.created":
                self._forget(Topic("plan"))
            case "selection.completed" | "selection.failed":
                self._forget(Topic("select"))
            case "synthesis.completed":
                self._forget(Topic("synthesize"), Topic("review"))  # It may be made again.
            case "reduction.completed" | "reduction.skipped":
                self._forget(Topic("reduce", number=told["data"]["number"]))
            case "finding.verified":
                self._forget(Topic("verify", number=told["data"]["number"]))
            case "review.completed":
                self._forget(Topic("synthesize"), Topic("review"))
            case "conflict.judged" | "conflict.left_open":
                self._forget(Topic("synthesize"), Topic("review"), Topic("arbitrate"))
            case kind if kind in _ENDS:
                self._forget(*(topic for topic in self._talks if topic.task_id == told["task_id"]))
            case "task.succeeded" | "attempt.failed" | "attempt.cancelled":
                self._forget(*(Topic(purpose, told["task_id"], told["attempt"]) for purpose in ("work", "rule")))
        return None

    def _forget(self, *topics: Topic) -> None:
        for topic in topics:
            self._talks.pop(topic, None)

    def _call(self, event: ev.Event) -> Content:
        call, topic = event.data, topic_of(event)
        assert isinstance(call, ev.LlmCompleted | ev.LlmFailed)
        if call.terms is not None and call.terms_id is not None:
            self._terms[call.terms_id] = call.terms
        before = self._talks.get(topic, Conversation())
        after = self._talks[topic] = conversation_after(before, call, event.seq)
        reply = call.content if isinstance(call, ev.LlmCompleted) else None
        return {"request": self._request(call, before, after), "reply": reply}

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

    def _hear(self, told: Told) -> None:
        topic = topic_told(told)
        if topic in self._talks:
            event = ev.event_from(told)
            self._talks[topic] = conversation_after(self._talks[topic], event.data, event.seq)


class HeldContents:
    """Requests and replies, held until the spans of their calls are complete."""

    def __init__(self) -> None:
        self._contents = Contents()
        self._held: dict[str, Content] = {}

    def take(self, told: Told) -> None:
        """Add one more event; they must come in order."""
        if (content := self._contents.take(told)) is not None:
            self._held[f"llm:{told['seq']}"] = content

    def of(self, span: Span) -> Content | None:
        """What is held of the call that a span is of, which is let go of; None where there is nothing."""
        return self._held.pop(span["id"], None)
