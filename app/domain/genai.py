"""A run's spans in the words of OpenTelemetry's GenAI conventions, with the few of OpenInference that viewers go by.

The conventions are https://github.com/open-telemetry/semantic-conventions-genai, v0.1.0. They have no word for what a
call has cost: that, and what only we know, is under `chargehand.`. Nothing here is content of a job: titles, messages,
inputs and outputs are added by `genai_content`, for whoever asks for them.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from app.domain.otlp import Attribute, Attributes, OtelSpan
from app.domain.outcomes import Told
from app.domain.span_values import Span
from app.domain.trace_ids import ROOT, RunTrace

NAME_LENGTH = 100
"""Characters of a name that others have made up, such as that of a tool which does not exist."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DEMO = "demo"

_KINDS: Mapping[str, str] = {"attempt": "AGENT", "llm": "LLM", "tool": "TOOL", "review": "EVALUATOR"}
"""What OpenInference calls them; whatever holds others is a `CHAIN`."""

_Told = dict[str, Attribute | None]


def otel_span(trace: RunTrace, tenant: str, span: Span, content: Attributes) -> OtelSpan:
    """A span of a tenant's run, which has ended, with what is to be shown of its content."""
    kind, told = span["kind"], span["attributes"]
    named, attributes = _BY_KIND[kind](span, told)
    node, holder = f"{trace.run_id}/{span['id']}", span["parent_id"]
    attributes |= {
        "error.type": told.get("error_code") if span["status"] == "error" else None,
        "openinference.span.kind": _KINDS.get(kind, "CHAIN"),
        "session.id": trace.session,
        "gen_ai.conversation.id": trace.run_id,
        "graph.node.id": node,
        "graph.node.parent_id": holder and f"{trace.run_id}/{holder}",
        "chargehand.run_id": trace.run_id,
        "chargehand.tenant": tenant if span["id"] == ROOT else None,
        "chargehand.span": span["id"],
        "chargehand.status": span["status"],
    }
    known = {name: value for name, value in attributes.items() if value is not None}
    started = _ns(span["started_at"])
    return OtelSpan(
        place=trace.place(span["id"]),
        parent_id=trace.span_id(holder) if holder is not None else _above(trace),
        name=named[:NAME_LENGTH],
        started_ns=started,
        ended_ns=max(started, _ns(span["finished_at"])),
        attributes={**known, **content},
        calls_out=kind == "llm",
        failed=span["status"] == "error",
        link=trace.caller if span["id"] == ROOT and not trace.is_nested else None,
    )


def _above(trace: RunTrace) -> str | None:
    """What holds a whole run: the attempt that a nested one does the work of."""
    return trace.caller.span_id if trace.caller and trace.is_nested else None


def _ns(at: str) -> int:
    return (datetime.fromisoformat(at) - _EPOCH) // timedelta(microseconds=1) * 1_000


def _run(_: Span, told: Told) -> tuple[str, _Told]:
    team = told["team"]
    return f"invoke_workflow {team['name']}", {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.agent.name": team["name"],
        "gen_ai.agent.version": str(team["version"]),
        "chargehand.stop_reason": told.get("stop_reason"),
    }


def _plan(_: Span, told: Told) -> tuple[str, _Told]:
    return "plan", {
        "gen_ai.operation.name": "plan",
        "gen_ai.agent.name": "supervisor",
        "chargehand.tasks": told.get("tasks"),
    }


def _task(_: Span, told: Told) -> tuple[str, _Told]:
    return f"task {told['task_id']}", {
        "chargehand.task_id": told["task_id"],
        "chargehand.task_status": told.get("status"),
    }


def _attempt(span: Span, told: Told) -> tuple[str, _Told]:
    return f"invoke_agent {told['worker']}", {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": told["worker"],
        "gen_ai.request.model": told["model"],
        "chargehand.task_id": span["parent_id"].partition(":")[2],
        "chargehand.attempt": told["number"],
        "chargehand.escalation": told.get("escalation"),
        "chargehand.child_run_id": told.get("child"),
    }


def _llm(_: Span, told: Told) -> tuple[str, _Told]:
    # Tokens of the cache are among those of the input, as the conventions have it for Anthropic.
    model, read, written = told["model"], told["input_tokens"], told["output_tokens"]
    stopped = told.get("stop_reason")
    return f"chat {model}", {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider_of(model),
        "gen_ai.request.model": model,
        "gen_ai.request.max_tokens": told.get("max_tokens"),
        "gen_ai.response.model": model if stopped else None,
        "gen_ai.response.finish_reasons": [stopped] if stopped else None,
        "gen_ai.usage.input_tokens": read,
        "gen_ai.usage.output_tokens": written,
        "gen_ai.usage.cache_read.input_tokens": told.get("cache_read_tokens"),
        "gen_ai.usage.cache_write.input_tokens": told.get("cache_write_tokens"),
        "llm.model_name": model,
        "llm.token_count.prompt": read,
        "llm.token_count.completion": written,
        "llm.token_count.total": read + written,
        "chargehand.cost_usd": float(told["cost_usd"]),
        "chargehand.purpose": told["purpose"],
        "chargehand.outcome": told["outcome"],
        "chargehand.provider_request_id": told.get("request_id"),
    }


def provider_of(model: str) -> str:
    """Whose API was spoken: that of Anthropic, whoever may have answered at its address."""
    return f"chargehand.{_DEMO}" if model == _DEMO else "anthropic"


def _tool(span: Span, told: Told) -> tuple[str, _Told]:
    name = span["name"][:NAME_LENGTH]
    return f"execute_tool {name}", {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.type": "extension" if told.get("provider") else "function",
        "gen_ai.tool.call.id": told["call_id"],
        "chargehand.effect": told.get("effect"),
    }


def _synthesis(span: Span, told: Told) -> tuple[str, _Told]:
    return span["name"], {"chargehand.level": told.get("level"), "chargehand.group": told.get("group")}


def _review(_: Span, told: Told) -> tuple[str, _Told]:
    return "review", {
        "gen_ai.evaluation.name": "review",
        "gen_ai.evaluation.score.label": told.get("verdict"),
        "chargehand.round": told.get("round"),
    }


_BY_KIND: Mapping[str, Callable[[Span, Told], tuple[str, _Told]]] = {
    "run": _run,
    "plan": _plan,
    "task": _task,
    "attempt": _attempt,
    "llm": _llm,
    "tool": _tool,
    "synthesis": _synthesis,
    "review": _review,
}
