"""The commands about limits of tenants and keys. They work on the database alone, for all tenants."""

import re
from collections.abc import Sequence
from typing import Annotated

import typer
from pydantic import ValidationError

from app.cli.console import CommandRefused, check_tenant, say
from app.cli.database import with_database
from app.domain.quotas import DEFAULTS, NOTHING_SAID, WHOLE_TENANT, Quota
from app.store.limits import change_limits, list_limits

DEFAULT_ROW = "(all tenants)"
NONE = "none"
"""What is written for a limit that is to be none, whatever holds for all tenants."""

_WHOLE = re.compile(r"[0-9]{1,20}")

Tenant = Annotated[str | None, typer.Option(help="Whose limits; without it those of all tenants that have no own.")]
Key = Annotated[str | None, typer.Option(help="Id of a key of the tenant: its own limits, beside those of the tenant.")]
Wanted = Annotated[list[str], typer.Argument(help="NAME=VALUE, such as runs_in_flight=5; VALUE is a number, or none.")]


def set_limits(wanted: Wanted, tenant: Tenant = None, key: Key = None) -> None:
    """Set limits; those that are not named stay as they are. They hold within a few seconds, in every process.

    requests_per_second, requests_burst, runs_in_flight, runs_queued, cost_usd_per_run, cost_usd_per_day,
    cost_usd_per_month.
    """
    _change(tenant, key, _quota(wanted), anew=False)


def show(tenant: Annotated[str | None, typer.Option(help="Only of this tenant.")] = None) -> None:
    """Show the limits that were set: tenant, key, limits."""
    for each in with_database(lambda database: list_limits(database, tenant)):
        columns = each.tenant or DEFAULT_ROW, each.key or "-", _shown(each.quota)
        typer.echo("\t".join(columns))


def clear(tenant: Tenant = None, key: Key = None) -> None:
    """Take back all that was set of a tenant, a key, or all tenants that have no own."""
    _change(tenant, key, NOTHING_SAID, anew=True)


def _change(tenant: str | None, key: str | None, changes: Quota, *, anew: bool) -> None:
    whose = _checked(tenant, key)
    quota = with_database(lambda database: change_limits(database, whose, changes, key=key or WHOLE_TENANT, anew=anew))
    if quota is None:
        raise CommandRefused(f"{whose} has no key {key}")
    of = f"key {key} of {whose}" if key else whose or "all tenants that have no own"
    say(f"Limits of {of}: {_shown(quota) or 'none'}.")


def _checked(tenant: str | None, key: str | None) -> str:
    if tenant is None:
        if key is not None:
            raise CommandRefused("--key: say with --tenant whose key it is")
        return DEFAULTS
    check_tenant(tenant)
    return tenant


def _quota(wanted: Sequence[str]) -> Quota:
    """The limits as they are written in a command."""
    given = dict(each.partition("=")[::2] for each in wanted)
    if unknown := [name for name in given if name not in Quota.model_fields]:
        raise CommandRefused(f"{unknown[0]} is no limit; there are: {', '.join(Quota.model_fields)}")
    values = {name: _value(text) for name, text in given.items()}
    try:
        return Quota.model_validate(values)
    except ValidationError as error:
        found = error.errors()[0]
        name = str(found["loc"][0])
        # What is counted is never written otherwise: a text was no whole number.
        why = "This must be a whole number." if found["type"] == "number_type" else found["msg"]
        raise CommandRefused(f"{name}={given[name]} is no such limit: {why}") from None


def _value(text: str) -> int | str | None:
    if text == NONE:
        return None
    return int(text) if _WHOLE.fullmatch(text) else text


def _shown(quota: Quota) -> str:
    return ", ".join(f"{name} {NONE if value is None else value}" for name, value in quota.said.items())


limits = typer.Typer(name="limits", no_args_is_help=True, help="Limits of tenants and keys: requests, runs, money.")
limits.command("set")(set_limits)
limits.command("show")(show)
limits.command("clear")(clear)
