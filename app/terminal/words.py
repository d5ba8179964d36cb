"""How quantities are said: short, and with their unit."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from app.terminal.errors import CommandRefused

_SPAN = re.compile(r"(\d{1,6})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_WAITS = {"plan_approval": "approval"}
_SECOND_MS, _MINUTE_MS, _HOUR_MS, _DAY_MS = 1000, 60_000, 3_600_000, 86_400_000


def duration(milliseconds: float) -> str:
    """Time as people say it: `310 ms`, `4.2 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`."""
    if milliseconds < _SECOND_MS:
        return f"{milliseconds:.0f} ms"
    if milliseconds < _MINUTE_MS:
        return f"{milliseconds / _SECOND_MS:.1f} s"
    seconds = int(milliseconds / _SECOND_MS)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"


def money(usd: str | None) -> str:
    """US dollars, to the hundredth of a cent where they are not whole cents."""
    amount = Decimal(usd or 0)
    if not amount:
        return "$0"
    return f"${amount:.2f}" if amount == round(amount, 2) else f"${amount:.4f}"


def counted(number: int, what: str) -> str:
    """So many of something."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def moment(text: str) -> datetime:
    """A moment as the API writes it."""
    return datetime.fromisoformat(text)


def ago(text: str, now: datetime) -> str:
    """How long ago something was."""
    passed = max((now - moment(text)).total_seconds(), 0) * _SECOND_MS
    for unit, name in ((_DAY_MS, "d"), (_HOUR_MS, "h"), (_MINUTE_MS, "min")):
        if passed >= unit:
            return f"{passed // unit:.0f} {name} ago"
    return "just now"


def since(text: str, now: datetime) -> str:
    """What `--since` means to the API: a span such as `2h` or `3d` ends now; anything else goes as it is."""
    found = _SPAN.fullmatch(text)
    if not found:
        return text
    try:
        begin = now - timedelta(**{_UNITS[found[2]]: int(found[1])})
    except OverflowError:
        raise CommandRefused(f"--since: {text} is too long ago") from None
    return begin.astimezone(UTC).isoformat().replace("+00:00", "Z")


def status_of(run: Mapping[str, Any]) -> str:
    """The state of a run in words."""
    status = str(run["status"])
    if status == "waiting":
        return f"waiting: {_WAITS.get(run['waiting_for'], run['waiting_for'])}"
    if status == "running" and run["phase"]:
        return str(run["phase"])
    return status
