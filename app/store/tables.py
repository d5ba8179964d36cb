"""The tables, and the invariants that Postgres holds for us.

Events are the truth; `runs`, `plans`, `tasks` and `attempts` are read models, written in the same statement by the same
fold. Every table that clients reach carries the tenant, or hangs on a run that does.
"""

from collections.abc import Iterable, Mapping
from typing import get_args

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSON

from app.domain.keys import SCOPES
from app.domain.policy.breakers import BreakerKind, BreakerState
from app.domain.states import ATTEMPT_MOVES, RUN_MOVES, TASK_MOVES, TERMINAL_RUN, TERMINAL_TASK, State

metadata = MetaData(
    naming_convention={
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
        "ck": "%(table_name)s_%(constraint_name)s_check",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "pk": "%(table_name)s_pkey",
    }
)

TIME = DateTime(timezone=True)


def listed(values: Iterable[str]) -> str:
    """Values as SQL lists them."""
    return ", ".join(f"'{value}'" for value in sorted(values))


def one_of(column: str, values: Iterable[str]) -> str:
    """The condition that a column has one of the values."""
    return f"{column} IN ({listed(values)})"


def _states(moves: Mapping[tuple[State, str], State]) -> set[str]:
    return {*moves.values(), *(before for before, _ in moves)}


_ENDED = one_of("status", TERMINAL_RUN)
_HELD = "whether a limit on runs in flight keeps it from being taken"

