import asyncio
import zipfile
from collections.abc import AsyncIterator, Mapping, Sequence
from io import BytesIO
from typing import Any

import pytest

import app.tools.document_text
from app.domain.errors import ToolError
from app.domain.job import JobInput
from app.tools.documents import ENTRY_CHARACTERS, Documents
from app.tools.read_input import read_input
from app.tools.sandbox import Content, Sandbox
from app.tools.tool import ToolAnswer, ToolContext, call
from tests.support.documents import as_input, changed_pdf, docx_of, part_of, pdf_of, rewritten


class CountingSandbox(Sandbox):
    """A sandbox that counts what it is asked."""

    asked = 0
    busy = False
    busy_for = 0
    """Of how many it is busy with others before."""

    async def answer(
        self, module: str, request: Mapping[str, Any], contents: Sequence[Content] = (), **options: Any
    ) -> dict[str, Any]:
        self.asked += 1
        self.busy_for -= 1
        if self.busy or self.busy_for >= 0:
            raise ToolError("there is no room", "tool_busy")
        return await super().answer(module, request, contents, **options)


@pytest.fixture
async def counting() -> AsyncIterator[CountingSandbox]:
    async with CountingSandbox() as sandbox:
        yield sandbox


async def answered(sandbox: Sandbox, *inputs: JobInput, **arguments: object) -> ToolAnswer:
    tool = read_input(Documents(sandbox))
    return await call({"read_input": tool}, "read_input", arguments, ToolContext(inputs, "call-1"))


async def text_of(sandbox: Sandbox, content: bytes, name: str = "report.pdf") -> list[str]:
    """The lines of a document as they are read, without their numbers."""
    answer = await answered(sandbox, as_input(content, name), action="read", name=name)
    assert answer.error_code is None, answer.text
    return [line.partition(": ")[2] for line in answer.text.split("\n")[2:]]


async def error_of(sandbox: Sandbox, content: bytes, name: str = "report.pdf") -> tuple[str | None, str]:
    answer = await answered(sandbox, as_input(content, name), action="read", name=name)
    return answer.error_code, answer.text


async def test_a_pdf_is_read_page_by_page_and_an_empty_page_says_so(sandbox: Sandbox) -> None:
    lines = await text_of(sandbox, pdf_of("The mill was built in 1887.", "", "It burned down in 1901."))

    assert lines == [
        "[page 1 of 3]", "The mill was built in 1887.", "[page 2 of 3]", "[this page holds no text]", "[page 3 of 3]",
        "It burned down in 1901.",
    ]  # fmt: skip


async def test_a_word_document_is_read_in_its_order_with_marks(sandbox: Sandbox) -> None:
    content = docx_of("# Terms", "Payment within 30 days.", [["Item", "Price"], ["Flour", "12|50"]], "The end.")

    assert await text_of(sandbox, content, "contract.docx") == [
        "[paragraph 1] ## Terms", "[paragraph 2] Payment within 30 days.", "[table 1, row 1] Item | Price",
        "[table 1, row 2] Flour | 12\\|50", "[paragraph 3] The end.",
    ]  # fmt: skip


async def test_tracked_changes_count_as_accepted_and_content_controls_are_read(sandbox: Sandbox) -> None:
    content = docx_of("PLACE")
    xml = part_of(content, "word/document.xml").decode()
    run = "<w:r><w:t>{}</w:t></w:r>"
    changed = (
        f"<w:p><w:ins>{run.format('60')}</w:ins><w:del><w:r><w:delText>30</w:delText></w:r></w:del>"
        f"{run.format(' days')}</w:p><w:sdt><w:sdtContent><w:p>{run.format('Signed')}</w:p></w:sdtContent></w:sdt>"
    )
    xml = xml.replace("<w:body>", f"<w:body>{changed}")

    lines = await text_of(sandbox, rewritten(content, {"word/document.xml": xml.encode()}), "contract.docx")

    assert lines[:2] == ["[paragraph 1] 60 days", "[paragraph 2] Signed"]


