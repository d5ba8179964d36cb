"""Which service is meant, and how a command asks it.

What is nearest wins: `--url` or `--profile`, then `CHARGEHAND_URL`, then `CHARGEHAND_PROFILE`, then the profile in use,
and at last a service on this machine. The key is that of `CHARGEHAND_API_KEY`, unless `--profile` names a profile with
a key of its own; the key of a profile goes to the address of that profile alone.
"""

import inspect
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast, get_type_hints

import typer

from app.terminal.errors import CommandRefused
from app.terminal.options import HERE, ProfileName, Url
from app.terminal.profiles import Profiles, checked_key, checked_url, config_file, read_profiles
from app.terminal.text import one_line

if TYPE_CHECKING:
    from app.client import Client

# The client and what it needs are imported where a service is asked: help needs none.

PATIENCE_S = 1.0
"""How long a command tries a service that does not answer: somebody is waiting."""
T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Service:
    """A service that a command uses."""

    url: str
    key: str | None = field(default=None, repr=False)

    def ask(self, work: "Callable[[Client], Awaitable[T]]", *, patience_s: float = PATIENCE_S) -> T:
        """What `work` does with a client of the service. Raises `CommandRefused` for what it let through."""
        import asyncio

        from app.client import Client, Refused, ServiceError, Unreachable

        async def worked() -> T:
            async with Client(self.url, self.key, patience_s=patience_s) as client:
                return await work(client)

        try:
            return asyncio.run(worked())
        except Unreachable as error:
            what_to_do = "start one (`chargehand serve`), or say where it is: --url, CHARGEHAND_URL, --profile"
            raise CommandRefused(f"{one_line(str(error))}; {what_to_do}") from None
        except ServiceError as error:
            is_keyless = isinstance(error, Refused) and error.code == "key_missing"
            how = "; give one in CHARGEHAND_API_KEY, or by a profile that has one" if is_keyless else ""
            raise CommandRefused(one_line(str(error)) + how) from None


def service_meant(url: str | None, profile: str | None, environment: Mapping[str, str]) -> Service:
    """The service that options and the environment name. Raises `CommandRefused`."""
    if url and profile:
        raise CommandRefused("--url and --profile name two services: give one of them")
    profiles = read_profiles(config_file(environment))
    key = checked_key(environment.get("CHARGEHAND_API_KEY", ""), "CHARGEHAND_API_KEY")
    if profile:
        return Service(profiles.called(profile).url, profiles.key_of(profile, environment) or key)
    if url:
        return Service(checked_url(url, "--url"), key)
    if said := environment.get("CHARGEHAND_URL", "").strip():
        return Service(checked_url(said, "CHARGEHAND_URL"), key)
    return _in_use(profiles, environment, key)


def _in_use(profiles: Profiles, environment: Mapping[str, str], key: str | None) -> Service:
    name = environment.get("CHARGEHAND_PROFILE", "").strip() or profiles.current
    if name is None:
        return Service(HERE, key)
    return Service(profiles.called(name).url, key or profiles.key_of(name, environment))


def at_service(command: Callable[Concatenate[Service, P], None]) -> Callable[..., None]:
    """A command that is given the service that is meant, by options of its own or by those in front of it.

    One that takes a single value besides has an option or argument for each field of it.
    """
    own, gather = _told_of(command)

    @wraps(command)
    def told(**options: Any) -> None:
        service = service_of(options.pop("context"), options.pop("url"), options.pop("profile"))
        any_options: Callable[..., None] = command
        any_options(service, **gather(options))

    parameters = [*own, *_ADDED]
    described: Any = told
    described.__signature__ = inspect.Signature([each.replace(kind=each.KEYWORD_ONLY) for each in parameters])
    described.__annotations__ = {each.name: each.annotation for each in parameters}
    return told


def _told_of(command: Callable[..., None]) -> tuple[list[inspect.Parameter], Callable[[dict[str, Any]], Any]]:
    """What a command is told besides the service, and how that becomes its arguments."""
    hints = get_type_hints(command, include_extras=True)
    own = [each.replace(annotation=hints[each.name]) for each in [*inspect.signature(command).parameters.values()][1:]]
    if len(own) == 1 and is_dataclass(own[0].annotation):
        name, kind = own[0].name, cast("Callable[..., Any]", own[0].annotation)
        hints = get_type_hints(kind, include_extras=True)
        fields = [each.replace(annotation=hints[each.name]) for each in inspect.signature(kind).parameters.values()]
        return fields, lambda options: {name: kind(**options)}
    return own, lambda options: options


_ADDED = (
    inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
    inspect.Parameter("url", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Url),
    inspect.Parameter("profile", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=ProfileName),
)


def service_of(context: typer.Context, url: str | None, profile: str | None) -> Service:
    """The service that a command means. Options behind its name take the place of those in front of it."""
    if not (url or profile):
        in_front = context.find_root().params
        url, profile = in_front.get("url"), in_front.get("profile")
    return service_meant(url, profile, os.environ)
