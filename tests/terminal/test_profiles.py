"""Which service is meant, by options, environment and profiles; and the file that holds these."""

from pathlib import Path

import pytest

from app.terminal.errors import CommandRefused
from app.terminal.options import HERE
from app.terminal.profiles import Profile, Profiles, config_file, read_profiles, write_profiles
from app.terminal.service import service_meant
from tests.terminal.conftest import Typed

PROD, LAB = "https://prod.example.org", "https://lab.example.org"
FILE = f"""
current = "prod"
[profiles.prod]
url = "{PROD}/"
api_key = "chk_prod"
[profiles.lab]
url = "{LAB}"
api_key_env = "LAB_KEY"
[profiles.open]
url = "http://127.0.0.1:9000"
"""


def written(root: Path, text: str = FILE) -> Path:
    file = config_file({"XDG_CONFIG_HOME": str(root)})
    file.parent.mkdir(parents=True)
    file.write_text(text)
    file.chmod(0o600)
    return file


def test_the_nearest_names_the_service_and_a_profiles_key_stays_with_its_address(tmp_path: Path) -> None:
    written(tmp_path)
    key, url, use = {"CHARGEHAND_API_KEY": "chk_mine"}, {"CHARGEHAND_URL": LAB}, {"CHARGEHAND_PROFILE": "lab"}
    lab_key = {"LAB_KEY": "chk_lab"}
    cases: list[tuple[str | None, str | None, dict[str, str], tuple[str, str | None]]] = [
        (None, None, {}, (PROD, "chk_prod")),
        (None, None, key, (PROD, "chk_mine")),
        (None, None, use | lab_key, (LAB, "chk_lab")),
        (None, None, use, (LAB, None)),
        (None, None, url | use | lab_key, (LAB, None)),
        (None, None, url | key, (LAB, "chk_mine")),
        (None, "prod", url | use | key, (PROD, "chk_prod")),
        (None, "open", url | key, ("http://127.0.0.1:9000", "chk_mine")),
        ("http://x:1/", None, url | use, ("http://x:1", None)),
        ("http://x:1", None, key, ("http://x:1", "chk_mine")),
    ]

    for option, profile, environment, expected in cases:
        found = service_meant(option, profile, environment | {"XDG_CONFIG_HOME": str(tmp_path)})
        assert (found.url, found.key) == expected, (option, profile, environment)
        assert found.key is None or found.key not in repr(found)
    assert service_meant(None, None, {"XDG_CONFIG_HOME": str(tmp_path / "none")}).url == HERE


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("profiles = 1", "profiles: must be tables"),
        ("x = 1", "unknown: x"),
        ("[profiles.a]\nurl = 'http://x'\nkey = 'k'", "profiles.a: unknown: key"),
        ("[profiles.a]", "profiles.a: url is missing"),
        ("[profiles.a]\nurl = 'x'", "profiles.a.url: x is no address"),
        ("[profiles.a]\nurl = 1", "profiles.a: must be a table of texts"),
        ("current = 'a'", "current: there is no profile a"),
        ("current = ['x']", "current: must be the name of a profile"),
        ("[", "cannot read"),
    ],
)
def test_a_file_that_says_something_else_is_refused_in_one_line(tmp_path: Path, text: str, why: str) -> None:
    file = written(tmp_path, text)

    with pytest.raises(CommandRefused) as refused:
        read_profiles(file)

    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_key_that_others_may_read_is_not_used(tmp_path: Path) -> None:
    written(tmp_path).chmod(0o640)
    here = {"XDG_CONFIG_HOME": str(tmp_path)}

    with pytest.raises(CommandRefused, match="may be read by others: chmod 600"):
        service_meant(None, None, here)
    assert service_meant(None, "open", here).key is None
    with pytest.raises(CommandRefused, match="CHARGEHAND_API_KEY: a key is one word of plain characters"):
        service_meant(None, "open", here | {"CHARGEHAND_API_KEY": "chk_ü"})


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    odd = 'chk_"quoted"\\ \x7f\x01ü'
    profiles = Profiles(tmp_path / "deep" / "config.toml", "a", {"a": Profile("http://x", odd), "b": Profile(LAB)})

    write_profiles(profiles)

    assert read_profiles(profiles.file) == profiles
    assert profiles.file.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in profiles.file.parent.iterdir()] == ["config.toml"]


async def test_profiles_are_added_used_listed_and_removed_and_the_key_comes_from_standard_input(
    chargehand: Typed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keys = iter(["chk_one\n", ""])
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    monkeypatch.setattr("sys.stdin.read", lambda: next(keys), raising=False)

    added = await chargehand("profile", "add", "prod", "--url", PROD)
    await chargehand("profile", "add", "open", "--url", "http://127.0.0.1:9000")
    await chargehand("profile", "add", "lab", "--url", LAB, "--key-env", "LAB_KEY")
    used = await chargehand("profile", "use", "lab")
    listed = await chargehand("profile", "list")
    removed = await chargehand("profile", "remove", "prod")
    unknown = await chargehand("profile", "use", "prod")

    assert added == (0, "", f"prod is {PROD}, and the one in use.\n")
    assert used.err == f"lab is in use: {LAB}\n"
    assert [line.split() for line in listed.out.splitlines()[1:]] == [
        ["prod", PROD, "yes"],
        ["open", "http://127.0.0.1:9000", "none"],
        ["*", "lab", LAB, "$LAB_KEY"],
    ]
    assert "chk_one" not in listed.out
    assert removed.code == 0
    assert unknown.code == 2
    assert unknown.err.startswith("chargehand: there is no profile prod in ")


async def test_a_service_that_is_away_is_one_line_with_its_address_and_what_to_do(chargehand: Typed) -> None:
    for arguments in (("--url", "http://127.0.0.1:1", "runs"), ("runs", "--url", "http://127.0.0.1:1")):
        code, out, said = await chargehand(*arguments)

        assert (code, out) == (2, "")
        assert said.startswith("chargehand: cannot reach the service at http://127.0.0.1:1: ")
        assert said.endswith("start one (`chargehand serve`), or say where it is: --url, CHARGEHAND_URL, --profile\n")
        assert said.count("\n") == 1
    no_text = await chargehand("run", "caf\udce9")
    assert no_text == (2, "", "chargehand: caf\N{REPLACEMENT CHARACTER}: this is not UTF-8\n")
    meaningless = await chargehand("--url", "http://x", "states")
    assert (meaningless.code, meaningless.out) == (2, "")
