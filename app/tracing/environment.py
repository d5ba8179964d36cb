"""What `OTEL_*` says about traces, as with any program that OpenTelemetry's SDK is in.

The SDK is loaded only where traces are wanted: it takes a third of a second, which nobody else should wait for.
"""

import os
import platform
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, get_args

import structlog

if TYPE_CHECKING:
    from app.tracing.pipeline import Tracing

log = structlog.get_logger(__name__)

Exporter = Literal["otlp", "console"]
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_EXPORTER = "OTEL_TRACES_EXPORTER"
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_SPOKEN = "http/protobuf"
_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_IN_SPANS = ("true", "1", "span_only", "span_and_event")


def tracing_of(environment: Mapping[str, str], release: str) -> "Tracing | None":
    """Whatever takes spans to where the environment says; None where it says nothing, or has traces off."""
    wanted = exporter_of(environment)
    if wanted is None:
        return None
    from app.tracing.pipeline import opened

    instance = f"{platform.node()}-{os.getpid()}"
    try:
        return opened(wanted, release=release, instance=instance, with_content=_wants_content(environment))
    except (ValueError, OSError) as error:  # Of what a variable says, or a file that it names.
        log.warning("no traces are exported", error=type(error).__name__, reason=str(error)[:200])
        return None


def exporter_of(environment: Mapping[str, str]) -> Exporter | None:
    """Who takes the spans: `otlp` or `console`; None when nobody does."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    named = [each.strip() for each in environment.get(_EXPORTER, "").lower().split(",") if each.strip()]
    if not named:
        named = ["otlp" if any(environment.get(name, "").strip() for name in _ENDPOINTS) else "none"]
    if "none" in named:
        return None
    if "otlp" not in named and "console" in named:
        return "console"
    if "otlp" not in named:
        log.warning("no traces are exported", variable=_EXPORTER, known=[*get_args(Exporter), "none"])
        return None
    if (protocol := _protocol(environment)) != _SPOKEN:
        log.warning("no traces are exported", variable=_PROTOCOLS[1], protocol=protocol[:40], known=[_SPOKEN])
        return None
    return "otlp"


def _protocol(environment: Mapping[str, str]) -> str:
    said = (environment.get(name, "").strip().lower() for name in _PROTOCOLS)
    return next(filter(None, said), _SPOKEN)


def _wants_content(environment: Mapping[str, str]) -> bool:
    return environment.get(_CONTENT, "").strip().lower() in _IN_SPANS
