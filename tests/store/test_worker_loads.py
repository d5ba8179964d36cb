import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

import psycopg
import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.policy.load import Load, Pace
from app.store.database import Database
from app.store.load_board import LoadBoard
from app.store.worker_loads import Place, loads_elsewhere, share_loads
from tests.support.waiting import until

POLL_S = 0.05
BUSY = {"crew/able": Load(3, Pace(20, 2))}


class CountedDatabase(Database):
    """A database that counts statements."""

    statements = 0
    open_ones = 0

    @asynccontextmanager
    async def statement(self) -> AsyncIterator[AsyncConnection]:
        """As ever."""
        self.statements += 1
        self.open_ones += 1
        async with super().statement() as connection:
            yield connection
        self.open_ones -= 1


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[CountedDatabase]:
    database = CountedDatabase(database_url, pool=5)
    yield database
    await database.close()


def place(process: str, *, tenant: str = "default", counts_for_s: float = 60) -> Place:
    return Place(tenant, process, counts_for_s)


def age(url: str, column: str, seconds: float, processes: Iterable[str] = ("one",)) -> None:
    """Have time pass for the rows of some processes."""
    change = f"UPDATE worker_loads SET {column} = {column} - make_interval(secs => %s) WHERE process = ANY(%s)"
    with psycopg.connect(url) as connection:
        connection.execute(change.encode(), [seconds, list(processes)])


def processes_in(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        return {row[0] for row in connection.execute("SELECT process FROM worker_loads").fetchall()}


async def test_what_other_processes_have_under_way_adds_up(database: Database) -> None:
    await share_loads(database, place("one"), BUSY)
    await share_loads(database, place("two"), BUSY)

    found = await loads_elsewhere(database, place("three"))

    assert found["crew/able"].attempts == 6
    assert found["crew/able"].pace.each_s == pytest.approx(10, abs=0.01)
    assert (await loads_elsewhere(database, place("two")))["crew/able"].attempts == 3
    assert await loads_elsewhere(database, place("three", tenant="other")) == {}


async def test_the_newest_word_of_a_process_counts_and_who_speaks_hears(database: Database) -> None:
    await share_loads(database, place("one"), BUSY)
    await share_loads(database, place("one"), {"crew/able": Load(1)})

    assert await share_loads(database, place("two"), {}) == {"crew/able": Load(1)}


async def test_what_a_dead_process_had_under_way_runs_out_and_its_pace_fades(
    database: Database, database_url: str
) -> None:
    await share_loads(database, place("one"), BUSY)
    age(database_url, "counts_until", 61)
    age(database_url, "shared_at", 60)

    [found] = (await loads_elsewhere(database, place("two"))).values()

    assert found.attempts == 0
    assert found.pace.weight == pytest.approx(1, abs=0.05)


async def test_rows_of_processes_that_are_long_gone_are_deleted_but_never_ones_own(
    database: Database, database_url: str
) -> None:
    for name in ("one", "two", "three"):
        await share_loads(database, place(name), BUSY)
    age(database_url, "shared_at", 601, ["one", "two"])

    await share_loads(database, place("two"), {})

    assert processes_in(database_url) == {"two", "three"}


@asynccontextmanager
async def shared(board: LoadBoard, database: CountedDatabase) -> AsyncIterator[LoadBoard]:
    """A board that is kept up, and stopped between two statements."""
    task = asyncio.create_task(board.share_forever(lambda: database))
    try:
        yield board
    finally:
        await until(lambda: not database.open_ones)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def attempts_besides(board: LoadBoard, run_id: str) -> int:
    return board.besides(run_id, ["crew/able"])["crew/able"].attempts


async def test_two_processes_hear_of_each_other_and_of_the_end(database: CountedDatabase) -> None:
    boards = (LoadBoard("default", name, poll_s=POLL_S) for name in ("one", "two"))
    async with shared(next(boards), database) as one, shared(next(boards), database) as two:
        one.count("run_1", {"crew/able": 2})
        two.count("run_2", {})

        await until(lambda: attempts_besides(two, "run_2") == 2)
        assert attempts_besides(one, "run_1") == 0  # Its own are the run's affair.
        assert attempts_besides(one, "run_other") == 2
        one.leave("run_1")
        await until(lambda: attempts_besides(two, "run_2") == 0)


async def test_a_long_attempt_counts_for_as_long_as_its_process_lives(database: CountedDatabase) -> None:
    boards = (LoadBoard("default", name, poll_s=POLL_S) for name in ("one", "two"))
    async with shared(next(boards), database) as one, shared(next(boards), database) as two:
        two.count("run_2", {})
        one.count("run_1", {"crew/able": 1})
        await until(lambda: attempts_besides(two, "run_2") == 1)
        told = database.statements
        await until(lambda: database.statements > told + 30)  # Three times as long as its word counts.
        await until(lambda: attempts_besides(two, "run_2") == 1)


async def test_nothing_is_asked_while_no_run_is_concerned(database: CountedDatabase) -> None:
    async with shared(LoadBoard("default", "one", poll_s=POLL_S), database) as board:
        other = CountedDatabase(database.url, pool=1)
        async with shared(LoadBoard("default", "two", poll_s=POLL_S), other) as busy:
            busy.count("run_2", {"crew/able": 1})
            await until(lambda: other.statements > 4)
        await other.close()
        assert database.statements == 0

        board.count("run_1", {"crew/able": 1})
        await until(board._known.is_set)  # However long that takes: `known` waits for a moment only.
        board.leave("run_1")
        await until(lambda: not board._known.is_set())
        assert database.statements == 2  # One to tell of the run, one of its end.


async def test_what_could_not_be_told_is_told_when_it_can_be(database: CountedDatabase) -> None:
    board = LoadBoard("default", "one", poll_s=POLL_S)
    board.count("run_1", {"crew/able": 1})
    gone = Database("postgresql://127.0.0.1:1/nowhere", pool=1)
    with pytest.raises(Exception, match="refused"):
        await board.share_forever(lambda: gone)
    await gone.close()

    async with shared(board, database):
        await board.known()

    assert (await loads_elsewhere(database, place("two")))["crew/able"].attempts == 1
