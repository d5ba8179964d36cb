"""Replays: what is stored of a run, against what today's code makes of its log. Nobody is called for it.

The fold and the rows are the store's, the readers of replies are the agents': this is where both are at hand.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.agents.rereading import reread
from app.domain.crew import Means
from app.domain.errors import FAULTS
from app.domain.events import Event, event_from
from app.domain.job import JobInput
from app.domain.replay import Findings, Replay, drive
from app.domain.retries import Patience
from app.store.comparison import StoredRun, compare, stored_run
from app.store.database import Database
from app.store.inputs import contents_of
from app.store.run_log import Known, brief_from


@dataclass(frozen=True, slots=True)
class Today:
    """What a process reads logs with."""

    models: Mapping[str, str] = field(default_factory=dict)
    """Ids by tier."""
    means: Mapping[str, Means] = field(default_factory=dict)
    """What its tools are good for, by name."""


async def replay_run(database: Database, tenant: str, run_id: str, today: Today) -> Replay | None:
    """Drive the log of a run through today's code; None when the tenant has no such run.

    Replies of which only a part is kept are not read again. A long log takes seconds: in a thread it only slows others
    down.
    """
    stored = await stored_run(database, tenant, run_id)
    if stored is None:
        return None
    # A run that has begun may need them: code checks results of some teams against them.
    inputs = await contents_of(database, tenant, run_id) if stored.row["started_at"] else ()
    return await asyncio.to_thread(_replay, run_id, stored, today, inputs)


def _replay(run_id: str, stored: StoredRun, today: Today, inputs: Sequence[JobInput]) -> Replay:
    findings, log = Findings(), list[Event]()
    last_seq = stored.row["last_seq"]
    for event in json.loads(stored.log):
        try:
            log.append(event_from(event))
        except FAULTS:
            findings.add("data", event["type"], "cannot be read", seq=event["seq"])
            return findings.told(last_seq)
    try:
        brief = brief_from(Known(run_id, stored.row["tenant"], stored.definition), log, Patience(), today.models)
    except FAULTS:
        findings.add("data", "the job and its team", "cannot be read", seq=log[0].seq)
        return findings.told(last_seq)
    reader = reread if stored.row["thinned_at"] is None else None
    run = drive(replace(brief, means=today.means, given=inputs), log, reader, findings)
    if run is not None:
        compare(run, log, stored, findings)
    return findings.told(last_seq)
