"""What is typed about a job, as the API has it."""

import sys
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path, PurePosixPath
from typing import Any, cast

from app.client import File, Limits
from app.terminal.errors import CommandRefused

STDIN = "-"
STDIN_NAME = "stdin"
MOST_DIGITS = 15
"""Of a number that anybody means."""
_SHORT = {"cost": "cost_usd", "timeout": "timeout_s"}
_WHOLE = ("tokens", "tasks", "concurrency", "attempts", "rounds", "depth")
_LIMITS = {"cost_usd": str, "timeout_s": float} | dict.fromkeys(_WHOLE, int)


def limits_of(options: Sequence[str]) -> Limits:
    """The limits that `--limit name=value` names. Raises `CommandRefused`."""
    limits: dict[str, Any] = {}
    for option in options:
        typed, equals, value = option.partition("=")
        name = _SHORT.get(typed.strip(), typed.strip())
        if not equals or name not in _LIMITS:
            known = ", ".join(sorted({*_LIMITS, *_SHORT}))
            raise CommandRefused(f"--limit {option}: this is name=value, with one of these names: {known}")
        if name in limits:
            raise CommandRefused(f"--limit {option}: {name} is given twice")
        limits[name] = _limit(option, name, value.strip())
    return cast(Limits, limits)


def _limit(option: str, name: str, value: str) -> Any:
    try:
        amount = Decimal(value)
        whole = name in _WHOLE
        if not amount.is_finite() or amount <= 0 or amount.adjusted() > MOST_DIGITS or (whole and amount % 1):
            raise InvalidOperation
    except InvalidOperation:
        kind = "a whole number" if name in _WHOLE else "a number"
        raise CommandRefused(f"--limit {option}: the value is {kind} above 0") from None
    return int(amount) if whole else str(amount) if name == "cost_usd" else float(amount)


def files_of(paths: Sequence[str]) -> list[File]:
    """The files that `--input` names. Raises `CommandRefused`."""
    files = [_file(path) for path in paths]
    names = [file.name for file in files]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise CommandRefused(f"--input: inputs must have different names, and these come twice: {', '.join(repeated)}")
    return files


def _file(path: str) -> File:
    if path == STDIN:
        return File(STDIN_NAME, sys.stdin.buffer.read(), "text/plain")
    try:
        return File(_name(path), Path(path).read_bytes())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "this is no path"
        raise CommandRefused(f"--input {path}: {reason}") from None


def _name(path: str) -> str:
    """The name of the input: the path itself where it leads down from here, so that files of two folders differ."""
    parts = PurePosixPath(Path(path).as_posix())
    return parts.name if parts.is_absolute() or ".." in parts.parts else str(parts)
