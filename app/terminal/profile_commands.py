"""`chargehand profile`: services by their names."""

import os
import sys
from dataclasses import replace
from typing import Annotated

import typer

from app.terminal.keyboard import is_typed_at
from app.terminal.output import print_json, print_table, say
from app.terminal.profiles import (
    Profile,
    Profiles,
    checked_key,
    checked_name,
    checked_url,
    config_file,
    read_profiles,
    write_profiles,
)
from app.terminal.tables import Column

COLUMNS = (Column(""), Column("PROFILE"), Column("URL", is_cut=True), Column("KEY"))

Name = Annotated[str, typer.Argument(help="Its name.")]
KeyVariable = Annotated[
    str | None, typer.Option("--key-env", metavar="VARIABLE", help="Environment variable that has the key.")
]

profile = typer.Typer(name="profile", no_args_is_help=True, help="Services by their names, with their keys.")


@profile.command("add")
def add(
    name: Name,
    url: Annotated[str, typer.Option("--url", metavar="URL", help="Address of the service.")],
    key_env: KeyVariable = None,
) -> None:
    """Give a service a name. Its key is read from the prompt or standard input, or is in a variable."""
    checked_name(name)
    new = Profile(checked_url(url, "--url"), None if key_env else _key(), key_env)
    profiles = _profiles()
    current = profiles.current or name
    write_profiles(replace(profiles, current=current, named={**profiles.named, name: new}))
    say(f"{name} is {new.url}{', and the one in use' if current == name else ''}.")


@profile.command("list")
def list_profiles(
    as_json: Annotated[bool, typer.Option("--json", help="Print them as JSON, without their keys.")] = False,
) -> None:
    """List the profiles; the one in use has a star. Keys are not shown."""
    profiles = _profiles()
    if as_json:
        print_json({"current": profiles.current, "data": [_as_json(*each) for each in profiles.named.items()]})
        return
    rows = [
        ["*" if name == profiles.current else "", name, each.url, _told_of_key(each)]
        for name, each in profiles.named.items()
    ]
    print_table(COLUMNS, rows)


@profile.command("use")
def use(name: Name) -> None:
    """Use a profile wherever none is named."""
    profiles = _profiles()
    profiles.called(name)
    write_profiles(replace(profiles, current=name))
    say(f"{name} is in use: {profiles.named[name].url}")


@profile.command("remove")
def remove(name: Name) -> None:
    """Forget a profile and its key."""
    profiles = _profiles()
    profiles.called(name)
    left = {each: told for each, told in profiles.named.items() if each != name}
    write_profiles(replace(profiles, current=None if profiles.current == name else profiles.current, named=left))
    say(f"{name} is forgotten.")


def _profiles() -> Profiles:
    return read_profiles(config_file(os.environ))


def _key() -> str | None:
    if sys.stdin is None:
        return None
    if is_typed_at():
        typed = typer.prompt("API key (none: Enter)", default="", hide_input=True, show_default=False, err=True)
    else:
        typed = sys.stdin.read()
    return checked_key(str(typed), "what was read")


def _as_json(name: str, profile: Profile) -> dict[str, object]:
    has_key = profile.api_key is not None
    return {"name": name, "url": profile.url, "has_key": has_key, "api_key_env": profile.api_key_env}


def _told_of_key(profile: Profile) -> str:
    if profile.api_key_env is not None:
        return f"${profile.api_key_env}"
    return "yes" if profile.api_key else "none"