async def test_rows_in_content_controls_are_rows_and_those_of_a_table_in_a_cell_are_not(sandbox: Sandbox) -> None:
    content = docx_of("PLACE")
    cell = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p>{}</w:tc>"
    plain = f"<w:tr>{cell.format('Item', '')}{cell.format('Price', '')}</w:tr>"
    inner = f"<w:tbl><w:tr>{cell.format('inner', '')}</w:tr></w:tbl>"
    held = (
        f"<w:sdt><w:sdtContent><w:tr>{cell.format('Flour', inner)}{cell.format('12', '')}</w:tr></w:sdtContent></w:sdt>"
    )
    xml = part_of(content, "word/document.xml").decode().replace("<w:body>", f"<w:body><w:tbl>{plain}{held}</w:tbl>")

    lines = await text_of(sandbox, rewritten(content, {"word/document.xml": xml.encode()}), "contract.docx")

    assert lines[:3] == ["[table 1, row 1] Item | Price", "[table 1, row 2] Flour inner | 12", "[paragraph 1] PLACE"]


async def test_notes_stand_behind_the_text_with_the_places_they_belong_to(sandbox: Sandbox) -> None:
    content = docx_of("PLACE")
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    note = '<w:footnote w:id="{}" {}><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:footnote>'
    notes = note.format(0, 'w:type="separator"', "-") + note.format(2, "", "In writing.")
    rels = part_of(content, "word/_rels/document.xml.rels").decode()
    types = part_of(content, "[Content_Types].xml").decode()
    override = '<Override PartName="/word/footnotes.xml" ContentType="application/vnd.x+xml"/></Types>'
    xml = part_of(content, "word/document.xml").decode()
    marked = rewritten(
        content,
        {
            "word/footnotes.xml": f'<w:footnotes xmlns:w="{word}">{notes}</w:footnotes>'.encode(),
            "word/_rels/document.xml.rels": rels.replace(
                "</Relationships>", f'<Relationship Id="rId99" Type="{kind}" Target="footnotes.xml"/></Relationships>'
            ).encode(),
            "[Content_Types].xml": types.replace("</Types>", override).encode(),
            "word/document.xml": xml.replace(
                "<w:t>PLACE</w:t>", '<w:t>Ends early</w:t><w:footnoteReference w:id="2"/>'
            ).encode(),
        },
    )

    assert await text_of(sandbox, marked, "lease.docx") == [
        "[paragraph 1] Ends early[footnote 2]", "[footnote 2] In writing.",
    ]  # fmt: skip


async def test_search_finds_what_stands_in_documents(sandbox: Sandbox) -> None:
    pdf, plain = as_input(pdf_of("The mill burned.")), JobInput(name="a.txt", content="The mill stands.")
    broken = as_input(b"%PDF-1.7 and no more", "broken.pdf")

    answer = await answered(sandbox, plain, pdf, broken, action="search", text="the mill")

    assert "a.txt:1: The mill stands." in answer.text
    assert "report.pdf:2: The mill burned." in answer.text
    assert "broken.pdf cannot be read: it is no PDF" in answer.text


async def test_the_list_says_that_a_document_is_one_and_reads_none(counting: CountingSandbox) -> None:
    answer = await answered(counting, as_input(pdf_of("x")), action="list")

    assert "PDF of about" in answer.text
    assert counting.asked == 0


async def test_a_document_is_turned_into_text_once_however_often_it_is_read(
    counting: CountingSandbox,
) -> None:
    documents = Documents(counting)
    items = [as_input(pdf_of("Once."))]

    first, _ = await asyncio.gather(documents.readable(items), documents.readable(items))
    again = await documents.readable([as_input(pdf_of("Once."), "other.pdf")])

    assert counting.asked == 1
    assert first[0].text == again[0].text == "[page 1 of 1]\nOnce."


async def test_texts_and_errors_are_kept_until_there_is_no_room_for_them(counting: CountingSandbox) -> None:
    documents = Documents(counting, kept_characters=3 * ENTRY_CHARACTERS)
    pdf, broken, another = (
        as_input(content) for content in (pdf_of("Kept."), b"%PDF-1.7 and no more", b"%PDF-1.7 nor this")
    )

    asked = []
    for item in (pdf, broken, pdf, broken, another, broken, pdf):
        await documents.readable([item])
        asked.append(counting.asked)

    assert asked == [1, 2, 2, 2, 3, 3, 4]


