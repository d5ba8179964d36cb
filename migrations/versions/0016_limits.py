"""What tenants and keys may use, and what they have taken.

`held` is false for all runs that are there, and for those that a release before this one accepts: they are worked on
as ever. Nothing is read or written of the other tables for a tenant without limits. The index of held runs is made
beside the writers, in a later one, 0020.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSON

revision: str = "0016"
down_revision: str | None = "0015"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)
OF_TENANT = "'': of the tenant itself"
WITHOUT = "'': without a key"


def upgrade() -> None:
    held = "whether a limit on runs in flight keeps it from being taken"
    op.add_column("runs", sa.Column("held", sa.Boolean, server_default=sa.text("false"), nullable=False, comment=held))
    _make_limits()
    _make_accounts()
    _tell_of_warnings()


def _make_limits() -> None:
    op.create_table(
        "limits",
        sa.Column("tenant", sa.Text, nullable=False, comment="'': for all tenants, where they say nothing else"),
        sa.Column("key_id", sa.Text, nullable=False, comment=OF_TENANT),
        sa.Column("limits", JSON, nullable=False),
        sa.Column("changed_at", TIME, server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("tenant <> '' OR key_id = ''", name=op.f("limits_defaults_are_of_tenants_check")),
        sa.PrimaryKeyConstraint("tenant", "key_id", name=op.f("limits_pkey")),
    )
    op.create_table(
        "request_rates",
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("key_id", sa.Text, nullable=False, comment=OF_TENANT),
        sa.Column("full_at", TIME, nullable=False, comment="when all requests that have come would be worked off"),
        sa.Column("refused", sa.Boolean, nullable=False, comment="whether the newest one was"),
        sa.PrimaryKeyConstraint("tenant", "key_id", name=op.f("request_rates_pkey")),
        prefixes=["UNLOGGED"],
        postgresql_with={"fillfactor": 50},
    )


def _make_accounts() -> None:
    counted = "when its runs were added up; what came since was added"
    looked = "when somebody last saw whether to warn it"
    accepted = "of UTC, on which the runs were accepted"
    cost = "of runs that have ended, also of those that are deleted"
    op.create_table(
        "spend_accounts",
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("counted_at", TIME, nullable=False, comment=counted),
        sa.Column("looked_at", TIME, nullable=False, comment=looked),
        sa.PrimaryKeyConstraint("tenant", name=op.f("spend_accounts_pkey")),
    )
    op.create_table(
        "spend",
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("key_id", sa.Text, nullable=False, comment=WITHOUT),
        sa.Column("day", sa.Date, nullable=False, comment=accepted),
        sa.Column("cost_usd", sa.Numeric, nullable=False, comment=cost),
        sa.PrimaryKeyConstraint("tenant", "key_id", "day", name=op.f("spend_pkey")),
    )
    op.create_table(
        "spend_reserved",
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("key_id", sa.Text, nullable=False, comment=WITHOUT),
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("cost_usd", sa.Numeric, comment="what it may spend; null: nobody knows"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("spend_reserved_run_id_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", name=op.f("spend_reserved_pkey")),
    )
    op.create_index("spend_reserved_tenant_idx", "spend_reserved", ["tenant"])
    op.create_table(
        "limit_warnings",
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("key_id", sa.Text, nullable=False, comment=OF_TENANT),
        sa.Column("name", sa.Text, nullable=False, comment="of the limit"),
        sa.Column("since", TIME, nullable=False, comment="beginning of the period"),
        sa.Column("at", TIME, server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "key_id", "name", "since", name=op.f("limit_warnings_pkey")),
    )


def _tell_of_warnings() -> None:
    """Let webhooks be told of limits; those of tenants that are told everything are told that too."""
    op.execute("ALTER TABLE webhook_endpoints DROP CONSTRAINT webhook_endpoints_types_check")
    op.execute(
        "ALTER TABLE webhook_endpoints ADD CONSTRAINT webhook_endpoints_types_check CHECK (types <@ ARRAY["
        "'limit.warning', 'run.cancelled', 'run.failed', 'run.partial', 'run.succeeded', 'run.waiting'] "
        "AND cardinality(types) > 0)"
    )
    op.execute(
        "UPDATE webhook_endpoints SET types = types || ARRAY['limit.warning'] "
        "WHERE run_id IS NULL AND cardinality(types) = 5"
    )
