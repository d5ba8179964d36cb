"""A unified diff, read: which files it changes, and what it shows of each.

`unidiff` reads the hunks. It is strict about their counts, and lenient where a reader must not be: it takes a text that
is no diff for an empty one, and what follows a finished hunk for talk between files. Both are refused here, as are the
few odd headers whose reading would take its patterns more than linear time.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from unidiff.errors import UnidiffParseError
from unidiff.patch import Line, PatchedFile, PatchSet

from app.domain.diff_paths import NOWHERE, paths_of
from app.domain.errors import DiffUnreadable
from app.domain.lines import HIGHEST_LINE
from app.domain.media_types import essence_of

FileKind = Literal["added", "modified", "deleted", "renamed", "binary"]

MOST_LINES = 200_000
"""Of one diff: some three seconds of reading."""
HEADER_CHARACTERS = 10_000

_HUNK = re.compile(r"@{2,9} -\d")
_BINARY = ("Binary files ", "GIT binary patch")
_MEDIA_TYPES = frozenset({"text/x-diff", "text/x-patch", "text/diff", "text/patch"})


@dataclass(frozen=True)
class FileDiff:
    """What a diff shows of one file."""

    path: str
    """Where the file is after the change; where it was, of a deleted one."""
    old_path: str | None
    """Where it was before, if the diff says that it was somewhere."""
    kind: FileKind
    lines: Mapping[int, str]
    """The lines of the new side that the hunks show, by number: added ones and their context."""
    touched: frozenset[int]
    """Those of them that the change adds."""
    removed_lines: Mapping[int, str]
    """The lines that the change removes, by their number on the old side."""
    text: str
    """This file's part of the diff, as it stands there."""

    @property
    def added(self) -> int:
        """How many lines the change adds."""
        return len(self.touched)

    @property
    def removed(self) -> int:
        """How many lines the change removes."""
        return len(self.removed_lines)


def is_diff(name: str, media_type: str) -> bool:
    """Whether an input says of itself that it is a unified diff."""
    return essence_of(media_type) in _MEDIA_TYPES or name.casefold().endswith((".diff", ".patch"))


def read_diff(text: str) -> tuple[FileDiff, ...]:
    """The files that a unified diff changes, in its order; of several commits in one text, a file once for each.

    Raises `DiffUnreadable` for a text that is no diff, or one that is damaged. Linear in the length of the text.
    """
    return _Reader(text).files()


