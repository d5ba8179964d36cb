"""Two hundred scripted findings in a diff of twenty files: how many end where they should.

The places are looked up and the findings merged, looked at again, filtered and ranked by the real code, without a
process or a database; a script plays the verifier, and refutes what it is told to. Each of the points is written by
hand in three ways that mean the same. How many words two messages must share was chosen with these at hand: in other
words than these it may do worse.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random
from time import perf_counter
from typing import Any

from app.agents.converse import consequences
from app.domain.events import PlanCreated
from app.domain.findings import SuppressReason
from app.domain.fold_conversation import conversation_after
from app.domain.job import JobInput
from app.domain.policy.findings_due import unplaced
from app.domain.policy.sift import placing
from app.domain.team import Team
from app.domain.team_rules import FindingRules
from app.domain.worker import Worker
from tests.support.story import Story, brief, called, task
from tests.support.stub_answers import as_json

LENSES = ("bugs", "security", "history", "comments")
FILES = 20
LINES = 90
KINDS = {
    "right": 60, "misplaced, to be moved": 25, "misplaced, to be dropped": 20, "of a hallucinated place": 15,
    "duplicate": 35, "below the threshold": 25, "refuted": 20,
}  # fmt: skip
EXPECTED: dict[str, SuppressReason | None] = {
    "right": None, "misplaced, to be moved": None, "misplaced, to be dropped": "not_at_location",
    "of a hallucinated place": "not_at_location", "duplicate": "duplicate",
    "below the threshold": "below_threshold", "refuted": "refuted",
}  # fmt: skip
"""Why each is suppressed; None for those that are left."""
POINTS = (
    ("The user name is concatenated into the SQL statement, which allows injection.",
     "SQL injection: the statement is built by concatenating the user name.",
     "Unescaped user name in a SQL statement: whoever sends it can inject their own."),
    ("The file handle is never closed when parsing fails.",
     "If parsing raises, the opened file stays open: the handle leaks.",
     "File handle leaks on a parsing failure, since nothing closes it."),
    ("The retry loop has no upper bound and may spin forever.",
     "Retries are unbounded: the loop never gives up.",
     "This loop retries forever, as it lacks an upper bound."),
    ("The discount is applied twice for returning customers.",
     "Returning customers get the discount two times.",
     "Double discount: it is applied here and again for returning customers."),
    ("An empty list leads to a division by zero in the average.",
     "Division by zero: the average of an empty list.",
     "The average divides by the length, which is zero for an empty list."),
    ("The lock is released before the balance is written.",
     "The balance is written after the lock was released, so that two writers race.",
     "Race: writing the balance happens outside the lock, which is released too early."),
    ("The comment still says that the result is cached, and it no longer is.",
     "Stale comment: the result is not cached any more.",
     "This comment is outdated: nothing is cached any longer, though it says the result is."),
    ("The time zone of the deadline is dropped.",
     "The deadline loses its time zone here.",
     "Dropping the time zone makes the deadline ambiguous."),
    ("The token is compared with == and leaks timing.",
     "Timing leak: tokens should be compared in constant time, not with ==.",
     "Comparing the token with == reveals by its timing how much matches."),
    ("The exception is swallowed and the job counts as done.",
     "Swallowed exception: a failed job counts as done.",
     "Since the exception is swallowed here, the job is marked as done although it failed."),
    ("The page size comes from the request without a limit.",
     "No limit on the page size of the request: one client can ask for everything.",
     "An unlimited page size is taken from the request."),
    ("The old column is still read, although the migration drops it.",
     "The migration drops this column, and here it is still read.",
     "Reads a column that no longer exists after the migration."),
)  # fmt: skip


@dataclass(slots=True)
class Scripted:
    """A finding, and where it should end."""

    kind: str
    lens: str
    told: dict[str, Any]
    line: int
    """Where it belongs."""
    point: int = -1
    original: int | None = None
    """Of a duplicate: the place of the other in the list."""


@dataclass(slots=True)
class Outcome:
    """What became of them."""

    ended: dict[str, Counter[str]] = field(default_factory=dict)
    """By kind: what it was suppressed for, or `left`."""
    well: Counter[str] = field(default_factory=Counter)
    """By kind: how many ended where they should."""
    counts: list[tuple[str, dict[str, int]]] = field(default_factory=list)
    looks: int = 0
    placing_ms: float = 0


def _line(file: int, number: int) -> str:
    """What stands there: every ninth line is one that is found in each file several times."""
    return (
        "    return None" if number % 9 == 0 else f"    value_{file}_{number} = compute_{number}(row, {number * file})"
    )


def diff() -> JobInput:
    """Twenty files, of each of which the diff shows three parts; every third line is new."""
    parts = []
    for file in range(FILES):
        parts += [f"diff --git a/src/m{file}.py b/src/m{file}.py", f"--- a/src/m{file}.py", f"+++ b/src/m{file}.py"]
        for first in (1, 31, 61):
            numbers = range(first, first + 30)
            old = sum(number % 3 != 0 for number in numbers)
            parts.append(f"@@ -{first - (first // 3)},{old} +{first},30 @@")
            parts += [f"{'+' if number % 3 == 0 else ' '}{_line(file, number)}" for number in numbers]
    return JobInput(name="change.diff", media_type="text/x-diff", content="\n".join(parts) + "\n")


class _Script:
    def __init__(self, seed: int) -> None:
        self._chance = Random(seed)
        self._free = [(file, line) for file in range(FILES) for line in range(1, LINES + 1) if line % 9]
        self._chance.shuffle(self._free)
        self.found: list[Scripted] = []

    def write(self) -> list[Scripted]:
        for kind, count in KINDS.items():
            for number in range(count):
                self._add(kind, number)
        self._chance.shuffle(order := list(range(len(self.found))))
        place = {before: after for after, before in enumerate(order)}
        shuffled = [self.found[before] for before in order]
        for each in shuffled:
            each.original = None if each.original is None else place[each.original]
        return shuffled

    def _add(self, kind: str, number: int) -> None:
        if kind == "duplicate":
            original = self.found[number]
            lens = self._chance.choice([lens for lens in LENSES if lens != original.lens])
            message = POINTS[original.point][1 + number % 2]
            told = original.told | {"message": message, "category": lens, "confidence": self._chance.randint(80, 99)}
            self.found.append(Scripted(kind, lens, told, original.line, original.point, number))
            return
        beside = kind == "right" and number % 5 == 4
        point = number % len(POINTS)
        if beside:  # Another point at the line of the one before it.
            file, line = self._place
        else:
            self._place = file, line = self._free.pop()
        lens = self._chance.choice(LENSES)
        confidence = self._chance.randint(20, 59) if kind == "below the threshold" else self._chance.randint(80, 99)
        grave = kind == "refuted" or (kind == "right" and number % 6 == 0)
        told = {
            "severity": "critical" if grave else self._chance.choice(["warning", "info"]),
            "category": lens,
            "message": POINTS[point][0],
            "location": {"input": "change.diff", "path": f"src/m{file}.py", "line": line, "end_line": line},
            "evidence": _line(file, line).strip(),
            "suggestion": "",
            "confidence": confidence,
        }
        self.found.append(Scripted(kind, lens, told | self._odd(kind, number, file, line), line, point))

    def _odd(self, kind: str, number: int, file: int, line: int) -> dict[str, Any]:
        path, off = f"src/m{file}.py", (line + self._chance.randint(2, 15)) % LINES + 1
        match kind:
            case "misplaced, to be moved":
                return {"location": _at(path, off if off != line else off + 1)}
            case "misplaced, to be dropped" if number % 2:
                return {"location": _at(path, line), "evidence": "return None"}
            case "misplaced, to be dropped":
                return {"location": _at(path, line), "evidence": _line(file, line).strip().replace("compute", "reckon")}
            case "of a hallucinated place" if number % 3 == 0:
                return {"location": _at(path, line) | {"input": "other.diff"}}
            case "of a hallucinated place":
                return {"location": _at(f"src/{'core' if number % 3 == 1 else 'm' + str(FILES + number)}.py", line)}
        return {}


def _at(path: str, line: int) -> dict[str, Any]:
    return {"input": "change.diff", "path": path, "line": line, "end_line": line}


def _begun(found: list[Scripted]) -> Story:
    """A run in which every lens has delivered what it found."""
    workers = [Worker(name=lens, description=lens, instructions=lens, output="findings") for lens in LENSES]
    team = Team(name="lenses", workers=tuple(workers), findings=FindingRules(second_looks=50))
    story = Story(replace(brief(concurrency=10), team=team))
    story.queued()
    story.started()
    tasks = [task(lens).model_copy(update={"worker": lens}) for lens in LENSES]
    story.tell(PlanCreated(tasks=tuple(tasks), revision=1))
    for lens in LENSES:
        story.succeed(lens, data={"findings": [each.told for each in found if each.lens == lens]})
    return story


def measure(seed: int = 20_261_129) -> Outcome:
    """What becomes of them."""
    found, outcome = _Script(seed).write(), Outcome()
    story = _begun(found)
    names = {}
    for number, index in enumerate((i for lens in LENSES for i, each in enumerate(found) if each.lens == lens), 1):
        names[f"f{number}"] = index
    began = perf_counter()
    facts = placing(story.run, unplaced(story.run), (diff(),), {})
    outcome.placing_ms = (perf_counter() - began) * 1000
    for fact in facts:
        story.tell(fact)
    _look_again(story, found, names, outcome)
    story.settle()
    outcome.counts = [*_counts(story)]
    _judge(story, found, names, outcome)
    return outcome


def _look_again(story: Story, found: list[Scripted], names: dict[str, int], outcome: Outcome) -> None:
    while topics := story.talking():
        topic = topics[0]
        if topic.purpose != "verify":
            return
        refutes = found[names[f"f{topic.number}"]].kind == "refuted"
        verdict = {"reason": "So it is.", "verdict": "refuted" if refutes else "confirmed", "confidence": 90}
        content = as_json(verdict | {"severity": None, "message": None, "suggestion": None}).content
        reply = called("verify", number=topic.number).completed(stop_reason="end_turn", content=list(content))
        talk = conversation_after(story.talk(topic), reply)
        story.record(topic.entry(reply), *consequences(story.run, topic, talk, {}))
        outcome.looks += 1


def _counts(story: Story) -> Iterator[tuple[str, dict[str, int]]]:
    for event in story.log:
        if event.type.startswith("findings."):
            told = event.data.model_dump()
            sizes = {name: len(value) for name, value in told.items() if isinstance(value, list | tuple)}
            numbers = {name: value for name, value in told.items() if isinstance(value, int)}
            yield (
                event.type,
                numbers | {name: size for name, size in sizes.items() if name not in ("tasks", "findings")},
            )


def _judge(story: Story, found: list[Scripted], names: dict[str, int], outcome: Outcome) -> None:
    sifting = story.run.answering.sifting
    left = {names[each.id]: each for each in sifting.left}
    gone = {names[each.id]: each for each in sifting.suppressed}
    for index, each in enumerate(found):
        end = gone[index].reason if index in gone else "left"
        outcome.ended.setdefault(each.kind, Counter())[end] += 1
        outcome.well[each.kind] += _is_well(index, each, end, found, left, gone, names)


def _is_well(
    index: int, each: Scripted, end: str, found: list[Scripted], left: Any, gone: Any, names: dict[str, int]
) -> bool:
    """Whether a finding is where it should be. Of two that are one either may stand for both."""
    pair = next((other for other, it in enumerate(found) if it.original == index), each.original)
    if pair is not None and end == "duplicate":
        return names[gone[index].duplicate_of] == pair
    if pair is not None and end == "left":
        return pair in gone and gone[pair].reason == "duplicate" and left[index].location.line == each.line
    if EXPECTED[each.kind] is None:
        return end == "left" and left[index].location.line == each.line
    return end == EXPECTED[each.kind]
