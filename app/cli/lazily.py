"""A group of commands whose modules are loaded when they are typed; the list of them needs none."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from app.cli.table import COMMANDS, OWN, PANELS


class LazyGroup(TyperGroup):
    """Lists commands as the table tells of them, and loads the one that is meant."""

    def __init__(self, **told: Any) -> None:
        super().__init__(**told | {"commands": _listed()})

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is meant, and what is left for it; their classes are Typer's own."""
        name, listed, rest = super().resolve_command(ctx, args)
        if name in OWN and not ctx.resilient_parsing and (ctx.params["url"] or ctx.params["profile"]):
            ctx.fail(f"{name} uses no service: --url and --profile mean nothing in front of it.")
        return name, loaded(name) if name in COMMANDS else listed, rest


def loaded(name: str) -> Any:
    """A command of the table, with its options."""
    module, _, attribute = COMMANDS[name].where.partition(":")
    found = getattr(import_module(module), attribute)
    around = typer.Typer()
    if isinstance(found, typer.Typer):
        around.add_typer(found, name=name)
    else:
        around.command(name)(found)
    return get_group(around).commands[name]


def _listed() -> dict[str, Any]:
    return {
        name: TyperCommand(name, help=place.does, rich_help_panel=panel)
        for panel, places in PANELS.items()
        for name, place in places.items()
    }
