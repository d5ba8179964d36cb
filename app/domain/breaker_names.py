"""The names of circuit breakers: one for each model, worker and tool."""


def model_breaker(model: str) -> str:
    """The breaker of a model, by its id."""
    return f"model:{model}"


def worker_breaker(team: str, worker: str) -> str:
    """The breaker of a worker of a team."""
    return f"worker:{team}/{worker}"


def tool_breaker(tool: str) -> str:
    """The breaker of a tool."""
    return f"tool:{tool}"
