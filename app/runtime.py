"""What a process holds open while it lives: the database, the wake-ups, the model, the tools."""

import asyncio
import gc
import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema_rs
import structlog
import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from app.domain.errors import ChargehandError
from app.domain.retries import Policy
from app.domain.team import TIERS, Team, Worker
from app.domain.usage import Usage
from app.llm.demo import DemoModel
from app.llm.model import Model
from app.llm.pricing import price
from app.settings import Settings
from app.store.database import Database
from app.store.deltas import Deltas
from app.store.materials import Materials
from app.store.queue import RunQueue
from app.store.teams import put_team
from app.store.wakeups import Wakeups
from app.tools.catalogue import catalogue
from app.tools.fetch_page import PageFetcher
from app.tools.sandbox import Sandbox
from app.tools.tool import Tool

log = structlog.get_logger(__name__)

BUILT_IN_TEAMS = Path(__file__).parent / "teams"
TENANT = "default"
"""Whom everything belongs to while there are no keys."""
BEGIN_AGAIN_S = 1.0
"""Pause before a part that broke is begun again."""
PROBLEMS_SHOWN = 10
"""Problems of one team file that are told at once."""
_IN_PLAIN_WORDS = {
    "model_type": "this must be a mapping, of names to values",
    "dict_type": "this must be a mapping, of names to values",
    "tuple_type": "this must be a list",
    "too_short": "this must have at least {min_length}",
    "too_long": "this may have at most {max_length}",
    "missing": "this is required",
    "extra_forbidden": "there is no such field",
}


class TeamFileInvalid(ChargehandError):
    """A team file cannot be used; the message names the file and what is wrong."""


@dataclass(slots=True)
class Runtime:
    """One process's share of the service. Values that were settings are plain fields here."""

    name: str
    """This process, as run rows and events name it."""
    database: Database
    queue: RunQueue
    wakeups: Wakeups
    deltas: Deltas
    model: Model
    tools: Mapping[str, Tool]
    policy: Policy
    runs_at_once: int
    lease_s: float
    drain_s: float
    poll_s: float
    heartbeat_s: float
    retention_days: int | None
    materials: Materials = field(default_factory=Materials)
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the process has been told to stop."""
    readers: int = 0
    """Streams and long polls that are served at this moment."""


@asynccontextmanager
async def open_runtime(settings: Settings, url: str) -> AsyncIterator[Runtime]:
    """Open everything for the database at `url`, store the teams from their files, and close it all at the end."""
    sandbox = Sandbox()
    pages = PageFetcher(sandbox)
    wakeups = Wakeups(url)
    runtime = Runtime(
        name=f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}",
        database=Database(url, pool=settings.database_pool),
        queue=RunQueue(url),
        wakeups=wakeups,
        deltas=Deltas(url, wakeups),
        model=_model(settings),
        tools=catalogue(sandbox, pages),
        policy=Policy(
            call_attempts=settings.call_attempts,
            retry_base_s=settings.retry_base_s,
            call_timeout_s=settings.model_timeout_s,
        ),
        runs_at_once=settings.runs_at_once,
        lease_s=settings.lease_seconds,
        drain_s=settings.drain_seconds,
        poll_s=settings.poll_seconds,
        heartbeat_s=settings.heartbeat_seconds,
        retention_days=settings.retention_days,
    )
    _warn_of_models_without_price(runtime.model)
    async with AsyncExitStack() as stack:
        # Read at the end: tests put another database in its place.
        stack.push_async_callback(lambda: runtime.database.close())
        stack.push_async_callback(sandbox.close)
        stack.push_async_callback(pages.close)
        stack.push_async_callback(runtime.model.close)
        await _store_teams(runtime, settings)
        for name, work in (("deltas", runtime.deltas.share_forever), ("wakeups", wakeups.listen_forever)):
            await stack.enter_async_context(kept_up(name, work))
        yield runtime


@asynccontextmanager
async def kept_up(name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Have `work`, which does not end by itself, go on during the block: when it breaks it is begun again."""

    async def begin_again_and_again() -> None:
        while True:
            part = asyncio.create_task(work(), name=name)
            try:
                await asyncio.wait({part})
            finally:
                part.cancel()
                await asyncio.wait({part})
            cause = None if part.cancelled() else part.exception()
            log.error("part broke and is begun again", part=name, exc_info=cause)
            await asyncio.sleep(BEGIN_AGAIN_S)

    keeping = asyncio.create_task(begin_again_and_again(), name=f"keeping {name}")
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.wait({keeping})


