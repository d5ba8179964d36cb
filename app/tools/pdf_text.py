"""The text of a PDF, page by page. Runs in a sandboxed process."""

import zlib
from collections.abc import Iterator
from io import BytesIO
from struct import error as StructError

from pypdf import PageObject, PdfReader
from pypdf.errors import DependencyError, PyPdfError

from app.domain.errors import FAULTS
from app.tools.document_faults import DocumentRefused

BROKEN = (*FAULTS, PyPdfError, StructError, zlib.error, NotImplementedError, OSError)
"""What the library raises where a file is not what it should be."""
FILES_NAMED = 20


def pdf_blocks(content: bytes) -> Iterator[str]:
    """The pages in order, each behind its mark. Raises `DocumentRefused`."""
    try:
        reader = _opened(content)
        pages = len(reader.pages)
        attached = list(reader.attachments)[:FILES_NAMED]
    except BROKEN as error:
        raise DocumentRefused("document_broken", f"it is no PDF that can be read ({type(error).__name__})") from None
    if not pages:
        raise DocumentRefused("document_empty", "it has no pages")
    if attached:
        yield f"[files in this PDF, which are not read: {', '.join(attached)}]"
    for number in range(pages):
        yield f"[page {number + 1} of {pages}]"
        yield _text_of(reader, number)


def _opened(content: bytes) -> PdfReader:
    reader = PdfReader(BytesIO(content))
    try:
        # Many are encrypted with an empty password, so that anybody may read them and nobody change them.
        locked = reader.is_encrypted and not reader.decrypt("")
    except (DependencyError, NotImplementedError):
        locked = True
    if locked:
        raise DocumentRefused("document_encrypted", "it is encrypted: send it without a password")
    return reader


def _text_of(reader: PdfReader, number: int) -> str:
    try:
        page: PageObject = reader.pages[number]
        text = page.extract_text().strip()
        return text or ("[this page holds no text: it is a picture, such as a scan]" if _has_picture(page) else _EMPTY)
    except BROKEN as error:
        return f"[this page cannot be read: {type(error).__name__}]"


_EMPTY = "[this page holds no text]"


def _has_picture(page: PageObject) -> bool:
    resources = page.get("/Resources")
    resources = resources.get_object() if resources is not None else {}
    return "/XObject" in resources
