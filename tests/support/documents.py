"""Documents as tests need them: made on the spot, sound and otherwise."""

import base64
import zipfile
from collections.abc import Mapping
from io import BytesIO

from docx import Document
from pypdf import PdfReader, PdfWriter

from app.domain.job import JobInput
from app.domain.media_types import DOCX, PDF


def pdf_of(*pages: str) -> bytes:
    """A PDF with a line of text on each page; none on those that are empty."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for n, text in enumerate(pages):
        drawn = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET" if text else ""
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {5 + 2 * n} 0 R >>"
        )
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    written, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n{each}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = (
        f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\n"
    )
    return written + f"{end}startxref\n{len(written)}\n%%EOF\n".encode()


def changed_pdf(content: bytes, *, password: str | None = None, attached: Mapping[str, bytes] | None = None) -> bytes:
    """The PDF locked, or with files in it."""
    writer = PdfWriter(clone_from=PdfReader(BytesIO(content)))
    for name, file in (attached or {}).items():
        writer.add_attachment(name, file)
    if password is not None:
        writer.encrypt(password, owner_password="owner", algorithm="RC4-128")
    written = BytesIO()
    writer.write(written)
    return written.getvalue()


def docx_of(*blocks: str | list[list[str]]) -> bytes:
    """A Word document: `# ` begins headings, a list of rows is a table."""
    document = Document()
    for block in blocks:
        if isinstance(block, list):
            table = document.add_table(rows=len(block), cols=len(block[0]))
            for row, cells in zip(table.rows, block, strict=True):
                for cell, text in zip(row.cells, cells, strict=True):
                    cell.text = text
        elif block.startswith("# "):
            document.add_heading(block[2:], 2)
        else:
            document.add_paragraph(block)
    written = BytesIO()
    document.save(written)
    return written.getvalue()


def rewritten(content: bytes, parts: Mapping[str, bytes]) -> bytes:
    """The archive with other contents of some parts, by their names; further ones are added."""
    written = BytesIO()
    with zipfile.ZipFile(BytesIO(content)) as old, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            if entry.filename not in parts:
                new.writestr(entry.filename, old.read(entry))
        for name, part in parts.items():
            new.writestr(name, part)
    return written.getvalue()


def part_of(content: bytes, name: str) -> bytes:
    """One part of an archive."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        return archive.read(name)


def as_input(content: bytes, name: str = "report.pdf") -> JobInput:
    """The document as an input of a job."""
    media_type = DOCX if name.endswith(".docx") else PDF
    return JobInput(name=name, media_type=media_type, content=base64.b64encode(content).decode())
