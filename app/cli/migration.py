"""The command that brings the database's schema up to date, or says whether it is."""

from typing import Annotated

import typer

from app.cli.console import OUT_OF_DATE, CommandRefused, say
from app.cli.processes import database_of, start
from app.settings import Settings

WAITED_IN_VAIN = 1

Seconds = Annotated[float, typer.Option(min=0, max=86_400, help="Seconds to wait for others, all in all.")]
Check = Annotated[
    bool, typer.Option("--check", "--dry-run", help="Change nothing; end with 1 unless the schema is up to date.")
]


def migrate(wait: Seconds = 300, check: Check = False) -> None:
    """Bring the database's schema to the newest revision; one that is newer is left as it is.

    Safe to run many times at once: one migrates, and the others wait for it.
    """
    from app.store.migrating import SchemaBusy

    settings = start()
    if check:
        _check(settings)
        return
    try:
        with database_of(settings, migrate=True, wait_seconds=wait) as database:
            _say_state(database.schema.revision, newer=database.schema.is_newer)
    except SchemaBusy as error:
        say(f"chargehand: {error}")
        raise typer.Exit(WAITED_IN_VAIN) from None


def _check(settings: Settings) -> None:
    from app.store.schema import pending

    if settings.database_url is None:
        raise CommandRefused("--check is for a DATABASE_URL: the private Postgres is brought up to date at each start")
    found, to_bring = pending(settings.database_url.get_secret_value())
    if found is not None and not to_bring:
        _say_state(found.revision, newer=found.is_newer)
        return
    state = f"The schema is at revision {found.revision}" if found else "The database has no schema yet"
    say(f"{state}: `chargehand migrate` would bring {', '.join(to_bring)}.")
    raise typer.Exit(OUT_OF_DATE)


def _say_state(revision: str, *, newer: bool) -> None:
    state = "of a newer release, with which this one works" if newer else "up to date"
    say(f"The schema is at revision {revision}, {state}.")
