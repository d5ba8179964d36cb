"""The operator's file of MCP servers: which there are, how they are reached, and what of them is offered.

Secrets are named by their environment variables (`${NAME}`), and read once, at the start.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from app.domain.errors import ChargehandError
from app.domain.events import Effect

KIB, MIB = 1024, 1024 * 1024
PROBLEMS_SHOWN = 10

ServerName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")]
Pattern = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.*-]{1,128}$")]
"""A tool's name, or several with `*` for any characters."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_HEADER_VALUE = re.compile(r"[ -~]*")
_SECRET_NAME = re.compile(r"(authorization|api[-_]?key|password|secret|token|cookie)$", re.IGNORECASE)


class McpFileInvalid(ChargehandError):
    """The file of MCP servers cannot be used; the message names the file and what is wrong, and holds no value."""


class ServerEntry(BaseModel):
    """A server, as the file describes it."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True)

    url: str | None = Field(default=None, max_length=2_000)
    """Where it speaks streamable HTTP. It is the operator's own word, so that it may lie inside the network."""
    headers: dict[str, str] = Field(default_factory=dict, max_length=20)
    """Sent with every request to it."""
    command: tuple[Annotated[str, StringConstraints(min_length=1)], ...] | None = Field(default=None, min_length=1)
    """What starts it as a process of ours that speaks on its standard input and output: a program and its arguments."""
    env: dict[str, str] = Field(default_factory=dict, max_length=50)
    """Its environment, beside `PATH`, `HOME`, `LANG` and `TZ` of ours. Nothing else of ours is passed on."""
    tools: tuple[Pattern, ...] = Field(min_length=1, max_length=200)
    """Which of its tools are offered: names, or patterns with `*`."""
    effects: dict[Pattern, Effect] = Field(default_factory=dict, max_length=200)
    """What its tools do, by name or pattern, where the server is not to be asked: `read`, `idempotent` or `once`."""
    timeout_s: float = Field(default=30, ge=0.1, le=600)
    """Seconds that one call may take."""
    output_limit: int = Field(default=20_000, ge=500, le=200_000)
    """Characters of a result that the model sees."""
    result_bytes: int = Field(default=4 * MIB, ge=16 * KIB, le=64 * MIB)
    """Bytes of one answer; what is longer is cut off and not read."""

    @model_validator(mode="after")
    def _is_reached_in_one_way(self) -> Self:
        if (self.url is None) == (self.command is None):
            raise ValueError("a server has a url or a command")
        if self.url is None and self.headers:
            raise ValueError("headers go with a url")
        if self.command is None and self.env:
            raise ValueError("env goes with a command")
        names = [each for each in self.effects if "*" not in each]
        unused = [each for each in names if not any(fnmatchcase(each, pattern) for pattern in self.tools)]
        if unused:
            raise ValueError(f"effects names what tools does not offer: {', '.join(unused)}")
        return self


class McpFile(BaseModel):
    """The file."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    servers: dict[ServerName, ServerEntry] = Field(max_length=50)
    """By their names, which the names of their tools begin with."""


@dataclass(frozen=True, slots=True)
class ServerTerms:
    """A server to be held, with its secrets filled in."""

    name: str
    entry: ServerEntry = field(repr=False)
    url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    """What was read from environment variables: masked wherever the server repeats it."""

    def offers(self, tool: str) -> bool:
        """Whether the operator wants a tool of that name offered, if the server has it."""
        return any(fnmatchcase(tool, pattern) for pattern in self.entry.tools)

    def effect_of(self, tool: str) -> Effect | None:
        """What the operator says that a tool does: the first that fits, a plain name before patterns."""
        patterns = sorted(self.entry.effects, key=lambda pattern: "*" in pattern)
        return next((self.entry.effects[each] for each in patterns if fnmatchcase(tool, each)), None)

    @property
    def named(self) -> tuple[str, ...]:
        """The tools that are named without a pattern, and so are known before the server was ever reached."""
        return tuple(each for each in self.entry.tools if "*" not in each)


def servers_in(file: Path | None, environment: Mapping[str, str]) -> list[ServerTerms]:
    """The servers of the file. Raises `McpFileInvalid`."""
    if file is None:
        return []
    try:
        read = McpFile.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
    except ValidationError as error:
        raise McpFileInvalid(f"{file}: {_problems(error)}") from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise McpFileInvalid(f"{file}: {_without_content(error)}") from None
    return [_filled_in(file, name, entry, environment) for name, entry in read.servers.items()]


def _filled_in(file: Path, name: str, entry: ServerEntry, environment: Mapping[str, str]) -> ServerTerms:
    secrets: set[str] = set()
    where = f"{file}: servers.{name}"

    def filled(text: str, field_name: str) -> str:
        if "${" in _VARIABLE.sub("*", text):
            raise McpFileInvalid(f"{where}.{field_name}: a variable is written ${{NAME}}")
        for variable in _VARIABLE.findall(text):
            value = environment.get(variable, "").strip()
            if not value:
                raise McpFileInvalid(f"{where}.{field_name}: the environment variable {variable} is not set")
            secrets.add(value)
        return _VARIABLE.sub(lambda found: environment[found[1]].strip(), text)

    for field_name, values in (("headers", entry.headers), ("env", entry.env)):
        for key, value in values.items():
            if _SECRET_NAME.search(key) and not _VARIABLE.search(value):
                raise McpFileInvalid(f"{where}.{field_name}.{key}: a secret is named by its variable, as ${{NAME}}")
    url = entry.url and filled(entry.url, "url")
    headers = {key: filled(value, f"headers.{key}") for key, value in entry.headers.items()}
    _check_address(where, url, headers)
    env = {key: filled(value, f"env.{key}") for key, value in entry.env.items()}
    return ServerTerms(name, entry, url, headers, env, frozenset(secrets))


def _check_address(where: str, url: str | None, headers: Mapping[str, str]) -> None:
    """Raises `McpFileInvalid` where a request could not be sent so."""
    if url is not None:
        try:
            parts = urlsplit(url)
            fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and "@" not in parts.netloc
        except ValueError:
            fits = False
        if not fits:
            raise McpFileInvalid(f"{where}.url: must be http://… or https://…, without a user name")
    for name, value in headers.items():
        if not (_HEADER_NAME.fullmatch(name) and _HEADER_VALUE.fullmatch(value)):
            raise McpFileInvalid(f"{where}.headers: {name[:100]!r} must be one line of plain characters")


def _problems(error: ValidationError) -> str:
    errors = error.errors(include_url=False, include_input=False, include_context=False)
    shown = [
        f"{'.'.join(map(str, each['loc'])) or 'the file'}: {each['msg'].removeprefix('Value error, ')}"
        for each in errors[:PROBLEMS_SHOWN]
    ]
    return "; ".join(shown + ([f"and {len(errors) - len(shown)} more"] if len(errors) > len(shown) else []))


def _without_content(error: Any) -> str:
    """What is wrong with a file that cannot be read. A line of it is not repeated: a secret may stand there."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1} is no YAML: {error.problem}"
    return str(error.strerror) if isinstance(error, OSError) else "it is no YAML in UTF-8"
