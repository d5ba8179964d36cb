"""The checks of `chargehand doctor`: what a process needs, what is wrong with it, and what to do about that."""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from app.cli.processes import database_of
from app.domain.conversation import Message
from app.domain.errors import ChargehandError, ModelError
from app.domain.keys import DEFAULT_TENANT
from app.settings import Settings, SettingsError, read_settings, variable
from app.store.condition import Condition, condition_of, sealed_secrets
from app.store.database import TROUBLE, Database
from app.store.engines import KnownEngine, known_engines
from app.store.intake import Pause, pauses_of
from app.store.schema import DatabaseUnusable
from app.store.vitals import vitals_of
from app.telemetry import set_up_logging

SKEW_S = 2.0
"""Seconds by which clocks may differ before somebody should look after them."""
OLDEST_S = 120.0
"""Seconds that the first in line may have waited before nobody seems to take runs."""
ROOM_BYTES, LITTLE_ROOM_BYTES = 5 * 2**30, 500 * 2**20
"""Free space below which somebody should look after the disk of a private Postgres, and below which it is too late."""
GIB = 2**30
ASKED = "Answer with one word: ready."

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Check:
    """What was found about one thing."""

    about: str
    state: State
    found: str
    todo: str = ""
    """What the operator does about it."""


def every_check(*, ask_model: bool) -> Iterator[Check]:
    """Look at one thing after the other. What rests on something that failed is left out."""
    try:
        settings = read_settings()
    except SettingsError as error:
        yield Check("settings", "fail", str(error), "mend the variable; `README.md` lists all of them")
        return
    set_up_logging(level="error", form=settings.log_format, output=sys.stderr)
    yield from _of_settings(settings)
    yield from _of_server(settings)
    yield asyncio.run(of_provider(settings, ask=ask_model))


def _of_settings(settings: Settings) -> Iterator[Check]:
    from app.runtime import known_teams

    try:
        teams = known_teams(settings)
    except ChargehandError as error:
        yield Check("teams", "fail", str(error), "`chargehand team check FILE` shows every fault of a file")
    else:
        yield Check("teams", "ok", f"{len(teams)} from files")
    door = "requests bring keys" if settings.auth == "keys" else "whoever reaches the API may use it"
    yield Check("settings", "ok", f"{door}, at {settings.host} port {settings.port}")
    if settings.database_url is None:
        yield of_disk(shutil.disk_usage(settings.home if settings.home.exists() else ".").free)


def of_disk(free: int) -> Check:
    """Whether a private Postgres has room; `free` in bytes."""
    found = f"{free / GIB:.1f} GiB are free for the private Postgres"
    if free < LITTLE_ROOM_BYTES:
        return Check("disk", "fail", found, "make room now: a Postgres without any stops")
    if free < ROOM_BYTES:
        todo = f"make room, or keep runs for a shorter time ({variable('retention_days')})"
        return Check("disk", "warn", found, todo)
    return Check("disk", "ok", found)


def _of_server(settings: Settings) -> Iterator[Check]:
    try:
        with database_of(settings, migrate=False) as usable:
            note = ", of a newer release, with which this one works" if usable.schema.is_newer else ""
            yield Check("schema", "ok", f"revision {usable.schema.revision}{note}")
            yield from asyncio.run(_of_database(settings, usable.url))
    except DatabaseUnusable as error:
        yield Check("database", "fail", str(error), f"do that, or look at where {variable('database_url')} leads")
    except ChargehandError as error:
        todo = f"look at {settings.home}, or give the service a Postgres of your own ({variable('database_url')})"
        yield Check("database", "fail", str(error), todo)


async def _of_database(settings: Settings, url: str) -> Sequence[Check]:
    database = Database(url, pool=2)
    try:
        return [check async for check in _looked_at(settings, database)]
    except TROUBLE as error:
        return [Check("database", "fail", f"does not answer: {type(error).__name__}", "look at the server's own log")]
    finally:
        await database.close()


async def _looked_at(settings: Settings, database: Database) -> AsyncIterator[Check]:
    found = await condition_of(database)
    yield of_sessions(settings, found)
    yield of_clock(found)
    yield of_engines(await known_engines(database, DEFAULT_TENANT))
    yield of_intake(await pauses_of(database))
    vitals = await vitals_of(database)
    runs = ", ".join(f"{many} {status}" for status, many in vitals.runs.items())
    if vitals.silent:
        todo = "another process takes them within its lease; if none does, start one (`chargehand engine`)"
        yield Check("queue", "warn", f"{runs}; {vitals.silent} whose process is silent", todo)
    elif vitals.oldest_s > OLDEST_S:
        todo = f"start more processes that execute runs, or raise {variable('runs_at_once')}"
        yield Check("queue", "warn", f"{runs}; the first in line has waited for {vitals.oldest_s:.0f} s", todo)
    else:
        yield Check("queue", "ok", runs)
    not_closed = {f"{kind} {state}": many for (kind, state), many in vitals.breakers.items() if many}
    if not_closed:
        told = ", ".join(f"{many} {what}" for what, many in not_closed.items())
        yield Check("breakers", "warn", told, "`GET /v1/breakers` says why; they close by themselves after a probe")
    else:
        yield Check("breakers", "ok", "all closed")
    yield await _of_secrets(settings, database)


