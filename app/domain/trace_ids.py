"""Where a run stands among traces: ids that any process comes to by itself, so that a takeover changes none of them.

A run that a client has posted has a trace of its own, which links to the client's. A nested run is a part of the trace
of the run that it works for: its `traceparent` says of which, and below what.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

_TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?P<trace>(?!0{32})[0-9a-f]{32})-(?P<span>(?!0{16})[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})"
)
_TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}")
_UUID_V7 = re.compile(r"0[12][0-9a-f]{10}7[0-9a-f]{3}[89ab][0-9a-f]{15}")
_SAMPLED = 1
ROOT = "run"
"""The span of the run as a whole."""


class TracePlace(NamedTuple):
    """A span of somebody's trace."""

    trace_id: str
    span_id: str
    is_sampled: bool

    @property
    def traceparent(self) -> str:
        """As W3C Trace Context writes it."""
        return f"00-{self.trace_id}-{self.span_id}-{int(self.is_sampled):02x}"


def place_in(traceparent: str | None) -> TracePlace | None:
    """The span that a `traceparent` names; None for one that is not well-formed."""
    found = _TRACEPARENT.fullmatch(traceparent or "")
    return found and TracePlace(found["trace"], found["span"], bool(int(found["flags"], 16) & _SAMPLED))


@dataclass(frozen=True, slots=True)
class RunTrace:
    """A run's place among traces."""

    run_id: str
    caller: TracePlace | None = None
    """The span that has brought the run."""
    is_nested: bool = False

    @property
    def trace_id(self) -> str:
        """The trace that the run's spans belong to."""
        return self.caller.trace_id if self.caller and self.is_nested else trace_id_of(self.run_id)

    @property
    def is_sampled(self) -> bool:
        """Whether whoever has brought the run records its own trace; true where nobody has said."""
        return self.caller is None or self.caller.is_sampled

    @property
    def session(self) -> str:
        """The run that everything in the trace is done for."""
        return f"run_{self.trace_id}" if self.trace_id != trace_id_of(self.run_id) else self.run_id

    def span_id(self, span: str) -> str:
        """The id of one of the run's spans, by its name in the run."""
        return hashlib.sha256(f"{self.run_id}/{span}".encode()).hexdigest()[:16]

    def place(self, span: str) -> TracePlace:
        """One of the run's spans, as others may name it."""
        return TracePlace(self.trace_id, self.span_id(span), self.is_sampled)


def trace_id_of(run_id: str) -> str:
    """The trace of a run that is not nested: the digits of its id, where they make one."""
    digits = run_id.removeprefix("run_")
    return digits if _TRACE_ID.fullmatch(digits) else hashlib.sha256(run_id.encode()).hexdigest()[:32]


def trace_id_by_shape(run_id: str) -> str | None:
    """The trace of a run of which only the id is known, if a client has posted it: its id is a UUIDv7 of our time.

    None for a nested run, whose id is a hash; one in eight thousand of those looks as if it was none.
    """
    digits = run_id.removeprefix("run_")
    return digits if _UUID_V7.fullmatch(digits) else None


def trace_of_job(run_id: str, queued: Mapping[str, Any]) -> RunTrace:
    """The same, by the data of the run's first event."""
    return RunTrace(run_id, place_in(queued.get("traceparent")), queued.get("parent") is not None)