teams = Table(
    "teams",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("definition", JSON, nullable=False),
    Column("digest", Text, nullable=False, comment="SHA-256 of the definition: an unchanged team makes no version"),
    Column("created_at", TIME, nullable=False, server_default=text("now()")),
    Column("origin", Text, comment="who brought it; the first release does not say"),
    Column("archived_at", TIME, comment="when the team was withdrawn from new jobs; the same in all its versions"),
    CheckConstraint("origin IN ('built_in', 'client', 'operator')", name="origin"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("phase", Text),
    Column("stop_reason", Text),
    Column("objective", Text, nullable=False),
    Column("team_name", Text, nullable=False),
    Column("team_version", Integer, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("turn", BigInteger, nullable=False, comment="place in line among runs of one priority; lower goes first"),
    Column("metadata", JSON, nullable=False),
    Column("limits", JSON, nullable=False, comment="as applied"),
    Column("waiting_for", Text, comment="what a waiting run waits for"),
    Column("wake_at", TIME, comment="when a waiting run is looked at again; null: when there is news for it"),
    Column("plan_revision", Integer),
    Column("quote", JSON, comment="reckoned when the plan was made"),
    Column("progress", JSON, nullable=False, comment="tasks by status"),
    Column("usage", JSON, nullable=False),
    Column("cost_usd", Numeric, comment="what it took, once it has ended; by a trigger"),
    Column("timing", JSON, nullable=False, comment="as of the last event"),
    Column("result", JSON),
    Column("error", JSON),
    Column("cancellation", JSON, comment="the request, then the receipt"),
    Column("origin", JSON, comment="the run whose results it begins with; null for a job of its own"),
    Column("parent", JSON, comment="the attempt whose work a nested run does; null for a job of a client"),
    Column("reports_to", Text, comment="the parent that has not heard of a nested run's end yet"),
    Column("last_seq", BigInteger, nullable=False, comment="number of the newest event"),
    Column("created_at", TIME, nullable=False),
    Column("started_at", TIME),
    Column("finished_at", TIME),
    Column("key_id", Text, comment="id of the key that it was posted with; null without keys"),
    Column("thinned_at", TIME, comment="since when long texts in its log are cut; null while it is whole"),
    Column("schedule", JSON, comment="the schedule that it comes from, and for which time"),
    # Authority: who may write the run's progress.
    Column("owner", Text, comment="the process that executes the run; null when none does"),
    Column("owner_epoch", BigInteger, nullable=False, server_default=text("0"), comment="rises at every claim"),
    Column("lease_until", TIME, comment="when the run may be taken from its owner"),
    Column("idle_claims", Integer, nullable=False, server_default=text("0"), comment="claims since the run last moved"),
    Column("held", Boolean, nullable=False, server_default=text("false"), comment=_HELD),
    ForeignKeyConstraint(["tenant", "team_name", "team_version"], ["teams.tenant", "teams.name", "teams.version"]),
    CheckConstraint(one_of("status", _states(RUN_MOVES)), name="status"),
    CheckConstraint(f"({_ENDED}) = (finished_at IS NOT NULL)", name="ended_has_finish_time"),
    CheckConstraint(f"({_ENDED}) = (stop_reason IS NOT NULL)", name="ended_has_stop_reason"),
    CheckConstraint(f"NOT ({_ENDED}) OR owner IS NULL", name="ended_is_nobodys"),
    CheckConstraint("(status = 'waiting') = (waiting_for IS NOT NULL)", name="waiting_says_for_what"),
    CheckConstraint("status = 'waiting' OR wake_at IS NULL", name="only_waiting_wakes"),
    CheckConstraint("(owner IS NULL) = (lease_until IS NULL)", name="owner_has_lease"),
    CheckConstraint("status <> 'queued' OR started_at IS NULL", name="queued_has_not_started"),
    Index(None, "tenant", text("created_at DESC"), text("id DESC")),
    Index("runs_by_status_idx", "tenant", "status", text("created_at DESC"), text("id DESC")),
    Index("runs_by_team_idx", "tenant", "team_name", text("created_at DESC"), text("id DESC")),
    Index("runs_line_idx", "priority", "turn", postgresql_where=text("status = 'queued'")),
    Index("runs_tenant_line_idx", "tenant", "priority", "turn", postgresql_where=text("status = 'queued'")),
    Index("runs_under_way_idx", "id", postgresql_where=text("status IN ('queued', 'running')")),
    Index("runs_waiting_idx", "wake_at", postgresql_where=text("status = 'waiting'")),
    Index("runs_by_parent_idx", text("(parent ->> 'run')"), postgresql_where=text("parent IS NOT NULL")),
    Index("runs_reporting_idx", "reports_to", postgresql_where=text("reports_to IS NOT NULL")),
    Index("runs_held_idx", "tenant", "key_id", postgresql_where=text("held AND status = 'queued'")),
    # Commits and renewals change no column of an index, and find room on the page: so they touch no index at all.
    postgresql_with={"fillfactor": 50},
)

run_inputs = Table(
    "run_inputs",
    metadata,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("content", Text, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", BigInteger, primary_key=True, comment="1, 2, 3 … without gaps"),
    Column("type", Text, nullable=False),
    Column("at", TIME, nullable=False),
    Column("task_id", Text),
    Column("attempt", Integer),
    Column("data", JSON, nullable=False, comment="as written: a resumed conversation repeats its words byte by byte"),
    CheckConstraint("seq > 0", name="seq_from_one"),
)

artifacts = Table(
    "artifacts",
    metadata,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("position", Integer, nullable=False, comment="place among the files of the run"),
    Column("media_type", Text, nullable=False, comment="as it was handed over"),
    Column("task_id", Text, comment="who handed it over; null: it came with the answer"),
    Column("is_text", Boolean, nullable=False, comment="whether it was handed over as text"),
    Column("bytes", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

plans = Table(
    "plans",
    metadata,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("plan", JSON, nullable=False),
    Column("created_at", TIME, nullable=False),
)

tasks = Table(
    "tasks",
    metadata,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("task_id", Text, primary_key=True),
    Column("position", Integer, nullable=False, comment="place in the plan"),
    Column("status", Text, nullable=False),
    Column("error", JSON),
    Column("output", JSON),
    Column("usage", JSON, nullable=False),
    Column("finished_at", TIME),
    CheckConstraint(one_of("status", _states(TASK_MOVES) | {"waiting"}), name="status"),
    CheckConstraint(
        f"({one_of('status', TERMINAL_TASK)}) = (finished_at IS NOT NULL)",
        name="ended_has_finish_time",
    ),
    CheckConstraint("(status = 'succeeded') = (output IS NOT NULL)", name="succeeded_has_output"),
    postgresql_with={"fillfactor": 30},  # A row triples when its task ends, and stays on its page.
)

attempts = Table(
    "attempts",
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("task_id", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("worker", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("detail", JSON, nullable=False, comment="instruction, error, escalation, usage and the like"),
    Column("started_at", TIME, nullable=False),
    Column("finished_at", TIME),
    ForeignKeyConstraint(["run_id", "task_id"], ["tasks.run_id", "tasks.task_id"], ondelete="CASCADE"),
    CheckConstraint(one_of("status", _states(ATTEMPT_MOVES)), name="status"),
    CheckConstraint("(status = 'running') = (finished_at IS NULL)", name="ended_has_finish_time"),
    # Rows of running attempts come from the first release alone, which has one at a time.
    Index(
        "attempts_one_running_idx",
        "run_id",
        "task_id",
        unique=True,
        postgresql_where=text("status = 'running'"),
    ),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("request", Text, primary_key=True, comment="method and path"),
    Column("digest", Text, nullable=False, comment="SHA-256 of the canonical body"),
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("created_at", TIME, nullable=False, server_default=text("now()")),
    Index(None, "run_id"),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("name", Text, nullable=False, server_default=text("''"), comment="what it is for, for people"),
    Column("scopes", ARRAY(Text), nullable=False),
    Column("digest", LargeBinary, nullable=False, comment="SHA-256 of its secret, which is shown once"),
    Column("created_at", TIME, nullable=False, server_default=text("now()")),
    Column("expires_at", TIME),
    Column("revoked_at", TIME),
    CheckConstraint(
        f"scopes <@ ARRAY[{listed(SCOPES)}] AND cardinality(scopes) > 0",
        name="scopes",
    ),
    CheckConstraint("octet_length(digest) = 32", name="digest"),
    Index("api_keys_tenant_idx", "tenant", text("created_at DESC"), text("id DESC")),
)

breakers = Table(
    "breakers",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("name", Text, primary_key=True, comment="model:<id>, worker:<team>/<worker> or tool:<name>"),
    Column("kind", Text, nullable=False),
    Column("state", Text, nullable=False, server_default=text("'closed'")),
    Column("reason", Text, comment="code of the failure that opened it, or tripped"),
    Column("failures", Integer, nullable=False, server_default=text("0"), comment="in a row"),
    Column("openings", Integer, nullable=False, server_default=text("0"), comment="since it was closed"),
    Column("failed_at", TIME, comment="when the newest failure was counted"),
    Column("opened_at", TIME),
    Column("probe_at", TIME, comment="when the next probe may go, or the present one is given up"),
    Column("prober", Text, comment="whose probe is under way"),
    Column("about", ARRAY(Text), nullable=False, server_default=text("'{}'"), comment="what the failures were about"),
    CheckConstraint(one_of("kind", get_args(BreakerKind)), name="kind"),
    CheckConstraint(one_of("state", get_args(BreakerState)), name="state"),
    CheckConstraint("(state = 'closed') = (opened_at IS NULL)", name="open_since"),
    CheckConstraint("(state = 'half_open') = (prober IS NOT NULL)", name="one_prober"),
)

worker_loads = Table(
    "worker_loads",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("process", Text, primary_key=True),
    Column(
        "loads",
        JSON,
        nullable=False,
        comment="by <team>/<worker>: attempts under way, their seconds of late, and the weight of these",
    ),
    Column("shared_at", TIME, nullable=False),
    Column("counts_until", TIME, nullable=False, comment="when its attempts under way count no longer"),
    prefixes=["UNLOGGED"],  # What it says is found out anew in a moment.
)
