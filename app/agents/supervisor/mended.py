"""What code adds to an answer that lacks it although it was asked for twice."""

from app.agents.supervisor.checks import unnamed_gaps
from app.agents.supervisor.finding_checks import untold_critical
from app.agents.supervisor.ground import Ground
from app.domain.results import Synthesis

MENDED = ("gap_unnamed", "finding_unnamed")
"""The flaws that it mends."""


def mended(told: Synthesis, ground: Ground) -> Synthesis:
    """The answer with what is missing from the results, and with critical findings, where it names neither."""
    parts = [told.answer]
    if unnamed := [each.title.strip() or each.task for each in unnamed_gaps(told, ground)]:
        parts += ["", f"Missing from this answer: {', '.join(unnamed)}."]
    if untold := untold_critical(told, ground.findings):
        places = [f"{each.location.file_name}:{each.location.line}" for each in untold]
        named = [f"- {place}: {each.message}" for place, each in zip(places, untold, strict=True)]
        parts += ["", "Critical findings:", "", *named]
    return told if len(parts) == 1 else told.model_copy(update={"answer": "\n".join(parts)})
