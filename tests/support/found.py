"""Runs whose workers report findings, told fact by fact."""

from dataclasses import replace
from typing import Any

from app.domain import events as ev
from app.domain.job import JobInput
from app.domain.policy.findings_due import unplaced
from app.domain.policy.sift import placing
from app.domain.team import Team
from tests.support.story import BAKER, WORKER, Story, brief, task

FINDERS = Team(
    name="crew",
    workers=(WORKER.model_copy(update={"output": "findings"}), BAKER.model_copy(update={"output": "findings"})),
)
"""A team of which both workers report findings."""
TEXT = JobInput(name="notes.txt", content="".join(f"line {number}.\n" for number in range(1, 31)))
DIFF = JobInput(
    name="change.diff",
    media_type="text/x-diff",
    content="""\
diff --git a/src/a.py b/src/a.py
--- a/src/a.py
+++ b/src/a.py
@@ -10,4 +10,5 @@
 def total(rows):
-    return sum(rows)
+    query = "select " + rows
+    return run(query)
 # the other one
 def other():
@@ -40,2 +41,2 @@
-    old = 1
+    new = 1
     return run(query)
""",
)


def report(line: int = 3, evidence: str | None = None, **changes: Any) -> dict[str, Any]:
    """A finding about a line of `TEXT`, as a worker reports it."""
    place = {"input": TEXT.name, "path": None, "line": line, "end_line": line}
    told = {
        "severity": "warning",
        "category": "wording",
        "message": f"The wording of number {line} misleads its readers.",
        "location": place | changes.pop("location", {}),
        "evidence": f"line {line}." if evidence is None else evidence,
        "suggestion": "",
        "confidence": 90,
    }
    return told | changes


def in_diff(line: int, evidence: str, path: str | None = "src/a.py", **changes: Any) -> dict[str, Any]:
    """One about a line of `DIFF`."""
    place = {"input": DIFF.name, "path": path, "line": line, "end_line": line}
    return report(line, evidence, location=place, **changes)


def found(*reports: list[dict[str, Any]], team: Team = FINDERS, **limits: Any) -> Story:
    """A run whose tasks a, b, c and so on have delivered these findings; every other is the baker's."""
    story = Story(replace(brief(**limits), team=team))
    names = "abcdefgh"[: len(reports)]
    story.queued()
    story.started()
    tasks = [task(name).model_copy(update={"worker": ("able", "baker")[n % 2]}) for n, name in enumerate(names)]
    story.tell(ev.PlanCreated(tasks=tuple(tasks), revision=1))
    for name, findings in zip(names, reports, strict=True):
        story.succeed(name, data={"findings": findings})
    return story


def placed(*reports: list[dict[str, Any]], team: Team = FINDERS, **limits: Any) -> Story:
    """The same once their places were looked up."""
    story = found(*reports, team=team, **limits)
    place(story)
    return story


def place(story: Story) -> None:
    """Look up the places of what has been delivered."""
    for fact in placing(story.run, unplaced(story.run), (TEXT, DIFF), {}):
        story.tell(fact)


def verifying() -> Story:
    """A run in which a verifier is about to be asked about f1."""
    return placed([report(3, severity="critical")])
