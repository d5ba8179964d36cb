"""Every metric that counts what this process has done, with its labels and what it means."""

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram

PREFIX = "chargehand_"

_QUEUE_S = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
_RUN_S = (1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 14_400)
_CALL_S = (0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600)
_TOOL_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_LATE_S = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 3600, 86_400)
_COMMIT_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)

_OF_WORKER = ("team", "worker")
_OF_CALL = ("model", "purpose")


class Instruments:
    """The counters and histograms of one process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, meaning: str, *labels: str) -> Counter:
            return Counter(PREFIX + name, meaning, labels, registry=registry)

        def histogram(name: str, meaning: str, buckets: Sequence[float], *labels: str) -> Histogram:
            return Histogram(PREFIX + name, meaning, labels, buckets=buckets, registry=registry)

        self.runs_accepted = counter("runs_accepted", "Jobs that were accepted.", "team")
        self.runs_ended = counter("runs_ended", "Runs that have ended.", "team", "status", "stop_reason")
        self.queue_s = histogram("run_queue_seconds", "From acceptance until an engine began the run.", _QUEUE_S)
        self.start_s = histogram("run_start_seconds", "From acceptance until the run's first task began.", _QUEUE_S)
        self.run_s = histogram("run_seconds", "From the start of a run to its end.", _RUN_S, "status")

        self.attempts = counter("task_attempts", "Attempts that were begun.", *_OF_WORKER)
        self.tasks_ended = counter("tasks_ended", "Tasks that have ended.", *_OF_WORKER, "status")
        self.retries = counter("task_retries", "Attempts that failed and had the same worker try again.", *_OF_WORKER)
        self.reassignments = counter("task_reassignments", "Attempts that another worker took over from.", *_OF_WORKER)
        self.refinements = counter("task_refinements", "Instructions that the supervisor rewrote.", *_OF_WORKER)
        self.escalations = counter("task_escalations", "Times that a worker said it cannot or should not.", *_OF_WORKER)
        self.failures = counter("attempt_failures", "Attempts that failed, by what went wrong.", "code")

        self.calls = counter("model_calls", "Model calls that were sent.", *_OF_CALL)
        self.call_errors = counter("model_call_errors", "Model calls without a reply of use.", *_OF_CALL, "code")
        self.call_s = histogram("model_call_seconds", "From a model call's request to its end.", _CALL_S, *_OF_CALL)
        self.tokens = counter("model_tokens", "Tokens that models read and wrote.", *_OF_CALL, "kind")
        self.cost = counter("model_cost_usd", "What model calls cost, in US dollars.", *_OF_CALL)

        self.tool_calls = counter("tool_calls", "Tool calls that have ended.", "tool", "outcome")
        self.tool_s = histogram("tool_call_seconds", "What a call of our own tools took.", _TOOL_S, "tool")

        self.commits = counter("commits", "Writes of the journal; each carries the news of several runs.")
        self.commit_failures = counter("commit_failures", "Writes that the database did not take or answer.")
        self.committed_events = counter("committed_events", "Events that these writes carried.")
        self.commit_s = histogram("commit_seconds", "What such a write took.", _COMMIT_S)
        self.renewals = counter("lease_renewals", "Leases of runs that were prolonged.")
        self.losses = counter("leases_lost", "Runs that this process lost while it executed them.")
        self.takeovers = counter("takeovers", "Runs taken from a process that had let their leases lapse.")
        self.firings = counter("schedule_firings", "Times of schedules, by what has become of them.", "outcome")
        self.firing_s = histogram("schedule_late_seconds", "From a time of a schedule until it was seen to.", _LATE_S)
        self.breaker_changes = counter("breaker_changes", "Times that a breaker changed its state.", "kind", "state")

        self.limit_refusals = counter("limit_refusals", "Requests and jobs that went beyond a limit.", "limit")
        self.limit_warnings = counter("limit_warnings", "Warnings that most of a limit is spent.", "limit")