async def _store_teams(runtime: Runtime, settings: Settings) -> None:
    """Store the teams of files. A built-in one gives way to what an operator has brought, with this process or not."""
    tools, database = runtime.tools, runtime.database
    of_operator = {team.name: team for team in teams_in(settings.teams_dir, tools=tools)}
    for team in teams_in(BUILT_IN_TEAMS, tools=tools):
        if team.name not in of_operator:
            await put_team(database, TENANT, team, origin="built_in")
    for team in of_operator.values():
        await put_team(database, TENANT, team, origin="operator")


def spare_the_collector() -> None:
    """Have the garbage collector pass over what was loaded at the start, and look at the rest less often.

    A run makes many small values that die by reference count; looking through all of them for cycles every few hundred
    allocations cost a fifth of the CPU.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def known_teams(settings: Settings) -> list[Team]:
    """The built-in teams and those of the operator, whose file wins over a built-in one. Raises `TeamFileInvalid`."""
    sandbox = Sandbox()
    return teams_in(BUILT_IN_TEAMS, settings.teams_dir, tools=catalogue(sandbox, PageFetcher(sandbox)))


def teams_in(*directories: Path | None, tools: Mapping[str, Tool]) -> list[Team]:
    """The teams described by the YAML files of the directories; of two with one name the later file's.

    Raises `TeamFileInvalid`.
    """
    files = [file for directory in directories if directory for file in sorted(directory.glob("*.y*ml"))]
    teams = [_team(file, tools) for file in files]
    return list({team.name: team for team in teams}.values())


def _team(file: Path, tools: Mapping[str, Tool]) -> Team:
    try:
        team = Team.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
    except ValidationError as error:
        raise TeamFileInvalid(f"{file}: {_problems(error)}") from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise TeamFileInvalid(f"{file}: {' '.join(str(error).split())}") from None
    unknown = sorted({tool for worker in team.workers for tool in worker.tools} - tools.keys())
    if unknown:
        raise TeamFileInvalid(f"{file}: unknown tools: {', '.join(unknown)}; known are: {', '.join(sorted(tools))}")
    for worker in team.workers:
        try:
            _compile_output_schema(worker)
        except jsonschema_rs.ValidationError as error:
            place = ".".join(map(str, ("output_schema", *error.instance_path)))
            raise TeamFileInvalid(f"{file}: worker {worker.name}: {place}: {error.message}") from None
    return team


def _compile_output_schema(worker: Worker) -> None:
    """Do once what reading a report does, and with the schema as it will come back from the store."""
    schema = worker.model_dump(mode="json")["output_schema"]
    if schema is not None:
        jsonschema_rs.validator_for(schema, offline=True, validate_formats=True)


def _problems(error: ValidationError) -> str:
    errors = error.errors(include_url=False, include_input=False)
    # What is wrong inside of something also makes it too short, which is no news.
    inner = {each["loc"][:1] for each in errors if len(each["loc"]) > 1}
    errors = [each for each in errors if each["type"] != "too_short" or each["loc"] not in inner]
    shown = [f"{'.'.join(map(str, each['loc'])) or 'the file'}: {_said(each)}" for each in errors[:PROBLEMS_SHOWN]]
    more = [f"and {len(errors) - len(shown)} more"] if len(errors) > len(shown) else []
    return "; ".join(shown + more)


def _said(error: ErrorDetails) -> str:
    """What is wrong, in the words of YAML where the validator speaks of Python."""
    said = _IN_PLAIN_WORDS.get(error["type"], error["msg"])
    return said.format_map(error.get("ctx", {})) if said is not error["msg"] else said


def _warn_of_models_without_price(model: Model) -> None:
    if isinstance(model, DemoModel):
        return
    models = {tier: model.model_id(tier) for tier in TIERS}
    unpriced = {tier: name for tier, name in models.items() if price(name, Usage()) is None}
    if unpriced:
        log.warning("limits.cost_usd does not bind", tiers=unpriced, reason="their models have no known price")


def _model(settings: Settings) -> Model:
    if settings.answering_model == "demo":
        return DemoModel()
    from app.llm.claude import Claude  # The SDK takes a second to import, and the demo needs none of it.

    key = settings.anthropic_api_key
    return Claude(
        api_key=key.get_secret_value() if key else None,
        base_url=settings.anthropic_base_url,
        tiers={"fast": settings.model_fast, "balanced": settings.model_balanced, "deep": settings.model_deep},
        calls_at_once=settings.model_calls_at_once,
    )
