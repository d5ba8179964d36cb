import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from app.store import embedded
from app.store.embedded import EmbeddedPostgresError, embedded_postgres
from tests.support.postgres import ROOT, TEST_SETTINGS

USE_UNTIL_KILLED = """
import sys
from pathlib import Path
from app.store.embedded import embedded_postgres
with embedded_postgres(Path(sys.argv[1])) as url:
    print(url, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty directory. pytest's own closes itself to other users again and again, and so to a server of root's."""
    with tempfile.TemporaryDirectory(prefix="chargehand-") as name:
        yield Path(name).resolve()


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A directory with a cluster, whose server is started and stopped by the tests."""
    with tempfile.TemporaryDirectory(prefix="chargehand-") as name:
        with embedded_postgres(Path(name), settings=TEST_SETTINGS):
            pass
        yield Path(name)
        with embedded_postgres(Path(name), erase=True):
            pass


def answer(url: str, query: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def is_up(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def test_what_was_written_is_there_after_a_restart_and_is_durable_by_default(home: Path) -> None:
    with embedded_postgres(home) as url, psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept AS SELECT 42 AS number")
        assert answer(url, "SHOW fsync") == "on"
        assert answer(url, "SHOW synchronous_commit") == "on"
    assert not is_up(url)

    with embedded_postgres(home) as url:
        assert answer(url, "SELECT number FROM kept") == 42


def test_the_server_stays_until_its_last_user_leaves(home: Path) -> None:
    with embedded_postgres(home) as first:
        with embedded_postgres(home) as second:
            assert first == second
        assert is_up(first)
    assert not is_up(first)


def test_users_may_leave_in_any_order(home: Path) -> None:
    early, late = ExitStack(), ExitStack()
    url = early.enter_context(embedded_postgres(home))
    late.enter_context(embedded_postgres(home))

    early.close()
    assert is_up(url)
    late.close()
    assert not is_up(url)


def test_a_killed_process_counts_as_gone_and_its_server_is_found_running(home: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", USE_UNTIL_KILLED, home],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as user:
        assert user.stdout is not None
        url = user.stdout.readline().strip()
        started = answer(url, "SELECT pg_postmaster_start_time()")
        user.send_signal(signal.SIGKILL)
    assert is_up(url)

    with embedded_postgres(home) as url:
        assert answer(url, "SELECT pg_postmaster_start_time()") == started
    assert not is_up(url)


@pytest.mark.parametrize("alive", [True, False])
def test_the_pid_file_of_a_crashed_machine_is_no_obstacle(home: Path, alive: bool) -> None:
    pid = os.getpid() if alive else 2**22 + 1
    pid_file = home / "postgres" / "postmaster.pid"
    pid_file.write_text(f"{pid}\n{pid_file.parent}\n")
    pid_file.with_name(".s.PGSQL.5432.lock").write_text(f"{pid}\n{pid_file.parent}\n")

    with embedded_postgres(home) as url:
        assert is_up(url)


def test_a_server_that_was_killed_is_started_again(home: Path) -> None:
    with embedded_postgres(home) as url, psycopg.connect(url) as connection:
        server = int((home / "postgres" / "postmaster.pid").read_text().split()[0])
        os.kill(server, signal.SIGKILL)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT pg_sleep(60)")

    with embedded_postgres(home) as url:
        assert is_up(url)


def test_a_directory_too_deep_for_a_socket_gets_one_elsewhere_and_leaves_nothing(place: Path) -> None:
    deep = place / "with a space" / ("d" * 100)

    with embedded_postgres(deep, settings=TEST_SETTINGS, erase=True) as url:
        socket = Path(str(psycopg.conninfo.conninfo_to_dict(url)["host"]))
        assert is_up(url)
        assert stat.S_IMODE(socket.stat().st_mode) == 0o700
    assert not socket.exists()
    assert not (deep / "postgres").exists()


def test_nobody_else_may_reach_the_socket_or_the_data(home: Path) -> None:
    assert stat.S_IMODE((home / "postgres").stat().st_mode) == 0o700


def test_a_foreign_socket_directory_is_refused(place: Path) -> None:
    deep = place / ("d" * 100)
    ours = embedded._Server(deep / "postgres", Path(), None).socket_directory
    ours.symlink_to(place)
    try:
        with pytest.raises(EmbeddedPostgresError, match="belongs to another user"), embedded_postgres(deep):
            pass
    finally:
        ours.unlink()


def test_the_environment_of_another_postgres_changes_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPORT", "1")
    monkeypatch.setenv("PGDATA", "/nowhere")
    monkeypatch.setenv("PGHOST", "/nowhere")

    with embedded_postgres(home) as url:
        assert is_up(url)


def test_a_missing_wheel_is_explained_in_one_line(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "path_importer_cache", {})

    for home in (place, Path("/proc/nowhere")):
        with pytest.raises(EmbeddedPostgresError, match=r"set it, or install chargehand\[embedded\]"):
            embedded_postgres(home).__enter__()


@pytest.mark.parametrize("below", ["file", "file/below", "locked"])
def test_a_directory_that_cannot_be_used_is_explained_in_one_line(place: Path, below: str) -> None:
    (place / "file").write_text("")
    (place / "locked" / "users.lock").mkdir(parents=True)

    with pytest.raises(EmbeddedPostgresError, match=r"^no DATABASE_URL is set, .*set it, or have CHARGEHAND_HOME"):
        embedded_postgres(place / below).__enter__()


def test_a_server_that_cannot_start_says_why(place: Path) -> None:
    with (
        pytest.raises(EmbeddedPostgresError, match=r"does not start: .*FATAL:.*max_connections"),
        embedded_postgres(place, settings={**TEST_SETTINGS, "max_connections": "many"}),
    ):
        pass
