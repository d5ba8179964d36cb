"""Media types of inputs: what a name without one means, and which inputs are no text but bytes, written as base64."""

from collections.abc import Mapping
from pathlib import PurePath

from app.domain.base64_text import NotBase64, bytes_of

PARQUET = "application/vnd.apache.parquet"
PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
DOCUMENTS: Mapping[str, str] = {PDF: "PDF", DOCX: "DOCX"}
"""What is turned into text for whoever reads it, and how it is called."""
AS_BYTES = frozenset({PARQUET, *DOCUMENTS})
"""What is sent as base64, and given back as the bytes that stands for."""
UNSAID = frozenset({"", "application/octet-stream"})
"""Media types that say nothing: programs write them where they know none."""

_BY_ENDING: Mapping[str, str] = {
    ".csv": "text/csv",
    ".diff": "text/x-diff",
    ".docx": DOCX,
    ".html": "text/html",
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".md": "text/markdown",
    ".ndjson": "application/x-ndjson",
    ".parquet": PARQUET,
    ".patch": "text/x-diff",
    ".pdf": PDF,
    ".py": "text/x-python",
    ".tsv": "text/tab-separated-values",
}


def essence_of(media_type: str) -> str:
    """The media type without its parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def media_type_of(name: str) -> str:
    """The media type that the name of a file speaks for: plain text where it speaks for none."""
    return _BY_ENDING.get(PurePath(name.lower()).suffix, "text/plain")


_BEGINS: Mapping[str, bytes] = {PARQUET: b"PAR1", PDF: b"%PDF-", DOCX: b"PK\x03\x04"}
_WITHIN: Mapping[str, int] = {PDF: 1024}
"""How far into a file its mark may stand, where programs put something before it."""
_HEAD_CHARACTERS = 2_000


def begins_as(media_type: str, content: str) -> bool:
    """Whether base64 begins like what its media type says it is: what came before such were looked at may not be."""
    essence = essence_of(media_type)
    head = "".join(content[:_HEAD_CHARACTERS].split())
    head = head.partition(",")[2] if head.startswith("data:") else head
    try:
        begun = bytes_of(head[: len(head) // 4 * 4])
    except NotBase64:
        return False
    mark, within = _BEGINS[essence], _WITHIN.get(essence, 0)
    return mark in begun[: within + len(mark)]


def kind_of_bytes(media_type: str, content: str) -> str | None:
    """What an input is called that is no text: a document, or a table; None for one that is read as it stands."""
    return "table" if essence_of(media_type) == PARQUET else document_kind(media_type, content)


def document_kind(media_type: str, content: str) -> str | None:
    """What kind of document an input is; None for one that is read as it stands."""
    kind = DOCUMENTS.get(essence_of(media_type))
    return kind if kind is not None and begins_as(media_type, content) else None
