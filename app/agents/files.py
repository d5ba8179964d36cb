"""Files in the replies of models: the form they are asked for in, and how they are read."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator

from app.agents.reading import Unreadable, misfit, read_as
from app.agents.shapes import TEXT, closed, listed, or_null
from app.domain.artifacts import (
    FILE_BYTES,
    FILES_AT_MOST,
    TOGETHER_BYTES,
    Artifact,
    content_fault,
    name_fault,
    names_within_bounds,
)
from app.domain.credentials import without_credentials

FILES = listed(closed(name=TEXT, media_type=TEXT, text=or_null(TEXT), base64=or_null(TEXT)))
BOUNDS = f"{FILES_AT_MOST} files at most, {FILE_BYTES // 1000} kB each and {TOGETHER_BYTES // 1000} kB together"
"""What one reply may hand over, in words."""


class _Files(BaseModel):
    artifacts: Annotated[tuple[Artifact, ...], BeforeValidator(lambda files: () if files is None else files)] = ()


def read_files(reply: Any) -> tuple[Artifact, ...]:
    """The files in a reply; none where it is prose. Raises `Unreadable` with what is wrong with them."""
    if not isinstance(reply, dict):
        return ()
    artifacts = read_as(_Files, {"artifacts": reply.get("artifacts")}, "output_invalid").artifacts
    artifacts = tuple(_plain(each) for each in artifacts)
    if faults := [misfit(pointer, detail) for pointer, detail in _faults(artifacts)]:
        raise Unreadable(faults)
    return artifacts


def _plain(artifact: Artifact) -> Artifact:
    """The file as it is filed: nothing in its text looks like a credential."""
    text = None if artifact.text is None else without_credentials(artifact.text)
    return artifact.model_copy(update={"media_type": artifact.media_type.strip().lower(), "text": text})


def _faults(artifacts: Sequence[Artifact]) -> Iterator[tuple[str, str]]:
    if len(artifacts) > FILES_AT_MOST:
        yield "/artifacts", f"there are {len(artifacts)} files; hand over {BOUNDS}"
        return
    sound = True
    for place, artifact in enumerate(artifacts):
        if fault := name_fault(artifact.name) or content_fault(artifact):
            sound = False
            yield f"/artifacts/{place}", f"artifacts {place}: {fault}"
    if sound and (left := names_within_bounds((each.name, each.size) for each in artifacts)[1]):
        size = sum(each.size for each in artifacts)
        yield "/artifacts", f"the files have {size} bytes in all, which leaves no room for {left[0]}: {BOUNDS}"
