"""What all commands share: how they speak to the operator, and with which codes they end."""

import re

import typer

from app.domain.errors import ChargehandError
from app.domain.keys import TENANT_PATTERN
from app.telemetry import redact

OUT_OF_DATE = 1


class CommandRefused(ChargehandError):
    """The command cannot be carried out; the message is one line for the operator."""


def say(line: str) -> None:
    """Tell the operator. Standard output is left to log lines and to what a command prints."""
    typer.echo(redact(line), err=True)


def check_tenant(tenant: str) -> None:
    """Raises `CommandRefused` unless it may be the name of a tenant."""
    if not re.fullmatch(TENANT_PATTERN, tenant):
        raise CommandRefused(f"--tenant: {tenant} is no name of a tenant: lower-case letters, digits, - and _")
