"""Files that a run hands over: what they are, what they may be, and how they come by names that differ."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Self
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict

from app.domain.base64_text import NotBase64, bytes_of

FILES_AT_MOST = 20
"""Files that one result, or one answer, may hand over."""
FILE_BYTES = 500_000
TOGETHER_BYTES = 1_000_000
"""All files of one result, or of one answer. A reply of a model is rarely longer."""
NAME_CHARACTERS = 120
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,99}/[a-z0-9][a-z0-9!#$&^_.+-]{0,99}")
_IN_NO_NAME = re.compile(r"[/\\]")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Characters that nobody sees: some of them turn the letters around them, so that an ending looks like another."""


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Artifact(_Value):
    """A file that is handed over, with its content."""

    name: str
    """A plain file name. Within a run it is unique: a second file of a name gets a number before its ending."""
    media_type: str
    """Its media type, without parameters."""
    text: str | None = None
    """Its content as text; null where it is `base64`."""
    base64: str | None = None
    """Its content as base64; null where it is `text`."""

    @property
    def content(self) -> bytes:
        """Its content as it is downloaded: text as UTF-8."""
        return self.text.encode() if self.text is not None else bytes_of(self.base64 or "")

    @property
    def size(self) -> int:
        """Bytes of its content."""
        return len(self.content)


class ListedArtifact(_Value):
    """A file that the run handed over, without its content: `GET /v1/runs/{id}/artifacts/{name}` has that."""

    name: str
    """Its name, unique in the run."""
    media_type: str
    """Its media type, as it was handed over. It is downloaded with it only where that is a harmless one."""
    bytes: int
    """Its size."""
    task: str | None
    """Id of the task that handed it over; null for a file that came with the answer."""
    url: str
    """Where to download it."""

    @classmethod
    def of(cls, run_id: str, name: str, *, media_type: str, size: int, task: str | None) -> Self:
        """A file of a run."""
        url = f"/v1/runs/{run_id}/artifacts/{quote(name, safe='')}"
        return cls(name=name, media_type=media_type, bytes=size, task=task, url=url)


class Filed(NamedTuple):
    """A file of a run under its name there."""

    artifact: Artifact
    task: str | None
    """Who handed it over; None for one that came with the answer."""
    seq: int
    """Number of the event that brought it."""

    def listed(self, run_id: str) -> ListedArtifact:
        """How clients are told of it."""
        return listed(self.artifact, run_id, self.task)


def listed(artifact: Artifact, run_id: str, task: str | None) -> ListedArtifact:
    """How clients are told of a file of a run."""
    return ListedArtifact.of(run_id, artifact.name, media_type=artifact.media_type, size=artifact.size, task=task)


def named_apart(artifacts: Sequence[Artifact], taken: Iterable[str]) -> tuple[Artifact, ...]:
    """The files under names that differ from those `taken`, and from each other: `a.md`, then `a-2.md`, `a-3.md`.

    They differ as file systems tell names apart that know no letter case.
    """
    known = {_folded(name) for name in taken}
    named: list[Artifact] = []
    for artifact in artifacts:
        name = _free(artifact.name, known)
        known.add(_folded(name))
        named.append(artifact if name == artifact.name else artifact.model_copy(update={"name": name}))
    return tuple(named)


def _free(name: str, taken: Collection[str]) -> str:
    stem, dot, ending = name.rpartition(".") if "." in name else (name, "", "")
    free, number = name, 2
    while _folded(free) in taken:
        mark = f"-{number}{dot}{ending}"
        free = f"{stem[: max(NAME_CHARACTERS - len(mark), 1)]}{mark}"
        number += 1
    return free


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def name_fault(name: str) -> str | None:
    """What is wrong with the name of a file; None for a plain one."""
    if not name.strip():
        return "a file needs a name"
    if len(name) > NAME_CHARACTERS:
        return f"a file name may have at most {NAME_CHARACTERS} characters"
    if _IN_NO_NAME.search(name):
        return "a file name is no path: it has no slash and no backslash"
    if name.startswith("."):
        return "a file name does not begin with a dot"
    if any(unicodedata.category(char) in _HIDDEN for char in name):
        return "a file name has no control characters, and none that cannot be seen"
    return None


def content_fault(artifact: Artifact) -> str | None:
    """What is wrong with the content of a file, or with its media type; None when nothing is."""
    if not _MEDIA_TYPE.fullmatch(artifact.media_type):
        return "media_type is none: it is of the form text/markdown, without parameters"
    if (artifact.text is None) == (artifact.base64 is None):
        return "a file has either text or base64, and the other is null"
    try:
        size = artifact.size
    except NotBase64:
        return "the base64 of a file cannot be read"
    return f"a file may have at most {FILE_BYTES} bytes; this one has {size}" if size > FILE_BYTES else None


def names_within_bounds(files: Iterable[tuple[str, int]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of as many files, of these sizes, as one result may hand over, and those of the others."""
    kept: list[str] = []
    left: list[str] = []
    room = TOGETHER_BYTES
    for name, size in files:
        fits = len(kept) < FILES_AT_MOST and size <= room
        (kept if fits else left).append(name)
        room -= size if fits else 0
    return tuple(kept), tuple(left)
