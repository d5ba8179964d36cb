import psycopg
import pytest

from tests.support.postgres import Databases


def test_each_database_is_fresh_and_gone_afterwards(databases: Databases) -> None:
    with databases.fresh() as first, psycopg.connect(first) as connection:
        connection.execute("CREATE TABLE scratch ()")
        connection.commit()
        with databases.fresh() as second, psycopg.connect(second) as other:
            assert other.execute("SELECT to_regclass('scratch')").fetchone() == (None,)

    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(first)


def test_a_test_gets_the_migrated_schema(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (0,)
