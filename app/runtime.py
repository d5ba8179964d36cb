"""What a process holds open while it lives: the database, the wake-ups, the model, the tools."""

import asyncio
import gc
import os
import secrets
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from app import version
from app.domain.crew import Means
from app.domain.keys import DEFAULT_TENANT
from app.domain.retries import Patience
from app.domain.team import Team
from app.domain.webhooks import Place
from app.domain.worker import TIERS
from app.llm.demo import DemoModel
from app.llm.model import Model
from app.llm.pricing import Prices, Rates
from app.metrics.meters import Meters
from app.metrics.scrape import Scrape
from app.parts import kept_up
from app.settings import Settings
from app.store.breaker_board import BreakerBoard
from app.store.database import Database
from app.store.deliveries import DELIVERIES_CHANNEL
from app.store.deltas import Deltas
from app.store.engines import ENGINES_CHANNEL
from app.store.input_cache import InputCache
from app.store.load_board import LoadBoard
from app.store.queue import RunQueue
from app.store.retention import Retention
from app.store.schedules import SCHEDULES_CHANNEL
from app.store.teams import Origin, put_team
from app.store.wakeups import Wakeups
from app.team_files import BUILT_IN_TEAMS, check_nesting, team_files_in, teams_in
from app.tools.catalogue import catalogue
from app.tools.documents import Documents
from app.tools.fetch_page import PageFetcher
from app.tools.mcp.file import servers_in
from app.tools.mcp.opening import offers_of, servers_for
from app.tools.mcp.toolbox import Toolbox
from app.tools.sandbox import Sandbox
from app.tools.tool import Tool

if TYPE_CHECKING:
    from app.store.vault import Vault
    from app.tracing.pipeline import Tracing

log = structlog.get_logger(__name__)

TELL_S = 5.0
"""How long the end of a process may take to tell of what has ended in runs."""
_PRICES = "CHARGEHAND_MODEL_PRICES"


@dataclass(frozen=True, slots=True)
class Webhooks:
    """What a process tells webhooks with."""

    vault: "Vault"
    hosts: frozenset[Place]
    """Receivers that may be inside the own network."""
    timeout_s: float
    """Seconds that a receiver has to answer."""
    news: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when there may be something to deliver."""


@dataclass(slots=True)
class Runtime:
    """One process's share of the service. Values that were settings are plain fields here."""

    name: str
    """This process, as run rows and events name it."""
    database: Database
    queue: RunQueue
    wakeups: Wakeups
    deltas: Deltas
    breakers: BreakerBoard
    loads: LoadBoard
    model: Model
    tools: Mapping[str, Tool]
    documents: Documents
    """Those among inputs, as texts."""
    scrape: Scrape
    """What it tells Prometheus."""
    patience: Patience
    runs_at_once: int
    lease_s: float
    drain_s: float
    poll_s: float
    heartbeat_s: float
    retention: Retention
    """For tenants that keep runs for no time of their own."""
    webhooks: Webhooks | None = None
    """None where there is no key for their secrets: nobody is told anything then."""
    sees_to_schedules: bool = True
    """Whether its API has the jobs of schedules taken when their times come."""
    wants_keys: bool = False
    """Whether requests must bring a key of the API."""
    tracing: "Tracing | None" = None
    """Where spans go; None where nobody wants them."""
    shows_metrics: bool = True
    """Whether the API shows metrics too."""
    teams: Sequence[tuple[Team, Origin]] = ()
    """The teams of files, which every tenant has, and whose they are."""
    input_cache: InputCache = field(default_factory=InputCache)
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the process has been told to stop."""
    schedule_news: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a schedule may have an earlier time than before."""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when somebody has asked a process to claim nothing more, or to claim again."""
    readers: int = 0
    """Streams and long polls that are served at this moment."""

    _welcomed: set[str] = field(default_factory=set)
    """Tenants that have these teams already."""

    @property
    def teams_of_files(self) -> frozenset[str]:
        """Names of the teams that the operator's files bring: they are changed there alone."""
        return frozenset(team.name for team, origin in self.teams if origin == "operator")

    async def welcome(self, tenant: str) -> None:
        """Let a tenant have the teams of files, once in the life of this process. A built-in one gives way to what
        anybody else has brought, with this process or not."""
        if tenant in self._welcomed:
            return
        for team, origin in self.teams:
            await put_team(self.database, tenant, team, origin=origin)
        self._welcomed.add(tenant)

    @property
    def means(self) -> Mapping[str, Means]:
        """What the tools of this process are good for, by their names."""
        return {name: tool.means for name, tool in self.tools.items()}


