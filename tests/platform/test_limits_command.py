"""The commands about limits: what they say, and what they refuse."""

import pytest

from tests.platform.test_cli import Run, run

__all__ = ["run"]


def test_limits_are_set_shown_and_taken_back(run: Run, monkeypatch: pytest.MonkeyPatch, database_url: str) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    _, [key], _ = run("keys", "create", "--tenant", "acme")
    key_id = key.split("_")[1]

    said = [
        run("limits", "set", "runs_queued=50")[2],
        run("limits", "set", "--tenant", "acme", "runs_in_flight=5", "cost_usd_per_day=20.50")[2],
        run("limits", "set", "--tenant", "acme", "runs_in_flight=7", "runs_queued=none")[2],
        run("limits", "set", "--tenant", "acme", "--key", key_id, "requests_per_second=9")[2],
    ]

    assert [line for lines in said for line in lines] == [
        "Limits of all tenants that have no own: runs_queued 50.",
        "Limits of acme: runs_in_flight 5, cost_usd_per_day 20.50.",
        "Limits of acme: runs_in_flight 7, runs_queued none, cost_usd_per_day 20.50.",
        f"Limits of key {key_id} of acme: requests_per_second 9.",
    ]
    assert [line.split("\t")[:2] for line in run("limits", "show")[1]] == [
        ["(all tenants)", "-"],
        ["acme", "-"],
        ["acme", key_id],
    ]
    assert run("limits", "clear", "--tenant", "acme")[2] == ["Limits of acme: none."]
    assert run("limits", "show", "--tenant", "acme")[1] == [f"acme\t{key_id}\trequests_per_second 9"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("set", "runs=5"), "runs is no limit; there are: requests_per_second,"),
        (("set", "runs_queued"), "runs_queued= is no such limit"),
        (("set", "runs_queued=0"), "runs_queued=0 is no such limit"),
        (("set", "runs_in_flight=3.5"), "runs_in_flight=3.5 is no such limit: This must be a whole number."),
        (("set", "runs_queued=\u0663"), "runs_queued=\u0663 is no such limit: This must be a whole number."),
        (("set", "cost_usd_per_day=-1"), "cost_usd_per_day=-1 is no such limit"),
        (("set", "--tenant", "Acme!", "runs_queued=5"), "--tenant: Acme! is no name of a tenant"),
        (("set", "--tenant", "acme", "--key", "nothing", "runs_queued=5"), "acme has no key nothing"),
        (("clear", "--key", "nothing"), "--key: say with --tenant whose key it is"),
    ],
)
def test_what_cannot_be_limited_is_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, database_url: str, arguments: tuple[str, ...], why: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)

    code, printed, [error] = run("limits", *arguments)

    assert (code, printed) == (2, [])
    assert error.startswith(f"chargehand: {why}")
