"""The tables of limits: what tenants and keys may use, and what they have taken."""

from sqlalchemy import Boolean, CheckConstraint, Column, Date, ForeignKey, Index, Numeric, Table, Text, text
from sqlalchemy.dialects.postgresql import JSON

from app.store.tables import TIME, metadata

limits = Table(
    "limits",
    metadata,
    Column("tenant", Text, primary_key=True, comment="'': for all tenants, where they say nothing else"),
    Column("key_id", Text, primary_key=True, comment="'': of the tenant itself"),
    Column("limits", JSON, nullable=False),
    Column("changed_at", TIME, nullable=False, server_default=text("now()")),
    CheckConstraint("tenant <> '' OR key_id = ''", name="defaults_are_of_tenants"),
)

request_rates = Table(
    "request_rates",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("key_id", Text, primary_key=True, comment="'': of the tenant itself"),
    Column("full_at", TIME, nullable=False, comment="when all requests that have come would be worked off"),
    Column("refused", Boolean, nullable=False, comment="whether the newest one was"),
    prefixes=["UNLOGGED"],  # After a crash everybody begins anew.
    postgresql_with={"fillfactor": 50},
)

spend_accounts = Table(
    "spend_accounts",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("counted_at", TIME, nullable=False, comment="when its runs were added up; what came since was added"),
    Column("looked_at", TIME, nullable=False, comment="when somebody last saw whether to warn it"),
)

spend = Table(
    "spend",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("key_id", Text, primary_key=True, comment="'': without a key"),
    Column("day", Date, primary_key=True, comment="of UTC, on which the runs were accepted"),
    Column("cost_usd", Numeric, nullable=False, comment="of runs that have ended, also of those that are deleted"),
)

spend_reserved = Table(
    "spend_reserved",
    metadata,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("key_id", Text, nullable=False, comment="'': without a key"),
    Column("day", Date, nullable=False),
    Column("cost_usd", Numeric, comment="what it may spend; null: nobody knows"),
    Index("spend_reserved_tenant_idx", "tenant"),
)

limit_warnings = Table(
    "limit_warnings",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("key_id", Text, primary_key=True, comment="'': of the tenant itself"),
    Column("name", Text, primary_key=True, comment="of the limit"),
    Column("since", TIME, primary_key=True, comment="beginning of the period"),
    Column("at", TIME, nullable=False, server_default=text("now()")),
)
