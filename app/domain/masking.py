"""Jobs as they are stored: nothing in them looks like a credential."""

from typing import Any

from app.domain.credentials import without_credentials
from app.domain.job import Job, JobInput
from app.domain.media_types import kind_of_bytes


def masked(job: Job, *, inputs: bool) -> Job:
    """The job with a mark in the place of each credential in its texts, and where `inputs` says so, in its inputs.

    What is no text, such as a PDF, stays as it is.
    """
    changes: dict[str, Any] = {
        "objective": without_credentials(job.objective),
        "rubric": job.rubric and without_credentials(job.rubric),
        "metadata": {
            name: without_credentials(value) if isinstance(value, str) else value
            for name, value in job.metadata.items()
        },
    }
    if inputs:
        changes["inputs"] = tuple(map(_masked_input, job.inputs))
    return job.model_copy(update=changes)


def _masked_input(given: JobInput) -> JobInput:
    if kind_of_bytes(given.media_type, given.content):
        return given
    content = without_credentials(given.content)
    return given if content == given.content else given.model_copy(update={"content": content})