@asynccontextmanager
async def open_runtime(
    settings: Settings, url: str, *, built_in: Path = BUILT_IN_TEAMS, tracing: "Tracing | None" = None
) -> AsyncIterator[Runtime]:
    """Open everything for the database at `url`, store the teams from their files, and close it all at the end.

    `built_in` is the folder of the teams that come with the service. `tracing` is closed too.
    """
    sandbox = Sandbox()
    pages = PageFetcher(sandbox)
    documents = Documents(sandbox)
    servers = servers_for(servers_in(settings.mcp_file, os.environ))
    wakeups = Wakeups(url)
    name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
    model, meters = model_of(settings), Meters()
    runtime = Runtime(
        name=name,
        database=Database(url, pool=settings.database_pool, witness=meters),
        queue=RunQueue(url),
        wakeups=wakeups,
        deltas=Deltas(url, wakeups),
        breakers=BreakerBoard(wakeups),
        loads=LoadBoard(DEFAULT_TENANT, name, poll_s=settings.poll_seconds),
        model=model,
        tools=Toolbox(catalogue(sandbox, pages, documents), [server.offer for server in servers]),
        scrape=Scrape(meters.registry, version, tracing.counts.by_outcome if tracing else None),
        documents=documents,
        patience=Patience(
            call_attempts=settings.call_attempts,
            retry_base_s=settings.retry_base_s,
            call_timeout_s=settings.model_timeout_s,
        ),
        runs_at_once=settings.runs_at_once,
        lease_s=settings.lease_seconds,
        drain_s=settings.drain_seconds,
        poll_s=settings.poll_seconds,
        heartbeat_s=settings.heartbeat_seconds,
        retention=Retention(settings.thin_after_days, settings.retention_days),
        webhooks=_webhooks(settings),
        tracing=tracing,
        sees_to_schedules=settings.schedules,
        wants_keys=settings.auth == "keys",
        shows_metrics=settings.auth != "keys" and settings.metrics_port is None,
    )
    if (webhooks := runtime.webhooks) is not None:
        wakeups.hear(DELIVERIES_CHANNEL, lambda _: webhooks.news.set())
    wakeups.hear(SCHEDULES_CHANNEL, lambda _: runtime.schedule_news.set())
    wakeups.hear(ENGINES_CHANNEL, lambda _: runtime.asked.set())
    async with AsyncExitStack() as stack:
        # Read at the end: tests put another database in its place.
        stack.push_async_callback(lambda: runtime.database.close())
        stack.push_async_callback(sandbox.close)
        stack.push_async_callback(pages.close)
        stack.push_async_callback(runtime.model.close)
        if tracing is not None:
            await stack.enter_async_context(_told(runtime, tracing))
        runtime.teams = _teams_of_files(runtime.tools, settings, built_in)
        meters.expect((team for team, _ in runtime.teams), (model.model_id(tier) for tier in TIERS))
        await runtime.welcome(DEFAULT_TENANT)
        await stack.enter_async_context(kept_up(**{f"mcp {server.name}": server.hold for server in servers}))
        await stack.enter_async_context(kept_up(deltas=runtime.deltas.share_forever, wakeups=wakeups.listen_forever))
        yield runtime


@asynccontextmanager
async def _told(runtime: Runtime, tracing: "Tracing") -> AsyncIterator[None]:
    """Have a collector told of runs during the block, and of all that is known at its end."""
    from app.tracing.teller import Teller  # Nobody else needs OpenTelemetry's SDK.

    teller = Teller(tracing, lambda: runtime.database)
    runtime.database.witness.listeners = (teller.heard_facts,)
    try:
        async with kept_up(traces=teller.tell_forever):
            yield
    finally:
        await teller.finish(within_s=TELL_S)
        await tracing.close()


def _webhooks(settings: Settings) -> Webhooks | None:
    if settings.secrets_key is None:
        return None
    from app.store.vault import Vault  # Nobody else needs cryptography.

    vault = Vault(settings.secrets_key.get_secret_value().split(","))
    return Webhooks(vault, settings.webhook_hosts, settings.webhook_timeout_s)


def _teams_of_files(tools: Mapping[str, Tool], settings: Settings, built_in: Path) -> list[tuple[Team, Origin]]:
    """The built-in teams and those of the operator, whose file wins over a built-in one."""
    of_operator = {team.name: team for team in teams_in(settings.teams_dir, tools=tools)}
    others = [team for team in teams_in(built_in, tools=tools) if team.name not in of_operator]
    return [*((team, "built_in") for team in others), *((team, "operator") for team in of_operator.values())]


def tune_garbage_collection() -> None:
    """Have the garbage collector pass over what was loaded at the start, and look at the rest less often.

    A run makes many small values that die by reference count; looking through all of them for cycles every few hundred
    allocations cost a fifth of the CPU.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def known_teams(settings: Settings) -> list[Team]:
    """The built-in teams and those of the operator, whose file wins over a built-in one.

    Raises `TeamFileInvalid`, `McpFileInvalid`.
    """
    files = team_files_in(BUILT_IN_TEAMS, settings.teams_dir, tools=known_tools(settings))
    check_nesting(files)
    return [file.team for file in files.values()]


def known_tools(settings: Settings) -> Mapping[str, Tool]:
    """The tools that a process has, for those who only ask what they are. Raises `McpFileInvalid`."""
    sandbox = Sandbox()
    offers = offers_of(servers_in(settings.mcp_file, os.environ))
    return Toolbox(catalogue(sandbox, PageFetcher(sandbox)), offers)


def _warn_of_models_without_price(model: Model) -> None:
    models = {tier: model.model_id(tier) for tier in TIERS}
    unpriced = {tier: name for tier, name in models.items() if not model.prices.knows(name)}
    if unpriced:
        reason = "their models have no known price"
        log.warning("limits.cost_usd is refused", tiers=unpriced, reason=reason, see=_PRICES)


def model_of(settings: Settings) -> Model:
    """Who answers by the settings."""
    if settings.answering_model == "demo":
        return DemoModel()
    from app.llm.claude import Claude  # The SDK takes a second to import, and the demo needs none of it.

    key = settings.anthropic_api_key
    model = Claude(
        api_key=key.get_secret_value() if key else None,
        base_url=settings.anthropic_base_url,
        tiers={"fast": settings.model_fast, "balanced": settings.model_balanced, "deep": settings.model_deep},
        calls_at_once=settings.model_calls_at_once,
    )
    model.prices = Prices({name: Rates(**dict(price)) for name, price in settings.model_prices.items()})
    _warn_of_models_without_price(model)
    return model
