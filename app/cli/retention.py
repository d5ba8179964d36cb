"""The commands about how long ended runs are kept. They work on the database alone."""

import re
from typing import Annotated

import typer

from app.cli.console import CommandRefused, check_tenant, say
from app.cli.database import with_database
from app.settings import read_settings
from app.store.retention import Retention, retention_of_tenants, set_retention

_DAYS = re.compile(r"([1-9]\d{0,4})d")
_LONGEST = 36_500

Tenant = Annotated[str, typer.Option(help="Whose runs.")]
Thin = Annotated[str, typer.Option(help="Days after which long texts in logs of ended runs are cut: 14d, or never.")]
Delete = Annotated[str, typer.Option(help="Days after which ended runs are deleted: 90d, or never.")]


def show() -> None:
    """Print for how long ended runs are kept: of all tenants, and of those that have a time of their own."""
    settings = read_settings()
    usual = Retention(settings.thin_after_days, settings.retention_days)
    for tenant, kept in [("*", usual), *with_database(retention_of_tenants).items()]:
        thin, delete = _said(kept.thin_after_days), _said(kept.delete_after_days)
        typer.echo(f"{tenant}\tthin after {thin}\tdelete after {delete}")


def set_days(tenant: Tenant, thin_after: Thin = "never", delete_after: Delete = "never") -> None:
    """Have a tenant keep ended runs for a time of its own, whatever the settings say for the others."""
    own = Retention(_days("--thin-after", thin_after), _days("--delete-after", delete_after))
    check_tenant(tenant)
    with_database(lambda database: set_retention(database, tenant, own))
    say(f"Logs of {tenant} are cut after {thin_after}, its runs deleted after {delete_after}.")


def clear(tenant: Tenant) -> None:
    """Have a tenant keep ended runs for as long as the settings say."""
    check_tenant(tenant)
    with_database(lambda database: set_retention(database, tenant, None))
    say(f"{tenant} keeps ended runs as the settings say.")


def _days(option: str, text: str) -> int | None:
    if text == "never":
        return None
    found = _DAYS.fullmatch(text)
    if found is None or int(found[1]) > _LONGEST:
        raise CommandRefused(f"{option}: {text} is no number of days: 30d, or never")
    return int(found[1])


def _said(days: int | None) -> str:
    return "never" if days is None else f"{days}d"
