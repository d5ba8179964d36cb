"""Jobs as they are stored: nothing in them looks like a credential."""

from app.domain.credentials import without_credentials
from app.domain.job import Job, JobInput
from app.domain.media_types import kind_of_bytes


def masked(job: Job, *, inputs: bool) -> Job:
    """The job with a mark in the place of each credential in its texts, and where `inputs` says so, in its inputs.

    What is no text, such as a PDF, stays as it is.
    """
    return job.model_copy(
        update={
            "objective": without_credentials(job.objective),
            "rubric": job.rubric and without_credentials(job.rubric),
            "metadata": {
                name: without_credentials(value) if isinstance(value, str) else value
                for name, value in job.metadata.items()
            },
            "inputs": tuple(_masked_input(given, content=inputs) for given in job.inputs),
        }
    )


def _masked_input(given: JobInput, *, content: bool) -> JobInput:
    """Its name is masked in any case: events tell of it, and tools must know it by the name that they tell."""
    keeps = not content or kind_of_bytes(given.media_type, given.content)
    shown = given.content if keeps else without_credentials(given.content)
    return given.model_copy(update={"name": without_credentials(given.name), "content": shown})
