"""Rules of the console's modules: what they load, whom they ask, and how large they are."""

import re
from pathlib import Path

CONSOLE = Path(__file__).resolve().parents[2] / "app/console"
MODULES = {path.relative_to(CONSOLE).as_posix(): path.read_text(encoding="utf-8") for path in CONSOLE.rglob("*.js")}
FILES = {path.relative_to(CONSOLE).as_posix(): path for path in CONSOLE.rglob("*") if path.is_file()}

IMPORT = re.compile(r"""(?:\bfrom\s+|\bimport\s*\(?\s*)["'`]([^"'`\s]+)["'`]""")
ASKS = re.compile(
    r"\b(?:fetch|XMLHttpRequest|EventSource|WebSocket|WebTransport|sendBeacon|importScripts)\b"
    r"|\bnew (?:Shared)?Worker\b|\bnew Image\b"
)
COMMENT = re.compile(r"/\*.*?\*/|^\s*//.*?$|\s// .*?$", re.DOTALL | re.MULTILINE)
ASKED = re.compile(r"""\b(?:get|post|send|pages|download)\(\s*["'`](/[^"'`]*)""")
MARKUP = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|DOMParser|\beval\b|new Function")
HOST = re.compile(r"(?:https?:)?//[\w-]+\.\w")
NAMESPACE = "http://www.w3.org/2000/svg"
LINES_AT_MOST, COLUMNS_AT_MOST = 300, 120


def test_modules_load_each_other_and_nothing_else() -> None:
    loaded = {(name, target) for name, text in MODULES.items() for target in IMPORT.findall(text)}
    here = {path.resolve() for path in FILES.values()}

    assert {each for each in loaded if not each[1].startswith(("./", "../"))} == set()
    assert {
        (name, target) for name, target in loaded if (CONSOLE / name).parent.joinpath(target).resolve() not in here
    } == set()


def test_one_module_asks_the_service() -> None:
    assert [name for name, text in MODULES.items() if ASKS.search(COMMENT.sub("", text))] == ["api.js"]


def test_the_service_is_asked_for_nothing_but_its_public_api() -> None:
    asked = {(name, path) for name, text in MODULES.items() for path in ASKED.findall(text)}

    assert {(name, path) for name, path in asked if not path.startswith("/v1/")} == set()


def test_no_text_becomes_markup_or_code() -> None:
    assert [name for name, text in MODULES.items() if MARKUP.search(text)] == []


def test_no_file_names_another_host() -> None:
    texts = {name: path.read_text(encoding="utf-8").replace(NAMESPACE, "") for name, path in FILES.items()}
    found = {name: HOST.findall(COMMENT.sub("", text)) for name, text in texts.items()}

    assert {name: hosts for name, hosts in found.items() if hosts} == {}


def test_modules_are_small_and_say_what_they_are() -> None:
    wrong = []
    for name, text in MODULES.items():
        lines = text.splitlines()
        if len(lines) > LINES_AT_MOST:
            wrong.append(f"{name} has {len(lines)} lines")
        wrong += [f"{name}:{number} is too long" for number, line in enumerate(lines, 1) if len(line) > COLUMNS_AT_MOST]
        if not lines[0].startswith("/**"):
            wrong.append(f"{name} does not say what it is")

    assert wrong == []
