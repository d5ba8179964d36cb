"""The services that a user has given names: `~/.config/chargehand/config.toml`."""

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.terminal.errors import CommandRefused

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_URL = re.compile(r"https?://[^\s/?#]+[^\s?#]*")
_FIELDS = ("url", "api_key", "api_key_env")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class Profile:
    """A service by its name."""

    url: str
    api_key: str | None = field(default=None, repr=False)
    api_key_env: str | None = None
    """Environment variable that has the key instead."""


@dataclass(frozen=True, slots=True)
class Profiles:
    """What the file says."""

    file: Path
    current: str | None = None
    """Name of the profile that is meant where none is named."""
    named: Mapping[str, Profile] = field(default_factory=dict)

    def called(self, name: str) -> Profile:
        """The profile of a name. Raises `CommandRefused`."""
        if name not in self.named:
            there = f"there are: {', '.join(self.named)}" if self.named else "`chargehand profile add` makes one"
            raise CommandRefused(f"there is no profile {name} in {self.file}; {there}")
        return self.named[name]

    def key_of(self, name: str, environment: Mapping[str, str]) -> str | None:
        """The key of a profile; None when it has none. Raises `CommandRefused` for one that others can read."""
        profile = self.called(name)
        if profile.api_key_env is not None:
            return checked_key(environment.get(profile.api_key_env, ""), profile.api_key_env)
        if profile.api_key is not None and self.file.stat().st_mode & _OTHERS:
            raise CommandRefused(f"{self.file} has a key and may be read by others: chmod 600 {self.file}")
        return checked_key(profile.api_key or "", f"{self.file}: profiles.{name}.api_key")


def config_file(environment: Mapping[str, str]) -> Path:
    """Where it is."""
    root = environment.get("XDG_CONFIG_HOME", "")
    return (Path(root) if root.startswith("/") else Path.home() / ".config") / "chargehand" / "config.toml"


def read_profiles(file: Path) -> Profiles:
    """The profiles in a file; none where there is no file. Raises `CommandRefused`."""
    if not os.path.exists(file):  # Where it may not be looked for, there is none.
        return Profiles(file)  # As for most: what reads such a file need not be loaded.
    import tomllib

    try:
        written = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CommandRefused(f"cannot read {file}: {' '.join(str(error).split())}") from None
    if unknown := sorted(written.keys() - {"current", "profiles"}):
        raise CommandRefused(f"{file}: unknown: {', '.join(unknown)}")
    tables = written.get("profiles", {})
    if not isinstance(tables, dict):
        raise CommandRefused(f"{file}: profiles: must be tables, such as [profiles.prod]")
    named = {name: _profile(file, name, table) for name, table in tables.items()}
    current = written.get("current")
    if current is not None and not isinstance(current, str):
        raise CommandRefused(f"{file}: current: must be the name of a profile")
    if current is not None and current not in named:
        raise CommandRefused(f"{file}: current: there is no profile {current}")
    return Profiles(file, current, named)


def write_profiles(profiles: Profiles) -> None:
    """Write the file for its owner alone, in one step. Raises `CommandRefused`."""
    import tempfile

    file = profiles.file
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, draft = tempfile.mkstemp(dir=file.parent, prefix=".config-")  # For its owner alone.
        with os.fdopen(descriptor, "w", encoding="utf-8") as output:
            output.write(_written(profiles))
        Path(draft).replace(file)
    except OSError as error:
        raise CommandRefused(f"cannot write {file}: {error.strerror}") from None


def checked_name(name: str) -> str:
    """Raises `CommandRefused` unless a profile may be called so."""
    if not _NAME.fullmatch(name):
        raise CommandRefused(f"{name} is no name of a profile: letters, digits, - and _")
    return name


def checked_url(url: str, said_by: str) -> str:
    """Raises `CommandRefused` unless it may be the address of a service."""
    if not _URL.fullmatch(url):
        raise CommandRefused(f"{said_by}: {url} is no address of a service, such as https://chargehand.example.org")
    return url.rstrip("/")


def checked_key(key: str, said_by: str) -> str | None:
    """The key without what is around it; None where there is none. Raises `CommandRefused` for what can be no key."""
    key = key.strip()
    if not all("!" <= each <= "~" for each in key):
        raise CommandRefused(f"{said_by}: a key is one word of plain characters")
    return key or None


def _profile(file: Path, name: str, table: Any) -> Profile:
    place = f"{file}: profiles.{name}"
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise CommandRefused(f"{place}: must be a table of texts: {', '.join(_FIELDS)}")
    if unknown := sorted(table.keys() - set(_FIELDS)):
        raise CommandRefused(f"{place}: unknown: {', '.join(unknown)}")
    if "url" not in table:
        raise CommandRefused(f"{place}: url is missing")
    return Profile(**table | {"url": checked_url(table["url"], f"{place}.url")})


def _written(profiles: Profiles) -> str:
    lines = [f"current = {_quoted(profiles.current)}"] if profiles.current else []
    for name, profile in profiles.named.items():
        lines += ["", f"[profiles.{name if _NAME.fullmatch(name) else _quoted(name)}]"]
        values = ((each, getattr(profile, each)) for each in _FIELDS)
        lines += [f"{each} = {_quoted(value)}" for each, value in values if value is not None]
    return "\n".join(lines).lstrip("\n") + "\n"


def _quoted(text: str) -> str:
    """A basic string of TOML."""
    escaped = "".join(f"\\u{ord(each):04x}" if each < " " or each in '"\\\x7f' else each for each in text)
    return f'"{escaped}"'
