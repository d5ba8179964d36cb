"""What a suite is run with: a team in a version, and models that differ from the team's."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.domain.errors import ChargehandError
from app.domain.names import TEAM_REFERENCE

_TEAM = re.compile(TEAM_REFERENCE)
_MODEL = re.compile(r"[^\s=,]{1,200}=[^\s=,]{1,200}")


class SideInvalid(ChargehandError):
    """What `--team` or `--against` says cannot be read; the message is one line."""


@dataclass(frozen=True, slots=True)
class Side:
    """A team, with its own models or others."""

    team: str | None = None
    """`name` or `name@version`; None for the suite's."""
    models: Mapping[str, str] = field(default_factory=dict)
    """A tier or a model id by worker, or by `supervisor`."""


def side_of(text: str, option: str) -> Side:
    """The side that `TEAM`, `TEAM@VERSION`, `TEAM:WORKER=MODEL,…` or `:WORKER=MODEL,…` names. Raises `SideInvalid`."""
    team, mark, told = text.partition(":")
    models = told.split(",") if mark else []
    if (team and not _TEAM.fullmatch(team)) or not (team or models) or not all(map(_MODEL.fullmatch, models)):
        raise SideInvalid(f"{option} {text}: a side is TEAM, TEAM@VERSION, TEAM:WORKER=MODEL,… or :WORKER=MODEL,…")
    by_name = {name: model for name, _, model in (each.partition("=") for each in models)}
    if len(by_name) < len(models):
        raise SideInvalid(f"{option} {text}: a worker is named twice")
    return Side(team or None, by_name)