def of_sessions(settings: Settings, found: Condition) -> Check:
    """Whether the server has sessions for one more process."""
    size = f"Postgres {found.version}, {found.bytes / GIB:.2f} GiB, {found.in_use} of {found.connections} sessions"
    left = found.connections - found.in_use
    if left < settings.database_pool:
        todo = f"raise max_connections, or lower {variable('database_pool')} ({settings.database_pool} a process)"
        return Check("database", "warn", f"{size}: too few are left for one more process", todo)
    return Check("database", "ok", size)


def of_clock(found: Condition) -> Check:
    """Whether its clock and ours agree."""
    ahead = found.clock_ahead_s
    said = f"the database's is {abs(ahead):.1f} s {'ahead' if ahead > 0 else 'behind'}"
    if abs(ahead) > SKEW_S:
        todo = "let NTP set both: leases go by the database's clock, but times in events are of the process"
        return Check("clock", "warn", said, todo)
    return Check("clock", "ok", said)


def of_engines(known: Sequence[KnownEngine]) -> Check:
    """Whether anybody executes runs."""
    claiming = [engine for engine in known if not engine.is_silent and not engine.drains]
    told = ", ".join(
        f"{many} {what}"
        for what, many in (
            ("claim runs", len(claiming)),
            ("drained or about to end", sum(engine.drains and not engine.is_silent for engine in known)),
            ("silent", sum(engine.is_silent for engine in known)),
        )
        if many
    )
    if not claiming:
        todo = (
            "start one (`chargehand serve`, `chargehand engine`), or let one claim again (`chargehand engines resume`)"
        )
        return Check("engines", "warn", told or "no process executes runs", todo)
    return Check("engines", "ok", told)


def of_intake(pauses: Sequence[Pause]) -> Check:
    """Whether jobs are taken in."""
    if not pauses:
        return Check("intake", "ok", "jobs of all tenants are taken in")
    told = ", ".join(f"{pause.tenant or 'all tenants'} (by the {pause.said_by})" for pause in pauses)
    return Check("intake", "warn", f"no new jobs of {told}", "`chargehand intake resume` when that is over")


async def _of_secrets(settings: Settings, database: Database) -> Check:
    sealed = await sealed_secrets(database)
    if settings.secrets_key is None:
        if not sealed:
            return Check("webhooks", "ok", f"none ({variable('secrets_key')} is not set)")
        return Check(
            "webhooks",
            "fail",
            f"there are some, and {variable('secrets_key')} is not set",
            "set it to the key of before",
        )
    from app.store.vault import Vault

    vault = Vault(settings.secrets_key.get_secret_value().split(","))
    closed = sum(vault.open(secret) is None for secret in sealed)
    if closed:
        found = f"{variable('secrets_key')} does not open {closed} of the {len(sealed)} secrets that were tried"
        return Check("webhooks", "fail", found, "add the key of before behind the present one, with a comma")
    return Check("webhooks", "ok", "every secret that was tried can be opened" if sealed else "no secrets yet")


async def of_provider(settings: Settings, *, ask: bool) -> Check:
    """Whether the model answers, which costs one short question unless it is not to be asked."""
    if settings.answering_model == "demo":
        return Check("provider", "warn", "the demo model answers", "set ANTHROPIC_API_KEY for answers of a real one")
    if not ask:
        return Check("provider", "ok", "not asked")
    from app.llm.model import Request
    from app.runtime import model_of

    model = model_of(settings)
    question = Message("user", [{"type": "text", "text": ASKED}])
    wanted = Request("work", "fast", "You answer briefly.", [question], max_tokens=16, timeout_s=60)
    try:
        reply = await model.reply(wanted)
    except ModelError as error:
        return Check("provider", "fail", str(error), f"look at {error.setting or 'the provider, or at the network'}")
    finally:
        await model.close()
    spent = f"{reply.usage.input_tokens} and {reply.usage.output_tokens} tokens, {reply.usage.cost_usd} USD"
    return Check("provider", "ok", f"{reply.model} answers ({spent})")
