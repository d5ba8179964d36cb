"""The commands about how long ended runs are kept. They work on the database alone."""

import re
from typing import Annotated

import typer

from app.cli.console import CommandRefused, check_tenant, say
from app.cli.database import with_database
from app.settings import read_settings
from app.store.database import Database
from app.store.retention import Retention, retention_of_tenants, set_retention

_DAYS = re.compile(r"([1-9]\d{0,4})d")
_LONGEST = 36_500

Tenant = Annotated[str, typer.Option(help="Whose runs.")]
Thin = Annotated[
    str | None, typer.Option(help="Days after which long texts in logs of ended runs are cut: 14d, or never.")
]
Delete = Annotated[str | None, typer.Option(help="Days after which ended runs are deleted: 90d, or never.")]


def show() -> None:
    """Print for how long ended runs are kept: of all tenants, and of those that have a time of their own."""
    settings = read_settings()
    usual = Retention(settings.thin_after_days, settings.retention_days)
    for tenant, kept in [("*", usual), *with_database(retention_of_tenants).items()]:
        thin, delete = _said(kept.thin_after_days), _said(kept.delete_after_days)
        typer.echo(f"{tenant}\tthin after {thin}\tdelete after {delete}")


def set_days(tenant: Tenant, thin_after: Thin = None, delete_after: Delete = None) -> None:
    """Have a tenant keep ended runs for a time of its own, whatever the settings say for the others.

    What is not named stays as it was; at first it is never.
    """
    check_tenant(tenant)

    async def change(database: Database) -> Retention:
        before = (await retention_of_tenants(database)).get(tenant, Retention())
        own = Retention(
            before.thin_after_days if thin_after is None else _days("--thin-after", thin_after),
            before.delete_after_days if delete_after is None else _days("--delete-after", delete_after),
        )
        if own.thin_after_days and own.delete_after_days and own.thin_after_days >= own.delete_after_days:
            raise CommandRefused("--thin-after: runs would be deleted before their logs are cut")
        await set_retention(database, tenant, own)
        return own

    own = with_database(change)
    thin, delete = _said(own.thin_after_days), _said(own.delete_after_days)
    say(f"{tenant}: logs are cut after {thin}, runs deleted after {delete}.")


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


retention = typer.Typer(name="retention", no_args_is_help=True, help="For how long tenants keep ended runs.")
retention.command("show")(show)
retention.command("set")(set_days)
retention.command("clear")(clear)
