import psycopg

from app.store.connections import with_defaults


def test_a_url_gets_the_defaults_it_does_not_set_itself() -> None:
    url = with_defaults("postgres://user:p%40ss@db:6543/runs?sslmode=require&connect_timeout=1")

    parameters = psycopg.conninfo.conninfo_to_dict(url)
    assert parameters["password"] == "p@ss"
    assert (parameters["host"], parameters["port"], parameters["dbname"]) == ("db", "6543", "runs")
    assert (parameters["sslmode"], parameters["connect_timeout"]) == ("require", "1")
    assert parameters["tcp_user_timeout"] == "10000"
