"""What a result must show before it is taken: words of its own, and grounds that the worker has seen."""

import re
from collections.abc import Iterator, Sequence

from app.domain.checks import Worked, flaws_of
from app.domain.conversation import Conversation, tool_calls_of
from app.domain.flaws import Flaw
from app.domain.policy.agenda import attempt_in, worker_of
from app.domain.results import Output
from app.domain.snapshot import Snapshot
from app.domain.tool_use import tools_used
from app.domain.topics import Topic
from app.domain.worker import Worker

_PLACEHOLDER = re.compile(r"(?:todo|tbd|tba|n/a|placeholder|lorem ipsum.*|to be (?:done|determined|written)|\W*)\.?")
"""A whole result that only stands for one."""
_URL = re.compile(r"https?://([^\s<>\"'`|\]#]+)")
"""The address of a page, without its scheme and its fragment: it is the same page."""


def objections_to(output: Output, run: Snapshot, topic: Topic) -> list[Flaw]:
    """What speaks against a result, as far as code can see."""
    rejected = [Flaw(code="result_rejected", detail=detail) for detail in _details(output, run, topic)]
    uncalled = _uncalled(worker_of(run, attempt_in(run, topic)), run.conversation(topic))
    return [*rejected, *uncalled, *_failed_checks(output, run, topic)]


def _failed_checks(output: Output, run: Snapshot, topic: Topic) -> Iterator[Flaw]:
    """What the team's own checks of the worker's results find."""
    checks = worker_of(run, attempt_in(run, topic)).checks
    return flaws_of(Worked(run.tasks[topic.task_id or ""].task, output, run.brief.given), checks)


def _details(output: Output, run: Snapshot, topic: Topic) -> Iterator[str]:
    task, attempt = run.tasks[topic.task_id or ""].task, attempt_in(run, topic)
    said = {_plain(output.text), _plain(output.summary)} - {""}
    asked = attempt.instruction, task.title, task.success_criterion
    if said and said <= set(map(_plain, asked)):
        yield "the result only repeats the task"
    if output.data is None and not output.artifacts and all(_PLACEHOLDER.fullmatch(text) for text in said):
        yield "the result is a placeholder, and says nothing"
    if unseen := _unseen(output.sources, run, topic):
        yield (
            f"you have not seen these sources: {', '.join(unseen)}; name only what you were given or have found; where "
            "that is nothing, sources is an empty list"
        )


def _uncalled(worker: Worker, talk: Conversation) -> Iterator[Flaw]:
    """What is said of tools that the worker must use and of which no call has succeeded, as alternatives each.

    It is not to blame where none of them could be called since they are left alone.
    """
    called, held = tools_used(talk), _held(worker, talk)
    for tools in worker.needed_tools if worker.must_use else ():
        names = " or ".join(tools)
        if held.issuperset(tools):
            yield Flaw(code="breaker_open", detail=f"this cannot be done without {names}, which is left alone now")
        elif called.isdisjoint(tools):
            said = f"no call of {names} has brought anything, and this cannot be done without: call it first"
            yield Flaw(code="result_rejected", detail=said)


def _held(worker: Worker, talk: Conversation) -> set[str]:
    """The tools that were not offered, and those whose calls were all turned away by their breakers."""
    offered = talk.prompt.tools if talk.prompt is not None else None
    codes: dict[str, set[str | None]] = {
        name: set() for name in worker.tools if offered is not None and name not in offered
    }
    for turn in talk.turns:
        for call in tool_calls_of(turn.content):
            codes.setdefault(call["name"], {"breaker_open"}).add(turn.result_of(call).error_code)
    return {name for name, found in codes.items() if found <= {"breaker_open"}}


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _unseen(sources: Sequence[str], run: Snapshot, topic: Topic) -> list[str]:
    """Addresses among the sources that stand nowhere in what the worker was given, asked for or got."""
    named = [(source, url) for source in sources for url in _URL.findall(source)]
    if not named:
        return []
    seen = "\n".join(_seen(run, topic)).casefold()
    return [source for source, url in named if url.casefold().rstrip("/.,;:!?)") not in seen]


def _seen(run: Snapshot, topic: Topic) -> Iterator[str]:
    task = run.tasks[topic.task_id or ""].task
    yield attempt_in(run, topic).instruction
    yield task.context
    for output in (run.tasks[name].output for name in task.depends_on):
        if output is not None:
            yield from (*output.texts, str(output.data), *output.sources)
    for turn in run.conversation(topic).turns:
        yield from (str(block.get("input")) for block in tool_calls_of(turn.content))
        yield from (result.text for result in turn.results.values())
        # What the provider's own tools asked and found.
        yield from (str(block) for block in turn.content if block.get("type") not in ("text", "thinking", "tool_use"))
