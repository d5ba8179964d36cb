"""The counters of the calls of one model for one purpose, found once: there are more calls than anything else."""

from app.domain.usage import Usage
from app.metrics.instruments import Instruments


class CallMeters:
    """What is counted of each call."""

    def __init__(self, count: Instruments, model: str, purpose: str) -> None:
        self._calls = count.calls.labels(model, purpose)
        self._cost = count.cost.labels(model, purpose)
        self._fresh = count.tokens.labels(model, purpose, "input")
        self._read = count.tokens.labels(model, purpose, "cache_read")
        self._written = count.tokens.labels(model, purpose, "cache_write")
        self._output = count.tokens.labels(model, purpose, "output")

    def spent(self, usage: Usage) -> None:
        """Count calls and what they took. Each token is of one kind, so that kinds can be added up."""
        self._calls.inc(usage.llm_calls)
        self._cost.inc(float(usage.cost_usd))
        self._fresh.inc(max(usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens, 0))
        self._output.inc(usage.output_tokens)
        if usage.cache_read_tokens:
            self._read.inc(usage.cache_read_tokens)
        if usage.cache_write_tokens:
            self._written.inc(usage.cache_write_tokens)