class _Reader:
    """One text while it is read. Lines count from 1; ends of lines of either kind are none of their text."""

    def __init__(self, text: str) -> None:
        self._raw = text.removesuffix("\n").split("\n")
        self._lines = [line.removesuffix("\r") for line in self._raw]
        self._read = 0
        self._inside = bytearray(len(self._lines) + 2)
        """By line: 1 where a hunk has taken it."""

    def files(self) -> tuple[FileDiff, ...]:
        if len(self._lines) > MOST_LINES:
            raise DiffUnreadable(f"It has more than {MOST_LINES} lines.")
        try:
            parts = PatchSet(self._handed_out())
        except UnidiffParseError as error:
            raise DiffUnreadable(f"{str(error).strip()[:200]}.", self._read) from None
        except ValueError:
            raise DiffUnreadable("A number in this line is too long.", self._read) from None
        if not parts:
            raise DiffUnreadable("It changes no file. A unified diff has lines that begin with ---, +++ and @@.")
        for part in parts:
            self._take(part)
        self._ensure_nothing_left_out()
        starts = [self._start_of(part) for part in parts]
        ends = [*starts[1:], len(self._lines) + 1]
        return tuple(self._file(*each) for each in zip(parts, starts, ends, strict=True))

    def _handed_out(self) -> Iterator[str]:
        """The lines as `unidiff` gets them: `paths_of` reads the names that git writes, which it splits at spaces."""
        in_git_header = False
        for number, line in enumerate(self._lines, 1):
            self._read = number
            if line.startswith("diff --git "):
                in_git_header = True
                yield "diff --git a/- b/-\n"
            elif in_git_header and line.startswith(("--- ", "+++ ")):
                yield "name\n"
            elif line.startswith("\\ "):
                yield "\\ No newline at end of file\n"  # Git says it in the language of its user.
            elif line.startswith("Binary file") and _is_costly(line):
                raise DiffUnreadable("This line names no two paths.", number)
            else:
                in_git_header = in_git_header and not line.startswith("@@")
                yield f"{line}\n"

    def _take(self, part: PatchedFile) -> None:
        shown = 0
        for hunk in part:
            numbers = [line.diff_line_no for line in hunk if line.diff_line_no is not None]
            if not numbers:
                raise DiffUnreadable(f"A hunk of {part.path[:200]} shows no line.")
            if hunk.target_start < shown:
                raise DiffUnreadable("This hunk overlaps the one before it.", numbers[0] - 1)
            shown = hunk.target_start + hunk.target_length
            if max(shown, hunk.source_start + hunk.source_length) > HIGHEST_LINE:
                raise DiffUnreadable("No file has that many lines.", numbers[0] - 1)
            self._inside[numbers[0] - 1 : numbers[-1] + 1] = b"\x01" * (numbers[-1] - numbers[0] + 2)

    def _ensure_nothing_left_out(self) -> None:
        for number, line in enumerate(self._lines, 1):
            if self._inside[number]:
                continue
            if _HUNK.match(line):
                combined = line.startswith("@@@")
                raise DiffUnreadable("A combined diff (of a merge)." if combined else "No hunk begins so.", number)
            if self._inside[number - 1] and line.startswith("\\ "):
                self._inside[number] = 1
            elif self._inside[number - 1] and self._is_body(number):
                raise DiffUnreadable("The hunk before this line is longer than its header says.", number)

    def _is_body(self, number: int) -> bool:
        """Whether a line looks like one of a hunk, and not like the end of a mailed patch or the next file's names."""
        line, next_line = self._lines[number - 1], "".join(self._lines[number : number + 1])
        named = line.startswith("--- ") and next_line.startswith("+++ ")
        return line.startswith(("+", "-", " ")) and not named and line not in ("-- ", "--")

    def _start_of(self, part: PatchedFile) -> int:
        named = part.diff_line_no or 1
        before = self._lines[named - 2] if named > 1 else ""
        return named - 1 if self._lines[named - 1].startswith("+++ ") and before.startswith("--- ") else named

    def _file(self, part: PatchedFile, start: int, end: int) -> FileDiff:
        last = next((number for number in range(end - 1, start, -1) if self._inside[number]), end - 1)
        first_hunk = next((number for number in range(start, end) if self._inside[number]), end)
        head = self._lines[start - 1 : first_hunk - 1]
        binary = part.is_binary_file or any(line.startswith(_BINARY) for line in head)
        if not part and not binary and any(line.startswith("+++ ") for line in head):
            raise DiffUnreadable("No hunk follows the names of this file.", start)
        try:
            old, new, moved = paths_of(head, (part.source_file, part.target_file))
        except ValueError:
            raise DiffUnreadable("Nothing says which file this part is about.", start) from None
        return FileDiff(
            path=old if new == NOWHERE else new,
            old_path=None if old == NOWHERE else old,
            kind="binary" if binary else _kind(old, new, moved=moved),
            lines={number: _text(line) for number, line in _new_side(part)},
            touched=frozenset(number for number, line in _new_side(part) if line.is_added),
            removed_lines={number: _text(line) for number, line in _old_side(part) if line.is_removed},
            text="\n".join(self._raw[start - 1 : last]) + "\n",
        )


def _new_side(part: PatchedFile) -> Iterator[tuple[int, Line]]:
    for line in (line for hunk in part for line in hunk.target_lines()):
        if line.target_line_no is not None:
            yield line.target_line_no, line


def _old_side(part: PatchedFile) -> Iterator[tuple[int, Line]]:
    for line in (line for hunk in part for line in hunk.source_lines()):
        if line.source_line_no is not None:
            yield line.source_line_no, line


def _text(line: Line) -> str:
    return line.value.removesuffix("\n")


def _kind(old: str, new: str, *, moved: bool) -> FileKind:
    if old == NOWHERE:
        return "added"
    if new == NOWHERE:
        return "deleted"
    return "renamed" if moved else "modified"


def _is_costly(line: str) -> bool:
    return len(line) > HEADER_CHARACTERS or line.count(" and ") > 4
