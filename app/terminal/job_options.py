"""What is typed about a job, as the API has it."""

import os
import re
import stat
import sys
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from io import UnsupportedOperation
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from app.client import File, Limits, Refused
from app.terminal.errors import CommandRefused

STDIN = "-"
STDIN_NAME = "stdin"
MOST_DIGITS = 15
"""Of a number that anybody means."""
MIB = 1024 * 1024
MOST_BYTES = 1024 * MIB
"""Of a file: no service may be told to take more in one body."""
TOO_LARGE = 413
_NUMBERED = re.compile(r"/?inputs/(\d+)")
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


def about_files(refused: Refused, files: Sequence[File]) -> str:
    """Why a job was refused, with the names of its files where the service has numbers."""
    if refused.status == TOO_LARGE:
        sizes = ", ".join(f"{file.name} ({len(file.content):,} bytes)" for file in files)
        return f"{refused}{f'; the files are {sizes}' if sizes else ''}"
    names = {str(number): file.name for number, file in enumerate(files)}
    return _NUMBERED.sub(lambda found: f"--input {names[found[1]]}" if found[1] in names else found[0], str(refused))


def _file(path: str) -> File:
    try:
        if path == STDIN:
            if sys.stdin is None:
                raise CommandRefused("--input -: there is no standard input")
            return File(STDIN_NAME, _bounded(sys.stdin.buffer, path), "text/plain")
        with Path(path).open("rb") as file:
            return File(_name(path), _bounded(file, path))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "this is no path"
        raise CommandRefused(f"--input {path}: {reason}") from None


def _bounded(file: BinaryIO, path: str) -> bytes:
    """What a file has, which may be endless, or more than anybody takes. Raises `CommandRefused` before it is read."""
    too_much = CommandRefused(f"--input {path}: this has more than {MOST_BYTES // MIB} MiB, which no service takes")
    with suppress(UnsupportedOperation):
        about = os.fstat(file.fileno())
        is_device = stat.S_ISBLK(about.st_mode) or (stat.S_ISCHR(about.st_mode) and not file.isatty())
        if is_device and not os.path.samestat(about, Path(os.devnull).stat()):
            raise CommandRefused(f"--input {path}: this is a device, no file")
        if about.st_size > MOST_BYTES:
            raise too_much
    content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise too_much
    return content


def _name(path: str) -> str:
    """The name of the input: the path itself where it leads down from here, so that files of two folders differ."""
    parts = PurePosixPath(Path(path).as_posix())
    return parts.name if parts.is_absolute() or ".." in parts.parts else str(parts)
