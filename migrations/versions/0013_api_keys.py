"""Keys of the API, each of a tenant."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision: str = "0013"
down_revision: str | None = "0012"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False, comment="what it is for, for people"),
        sa.Column("scopes", ARRAY(sa.Text()), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False, comment="SHA-256 of its secret, which is shown once"),
        sa.Column("created_at", TIME, server_default=sa.text("now()"), nullable=False),
        sa.Column("expires_at", TIME),
        sa.Column("revoked_at", TIME),
        sa.CheckConstraint(
            "scopes <@ ARRAY['admin', 'jobs:write', 'runs:read', 'teams:write'] AND cardinality(scopes) > 0",
            name=op.f("api_keys_scopes_check"),
        ),
        sa.CheckConstraint("octet_length(digest) = 32", name=op.f("api_keys_digest_check")),
        sa.PrimaryKeyConstraint("id", name=op.f("api_keys_pkey")),
    )
    op.create_index("api_keys_tenant_idx", "api_keys", ["tenant", sa.text("created_at DESC"), sa.text("id DESC")])
