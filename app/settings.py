"""What an operator may set, read once from the environment at the entry of a process."""

import os
import re
import sys
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    DirectoryPath,
    Field,
    FilePath,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict
from pydantic_settings import SettingsError as Unparsable

PREFIX = "CHARGEHAND_"
MIB = 1024 * 1024

_SERVICE_LINK = re.compile(r"\A(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)")
_LINKED_ADDRESS = re.compile(r"(tcp|udp|sctp)://")
"""Names after our prefix, and the value, of variables that Kubernetes makes for a Service named chargehand or
chargehand-…. Nobody has set them, and they mean nothing to us."""

_POSTGRES = re.compile(r"postgres(ql)?(\+\w+)?://")
"""What other libraries take names their driver behind a plus; it means the same to us."""
_KEY = re.compile(r"[!-~]+")
_API_ROOT = re.compile(r"https?://[^\s?#/]+(/[^\s?#]*)?")
_SECRETS_KEY = re.compile(r"[A-Za-z0-9+/_-]{43}=")
_HOST_AND_PORT = re.compile(r"\A(?P<host>[^\s\[\]/@?#:,]{1,253}|\[[0-9a-fA-F:.]{2,45}\]):(?P<port>\d{1,5})")
_SAID_TO_OTHERS = (
    "anthropic_api_key",
    "anthropic_base_url",
    "model_fast",
    "model_balanced",
    "model_deep",
    "secrets_key",
)
"""Settings that are used as they are."""


OF_CLIENTS = {f"{PREFIX}{name}" for name in ("API_KEY", "URL", "PROFILE")}
"""Variables that commands go by which are clients of a service, and no setting of one."""


class SettingsError(Exception):
    """The environment does not make valid settings; the message is one line and names the variables."""


def _log_format() -> Literal["json", "console"]:
    return "console" if sys.stdout.isatty() else "json"


_Dollars = Annotated[Decimal, Field(ge=0, le=1_000_000)]


