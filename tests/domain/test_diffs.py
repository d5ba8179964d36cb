from contextlib import suppress
from pathlib import Path
from subprocess import run
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.diff_paths import unquoted
from app.domain.diffs import MOST_LINES, FileDiff, is_diff, read_diff
from app.domain.errors import DiffUnreadable

MODIFIED = """\
diff --git a/src/a.py b/src/a.py
index 1111111..2222222 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,4 +1,5 @@ def first():
 one
-two
+TWO
+2.5
 three
 four
@@ -20,2 +21,2 @@
 twenty
--- a comment
+-- another
"""


def only(text: str) -> FileDiff:
    (file,) = read_diff(text)
    return file


def test_a_changed_file_with_its_lines_by_number() -> None:
    file = only(MODIFIED)

    assert (file.path, file.old_path, file.kind, file.added, file.removed) == ("src/a.py", "src/a.py", "modified", 3, 2)
    assert file.lines == {1: "one", 2: "TWO", 3: "2.5", 4: "three", 5: "four", 21: "twenty", 22: "-- another"}
    assert file.touched == {2, 3, 22}
    assert file.removed_lines == {2: "two", 21: "-- a comment"}
    assert file.text == MODIFIED


@pytest.mark.parametrize("text", [MODIFIED.replace("\n", "\r\n"), MODIFIED.replace("one\n", "one\r\n"), MODIFIED[:-1]])
def test_ends_of_lines_of_either_kind_are_none_of_a_lines_text(text: str) -> None:
    assert only(text).lines == only(MODIFIED).lines
    assert only(text).text.rstrip() == text.rstrip()


