import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal
from urllib.request import urlopen

import psycopg
import pytest

from app import cli, version
from app.api.server import listening_socket, shown_address
from app.cli.kept_files import STATES_MARKS
from app.cli.processes import refuse_open_door
from app.domain.keys import SentKey
from app.settings import Settings
from app.store.schema import NEWEST, REVISIONS, migrate
from tests.support.postgres import ROOT, Databases

ALL = ", ".join(REVISIONS)
Run = Callable[..., tuple[object, list[str], list[str]]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in this process: its exit code, and the lines of standard output and standard error."""

    def run(*arguments: str) -> tuple[object, list[str], list[str]]:
        with pytest.raises(SystemExit) as end:
            cli.main(arguments)
        printed = capsys.readouterr()
        return end.value.code, printed.out.splitlines(), printed.err.splitlines()

    return run


@contextmanager
def serving(url: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that serves on a free port, and its address."""
    environment = os.environ | {"DATABASE_URL": url, "PYTHONPATH": str(ROOT), "CHARGEHAND_PORT": "0"}
    command = [sys.executable, "-m", "app", "serve"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = [process.stderr.readline() for _ in range(3)]
            assert said[0].startswith("Runs are kept in the database test_")
            assert said[1] == "No ANTHROPIC_API_KEY: the demo model answers.\n"
            yield process, said[2].removeprefix("Chargehand is at ").strip()
        finally:
            process.kill()


@pytest.mark.parametrize("command", ["serve", "engine", "migrate"])
def test_a_wrong_setting_ends_in_one_line_and_code_2(run: Run, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("CHARGEHAND_RUNS_AT_ONCE", "none")

    code, _, errors = run(command)

    assert code == 2
    assert len(errors) == 1
    assert errors[0].startswith("chargehand: CHARGEHAND_RUNS_AT_ONCE: ")


@pytest.mark.parametrize("command", ["serve", "engine", "migrate"])
def test_a_home_that_cannot_be_written_ends_in_one_line_and_code_2(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CHARGEHAND_HOME", str(tmp_path / "file" / "home"))

    code, _, errors = run(command)

    assert code == 2
    assert len(errors) == 1
    assert errors[0].startswith("chargehand: no DATABASE_URL is set, and the private Postgres cannot keep its data in ")


@pytest.mark.parametrize("command", ["serve", "engine", "migrate"])
def test_an_unreachable_database_is_one_line_without_its_password(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://svc:hunter2@127.0.0.1:1/runs")

    code, _, errors = run(command)

    assert code == 2
    assert len(errors) == 1
    assert errors[0].startswith("chargehand: cannot use the database: ")
    assert "hunter2" not in errors[0]


def test_a_database_without_schema_is_refused_with_the_remedy(
    run: Run, monkeypatch: pytest.MonkeyPatch, databases: Databases
) -> None:
    monkeypatch.setenv("DATABASE_URL", databases.server_url)

    assert run("serve") == (2, [], ["chargehand: the database has no schema yet: run `chargehand migrate`"])


def test_a_start_on_a_schema_that_is_too_old_or_too_new_ends_with_the_reason(
    run: Run, monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE chargehand_version SET version_num = '0003'")
        older = run("serve")
        connection.execute("UPDATE chargehand_version SET version_num = '0999'")
        connection.execute("COMMENT ON TABLE chargehand_version IS 'needs 0999'")
        newer = run("serve")

    too_old = f"chargehand: the schema is at revision 0003, older than {NEWEST}: run `chargehand migrate`"
    assert older == (2, [], [too_old])
    assert newer[0] == 2
    assert re.fullmatch(r"chargehand: the schema is at revision 0999, .* run a newer release", newer[2][0])


def test_a_taken_port_is_named(run: Run, monkeypatch: pytest.MonkeyPatch, database_url: str) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        code, _, errors = run("serve", "--port", str(port))

    assert code == 2
    assert errors == [
        f"chargehand: cannot listen on 127.0.0.1 port {port}: Address already in use; "
        "CHARGEHAND_PORT or --port names another"
    ]


def test_a_taken_port_of_metrics_is_named(run: Run, monkeypatch: pytest.MonkeyPatch, database_url: str) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setenv("CHARGEHAND_METRICS_PORT", str(taken.getsockname()[1]))

        code, _, errors = run("engine")

    assert (code, len(errors)) == (2, 1)
    assert errors[0].endswith("Address already in use; CHARGEHAND_METRICS_PORT names another")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_answers_and_ends_quietly_when_told_to_stop(database_url: str, number: signal.Signals) -> None:
    with serving(database_url) as (process, address):
        with urlopen(f"{address}/livez", timeout=30) as answer:
            assert answer.status == 200
        process.send_signal(number)

        assert process.wait(timeout=30) == 0
        assert process.stderr is not None
        console, command, *rest = process.stderr.read().splitlines()
        assert command.startswith(f"In a terminal: CHARGEHAND_URL={address} ")
        assert 'chargehand run "' in command
        assert [console, *rest] == [
            f"Its console, to look at runs and to start one: {address}/console",
            'Next: README.md, "A job, from POST to trace". The API is described at /docs.',
        ]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc says which loop it is")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_engine_runs_on_uvloop_shows_metrics_and_ends_quietly_when_told(
    database_url: str, number: signal.Signals
) -> None:
    pytest.importorskip("uvloop")
    environment = os.environ | {
        "DATABASE_URL": database_url,
        "PYTHONPATH": str(ROOT),
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
        "CHARGEHAND_MODEL_FAST": "no-price",
        "CHARGEHAND_METRICS_PORT": "0",
    }
    command = [sys.executable, "-m", "app", "engine"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            assert "no-price" in process.stdout.readline()  # The warning of it is written by the loop.
            assert "uvloop" in Path(f"/proc/{process.pid}/maps").read_text()
            with urlopen(process.stderr.readline().removeprefix("Metrics are at ").strip(), timeout=30) as answer:
                assert b"chargehand_build_info" in answer.read()
            process.send_signal(number)

            assert process.wait(timeout=30) == 0
            assert process.stderr.read().splitlines()[1:] == ["Claude answers, at http://127.0.0.1:1."]
        finally:
            process.kill()


def test_states_prints_one_diagram_for_each_table(run: Run) -> None:
    code, lines, _ = run("states")

    assert code == 0
    assert lines.count("stateDiagram-v2") == 3


def test_states_fills_the_marked_block_and_then_finds_it_up_to_date(run: Run, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("# Title\n\n{}{}\n\nThe end.\n".format(*STATES_MARKS))

    assert run("states", str(readme), "--check")[0] == 1
    assert run("states", str(readme))[0] == 0
    assert run("states", str(readme), "--check")[0] == 0
    assert readme.read_text().startswith("# Title\n\n<!--")
    assert readme.read_text().endswith("-->\n\nThe end.\n")
    assert "stateDiagram-v2" in readme.read_text()


def test_states_refuses_a_file_without_the_block(run: Run, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("# Title\n")

    code, _, errors = run("states", str(readme))

    assert code == 2
    assert len(errors) == 1
    assert readme.read_text() == "# Title\n"


def test_the_version_is_that_of_the_package(run: Run) -> None:
    assert run("--version") == (0, [f"chargehand {version}"], [])
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)


@pytest.mark.parametrize(
    "password", ["with#hash", "with/slash", "with?mark", "with@at", "with%tail", "with[bracket", "with space"]
)
def test_no_part_of_a_password_that_was_not_encoded_is_told(
    run: Run, monkeypatch: pytest.MonkeyPatch, password: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", f"postgresql://svc:{password}@127.0.0.1:1/runs")

    code, _, errors = run("serve")

    assert code == 2
    assert len(errors) == 1
    assert re.search(r"percent-encoded|connection failed", errors[0])
    assert password.removeprefix("with") not in errors[0]


@pytest.mark.parametrize("scheme", ["postgres", "postgresql+asyncpg", "postgresql+psycopg"])
def test_the_urls_of_other_libraries_are_taken(
    run: Run, monkeypatch: pytest.MonkeyPatch, database_url: str, scheme: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url.replace("postgresql", scheme, 1) + "\n")

    assert run("migrate") == (0, [], [f"The schema is at revision {NEWEST}, up to date."])


def test_a_newer_schema_is_no_fault(run: Run, monkeypatch: pytest.MonkeyPatch, database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE chargehand_version SET version_num = '0999'")
    monkeypatch.setenv("DATABASE_URL", database_url)

    code, _, said = run("migrate")

    assert (code, said) == (0, ["The schema is at revision 0999, of a newer release, with which this one works."])


def test_whether_the_schema_is_up_to_date_can_be_asked_and_changes_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch, databases: Databases
) -> None:
    with replace(databases, template="template0").fresh() as url:
        monkeypatch.setenv("DATABASE_URL", url)
        nothing = run("migrate", "--check")
        migrate(url, REVISIONS[-3])

        assert nothing == (1, [], [f"The database has no schema yet: `chargehand migrate` would bring {ALL}."])
        behind = (
            f"The schema is at revision {REVISIONS[-3]}: `chargehand migrate` would bring {', '.join(REVISIONS[-2:])}."
        )
        assert [run("migrate", option) for option in ("--check", "--dry-run")] == [(1, [], [behind])] * 2
        assert (
            run("migrate") == run("migrate", "--check") == (0, [], [f"The schema is at revision {NEWEST}, up to date."])
        )


def test_a_migration_that_waits_in_vain_says_for_whom_and_ends_with_1(
    run: Run, monkeypatch: pytest.MonkeyPatch, databases: Databases
) -> None:
    with replace(databases, template="template0").fresh() as url, psycopg.connect(url) as other:
        migrate(url, REVISIONS[0])
        other.execute("SELECT count(*) FROM runs")
        monkeypatch.setenv("DATABASE_URL", url)

        code, _, said = run("migrate", "--wait", "1")

    assert code == 1
    assert re.match(r"Waiting for a lock that others hold: pid \d+ \(", said[0])
    assert re.match(
        r"chargehand: the schema cannot be brought up to date: others have kept it locked for 1 s", said[-1]
    )


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_an_open_door_for_other_machines_is_not_opened_unless_it_is_said_outright(run: Run) -> None:
    code, _, errors = run("serve", "--host", "0.0.0.0")

    assert code == 2
    assert errors == [
        "chargehand: 0.0.0.0 may be reached from elsewhere, and no keys are asked for: set CHARGEHAND_AUTH=keys, or "
        "CHARGEHAND_AUTH=off where something in front of the service keeps others out"
    ]


@pytest.mark.parametrize(("auth", "host"), [("keys", "0.0.0.0"), ("off", "::"), (None, "::1"), (None, "localhost")])
def test_the_door_is_opened_with_keys_or_by_a_word_or_for_this_machine(
    auth: Literal["keys", "off"] | None, host: str
) -> None:
    refuse_open_door(Settings(auth=auth, host=host))


def test_a_key_is_made_listed_and_taken_back(run: Run, monkeypatch: pytest.MonkeyPatch, database_url: str) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)

    code, [key], [said] = run("keys", "create", "--tenant", "acme", "--scopes", "runs:read, admin", "--expires", "90d")
    sent = SentKey.read(key)
    assert (code, sent is not None) == (0, True)
    assert sent is not None
    assert said.startswith(f"Key {sent.id} of acme: runs:read, admin; expires 2")

    _, [listed], _ = run("keys", "list", "--tenant", "acme")
    assert listed.split("\t")[:3] == [sent.id, "acme", "runs:read,admin"]
    assert sent.secret not in listed
    assert run("keys", "list", "--tenant", "rival") == (0, [], [])

    assert run("keys", "revoke", sent.id) == (0, [], [f"Key {sent.id} of acme is revoked."])
    assert "revoked 2" in run("keys", "list")[1][0]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("create", "--tenant", "Acme!"), "--tenant: Acme! is no name of a tenant"),
        (("create", "--scopes", "runs:write"), "--scopes: runs:write is none"),
        (("create", "--scopes", ""), "--scopes: a key that allows nothing"),
        (("create", "--expires", "tomorrow"), "--expires: tomorrow is no time from now"),
        (("create", "--expires", "0d"), "--expires: 0d is no time from now"),
        (("revoke", "nothing"), "there is no key nothing"),
    ],
)
def test_what_cannot_be_done_with_keys_is_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, database_url: str, arguments: tuple[str, ...], why: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)

    code, printed, [error] = run("keys", *arguments)

    assert (code, printed) == (2, [])
    assert error.startswith(f"chargehand: {why}")


def test_intake_is_paused_for_one_tenant_or_for_all(
    run: Run, monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)

    assert run("intake") == (0, [], ["Jobs of all tenants are taken in."])
    assert run("intake", "pause", "--tenant", "acme") == (0, [], ["No new jobs of acme are taken in."])
    assert run("intake", "pause") == (0, [], ["No new jobs of any tenant are taken in."])
    _, listed, _ = run("intake")
    assert [line.split("\t")[:3] for line in listed] == [[who, "paused", "by the operator"] for who in ("all", "acme")]
    assert run("intake", "resume", "--tenant", "acme") == (0, [], ["New jobs of acme are taken in again."])
    assert run("intake", "resume") == (0, [], ["New jobs of any tenant are taken in again."])
    code, _, [error] = run("intake", "resume")
    assert (code, "nobody has paused" in error) == (2, True)
    assert run("intake", "pause", "--tenant", "Acme!")[0] == 2


def test_engines_are_listed_drained_and_resumed(run: Run, monkeypatch: pytest.MonkeyPatch, database_url: str) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    with psycopg.connect(database_url) as connection:
        connection.execute("INSERT INTO engines VALUES ('a', '1.0', 9, now(), now(), now() + interval '1 hour', false)")

    states = [run("engines")[1][0].split("\t")[:4]]
    assert run("engines", "drain", "a")[0] == 0
    states.append(run("engines")[1][0].split("\t")[:4])
    assert run("engines", "resume", "a") == (0, [], ["a claims runs again."])

    assert states == [["a", "1.0", state, "0 of 9 runs"] for state in ("claims", "drained")]
    assert run("engines", "drain", "b") == (2, [], ["chargehand: there is no engine b"])


def test_all_addresses_means_those_of_both_families() -> None:
    with listening_socket("::", 0) as listener:
        port = listener.getsockname()[1]

        assert shown_address(listener) == f"localhost:{port}"
        for address in ("127.0.0.1", "::1"):
            socket.create_connection((address, port), timeout=5).close()
