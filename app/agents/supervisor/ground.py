"""What an answer may rest on: the results, what was asked, and what has been settled since."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from app.agents.findings_shown import counts_said
from app.agents.supervisor.checked_lists import CheckedList, checked_lists
from app.domain.answer_figures import counts_in
from app.domain.answering import Settled
from app.domain.contradictions import Source, contradictions
from app.domain.figures import Seen, values_in, values_of
from app.domain.findings import Finding, Suppressed
from app.domain.policy.handed_up import conflicts_handed_up
from app.domain.quotations import Words
from app.domain.reduction_tree import contradictions_in, named_in
from app.domain.reductions import Reduction
from app.domain.results import Conflict, Output
from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState
from app.domain.text import texts_within


@dataclass(frozen=True, slots=True)
class Missing:
    """A task that the answer has to do without."""

    task: str
    title: str = ""
    required: bool = True
    for_lack_of: frozenset[str] = frozenset()
    """Tasks before it that delivered nothing either."""


@dataclass(frozen=True)
class Ground:
    """What an answer may rest on."""

    outputs: Mapping[str, Output]
    """What was delivered, by task."""
    given: Sequence[str] = ()
    """Texts beside the results in which what the answer says may stand: the objective, titles, assumptions."""
    missing: Sequence[Missing] = ()
    seen_by: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Whose results each task was given, directly or through others."""
    known: Sequence[Conflict] = ()
    """Contradictions that code has found in structured results."""
    settled: Sequence[Settled] = ()
    """Conflicts about which a person or a judge was asked and has answered."""
    ties: Mapping[str, Conflict] = field(default_factory=dict)
    """Conflicts that a task was to decide which has delivered, by the ids of these tasks."""
    schema: Mapping[str, Any] | None = None
    """The form of the caller's `data`."""
    checked: Sequence[CheckedList] = ()
    """Lists in them that are those of workers, since code has checked these."""
    findings: Sequence[Finding] = ()
    """What workers found, as far as it is left."""
    suppressed: Sequence[Suppressed] = ()
    """What they found that was left out."""
    vouched: Sequence[str] = ()
    """Reductions of the results, held against these before: their figures may be repeated, their words not quoted."""

    @cached_property
    def figures(self) -> Seen:
        """Every figure that the answer may repeat."""
        given = (value for text in (*self.given, *self.vouched) for value in values_in(text))
        total, delivered = len(self.outputs) + len(self.missing), len(self.outputs)
        counts = [total, delivered, total - delivered, delivered / max(total, 1), 1 - delivered / max(total, 1)]
        sources = [len(output.sources) for output in self.outputs.values()]
        return Seen([*given, *counts, *sources, sum(sources), *self._figures_of_results])

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Everything that the answer may quote."""
        return (*self.given, *(text for name in self.outputs for text in self.texts_of(name)))

    def holds(self, text: str) -> bool:
        """Whether `text` stands there, letter for letter."""
        return any(text in other for other in self.texts)

    @cached_property
    def words(self) -> Words:
        """The words of all that."""
        return Words(self.texts)

    @cached_property
    def _figures_of_results(self) -> list[float]:
        return [value for name in self.outputs for value in self._figures_of(name)]

    def figures_of(self, *tasks: str) -> Seen:
        """The figures of these results alone, and of what was given."""
        given = (value for text in self.given for value in values_in(text))
        return Seen([*given, *(value for name in tasks if name in self.outputs for value in self._figures_of(name))])

    def _figures_of(self, name: str) -> Iterator[float]:
        output = self.outputs[name]
        for text in (*output.texts, *output.sources):
            yield from values_in(text)
        yield from counts_in((output.text,))
        yield from values_of(output.data)

    def texts_of(self, name: str) -> Iterator[str]:
        """All the texts of a result."""
        output = self.outputs[name]
        yield from (*output.texts, *output.sources)
        yield from texts_within(output.data)


def ground_of(run: Snapshot) -> Ground:
    """What the answer in the making may rest on."""
    delivered, missing = run.reconcilable, run.lacked
    return Ground(
        outputs=_outputs(run, delivered),
        given=tuple(_given(run, delivered, missing)),
        vouched=tuple(part.text for part in named_in(run) if isinstance(part, Reduction)),
        missing=tuple(_missing(run, task) for task in missing),
        seen_by=_seen_by(run),
        known=known_conflicts(run),
        settled=run.answering.settled,
        ties=broken_ties(run),
        schema=run.brief.output_schema,
        checked=checked_lists(run),
        findings=run.answering.sifting.left,
        suppressed=run.answering.sifting.suppressed,
    )


def _outputs(run: Snapshot, delivered: Sequence[TaskState]) -> dict[str, Output]:
    """What was delivered. Findings count as far as they are left, for each of the tasks that found them."""
    outputs = {task.task.id: task.output for task in delivered if task.output is not None}
    sifting = run.answering.sifting
    for name in sifting.tasks & outputs.keys():
        own = [each.model_dump(exclude={"id", "tasks"}) for each in sifting.left if name in each.tasks]
        outputs[name] = outputs[name].model_copy(update={"data": {"findings": own}})
    return outputs


def broken_ties(run: Snapshot) -> dict[str, Conflict]:
    """The tasks that were to decide conflicts and have delivered, with these."""
    delivered = {task.task.id for task in run.reconcilable}
    found = ((task, run.answering.conflict(name)) for name, task in run.answering.ties.items())
    return {task: conflict for task, conflict in found if conflict is not None and task in delivered}


def known_conflicts(run: Snapshot) -> tuple[Conflict, ...]:
    """What structured results contradict each other in, what was seen when groups of results were put together, and
    what nested runs leave open, but for what a person or a judge has settled."""
    seen = _seen_by(run)
    sources = [
        Source(task.task.id, task.output.data, task.task.instruction, seen[task.task.id])
        for task in run.reconcilable
        if task.output is not None and task.output.data is not None
    ]
    settled = {each.topic for each in run.answering.settled}
    found = contradictions(sources)
    found += [
        Conflict(id=f"r{number}", topic=each.topic, claims=each.claims, status="unresolved")
        for number, each in enumerate(contradictions_in(run), 1)
    ]
    found += conflicts_handed_up(run.reconcilable)
    return tuple(conflict for conflict in found if conflict.topic not in settled)


def _given(run: Snapshot, delivered: Sequence[TaskState], missing: Sequence[TaskState]) -> Iterator[str]:
    yield run.brief.objective
    if run.plan is not None:
        yield from (run.plan.goal, run.plan.final_instruction)
    for task in (*delivered, *missing):
        yield from (task.task.id, task.task.title)
    for task in missing:
        if task.error is not None:
            yield task.error.message
    for each in run.assumed_by(delivered):
        yield from (each.question, each.assumption)
    yield from (each.answer for each in run.answering.settled)
    yield from (item.name for item in run.brief.inputs)
    yield from counts_said(run)


def _missing(run: Snapshot, task: TaskState) -> Missing:
    before = _before(run, task.task.id)
    dead = frozenset(name for name in before if name in run.tasks and not run.tasks[name].delivered)
    is_victim = task.error is not None and task.error.code == "dependency_failed"
    required = task.task.required and not task.delivered
    return Missing(task.task.id, task.task.title, required, dead if is_victim else frozenset())


def _seen_by(run: Snapshot) -> dict[str, frozenset[str]]:
    return {name: _before(run, name) for name in run.tasks}


def _before(run: Snapshot, name: str) -> frozenset[str]:
    """The tasks that come before one, at any distance."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        task = run.tasks.get(waiting.pop())
        new = set(task.task.depends_on) - found if task else set()
        found |= new
        waiting += new
    return frozenset(found)
