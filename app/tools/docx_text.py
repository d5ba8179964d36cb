"""The text of a Word document, paragraph by paragraph, as it reads with all changes accepted. Runs in a sandboxed
process.

The library opens the package and knows the styles; the text itself is walked here, since it leaves out what stands in
content controls, in insertions that are tracked, and in notes.
"""

import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from docx import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.exceptions import PackageNotFoundError
from lxml import etree  # type: ignore[import-untyped]

from app.domain.errors import FAULTS
from app.tools.document_faults import DocumentRefused

ENTRIES_AT_MOST = 5_000
UNPACKED_AT_MOST = 200_000_000
FILES_NAMED = 20
_MAIN = "word/document.xml"
_BROKEN = (*FAULTS, PackageNotFoundError, zipfile.BadZipFile, zlib.error, etree.LxmlError, OSError, NotImplementedError)
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PASSED_OVER = frozenset({
    f"{_W}del", f"{_W}moveFrom", f"{_W}pPr", f"{_W}rPr", f"{_W}instrText",
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
})  # fmt: skip
"""What was deleted, and what says again in an older form what stands beside it."""
_SPACES = {f"{_W}tab": "\t", f"{_W}br": " ", f"{_W}cr": " ", f"{_W}noBreakHyphen": "-"}
_TEXTS = (f"{_W}t", "{http://schemas.openxmlformats.org/officeDocument/2006/math}t")
_HOLDERS = frozenset(f"{_W}{name}" for name in ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag"))
"""What only holds paragraphs and tables."""


def docx_blocks(content: bytes) -> Iterator[str]:
    """The paragraphs and tables in order, each behind its mark, then the notes. Raises `DocumentRefused`."""
    embedded = _checked(content)
    try:
        document = Document(BytesIO(content))
        body = document.element.body
    except _BROKEN as error:
        why = f"it is an archive, and no Word document that can be read ({type(error).__name__})"
        raise DocumentRefused("document_broken", why) from None
    if embedded:
        yield f"[files in this document, which are not read: {', '.join(embedded)}]"
    headings = {style.style_id: level for style in document.styles if (level := _level(style.name)) is not None}
    found = False
    for block in _body_blocks(body, headings):
        found = True
        yield block
    for block in _notes(document):
        found = True
        yield block
    if not found:
        yield "[this document holds no text]"


def _checked(content: bytes) -> list[str]:
    """The names of files that are embedded in the document. Raises `DocumentRefused` for what must not be opened."""
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            entries = archive.infolist()
            if len(entries) > ENTRIES_AT_MOST or sum(entry.file_size for entry in entries) > UNPACKED_AT_MOST:
                limit = UNPACKED_AT_MOST // 1_000_000
                raise DocumentRefused(
                    "document_too_large", f"unpacked it is larger than {limit} MB, or has too many parts"
                )
            if any(entry.flag_bits & 1 for entry in entries):
                raise DocumentRefused("document_encrypted", "it is encrypted: send it without a password")
            names = {entry.filename for entry in entries}
            if not {"[Content_Types].xml", _MAIN} <= names:
                raise DocumentRefused("document_broken", "it is an archive, and no Word document")
            for entry in entries:
                if entry.filename.endswith((".xml", ".rels")) and b"<!DOCTYPE" in archive.read(entry):
                    raise DocumentRefused("document_refused", "it defines entities, which no Word document does")
            embedded = [name.rpartition("/")[2] for name in sorted(names) if name.startswith("word/embeddings/")]
            return [name for name in embedded if name][:FILES_NAMED]
    except _BROKEN as error:
        raise DocumentRefused("document_broken", f"its archive is broken ({type(error).__name__})") from None


def _level(style: str | None) -> int | None:
    """The level of the headings that have a style; None for other text."""
    if style == "Title":
        return 1
    kind, _, level = (style or "").partition(" ")
    return int(level) if kind == "Heading" and level.isdecimal() else None


def _body_blocks(body: Any, headings: dict[str, int]) -> Iterator[str]:
    paragraphs = tables = 0
    for element in _within(body):
        if element.tag == f"{_W}tbl":
            tables += 1
            yield from _rows(element, tables)
            continue
        text = _text_of(element)
        if text:
            paragraphs += 1
            level = headings.get(_style_of(element))
            yield f"[paragraph {paragraphs}] {'#' * level + ' ' if level else ''}{text}"


def _within(element: Any) -> Iterator[Any]:
    """The paragraphs and tables in an element, in order."""
    for child in element:
        if child.tag in (f"{_W}p", f"{_W}tbl"):
            yield child
        elif child.tag in _HOLDERS:
            yield from _within(child)


def _rows(table: Any, number: int) -> Iterator[str]:
    """The rows of a table, its cells between bars; a table in a cell is a part of its text."""
    own = (row for row in table.iter(f"{_W}tr") if _nearest("tbl", row) is table)
    for place, row in enumerate(own, 1):
        cells = [_text_of(cell).replace("|", "\\|") for cell in row.iter(f"{_W}tc") if _nearest("tr", cell) is row]
        yield f"[table {number}, row {place}] {' | '.join(cells)}"


def _nearest(name: str, element: Any) -> Any:
    """What an element stands in, whatever holds it there."""
    return next(element.iterancestors(f"{_W}{name}"), None)


def _style_of(paragraph: Any) -> str:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    return str(style.get(f"{_W}val")) if style is not None else ""


def _text_of(element: Any) -> str:
    """The text in an element on one line, paragraphs in it parted by a space."""
    return "".join(_pieces(element)).strip()


def _pieces(element: Any) -> Iterator[str]:
    for child in element:
        tag = child.tag
        if tag in _TEXTS:
            yield (child.text or "").replace("\n", " ")
        elif tag in _SPACES:
            yield _SPACES[tag]
        elif tag in (f"{_W}footnoteReference", f"{_W}endnoteReference"):
            yield f"[{_note_name(tag, child)}]"
        elif tag not in _PASSED_OVER:
            yield from _pieces(child)
            if tag == f"{_W}p":
                yield " "


def _note_name(tag: str, element: Any) -> str:
    kind = "endnote" if "endnote" in tag else "footnote"
    return f"{kind} {element.get(f'{_W}id')}"


def _notes(document: Any) -> Iterator[str]:
    for kind in (RELATIONSHIP_TYPE.FOOTNOTES, RELATIONSHIP_TYPE.ENDNOTES):
        try:
            part = document.part.part_related_by(kind)
        except KeyError:
            continue
        try:
            notes = list(etree.fromstring(part.blob, etree.XMLParser(resolve_entities=False, no_network=True)))
        except etree.XMLSyntaxError:
            yield "[notes of this document cannot be read]"
            continue
        for note in notes:
            text = _text_of(note)
            if text and note.get(f"{_W}type") is None:
                yield f"[{_note_name(note.tag, note)}] {text}"
