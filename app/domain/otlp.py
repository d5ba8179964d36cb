"""OTLP/JSON: spans in the form that collectors take.

Ids are hex, enums numbers, 64-bit numbers texts, and names in camel case: the JSON of protobuf but for the ids, as
https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding has it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.domain.trace_ids import TracePlace

Attribute = str | bool | int | float | Sequence[str]
Attributes = Mapping[str, Attribute]

SCOPE = "chargehand"
_INTERNAL, _CLIENT = 1, 3
_ERROR = 2


@dataclass(frozen=True, slots=True)
class OtelSpan:
    """A span as OpenTelemetry has it."""

    place: TracePlace
    parent_id: str | None
    name: str
    started_ns: int
    ended_ns: int
    attributes: Attributes = field(default_factory=dict)
    calls_out: bool = False
    """Whether it is a call to another service."""
    failed: bool = False
    link: TracePlace | None = None
    """What has brought it about in another trace."""


def document_around(resource: Attributes, release: str) -> tuple[str, str]:
    """What stands before the spans of a document, and behind them; commas go between."""
    scope = {"name": SCOPE, "version": release}
    head = f'{{"resourceSpans":[{{"resource":{_json({"attributes": _listed(resource)})},'
    return f'{head}"scopeSpans":[{{"scope":{_json(scope)},"spans":[', "]}]}]}"


def span_as_json(span: OtelSpan) -> str:
    """One span of a document."""
    told: dict[str, Any] = {"traceId": span.place.trace_id, "spanId": span.place.span_id}
    if span.parent_id is not None:
        told["parentSpanId"] = span.parent_id
    told |= {
        "flags": int(span.place.is_sampled),
        "name": span.name,
        "kind": _CLIENT if span.calls_out else _INTERNAL,
        "startTimeUnixNano": str(span.started_ns),
        "endTimeUnixNano": str(span.ended_ns),
        "attributes": _listed(span.attributes),
        "status": {"code": _ERROR} if span.failed else {},
    }
    if span.link is not None:
        told["links"] = [{"traceId": span.link.trace_id, "spanId": span.link.span_id}]
    return _json(told)


def _listed(attributes: Attributes) -> list[Mapping[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Attribute) -> Mapping[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
        case _:
            return {"arrayValue": {"values": [{"stringValue": each} for each in value]}}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