class ModelPrice(BaseModel):
    """What a model costs, in US dollars for a million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: _Dollars
    output: _Dollars
    cache_read: _Dollars | None = None
    cache_write: _Dollars | None = None


class Settings(BaseSettings):
    """The settings of one process. The variable of a field is its name in capitals after `CHARGEHAND_`, unless it
    declares another; an empty variable counts as unset."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, frozen=True, populate_by_name=True)

    database_url: SecretStr | None = Field(default=None, validation_alias="DATABASE_URL")
    """`postgresql://…` of the database that all replicas share; unset starts a private Postgres under `home`."""
    home: Path = Path(".chargehand")
    """Directory of the private Postgres."""
    database_pool: int = Field(default=10, ge=2, le=200)
    """Database connections one process keeps for requests and runs."""

    anthropic_api_key: SecretStr | None = Field(default=None, validation_alias="ANTHROPIC_API_KEY")
    """Key of the Messages API."""
    anthropic_base_url: str | None = Field(default=None, validation_alias="ANTHROPIC_BASE_URL")
    """Another server that speaks the Messages API: a gateway or a local model. With or without `/v1` at its end."""
    model: Literal["auto", "claude", "demo"] = "auto"
    """Who answers: `claude`, the `demo` stand-in, or `auto`: Claude when there is a key or a base URL."""
    model_fast: str = "claude-haiku-5-5"
    """Model id of the tier `fast`."""
    model_balanced: str = "claude-sonnet-5-5"
    """Model id of the tier `balanced`."""
    model_deep: str = "claude-opus-5-5"
    """Model id of the tier `deep`."""
    model_prices: dict[str, ModelPrice] = Field(default_factory=dict)
    """Prices of models, in US dollars for a million tokens, as JSON: `{"model id": {"input": 0.5, "output": 2}}`, with
    `cache_read` and `cache_write` where they differ from `input`. They come before published ones."""
    model_calls_at_once: int = Field(default=200, ge=1, le=10_000)
    """Model calls one process has open at the same time."""
    call_attempts: int = Field(default=3, ge=1, le=50)
    """How often one model call is sent, the first time included, while its faults are transient. A worker's later
    attempts have what the earlier ones have left on top."""
    retry_base_s: float = Field(default=1.0, ge=0, le=60)
    """Seconds before a failed model call is sent again for the first time; each further wait is longer."""
    model_timeout_s: float = Field(default=600, gt=0, le=3600)
    """Seconds one model call may take."""

    auth: Literal["off", "keys"] | None = None
    """Whether requests to the API must bring a key: `keys`, or `off`. Unset means `off`, and that only this machine may
    reach it: with another `host` a process then refuses to start, unless `off` is said outright."""
    host: str = "127.0.0.1"
    """Address the API listens on."""
    port: int = Field(default=8000, ge=0, le=65_535)
    """Port the API listens on; 0 takes a free one."""
    metrics_port: int | None = Field(default=None, ge=0, le=65_535)
    """Port of metrics alone, at the same address, for processes without the API as well; 0 takes a free one. Unset has
    the API show them, unless requests must bring keys."""
    body_limit_bytes: int = Field(default=32 * MIB, ge=1024, le=1024 * MIB)
    """Bytes a request body may have."""
    heartbeat_seconds: float = Field(default=15, ge=0.05, le=300)
    """Seconds between comments on an event stream that is otherwise silent."""

    secrets_key: SecretStr | None = None
    """Key under which the secrets of webhooks are kept: the base64 of 32 random bytes. Several, separated by commas,
    while it is exchanged: the first encrypts, all decrypt. Without one there are no webhooks."""
    webhook_hosts: Annotated[frozenset[tuple[str, int]], NoDecode] = frozenset()
    """Receivers of webhooks that may be inside the own network, and need no TLS: `host:port`, separated by commas."""
    webhook_timeout_s: float = Field(default=15, ge=0.1, le=60)
    """Seconds the receiver of a webhook has to answer."""

    engine: bool = True
    """Whether `serve` executes runs as well as answering requests."""
    schedules: bool = True
    """Whether `serve` sees to the times of schedules; off for a look at a copy of the database."""
    runs_at_once: int = Field(default=50, ge=1, le=10_000)
    """Runs one process executes at the same time."""
    lease_seconds: float = Field(default=10, ge=0.2, le=600)
    """Seconds after which the runs of a silent process go to another one."""
    poll_seconds: float = Field(default=2, ge=0.05, le=60)
    """Seconds between looks at the tables, for when a wake-up was lost."""
    drain_seconds: float = Field(default=10, ge=0, le=600)
    """Seconds a process that is told to stop has to hand back its runs."""
    retention_days: int | None = Field(default=None, ge=1, le=36_500)
    """Days after which ended runs are deleted; unset keeps them. Tenants may have a time of their own."""
    thin_after_days: int | None = Field(default=None, ge=1, le=36_500)
    """Days after which long texts in the logs of ended runs are cut; unset keeps them. Tenants may differ here too."""
    teams_dir: DirectoryPath | None = None
    """Directory with further team files (YAML)."""
    mcp_file: FilePath | None = None
    """File of the MCP servers whose tools workers may be given (YAML)."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severe log line that is written."""
    log_format: Literal["json", "console"] = Field(default_factory=_log_format)
    """Form of a log line; JSON unless the output is a terminal."""

    @field_validator("database_url")
    @classmethod
    def _is_postgres(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not _POSTGRES.match(url.get_secret_value().strip()):
            raise ValueError("must start with postgresql:// or postgres://")
        return url

    @field_validator(*_SAID_TO_OTHERS, mode="before")
    @classmethod
    def _without_line_end(cls, value: object, field: ValidationInfo) -> object:
        """Files of secrets, and those written on Windows, end in more than was meant."""
        said = value.get_secret_value() if isinstance(value, SecretStr) else value
        if not isinstance(said, str) or field.field_name is None:
            return value
        return said.strip() or cls.model_fields[field.field_name].default

    @field_validator("secrets_key")
    @classmethod
    def _are_keys(cls, keys: SecretStr | None) -> SecretStr | None:
        if keys is not None and not all(map(_SECRETS_KEY.fullmatch, keys.get_secret_value().split(","))):
            raise ValueError("must be the base64 of 32 random bytes, as `openssl rand -base64 32` makes it")
        return keys

    @field_validator("webhook_hosts", mode="before")
    @classmethod
    def _are_places(cls, hosts: object) -> object:
        if not isinstance(hosts, str):
            return hosts
        return frozenset(_place(host) for each in hosts.split(",") if (host := each.strip()))

    @field_validator("anthropic_api_key")
    @classmethod
    def _fits_a_header(cls, key: SecretStr | None) -> SecretStr | None:
        if key is not None and not _KEY.fullmatch(key.get_secret_value()):
            raise ValueError("must be one word of plain characters")
        return key

    @field_validator("anthropic_base_url")
    @classmethod
    def _is_api_root(cls, url: str | None) -> str | None:
        if url is None:
            return None
        if not _API_ROOT.fullmatch(url):
            raise ValueError("must start with http:// or https://, like http://127.0.0.1:8080, and have no ? and #")
        return url.rstrip("/").removesuffix("/messages").removesuffix("/v1").rstrip("/")

    @field_validator("port", "metrics_port", mode="before")
    @classmethod
    def _without_service_link(cls, port: object, field: ValidationInfo) -> object:
        linked = isinstance(port, str) and _LINKED_ADDRESS.match(port)
        return cls.model_fields[field.field_name or "port"].default if linked else port

    @field_validator("log_level", mode="before")
    @classmethod
    def _any_case(cls, level: object) -> object:
        return level.lower() if isinstance(level, str) else level

    @model_validator(mode="after")
    def _claude_is_reachable(self) -> Self:
        if self.model == "claude" and not (self.anthropic_api_key or self.anthropic_base_url):
            raise ValueError(f"{PREFIX}MODEL=claude needs ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL")
        return self

    @property
    def answering_model(self) -> Literal["claude", "demo"]:
        """Who answers, with `auto` resolved."""
        if self.model != "auto":
            return self.model
        return "claude" if self.anthropic_api_key or self.anthropic_base_url else "demo"


def read_settings() -> Settings:
    """The settings of the environment. Raises `SettingsError`, also for a `CHARGEHAND_` variable that means nothing."""
    if unknown := _unknown(os.environ):
        raise SettingsError(f"unknown setting: {', '.join(unknown)}")
    try:
        return Settings()
    except Unparsable:
        raise SettingsError(f"{variable('model_prices')}: must be JSON") from None
    except ValidationError as error:
        # Only names and messages: the input of an error may be a secret.
        problems = [(".".join(map(str, each["loc"])), each["msg"]) for each in error.errors(include_input=False)]
        raise SettingsError("; ".join(_problem(*each) for each in problems)) from None


def variable(field: str) -> str:
    """The environment variable that sets `field`."""
    alias = Settings.model_fields[field].validation_alias
    return alias if isinstance(alias, str) else PREFIX + field.upper()


def _place(text: str) -> tuple[str, int]:
    found = _HOST_AND_PORT.fullmatch(text)
    if found is None or not 0 < int(found["port"]) < 65_536:
        raise ValueError(f"must name hosts with their ports, like hooks.internal:8443; {text} is none")
    return found["host"].strip("[]").lower(), int(found["port"])


def _unknown(environment: Mapping[str, str]) -> list[str]:
    known = {variable(field) for field in Settings.model_fields} | OF_CLIENTS
    ours = {name: name.upper().removeprefix(PREFIX) for name in environment if name.upper().startswith(PREFIX)}
    return sorted(
        name
        for name, rest in ours.items()
        if name.upper() not in known
        and not _SERVICE_LINK.fullmatch(rest)
        and not (rest.endswith("_PORT") and _LINKED_ADDRESS.match(environment[name]))
    )


def _problem(location: str, message: str) -> str:
    message = message.removeprefix("Value error, ").replace("Input should be", "must be")
    if not location:
        return message
    field, _, inside = location.partition(".")
    name = location if field not in Settings.model_fields else " ".join(filter(None, (variable(field), inside)))
    return f"{name}: {message}"
