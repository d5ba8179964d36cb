"""The tables of those who operate the service: which processes there are, and whose jobs are not taken in."""

from typing import Literal, get_args

from sqlalchemy import Boolean, CheckConstraint, Column, Integer, Table, Text, text

from app.store.tables import TIME, metadata, one_of

SaidBy = Literal["operator", "tenant"]
"""Whose word a pause is: the operator's, or that of the tenant itself."""

engines = Table(
    "engines",
    metadata,
    Column("name", Text, primary_key=True, comment="as run rows name their owner"),
    Column("version", Text, nullable=False, comment="of the release"),
    Column("runs_at_once", Integer, nullable=False),
    Column("started_at", TIME, nullable=False),
    Column("renewed_at", TIME, nullable=False),
    Column("silent_from", TIME, nullable=False, comment="from when it is missed unless it says something"),
    Column("leaving", Boolean, nullable=False, comment="whether it was told to stop"),
    Column("drained_at", TIME, comment="when it was asked to claim nothing more; null while it claims"),
    postgresql_with={"fillfactor": 50},  # Each writes its row every few seconds.
)

intake_pauses = Table(
    "intake_pauses",
    metadata,
    Column("tenant", Text, primary_key=True, comment="whose jobs are not taken in; empty: those of all"),
    Column("said_by", Text, primary_key=True),
    Column("paused_at", TIME, nullable=False, server_default=text("now()")),
    CheckConstraint(one_of("said_by", get_args(SaidBy)), name="said_by"),
    CheckConstraint("tenant <> '' OR said_by = 'operator'", name="all_by_operator"),
)
