import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from app.store.connections import UrlUnreadable, with_defaults
from app.store.database import Database
from tests.support.rows import every


def test_a_url_gets_the_defaults_it_does_not_set_itself() -> None:
    url = with_defaults("postgres://user:p%40ss@db:6543/runs?sslmode=require&connect_timeout=1")

    parameters = conninfo_to_dict(url)
    assert parameters["password"] == "p@ss"
    assert (parameters["host"], parameters["port"], parameters["dbname"]) == ("db", "6543", "runs")
    assert (parameters["sslmode"], parameters["connect_timeout"]) == ("require", "1")
    assert parameters["tcp_user_timeout"] == "10000"


@pytest.mark.parametrize(
    ("url", "parameters"),
    [
        ("postgresql:///runs?host=/dir&user=me", {"host": "/dir", "user": "me", "dbname": "runs"}),
        ("postgresql://a:1,b:2/runs", {"host": "a,b", "port": "1,2", "target_session_attrs": "read-write"}),
        ("postgresql://db/runs?options=-csearch_path%3Dch", {"options": "-csearch_path=ch"}),
        ("postgresql://me:with#hash@db/runs", {"password": "with#hash", "host": "db"}),
        ("postgresql://me:with?mark@db/runs", {"password": "with?mark", "host": "db"}),
        ("postgresql://me:with[bracket@db/runs", {"password": "with[bracket", "host": "db"}),
        ("postgresql+asyncpg://me@db/runs\n", {"user": "me", "host": "db", "dbname": "runs"}),
    ],
)
def test_a_url_is_read_as_libpq_reads_it(url: str, parameters: dict[str, str]) -> None:
    assert parameters.items() <= conninfo_to_dict(with_defaults(url)).items()


@pytest.mark.parametrize("password", ["with/slash", "with@at", "with%percent", "with space", "a@b/c", "1/2@3"])
def test_a_url_that_means_something_else_than_it_says_is_refused_without_a_word_of_it(password: str) -> None:
    with pytest.raises(UrlUnreadable) as refused:
        with_defaults(f"postgresql://me:{password}@db/runs")

    assert password not in str(refused.value)


async def test_of_several_hosts_the_one_is_taken_that_is_there(database_url: str) -> None:
    socket_directory = conninfo_to_dict(database_url)["host"]
    database = Database(f"{database_url}&host=/nowhere,{socket_directory}", pool=1)

    assert await every(database, "SELECT 1 AS one") == [{"one": 1}]
    await database.close()


async def test_options_of_the_url_are_in_force_beside_our_own_settings(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("CREATE SCHEMA elsewhere")
    database = Database(f"{database_url}&options=-csearch_path%3Delsewhere", pool=1)

    assert await every(database, "SHOW search_path") == [{"search_path": "elsewhere"}]
    assert await every(database, "SHOW idle_in_transaction_session_timeout") == [
        {"idle_in_transaction_session_timeout": "3s"}
    ]
    await database.close()
