"""Spans of requests: the framework makes them, where traces are wanted. A run links to that of its request."""

from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from starlette.datastructures import Headers
from starlette.types import Scope

from app.domain.trace_ids import TracePlace

if TYPE_CHECKING:
    from app.tracing.pipeline import Tracing

_TRACED = "/v1/"
_STREAM = "text/event-stream"


def telemetry_of(tracing: "Tracing | None") -> Any:
    """What the framework is to do about OpenTelemetry."""
    if tracing is None:
        return {"tracing": False, "metrics": False, "logs": False}
    return {
        "tracer_provider": tracing.provider,
        "operation_spans": False,
        "metrics": False,
        "logs": False,
        "auto_configure": False,
        "exclude": _is_untraced,
    }


def _is_untraced(scope: Scope) -> bool:
    """Probes, pages, and streams: whoever closes a stream would be told of as an error."""
    if scope["type"] != "http" or not scope["path"].startswith(_TRACED):
        return True
    return _STREAM in Headers(scope=scope).get("accept", "")


def place_of_request() -> TracePlace | None:
    """The span of the request that is being answered; None where it has none."""
    found = trace.get_current_span().get_span_context()
    if not found.is_valid:
        return None
    return TracePlace(f"{found.trace_id:032x}", f"{found.span_id:016x}", found.trace_flags.sampled)