async def test_that_the_sandbox_was_busy_is_not_kept(counting: CountingSandbox) -> None:
    documents = Documents(counting)
    counting.busy = True
    [refused] = await documents.readable([as_input(pdf_of("Later."))])
    counting.busy = False
    [read] = await documents.readable([as_input(pdf_of("Later."))])

    assert refused.problem is not None
    assert refused.problem.code == "tool_busy"
    assert read.text.endswith("Later.")


async def test_texts_are_those_of_documents_that_have_one_and_wait_for_room(counting: CountingSandbox) -> None:
    documents = Documents(counting)
    counting.busy_for = 2
    broken, note = as_input(b"%PDF-1.7 and no more", "broken.pdf"), JobInput(name="note.txt", content="Hi.")

    found = await documents.texts([as_input(pdf_of("Later.")), broken, note])

    assert found == {"report.pdf": "[page 1 of 1]\nLater."}
    assert counting.asked == 4


async def test_a_locked_pdf_says_so_and_one_that_anybody_may_read_is_read(sandbox: Sandbox) -> None:
    locked = changed_pdf(pdf_of("Secret."), password="secret")
    open_ = changed_pdf(pdf_of("Open."), password="")

    assert await error_of(sandbox, locked) == (
        "document_encrypted",
        "document_encrypted: report.pdf cannot be read: it is encrypted: send it without a password",
    )
    assert "Open." in await text_of(sandbox, open_)


async def test_files_in_a_document_are_named_and_not_read(sandbox: Sandbox) -> None:
    pdf = changed_pdf(pdf_of("Letter."), attached={"figures.xlsx": b"secret figures"})
    docx = rewritten(docx_of("Letter."), {"word/embeddings/sheet1.xlsx": b"secret figures"})

    for lines in (await text_of(sandbox, pdf), await text_of(sandbox, docx, "letter.docx")):
        assert lines[0].startswith("[files in this")
        assert ".xlsx" in lines[0]
        assert "secret" not in "\n".join(lines)


def archive(parts: Mapping[str, bytes]) -> bytes:
    written = BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as new:
        for name, part in parts.items():
            new.writestr(name, part)
    return written.getvalue()


DTD = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'


@pytest.mark.parametrize(
    ("content", "name", "code"),
    [
        (b"%PDF-1.7\n", "a.pdf", "document_broken"),
        (pdf_of("x")[:120], "a.pdf", "document_broken"),
        (b"PK\x03\x04" + b"\x00" * 60, "a.docx", "document_broken"),
        (archive({"hello": b"world"}), "a.docx", "document_broken"),
        (archive({"word/document.xml": b"<x/>"}), "a.docx", "document_broken"),
        (docx_of("x")[:2_000], "a.docx", "document_broken"),
        (rewritten(docx_of("x"), {"word/document.xml": b"<w:document"}), "a.docx", "document_broken"),
        (rewritten(docx_of("x"), {"word/document.xml": DTD}), "a.docx", "document_refused"),
        (rewritten(docx_of("x"), {"word/bomb.bin": b"\x00" * 210_000_000}), "a.docx", "document_too_large"),
    ],
)
async def test_what_is_no_document_is_an_error_that_says_why(
    sandbox: Sandbox, content: bytes, name: str, code: str
) -> None:
    error, said = await error_of(sandbox, content, name)

    assert error == code
    assert f"{name} cannot be read: " in said


@pytest.mark.parametrize("media_type", ["application/pdf", "application/pdf; version=1.7"])
async def test_text_that_only_bears_the_media_type_of_a_document_is_read_as_it_was_before(
    sandbox: Sandbox, media_type: str
) -> None:
    item = JobInput(name="old.pdf", media_type=media_type, content="Text that was taken out of a PDF.")

    assert "1: Text that was taken" in (await answered(sandbox, item, action="read", name="old.pdf")).text


def test_a_text_without_end_is_cut_with_a_notice() -> None:
    text = app.tools.document_text._text(iter(["x" * 1_500_000] * 3))

    assert len(text) < 2_000_200
    assert text.endswith("[cut here: a document is read up to 2000000 characters]")
