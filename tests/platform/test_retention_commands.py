import pytest

from app import cli


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, list[str], list[str]]:
    """What a command ends with: its exit code, and the lines of standard output and standard error."""
    with pytest.raises(SystemExit) as end:
        cli.main(["retention", *arguments])
    printed = capsys.readouterr()
    return end.value.code, printed.out.splitlines(), printed.err.splitlines()


def test_a_tenant_is_given_a_time_of_its_own_and_loses_it_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], database_url: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("CHARGEHAND_RETENTION_DAYS", "90")
    of_all = "*\tthin after never\tdelete after 90d"

    said = "acme: logs are cut after 7d, runs deleted after never."
    assert run(capsys, "set", "--tenant", "acme", "--thin-after", "7d") == (0, [], [said])
    assert run(capsys, "show") == (0, [of_all, "acme\tthin after 7d\tdelete after never"], [])
    said = "acme: logs are cut after 7d, runs deleted after 30d."
    assert run(capsys, "set", "--tenant", "acme", "--delete-after", "30d") == (0, [], [said])
    assert run(capsys, "clear", "--tenant", "acme") == (0, [], ["acme keeps ended runs as the settings say."])
    assert run(capsys, "show") == (0, [of_all], [])


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--tenant", "Acme!"), "--tenant: Acme! is no name of a tenant"),
        (("--tenant", "acme", "--thin-after", "0d"), "--thin-after: 0d is no number of days"),
        (("--tenant", "acme", "--delete-after", "36501d"), "--delete-after: 36501d is no number of days"),
        (("--tenant", "acme", "--thin-after", "9d", "--delete-after", "9d"), "--thin-after: runs would be deleted"),
        (("--tenant", "acme", "--delete-after", "soon"), "--delete-after: soon is no number of days"),
    ],
)
def test_what_is_no_time_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    database_url: str,
    arguments: tuple[str, ...],
    why: str,
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)

    code, printed, [error] = run(capsys, "set", *arguments)

    assert (code, printed) == (2, [])
    assert error.startswith(f"chargehand: {why}")
