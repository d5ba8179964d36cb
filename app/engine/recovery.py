"""What the process before us may have left unfinished, reckoned when its run is resumed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce

from app.agents.allowance import kept_for_answer
from app.agents.ask import prepare
from app.agents.desk import Desk
from app.agents.roles import ROLES
from app.domain.breaker_names import model_breaker
from app.domain.policy.agenda import ANSWERING, ARBITRATING, REVIEWING, SELECTING, left_behind, open_topics, step_in
from app.domain.policy.budget import Kept, is_limited, room_in, together
from app.domain.protocol import Ask
from app.domain.snapshot import Snapshot
from app.domain.topics import Topic
from app.domain.usage import Amount, Usage
from app.llm.estimates import estimated_usage, worst_case


@dataclass(frozen=True, slots=True)
class Lost:
    """Model calls that were under way, and what they have probably cost."""

    calls: int = 0
    usage: Usage = Usage()
    unsettled: Amount = Amount()
    """What they may have cost beyond that, where the run has a limit."""


async def reckon_lost(desk: Desk, until: datetime) -> Lost:
    """What was under way when the last process vanished. It did nothing more after `until`.

    A conversation whose next step is a call had that call under way, unless it was still waiting to repeat a failed
    one, or the process has told that it broke the call off, and what that has cost. A run that waits had none: whoever
    took it and vanished had not even said so. In a run with a limit no more were under way than there was room for.
    """
    run = desk.run
    held = [] if run.waiting is not None else [*open_topics(run), *left_behind(run)]
    asked = _without_held(run, [topic for topic in held if _was_asked(run, topic, until)])
    requests = [(await prepare(ROLES[topic.purpose], run, topic, desk.tools)).request() for topic in asked]
    prices, ids = desk.model.prices, [desk.model.model_id(request.model) for request in requests]
    worst = [
        worst_case(prices, request, model_id, run.conversation(topic).tokens)
        for request, model_id, topic in zip(requests, ids, asked, strict=True)
    ]
    caps = {place: call.output_tokens for place, call in enumerate(worst)}
    if is_limited(run):
        asks = SELECTING if SELECTING in asked else None
        kept = Kept() if ANSWERING in asked else await kept_for_answer(run, desk.model, asks)
        caps = together(room_in(run, (), kept), worst)
    usages = [estimated_usage(prices, replace(requests[n], max_tokens=cap), ids[n]) for n, cap in caps.items()]
    usage = reduce(Usage.__add__, usages, Usage())
    if not is_limited(run):
        return Lost(len(caps), usage)
    most = reduce(Amount.__add__, (worst[place].under(cap) for place, cap in caps.items()), Amount())
    return Lost(len(caps), usage, most.beyond(usage.amount))


def _without_held(run: Snapshot, asked: Sequence[Topic]) -> list[Topic]:
    """Of those whose model is behind an open breaker at most one was sent since it opened: the probe. What was under
    way then went on."""
    probes: dict[str, Topic] = {}
    for topic in asked:
        if not _is_free(run, topic):
            probes.setdefault(model_breaker(run.model_of(topic)), topic)
    return [topic for topic in asked if _is_free(run, topic) or topic in probes.values()]


def _is_free(run: Snapshot, topic: Topic) -> bool:
    """Whether a call that came next in a conversation was begun before the breaker of its model was told of."""
    held_at = run.breakers.get(model_breaker(run.model_of(topic)))
    return held_at is None or _last_step_at(run, topic) < held_at


def _last_step_at(run: Snapshot, topic: Topic) -> datetime:
    """Since when a conversation was ready for its next call, as far as the state tells."""
    times = [run.claimed_at, run.conversation(topic).retry_at]
    if topic in (SELECTING, ANSWERING, REVIEWING, ARBITRATING) or topic.purpose in ("reduce", "verify"):
        times.append(run.executed_at)
    if topic.task_id is not None and (tries := run.tasks[topic.task_id].attempts):
        attempt = tries[topic.number - 1] if topic.purpose == "work" else tries[-1]
        times += [attempt.started_at, attempt.heard_at, attempt.finished_at]
    return max(at for at in times if at is not None)


def _was_asked(run: Snapshot, topic: Topic, until: datetime) -> bool:
    talk = run.conversation(topic)
    if run.exhausted is not None and topic not in (SELECTING, ANSWERING):
        return False  # Nothing else was under way: that was why.
    return isinstance(step_in(run, topic), Ask) and not talk.waits(until) and talk.stopped_seq <= run.claimed_seq