def in_git(folder: Path, *arguments: str) -> str:
    command = ("git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments)
    return run(command, cwd=folder, check=True, capture_output=True).stdout.decode(errors="replace")


@pytest.fixture(scope="module")
def diffed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What git says of one change, in several ways of saying it."""
    folder = tmp_path_factory.mktemp("repository")
    in_git(folder, "init", "-q")
    (folder / "a").mkdir()
    for name, text in BEFORE.items():
        (folder / name).write_bytes(text)
    in_git(folder, "add", "-A")
    in_git(folder, "commit", "-qm", "before")
    for name, after in AFTER.items():
        (folder / name).unlink(missing_ok=True)
        if after is not None:
            (folder / name).write_bytes(after)
    in_git(folder, "add", "-A")
    in_git(folder, "commit", "-qm", "after\n\n--- not a file\n@@ neither a hunk")
    return {
        "plain": in_git(folder, "diff", "HEAD~"),
        "without letters": in_git(folder, "diff", "--no-prefix", "HEAD~"),
        "other letters": in_git(folder, "-c", "diff.mnemonicPrefix=true", "diff", "HEAD~"),
        "binary": in_git(folder, "diff", "--binary", "HEAD~"),
        "mailed": in_git(folder, "format-patch", "--stdout", "HEAD~"),
        "without context": in_git(folder, "diff", "-U0", "HEAD~"),
    }


LONG = b"".join(b"line %d\n" % number for number in range(40))
BEFORE = {
    "a/kept.py": b"one\ntwo\n", "gone.py": b"x\n", "old name.py": LONG, "caf\u00e9 \"q\".txt": b"1\n",
    "image.png": b"\0\1", "endless.txt": b"no end", "dos.txt": b"a\r\nb\r\n",
}  # fmt: skip
AFTER = {
    "a/kept.py": b"zero\none\ntwo\n", "gone.py": None, "old name.py": None, "a/new name.py": LONG + b"more\n",
    "caf\u00e9 \"q\".txt": b"2\n", "image.png": b"\0\2", "endless.txt": b"no end at all", "dos.txt": b"a\r\nc\r\n",
    "a/empty.py": b"", "fresh.py": b"new\n",
}  # fmt: skip
KINDS = {
    "a/kept.py": "modified", "gone.py": "deleted", "a/new name.py": "renamed", "caf\u00e9 \"q\".txt": "modified",
    "image.png": "binary", "endless.txt": "modified", "dos.txt": "modified", "a/empty.py": "added", "fresh.py": "added",
}  # fmt: skip


@pytest.mark.parametrize("form", ["plain", "without letters", "other letters", "binary", "mailed", "without context"])
def test_what_git_says_of_a_change_is_read_whatever_the_form(diffed: dict[str, str], form: str) -> None:
    files = {file.path: file for file in read_diff(diffed[form])}

    assert {path: file.kind for path, file in files.items()} == KINDS
    assert files["a/new name.py"].old_path == "old name.py"
    assert files["fresh.py"].old_path is None
    assert files["gone.py"].removed_lines == {1: "x"}
    assert files["gone.py"].lines == {}
    assert files["endless.txt"].lines == {1: "no end at all"}
    assert files["dos.txt"].touched == {2}
    assert files["a/kept.py"].touched == {1}
    assert all(file.text in diffed[form] for file in files.values())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "changes no file"),
        ("Dear reviewer,\n\nplease look at it.\n", "changes no file"),
        ("--- a/x\n+++ b/x\n", "No hunk follows"),
        ("+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "Target without source"),
        ("@@ -1 +1 @@\n-a\n+b\n", "Unexpected hunk"),
        (MODIFIED.replace("-1,4", "-1,5"), "Line "),
        (MODIFIED.replace("-20,2 +21,2", "-20 +21"), "longer than its header"),
        (MODIFIED.replace("@@ -20,2 +21,2 @@", "@@ -20,2 +21"), "No hunk begins so"),
        (MODIFIED.replace("@@ -20,2 +21,2 @@", "@@ -20,2 +3,2 @@"), "overlaps"),
        (MODIFIED.replace("@@ -20,2 +21,2 @@", f"@@ -20,2 +{10**12},2 @@"), "that many lines"),
        (MODIFIED.replace("@@ -20,2 +21,2 @@", f"@@ -20,2 +{'9' * 5000},2 @@"), "Line 12: A number"),
        (MODIFIED[: MODIFIED.index("+-- another")], "Line "),
        ("diff --cc x\n--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,1 @@@\n  a\n", "combined"),
        ("diff --git a/x b/yy\nold mode 100644\nnew mode 100755\n", "which file"),
        (f"Binary files {'a and ' * 9}b differ\n", "names no two paths"),
        ("\n" * (MOST_LINES + 1), "more than"),
    ],
)
def test_a_text_that_is_no_whole_diff_is_refused_with_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(DiffUnreadable, match=says):
        read_diff(text)


@pytest.mark.parametrize(
    ("quoted", "path"),
    [
        ("plain", "plain"),
        ('"a\\tb\\"c\\\\"', 'a\tb"c\\'),
        ('"caf\\303\\251.txt"', "caf\u00e9.txt"),
        ('"\\377x"', "\ufffdx"),
        ('"', '"'),
    ],
)
def test_quoted_paths_are_what_git_meant(quoted: str, path: str) -> None:
    assert unquoted(quoted) == path


def test_an_input_says_by_its_media_type_or_its_name_that_it_is_a_diff() -> None:
    assert is_diff("change", "text/x-diff; charset=utf-8")
    assert is_diff("Change.PATCH", "text/plain")
    assert not is_diff("notes.txt", "text/plain")


PIECES = st.sampled_from(
    [*MODIFIED.splitlines(), "\\ Kein Zeilenumbruch", "--- /dev/null", "+++ /dev/null", "GIT binary patch", "",
     "rename to x", "@@ -0,0 +0,0 @@", "@@ -1 +1 @@", "-", "+", "diff --git a/x b/y b/x b/y",
     "Binary files a and b differ", "deleted file mode 1"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=40))
def test_whatever_a_text_holds_it_is_read_or_refused(pieces: list[str]) -> None:
    try:
        files = read_diff("\n".join(pieces))
    except DiffUnreadable:
        return
    shown = sum(line.startswith("+") and not line.startswith("+++ b") for line in pieces)
    assert files
    assert all(file.touched <= file.lines.keys() for file in files)
    assert sum(file.added for file in files) <= shown + pieces.count("+++ b/src/a.py") + pieces.count("+++ /dev/null")


@pytest.mark.parametrize(
    "line",
    [
        "diff --git " + "a/x " * 5000,
        "Binary files " + " and " * 1800,
        "--- " + "\t" * 9000,
        "diff --git " + " b/" * 3000,
    ],
)
def test_odd_headers_take_no_longer_than_others(line: str) -> None:
    started = thread_time()
    with suppress(DiffUnreadable):
        read_diff(f"{line}\n" * 20)
    assert thread_time() - started < 2
