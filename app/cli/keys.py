"""The commands about keys of the API. They work on the database alone, for all tenants."""

import re
from datetime import timedelta
from typing import Annotated

import typer

from app.cli.console import CommandRefused, check_tenant, say
from app.cli.database import with_database
from app.domain.keys import DEFAULT_TENANT, SCOPES, StoredKey, in_order
from app.store.keys import NewKey, create_key, keys_of, revoke_key

_SPAN = re.compile(r"(\d{1,5})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 168}

Tenant = Annotated[str, typer.Option(help="Whose runs and teams it opens: lower-case letters, digits, - and _.")]
Scopes = Annotated[str, typer.Option(help=f"What it allows, joined by commas: {', '.join(SCOPES)}.")]
Expires = Annotated[str | None, typer.Option(help="When it expires: 12h, 90d, 52w from now. Never, unless set.")]
Name = Annotated[str, typer.Option(help="What it is for, for people.")]
KeyId = Annotated[str, typer.Argument(help="The id of the key, as `list` shows it.")]


def create(
    tenant: Tenant = DEFAULT_TENANT,
    scopes: Scopes = "jobs:write,runs:read",
    expires: Expires = None,
    name: Name = "",
) -> None:
    """Make a key and print it. It is shown here alone, and kept nowhere."""
    check_tenant(tenant)
    asked = [scope.strip() for scope in scopes.split(",") if scope.strip()]
    if unknown := [scope for scope in asked if scope not in SCOPES]:
        raise CommandRefused(f"--scopes: {unknown[0]} is none; there are: {', '.join(SCOPES)}")
    allowed = frozenset(scope for scope in SCOPES if scope in asked)
    if not allowed:
        raise CommandRefused("--scopes: a key that allows nothing opens nothing")
    new = NewKey(tenant, allowed, name, _span(expires))
    sent, stored = with_database(lambda database: create_key(database, new))
    typer.echo(sent.text)
    say(f"Key {stored.id} of {stored.tenant}: {', '.join(in_order(stored.scopes))}; {_until(stored)}.")


def list_keys(tenant: Annotated[str | None, typer.Option(help="Only of this tenant.")] = None) -> None:
    """List keys, of all tenants, newest first. Secrets are not kept."""
    for key in with_database(lambda database: keys_of(database, tenant)):
        columns = key.id, key.tenant, ",".join(in_order(key.scopes)), _until(key), key.name
        typer.echo("\t".join(columns).rstrip())


def revoke(key: KeyId) -> None:
    """Take a key back. Within a few seconds it opens nothing more, and streams that were opened with it end."""
    revoked = with_database(lambda database: revoke_key(database, key))
    if revoked is None:
        raise CommandRefused(f"there is no key {key}")
    say(f"Key {revoked.id} of {revoked.tenant} is revoked.")


def _span(text: str | None) -> timedelta | None:
    if text is None:
        return None
    found = _SPAN.fullmatch(text)
    if not found or not int(found[1]):
        raise CommandRefused(f"--expires: {text} is no time from now: 12h, 90d or 52w")
    return timedelta(hours=int(found[1]) * _HOURS[found[2]])


def _until(key: StoredKey) -> str:
    if key.revoked_at is not None:
        return f"revoked {key.revoked_at:%Y-%m-%d}"
    if key.expires_at is None:
        return "does not expire"
    return f"{'expires' if key.usable else 'expired'} {key.expires_at:%Y-%m-%d %H:%M}"


keys = typer.Typer(name="keys", no_args_is_help=True, help="Keys of the API, each of a tenant.")
keys.command("create")(create)
keys.command("list")(list_keys)
keys.command("revoke")(revoke)
