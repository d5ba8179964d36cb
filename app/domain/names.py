"""Names: those of teams, and those of tasks and workers, by the one rule that forgives what models do to them."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

TEAM_NAME = "[a-z0-9][a-z0-9-]{0,63}"
"""Pattern of a team's name."""
TEAM_REFERENCE = f"{TEAM_NAME}(@[1-9][0-9]{{0,8}})?"
"""Pattern of `name`, for the newest version, or `name@version`."""
NAME_READ = 1000
"""Characters of a name that are looked at: a name of more than 64 is refused in any case."""


def normalised(name: Any) -> Any:
    """A task id or worker name by the one rule: quotes and spaces around it gone, lower case, inner spaces to `-`."""
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name) if abs(name) < 10**64 else "-"
    if not isinstance(name, str):
        return name
    return re.sub(r"\s+", " ", name[:NAME_READ]).strip(" \"'`").lower().replace(" ", "-")


def _listed(value: Any) -> Any:
    """A list where models write null, or one name, instead of one."""
    return [] if value is None else [value] if isinstance(value, str) else value


def _each_once(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def is_plain_name(name: str) -> bool:
    """Whether tasks and workers may have it as it stands."""
    return re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,63}", name) is not None


Name = Annotated[str, BeforeValidator(normalised)]
Names = Annotated[tuple[Name, ...], BeforeValidator(_listed), AfterValidator(_each_once)]
"""What is named twice counts once."""
