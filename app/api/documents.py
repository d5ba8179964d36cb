"""Documents among the inputs of a job, looked at before the job is taken: what is plainly none is told at once."""

import asyncio
from collections.abc import Sequence

from app.api.errors import Refusal
from app.domain.base64_text import NotBase64, bytes_of
from app.domain.job import JobInput
from app.domain.media_types import DOCUMENTS, begins_as, essence_of


async def refuse_false_documents(inputs: Sequence[JobInput]) -> None:
    """Raises `Refusal` for documents that are no base64, or do not begin as their media type says.

    What else is wrong with one shows when it is read: it may take seconds to find out.
    """
    documents = [(place, item) for place, item in enumerate(inputs) if essence_of(item.media_type) in DOCUMENTS]
    if not documents:
        return
    faults = await asyncio.to_thread(lambda: [(place, _fault(item)) for place, item in documents])
    if errors := [{"pointer": f"/inputs/{place}/content", "detail": fault} for place, fault in faults if fault]:
        raise Refusal(422, "request_invalid", "The job has a document that is none.", errors=errors)


def _fault(item: JobInput) -> str:
    kind = DOCUMENTS[essence_of(item.media_type)]
    try:
        bytes_of(item.content)
    except NotBase64:
        return f"A {kind} is sent as base64, and this is none."
    return "" if begins_as(item.media_type, item.content) else f"This does not begin like a {kind}."
