"""Cron expressions in a time zone: which moment comes next.

An hour field of `*` means every hour that passes, whatever the clocks call it. Any other hour field names times of day,
and each of these comes once a day: one that the clocks leave out comes when they go on, and of one that they show twice
the first counts. Fields are those of Debian's cron (https://manpages.debian.org/crontab.5): where neither of the two
fields for days begins with `*`, a day has to fit one of them only.
"""

from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from pydantic_core import PydanticCustomError

FIELDS = 5
LONGEST = 200
"""Characters of an expression."""
_MINUTES, _HOURS = "0-59", "0-23"


@cache
def zones() -> frozenset[str]:
    """The names of the IANA time zone database. What else a machine may call a zone means something else on another."""
    return frozenset((files("tzdata") / "zones").read_text(encoding="utf-8").split())


def checked_zone(name: str) -> str:
    """`name`, which must be that of a time zone."""
    if name not in zones():
        near = get_close_matches(name[:LONGEST], zones(), n=3)
        hint = f" Meant may be: {', '.join(near)}." if near else ""
        problem = f"This must be a time zone of the IANA database, such as UTC or Europe/Berlin.{hint}"
        raise PydanticCustomError("zone_unknown", "{problem}", {"problem": problem})
    return name


def checked_cron(expression: str) -> str:
    """`expression` with single spaces; it must be one of five fields."""
    fields = expression.upper().split()
    if len(fields) != FIELDS:
        problem = "This must have five fields: minute, hour, day of the month, month, day of the week."
        raise PydanticCustomError("cron_invalid", problem)  # A sixth would be seconds: a minute is the shortest time.
    try:
        CronSim(" ".join(fields), datetime(2000, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        problem = "The field {field} is none of cron's, or names a day that these months do not have."
        field = str(error).removeprefix("Bad ")
        raise PydanticCustomError("cron_invalid", problem, {"field": field}) from None
    return " ".join(fields)


def next_after(expression: str, zone: str, moment: datetime) -> datetime | None:
    """The first moment behind `moment` that a checked expression names; None when none comes within 50 years."""
    try:
        for found in CronSim(_by_the_clock(expression), moment.astimezone(ZoneInfo(zone))):
            # While the clocks show an hour again, what was named in it lies behind us.
            if (at := found.astimezone(UTC)) > moment:
                return at
    except OverflowError:  # The years end.
        return None
    return None


def _by_the_clock(expression: str) -> str:
    """The expression as its reader takes it for times of day, unless it means every hour."""
    minute, hour, *days = expression.split()
    if hour != "*":
        # It follows the clock where neither field has a star, and the hours that pass where one has.
        minute, hour = minute.replace("*", _MINUTES), hour.replace("*", _HOURS)
    return " ".join([minute, hour, *days])
