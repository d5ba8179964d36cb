"""The text of documents, with marks that say where it stands. Runs in a sandboxed process.

What is wrong with a document is told in words; what it does to memory and time ends this process and none of ours.
"""

import time
from collections.abc import Iterator
from typing import Any

from app.domain.base64_text import bytes_of
from app.domain.errors import FAULTS
from app.tools.document_faults import DocumentRefused
from app.tools.docx_text import docx_blocks
from app.tools.pdf_text import pdf_blocks

CHARACTERS_AT_MOST = 2_000_000
"""Of the text of one document; what comes behind is left out, and said to be."""
SECONDS_AT_MOST = 14.0
"""Of computing, after which what there is by then is the text: the process would be ended soon after."""

_BLOCKS = {"PDF": pdf_blocks, "DOCX": docx_blocks}


def answer(request: dict[str, Any], contents: Iterator[bytes]) -> dict[str, Any]:
    """`text`, or `code` and `error`. The request holds the `kind`; the one content is the document as base64."""
    try:
        [encoded] = contents
        return {"text": _text(_BLOCKS[request["kind"]](bytes_of(encoded.decode("ascii"))))}
    except DocumentRefused as refused:
        return {"code": refused.code, "error": str(refused)}
    except FAULTS as error:  # What a parser of foreign bytes meets with is broken.
        return {"code": "document_broken", "error": f"it is broken: {type(error).__name__}"}


def _text(blocks: Iterator[str]) -> str:
    """The blocks, each on lines of its own, as far as there is room and time."""
    kept: list[str] = []
    room, began = CHARACTERS_AT_MOST, time.process_time()  # The process may have done other jobs before.
    for block in blocks:
        kept.append(block[:room])
        room -= len(block) + 1
        if room <= 0:
            kept.append(f"[cut here: a document is read up to {CHARACTERS_AT_MOST} characters]")
            break
        if time.process_time() - began > SECONDS_AT_MOST:
            kept.append("[cut here: the rest of this document takes too long to read]")
            break
    return "\n".join(kept)
