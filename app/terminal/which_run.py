"""Which run is meant by what was typed."""

from app.client import Client
from app.terminal.errors import CommandRefused

LAST = "last"
LOOKED_AT = 100
"""Of how many runs, newest first, the beginning or the end of an id is known."""
NAMED = 5
"""Of those that may be meant, so many are named."""
_HEAD = "run_"
_ID_CHARACTERS = len(_HEAD) + 32


async def run_meant(client: Client, typed: str) -> str:
    """The id of the run. Raises `CommandRefused` when there is none of that name, or several."""
    if typed.startswith(_HEAD) and len(typed) >= _ID_CHARACTERS:
        return typed
    if typed == LAST:
        async for run in client.runs(limit=1):
            return run["id"]
        raise CommandRefused("there is no run yet")
    like = [run["id"] async for run in client.runs(limit=LOOKED_AT) if _is_like(run["id"], typed)]
    if len(like) == 1:
        return like[0]
    if like:
        more = f" and {len(like) - NAMED} more" if len(like) > NAMED else ""
        raise CommandRefused(f"{typed} may be any of {', '.join(like[:NAMED])}{more}")
    raise CommandRefused(f"none of the newest {LOOKED_AT} runs has an id that begins or ends with {typed}")


def _is_like(run_id: str, typed: str) -> bool:
    return bool(typed) and (run_id.startswith((typed, _HEAD + typed)) or run_id.endswith(typed))
