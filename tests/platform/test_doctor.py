import json
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from app import cli
from app.cli import checkup
from app.domain.webhooks import new_secret
from app.settings import Settings
from app.store.condition import Condition
from app.store.engines import KnownEngine
from app.store.intake import Pause
from app.store.schema import NEWEST
from app.store.vault import Vault
from tests.support.postgres import Databases
from tests.support.receiver import SECRETS_KEY
from tests.support.service import settings_for
from tests.support.stub_answers import text
from tests.support.stub_provider import StubProvider

AHEAD = "the database's is 5.0 s ahead"


def checked(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[object, dict[str, dict[str, str]]]:
    """The exit code, and the checks by what they are about."""
    with pytest.raises(SystemExit) as end:
        cli.main(["doctor", "--json", *options])
    return end.value.code, {check["about"]: check for check in json.loads(capsys.readouterr().out)}


def test_all_is_well(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], database_url: str) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)

    code, found = checked(capsys)

    assert code == 0
    assert {about: check["state"] for about, check in found.items()} == {
        "teams": "ok",
        "settings": "ok",
        "schema": "ok",
        "database": "ok",
        "clock": "ok",
        "engines": "warn",
        "intake": "ok",
        "queue": "ok",
        "breakers": "ok",
        "webhooks": "ok",
        "provider": "warn",
    }
    assert found["schema"]["found"] == f"revision {NEWEST}"


def test_a_line_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], databases: Databases
) -> None:
    monkeypatch.setenv("DATABASE_URL", databases.server_url)

    with pytest.raises(SystemExit) as end:
        cli.main(["doctor"])

    assert end.value.code == 1
    lines = capsys.readouterr().out.splitlines()
    assert "fail  database    the database has no schema yet: run `chargehand migrate`" in lines
    assert lines[-1].strip() == "→ set ANTHROPIC_API_KEY for answers of a real one"


def test_a_wrong_setting_is_all_that_can_be_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CHARGEHAND_PORT", "many")

    code, found = checked(capsys)

    assert (code, list(found)) == (1, ["settings"])
    assert "CHARGEHAND_PORT" in found["settings"]["found"]


def test_runs_that_nobody_takes_and_secrets_that_nothing_opens_are_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], database_url: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    with psycopg.connect(database_url, autocommit=True) as sql:
        sql.execute(
            "INSERT INTO teams (tenant, name, version, definition, digest) VALUES ('default', 't', 1, '{}', '')"
        )
        sql.execute(
            "INSERT INTO runs (id, tenant, status, objective, team_name, team_version, priority, turn, metadata,"
            " limits, progress, usage, timing, last_seq, created_at) VALUES ('run_1', 'default', 'queued', 'Wait.',"
            " 't', 1, 0, 0, '{}', '{}', '{}', '{}', '{}', 1, now() - interval '1 hour')"
        )
        sql.execute(
            "INSERT INTO webhook_endpoints (id, tenant, url, types, secret)"
            " VALUES ('whe_1', 'default', 'https://example.org', '{run.failed}', 'sealed')"
        )

    code, found = checked(capsys)
    monkeypatch.setenv("CHARGEHAND_SECRETS_KEY", b64encode(b"k" * 32).decode())
    _, with_another_key = checked(capsys)

    assert code == 1
    assert found["queue"]["state"] == "warn"
    assert "the first in line has waited for 36" in found["queue"]["found"]
    assert (found["webhooks"]["state"], found["webhooks"]["todo"]) == ("fail", "set it to the key of before")
    assert "does not open 1 of the 1 secrets that were tried" in with_another_key["webhooks"]["found"]


def test_an_old_secret_of_a_tenant_and_one_of_a_schedule_are_tried_as_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], database_url: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("CHARGEHAND_SECRETS_KEY", SECRETS_KEY)
    secret = Vault([SECRETS_KEY]).seal(new_secret())
    sealed = [b"by a key of before", *[secret] * 30]
    with psycopg.connect(database_url, autocommit=True) as sql:
        sql.cursor().executemany(
            "INSERT INTO webhook_endpoints (id, tenant, url, types, secret, created_at)"
            " VALUES (%(n)s, %(n)s, 'https://example.org', '{run.failed}', %(secret)s, now() + %(n)s * interval '1 s')",
            [{"n": n, "secret": each} for n, each in enumerate(sealed)],
        )
        sql.execute(
            "INSERT INTO schedules (id, tenant, once, timezone, missed, overlap, job, webhook_secret)"
            " VALUES ('sch_1', 'default', now(), 'UTC', 'skip', 'allow', '{}', 'sealed')"
        )

    _, found = checked(capsys)

    assert "does not open 2 of the 32 secrets that were tried" in found["webhooks"]["found"]


@pytest.mark.parametrize(
    ("seconds", "state", "said"),
    [(0.3, "ok", "the database's is 0.3 s ahead"), (5, "warn", AHEAD), (-5, "warn", "the database's is 5.0 s behind")],
)
def test_clocks_may_differ_a_little(seconds: float, state: str, said: str) -> None:
    check = checkup.of_clock(Condition("18", 0, 100, 1, seconds))

    assert (check.state, check.found) == (state, said)


@pytest.mark.parametrize(("free_mib", "state"), [(100, "fail"), (1_000, "warn"), (10_000, "ok")])
def test_a_disk_fills_up(free_mib: int, state: str) -> None:
    assert checkup.of_disk(free_mib * 2**20).state == state


def test_a_server_without_sessions_to_spare_is_found() -> None:
    assert checkup.of_sessions(Settings(database_pool=10), Condition("18", 0, 100, 95, 0)).state == "warn"


@pytest.mark.parametrize(
    ("states", "state", "found"),
    [
        ([], "warn", "no process executes runs"),
        (["claims", "silent"], "ok", "1 claim runs, 1 silent"),
        (["drains", "silent"], "warn", "1 drained or about to end, 1 silent"),
    ],
)
def test_somebody_must_execute_runs(states: list[str], state: str, found: str) -> None:
    now = datetime.now(UTC)
    engines = [
        KnownEngine("e", "1", 50, now, now, each == "silent", each == "drains", None, 0, 0, ()) for each in states
    ]

    check = checkup.of_engines(engines)

    assert (check.state, check.found) == (state, found)


def test_a_paused_intake_is_found() -> None:
    check = checkup.of_intake([Pause("", "operator", datetime.now(UTC)), Pause("acme", "tenant", datetime.now(UTC))])

    assert (check.state, check.found) == ("warn", "no new jobs of all tenants (by the operator), acme (by the tenant)")


async def test_the_provider_is_asked_once() -> None:
    async with StubProvider() as stub:
        stub.on("work", text("ready"))
        check = await checkup.of_provider(settings_for(stub), ask=True)
        silent = await checkup.of_provider(settings_for(stub), ask=False)

    assert (check.state, len(stub.log)) == ("ok", 1)
    assert "answers" in check.found
    assert (silent.state, silent.found) == ("ok", "not asked")


async def test_a_provider_that_is_not_there_is_named_with_its_setting() -> None:
    settings = Settings(anthropic_base_url="http://127.0.0.1:9", home=Path("nowhere"))

    check = await checkup.of_provider(settings, ask=True)

    assert (check.state, check.todo) == ("fail", "look at ANTHROPIC_BASE_URL")
    assert "cannot be reached" in check.found
