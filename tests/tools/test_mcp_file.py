from pathlib import Path

import pytest

from app import cli
from app.tools.mcp.file import McpFileInvalid, ServerTerms, servers_in

SECRET = "sk-test-0000111122223333"
ENVIRONMENT = {"TOKEN": f"{SECRET}\n", "EMPTY": ""}
HTTP = "url: https://books.example/mcp, tools: [find_book]"


def read(tmp_path: Path, text: str) -> list[ServerTerms]:
    file = tmp_path / "mcp.yaml"
    file.write_text(text)
    return servers_in(file, ENVIRONMENT)


def test_a_server_is_read_with_its_secrets(tmp_path: Path) -> None:
    header = "headers: {Authorization: 'Bearer ${TOKEN}'}"
    [books, files] = read(
        tmp_path,
        f"servers:\n  books: {{{HTTP}, {header}}}\n"
        "  files: {command: [npx, -y, files], env: {API_KEY: '${TOKEN}'}, tools: ['*'], effects: {read_*: read}}\n",
    )

    assert (books.name, books.headers) == ("books", {"Authorization": f"Bearer {SECRET}"})
    assert files.env == {"API_KEY": SECRET}
    assert (files.effect_of("read_file"), files.effect_of("write_file")) == ("read", None)
    assert SECRET not in repr([books, files])


def test_a_secret_may_hold_whatever_a_variable_is_written_with(tmp_path: Path) -> None:
    file = tmp_path / "mcp.yaml"
    file.write_text("servers: {books: {%s, headers: {A: '${TOKEN}'}}}" % HTTP)  # noqa: UP031

    [books] = servers_in(file, {"TOKEN": "p${x}4"})

    assert books.headers == {"A": "p${x}4"}


def test_without_a_file_there_are_no_servers() -> None:
    assert servers_in(None, {}) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "valid dictionary"),
        ("servers: [", "line 1 is no YAML"),
        ("servers: {books: {%s, colour: red}}" % HTTP, "servers.books.colour: Extra inputs"),  # noqa: UP031
        ("servers: {Books: {%s}}" % HTTP, "servers.Books.[key]"),  # noqa: UP031
        ("servers: {books: {tools: [a]}}", "servers.books: a server has a url or a command"),
        ("servers: {books: {%s, command: [x]}}" % HTTP, "a server has a url or a command"),  # noqa: UP031
        ("servers: {books: {url: 'https://x/mcp'}}", "servers.books.tools: Field required"),
        ("servers: {books: {url: 'https://x/mcp', tools: [a/b]}}", "servers.books.tools.0"),
        ("servers: {books: {url: 'ftp://x', tools: [a]}}", "servers.books.url: must be http"),
        ("servers: {books: {url: 'https://me:pw@x', tools: [a]}}", "without a user name"),
        ("servers: {books: {%s, env: {A: b}}}" % HTTP, "env goes with a command"),  # noqa: UP031
        ("servers: {books: {%s, effects: {drop: read}}}" % HTTP, "effects names what tools does not offer: drop"),  # noqa: UP031
        ("servers: {books: {%s, effects: {find_book: safe}}}" % HTTP, "effects.find_book"),  # noqa: UP031
        ("servers: {books: {%s, headers: {A: '${NOPE}'}}}" % HTTP, "variable NOPE is not set"),  # noqa: UP031
        ("servers: {books: {%s, headers: {A: '${EMPTY}'}}}" % HTTP, "variable EMPTY is not set"),  # noqa: UP031
        ("servers: {books: {%s, headers: {A: '${TOKEN'}}}" % HTTP, "a variable is written"),  # noqa: UP031
        ("servers: {books: {%s, headers: {Authorization: Bearer %s}}}" % (HTTP, SECRET), "a secret is named by"),  # noqa: UP031
        ('servers: {books: {%s, headers: {A: "x\\ny%s"}}}' % (HTTP, SECRET), "one line of plain characters"),  # noqa: UP031
        ("servers: {books: {%s, timeout_s: %s}}" % (HTTP, SECRET), "servers.books.timeout_s"),  # noqa: UP031
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line_without_a_secret(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(McpFileInvalid) as refused:
        read(tmp_path, text)

    said = str(refused.value)
    assert problem in said
    assert said.startswith(str(tmp_path / "mcp.yaml"))
    assert "\n" not in said
    assert SECRET not in said


def test_a_start_with_an_unset_variable_ends_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mcp.yaml"
    file.write_text("servers: {books: {%s, headers: {A: '${NOPE_42}'}}}" % HTTP)  # noqa: UP031
    monkeypatch.setenv("CHARGEHAND_MCP_FILE", str(file))

    with pytest.raises(SystemExit) as ended:
        cli.main(["serve"])

    said = capfd.readouterr().err.splitlines()
    assert (ended.value.code, len(said)) == (2, 1)
    assert "NOPE_42 is not set" in said[0]
