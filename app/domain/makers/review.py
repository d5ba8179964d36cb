"""The files of a review: to be read, to be posted, and to be loaded by tools."""

from collections.abc import Sequence

from app.domain.artifacts import Artifact
from app.domain.makers.review_comments import review_in_comments
from app.domain.makers.review_markdown import review_in_markdown
from app.domain.makers.review_sarif import review_in_sarif
from app.domain.makers.reviewed import reviewed
from app.domain.results import Result
from app.domain.snapshot import Snapshot


def review_files(run: Snapshot, result: Result) -> Sequence[Artifact]:
    """`review.md`, `review.sarif` and `comments.json`; none before the findings are ranked."""
    if (review := reviewed(run, result)) is None:
        return ()
    return (
        Artifact(name="review.md", media_type="text/markdown", text=review_in_markdown(review)),
        Artifact(name="review.sarif", media_type="application/sarif+json", text=review_in_sarif(review)),
        Artifact(name="comments.json", media_type="application/json", text=review_in_comments(review)),
    )
