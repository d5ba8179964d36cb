"""What must hold after a soak, whatever has happened in it."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from itertools import pairwise

from app.domain import events as ev
from app.domain.events import RUN_ENDS, Event
from app.domain.topics import topic_of
from app.domain.usage import Usage
from app.store.database import Database
from tests.soak.client import Clients
from tests.soak.provider import TOKENS_PER_CALL, job_of
from tests.support.effects import Ledger
from tests.support.processes import Replica
from tests.support.rows import check_rows, events_in, every
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

SERVED = ("answered", "cut", "client_disconnected")
"""Outcomes of requests that a provider bills."""


@dataclass(frozen=True, slots=True)
class Remains:
    """What a soak has left behind."""

    logs: Mapping[str, Sequence[Event]]
    """Every event, by run id."""
    ends: Mapping[str, str]
    """The status of every run."""
    epochs: Mapping[str, int]
    """How often each run was claimed."""
    requests: Sequence[SeenRequest]
    clients: Clients
    ledger: Ledger
    replicas: Sequence[Replica]

    @property
    def lost_calls(self) -> list[SeenRequest]:
        """Requests that were answered and whose answer no log knows of."""
        known = {call.request_id for log in self.logs.values() for call in _calls(log)}
        return [seen for seen in self.requests if seen.outcome == "answered" and _request_id(seen) not in known]


async def remains(
    database: Database, stub: StubProvider, clients: Clients, ledger: Ledger, replicas: Sequence[Replica]
) -> Remains:
    """Everything there is to judge by; rows are compared with logs on the way."""
    rows = await every(database, "SELECT id, status, owner_epoch FROM runs")
    for row in rows:
        await check_rows(database, row["id"])
    return Remains(
        {row["id"]: await events_in(database, row["id"]) for row in rows},
        {row["id"]: row["status"] for row in rows},
        {row["id"]: row["owner_epoch"] for row in rows},
        stub.log,
        clients,
        ledger,
        replicas,
    )


def faults_of(left: Remains) -> list[str]:
    """All that is wrong: an empty list, one hopes."""
    return [
        *_lost_or_doubled(left),
        *(f"{run_id}: {fault}" for run_id, log in left.logs.items() for fault in _faults_of_log(log)),
        *_overcharged(left),
        *_repeated_calls(left),
        *_repeated_effects(left),
        *_misanswered(left),
        *_misapproved(left),
        *_misread(left),
        *_crashes(left),
    ]


def _lost_or_doubled(left: Remains) -> Iterator[str]:
    accepted = {*left.clients.run_ids.values(), *left.clients.forks.values()}
    of_clients = {run_id for run_id, log in left.logs.items() if _parent_of(log) is None}
    if accepted != of_clients:
        yield f"{len(accepted)} jobs were accepted, and there are {len(of_clients)} runs"
    yield from _unheard(left)
    yield from (
        f"{run_id} is stuck: {status}"
        for run_id, status in left.ends.items()
        if status in ("queued", "running", "waiting")
    )


def _parent_of(log: Sequence[Event]) -> str | None:
    job = log[0].data
    return job.parent.run if isinstance(job, ev.RunQueued) and job.parent is not None else None


def _unheard(left: Remains) -> Iterator[str]:
    """Every parent that went on hears of each of its nested runs once, as it ended; one that was delivered is used."""
    for run_id, log in left.logs.items():
        begun = [event.data.run for event in log if isinstance(event.data, ev.ChildStarted)]
        heard = {event.data.run: event.data.status for event in log if isinstance(event.data, ev.ChildEnded)}
        if len(set(begun)) != len(begun):
            yield f"{run_id} has begun a nested run twice"
        if (missing := set(begun) - heard.keys()) and left.ends[run_id] in ("succeeded", "partial"):
            yield f"{run_id} has not heard of the ends of {sorted(missing)}"
        yield from (
            f"{run_id} has heard that {child} ended {status}, and it ended {left.ends.get(child)}"
            for child, status in heard.items()
            if left.ends.get(child) != status
        )


def _faults_of_log(log: Sequence[Event]) -> Iterator[str]:
    if [event.seq for event in log] != list(range(1, len(log) + 1)):
        yield "its events have gaps"
    if sum(event.type in RUN_ENDS for event in log) != 1 or log[-1].type not in RUN_ENDS:
        yield "it does not end exactly once"
    epochs = [event.data.epoch for event in log if isinstance(event.data, ev.RunStarted | ev.RunResumed)]
    if epochs != sorted(set(epochs)):
        yield f"its owners overlap: {epochs}"
    if getattr(log[-1].data, "stop_reason", None) == "internal_error":
        yield f"an internal error ended it: {log[-1].data}"
    yield from _overspending(log)


def _overspending(log: Sequence[Event]) -> Iterator[str]:
    """What is booked never passes a limit, whoever dies."""
    job = log[0].data
    assert isinstance(job, ev.RunQueued)
    limits, spent = job.limits, reduce(Usage.__add__, map(_usage, log), Usage())
    if limits.tokens is not None and spent.amount.tokens > limits.tokens:
        yield f"{spent.amount.tokens} of {limits.tokens} tokens are booked"
    if limits.cost_usd is not None and spent.cost_usd > limits.cost_usd:
        yield f"{spent.cost_usd} of {limits.cost_usd} USD are booked"


def _overcharged(left: Remains) -> Iterator[str]:
    """What the provider has served never passes a limit, with what nobody knows of."""
    served = Counter(job_of(seen) for seen in left.requests if seen.outcome in SERVED)
    for number, run_id in left.clients.run_ids.items():
        job = left.logs[run_id][0].data
        assert isinstance(job, ev.RunQueued)
        if job.limits.tokens is not None and served[number] * TOKENS_PER_CALL > job.limits.tokens:
            yield f"{run_id} was served {served[number]} times, and may have {job.limits.tokens} tokens"


def _usage(event: Event) -> Usage:
    return event.data.usage if isinstance(event.data, ev.LlmCompleted | ev.LlmFailed | ev.RunResumed) else Usage()


def _repeated_calls(left: Remains) -> Iterator[str]:
    """Every reply is recorded once, no attempt gets two replies to one request, and only a lost owner loses a call."""
    by_id = {_request_id(seen): seen for seen in left.requests}
    recorded = Counter(reply.request_id for log in left.logs.values() for _, reply in _replies(log))
    yield from (f"{name} was recorded {count} times" for name, count in recorded.items() if count > 1)
    for run_id, log in left.logs.items():
        asked = Counter((topic_of(event), by_id[str(reply.request_id)].body_sha256) for event, reply in _replies(log))
        yield from (f"{run_id} was answered twice: {call}" for call, count in asked.items() if count > 1)
    for seen in left.lost_calls:
        run_id = left.clients.run_ids[job_of(seen)]
        top = (run_id, left.clients.forks.get(job_of(seen)))
        whole = [name for name, log in left.logs.items() if name in top or _parent_of(log) in top]
        failed = [event.data for name in whole for event in left.logs[name] if isinstance(event.data, ev.LlmFailed)]
        stopped = any(call.error.code == "cancelled" for call in failed)
        if all(left.epochs[name] == 1 for name in whole) and not stopped:
            yield f"{run_id} lost an answer, and never its owner"


def _repeated_effects(left: Remains) -> Iterator[str]:
    events = [event for log in left.logs.values() for event in log]
    intents = {event.data.key: event.data.name for event in events if isinstance(event.data, ev.ToolStarted)}
    times = {name: left.ledger.times(name) for name in ("send_mail", "put_record")}
    yield from (f"{count} mails under {key}" for key, count in times["send_mail"].items() if count > 1)
    effects = times["send_mail"].keys() | times["put_record"].keys()
    yield from (f"{key} took effect without an intent" for key in effects - intents.keys())
    for event in events:
        if isinstance(event.data, ev.ToolCompleted) and event.data.name in times:
            key = f"{event.run_id}:{event.task_id}:{event.attempt}:{event.data.call_id}"
            if not times[event.data.name][key]:
                yield f"{key} is said to have taken effect, and has not"


def _misanswered(left: Remains) -> Iterator[str]:
    """Each question is asked once and ends once; what a client was told it has answered, it has."""
    events = [event.data for log in left.logs.values() for event in log]
    asked = Counter(fact.id for fact in events if isinstance(fact, ev.QuestionAsked))
    answered = Counter(fact.id for fact in events if isinstance(fact, ev.QuestionAnswered))
    ended = answered + Counter(fact.id for fact in events if isinstance(fact, ev.QuestionExpired))
    yield from (f"{name} was asked {count} times" for name, count in asked.items() if count > 1)
    yield from (f"{name} ended {count} times" for name, count in ended.items() if count > 1)
    told = {name: count for name, count in left.clients.answers.items() if count}
    yield from (f"{name} was answered {count} times" for name, count in told.items() if count > answered[name])


def _misapproved(left: Remains) -> Iterator[str]:
    """Nothing begins before its plan is approved; each is decided on once, as the client was told, edits included.

    A client that was cut off does not know whether its decision was taken.
    """
    for run_id, log in left.logs.items():
        told = Counter(event.type for event in log)
        decided, asked = told["plan.approved"] + told["plan.rejected"], told["plan.approval_requested"]
        if decided > asked or asked > 1:
            yield f"{run_id} was asked for approval {asked} times, and decided on {decided} times"
        order = [event.type for event in log if event.type in ("plan.approved", "task.started")]
        if asked and order[:1] == ["task.started"]:
            yield f"{run_id} began without its approval"
        taken = {_PAST[what] for what in left.clients.decisions.get(run_id, ())}
        by_clients = {event.type for event in log if getattr(event.data, "by", None) == "client"}
        if lost := taken - by_clients - ({"plan.edited"} & told.keys()):
            yield f"{run_id} lost a client's decision: {lost}"


_PAST = {"edit": "plan.edited", "approve": "plan.approved", "reject": "plan.rejected"}


def _misread(left: Remains) -> Iterator[str]:
    for run_id, numbers in left.clients.read.items():
        if numbers != list(range(1, len(left.logs[run_id]) + 1)):
            yield f"a follower of {run_id} read {numbers}"


def _crashes(left: Remains) -> Iterator[str]:
    """Lines that a healthy process never logs, whatever happens to its connections."""
    for replica in left.replicas:
        yield from (f"said: {line}" for line in replica.said if "Traceback" in line or "never retrieved" in line)
        for line in map(json.loads, replica.logged):
            if line["level"] in ("error", "critical") or "never retrieved" in line["event"]:
                causes = [(each["exc_type"], each["exc_value"]) for each in line.get("exception", ())]
                yield f"logged: {line['event']} {causes}"


def takeovers_s(left: Remains, deaths: Mapping[int, datetime]) -> list[float]:
    """Seconds from each death to the moment when another process went on with a run."""
    waits: list[float] = []
    for log in left.logs.values():
        claims = [(event.at, event.data) for event in log if isinstance(event.data, ev.RunStarted | ev.RunResumed)]
        for (begun_at, claim), (taken_at, _) in pairwise(claims):
            died = deaths.get(int(claim.engine.split("-")[-2]))
            if died is not None and begun_at <= died <= taken_at:
                waits.append((taken_at - died).total_seconds())
    return sorted(waits)


def _calls(log: Sequence[Event]) -> list[ev.LlmCompleted | ev.LlmFailed]:
    return [event.data for event in log if isinstance(event.data, ev.LlmCompleted | ev.LlmFailed)]


def _replies(log: Sequence[Event]) -> list[tuple[Event, ev.LlmCompleted]]:
    return [(event, event.data) for event in log if isinstance(event.data, ev.LlmCompleted)]


def _request_id(seen: SeenRequest) -> str:
    return f"req_{seen.number:06}"
