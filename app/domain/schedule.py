"""How long tasks take together that wait for each other."""

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter

from app.domain.plan import Task


def time_for(tasks: Sequence[Task], lasts: Mapping[str, float], concurrency: int) -> float:
    """Seconds for tasks that last so long each, so many of them side by side; who is ready first begins first."""
    graph = TopologicalSorter({task.id: task.depends_on for task in tasks})
    graph.prepare()
    now, ready, running = 0.0, list(graph.get_ready()), dict[str, float]()
    while ready or running:
        while ready and len(running) < concurrency:
            name = ready.pop(0)
            running[name] = now + lasts[name]
        first = min(running, key=lambda name: running[name])
        now = running.pop(first)
        graph.done(first)
        ready += graph.get_ready()
    return now
