"""The tables of webhooks.

Deliveries are enqueued by a trigger on `events` (revision 0014): whoever writes the end of a run, of whatever release,
enqueues in the same transaction what is to be told of it.
"""

from typing import get_args

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Index, Integer, LargeBinary, Table, Text, text
from sqlalchemy.dialects.postgresql import ARRAY, JSON

from app.domain.webhooks import TENANT_NEWS, DeliveryStatus
from app.store.tables import TIME, listed, metadata, one_of

webhook_endpoints = Table(
    "webhook_endpoints",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), comment="of a job's own; null: the tenant's"),
    Column("url", Text, nullable=False),
    Column("types", ARRAY(Text), nullable=False),
    Column("secret", LargeBinary, comment="sealed; null: that of the tenant"),
    Column("earlier_secret", LargeBinary, comment="sealed; signs beside the other for a while"),
    Column("earlier_until", TIME),
    Column("quiet_until", TIME, comment="until when the receiver wants to be left alone"),
    Column("disabled_at", TIME, comment="when the receiver said that it wants nothing more"),
    Column("created_at", TIME, nullable=False, server_default=text("now()")),
    CheckConstraint(f"types <@ ARRAY[{listed(TENANT_NEWS)}] AND cardinality(types) > 0", name="types"),
    CheckConstraint("run_id IS NOT NULL OR secret IS NOT NULL", name="tenant_signs"),
    CheckConstraint("(earlier_secret IS NULL) = (earlier_until IS NULL)", name="earlier_ends"),
    Index("webhook_endpoints_tenant_idx", "tenant", unique=True, postgresql_where=text("run_id IS NULL")),
    Index("webhook_endpoints_run_idx", "run_id", unique=True, postgresql_where=text("run_id IS NOT NULL")),
)

webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("id", Text, primary_key=True, comment="webhook-id: the same however often it is sent"),
    Column("tenant", Text, nullable=False),
    # No foreign key: the end of a run neither waits for whoever changes an endpoint nor fails with it.
    Column("endpoint_id", Text, nullable=False),
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), comment="null for a test"),
    Column("seq", BigInteger, comment="number of the event that it tells of"),
    Column("type", Text, nullable=False),
    Column("at", TIME, nullable=False),
    Column("said", JSON, nullable=False, comment="what the event says of the run"),
    Column("status", Text, nullable=False, server_default=text("'pending'")),
    Column("attempts", Integer, nullable=False, server_default=text("0"), comment="begun since it was asked for"),
    Column("due_at", TIME, server_default=text("now()"), comment="when it may be tried, or an attempt counts as lost"),
    Column("attempted_at", TIME),
    Column("response_status", Integer, comment="of the newest answer, of which nothing else is kept"),
    Column("error", Text, comment="why the newest attempt has not delivered"),
    Column("created_at", TIME, nullable=False, server_default=text("now()")),
    Column("ended_at", TIME),
    CheckConstraint(one_of("status", get_args(DeliveryStatus)), name="status"),
    CheckConstraint("(status = 'pending') = (due_at IS NOT NULL)", name="pending_is_due"),
    CheckConstraint("(status = 'pending') = (ended_at IS NULL)", name="ended_has_end_time"),
    CheckConstraint("(run_id IS NULL) = (seq IS NULL)", name="of_an_event"),
    Index("webhook_deliveries_event_idx", "run_id", "seq", "endpoint_id", unique=True),
    Index("webhook_deliveries_due_idx", "due_at", postgresql_where=text("status = 'pending'")),
    Index("webhook_deliveries_endpoint_idx", "endpoint_id", text("created_at DESC"), text("id DESC")),
)
