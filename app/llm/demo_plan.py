"""How the demo model plans: by the words of the objective and of the workers' descriptions, and by their tools.

Tasks come in stages. What can be looked up or read is done side by side; figures are worked out from that; what is to
be written comes last and gets everything.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.domain.lint_words import is_delicate
from app.llm.demo_objective import Wish, stems, wish_of
from app.llm.demo_prompts import (
    FIGURES,
    GATHER,
    PART,
    SAY,
    SIGNED,
    WRITE,
    asked_and_about,
    excerpt,
    gist,
    number_after,
    opening_of,
    sections,
    urls_in,
    values,
)
from app.llm.model import Request

TASKS_UNLESS_TOLD = 4
CONTEXT_CHARACTERS = 2_000
QUOTED_CHARACTERS = 300
_TABLE = re.compile(r"csv|tab-separated|json|parquet", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Talent:
    """What shows that a worker is good for something."""

    words: re.Pattern[str]
    tools: frozenset[str] = frozenset()


_GATHERING = _Talent(
    stems("find", "research", "search", "look", "gather", "diagnos", "read", "facts?\\b", "sources?\\b", "investigat"),
    frozenset({"web_search", "fetch_page", "read_input"}),
)
_RECKONING = _Talent(
    stems("calculat", "analy", "figures?\\b", "data\\b", "number", "compar", "quer(?:y|ies)"),
    frozenset({"calculate", "query_data"}),
)
_WRITING = _Talent(stems("writ", "report", "draft", "document", "edit", "summar", "repl(?:y|ies)", "article"))
_HANDING_OVER = _Talent(stems("escalat", "hand-?over"))


@dataclass(frozen=True, slots=True)
class _Step:
    title: str
    instruction: str
    criterion: str
    worker: str


@dataclass(frozen=True, slots=True)
class _Job:
    """What the planner was given."""

    objective: str
    wish: Wish
    workers: Sequence[dict[str, Any]]
    inputs: Sequence[dict[str, Any]]
    tasks_allowed: int

    def best(self, talent: _Talent) -> str | None:
        """The worker that fits best; None when nothing about any of them fits."""
        hands_over = talent is _HANDING_OVER
        able = [worker for worker in self.workers if bool(_HANDING_OVER.words.search(worker["name"])) == hands_over]
        return max(able, key=lambda worker: _fitness(worker, talent))["name"] if _any_fits(able, talent) else None

    def reading_pages(self) -> str | None:
        """The worker that can read the pages that the objective names."""
        if not urls_in(self.objective):
            return None
        return next((worker["name"] for worker in self.workers if "fetch_page" in worker["tools"]), None)

    def sees_inputs(self, worker: str) -> bool:
        """Whether a worker has a tool that reads inputs."""
        return any({"query_data", "read_input"} & set(each["tools"]) for each in self.workers if each["name"] == worker)

    def inside(self) -> str | None:
        """The worker that can see the job's inputs; None when there are none, or nobody can."""
        kinds = {"query_data" if _is_table(given) else "read_input" for given in self.inputs}
        seeing = [worker for worker in self.workers if kinds & set(worker["tools"])]
        return max(seeing, key=lambda worker: len(kinds & set(worker["tools"])))["name"] if seeing else None


def plan(request: Request) -> dict[str, Any]:
    """A plan for the objective, within the number of tasks that the prompt allows."""
    found = sections(opening_of(request))
    objective = "\n".join(found.get("objective", [])).strip()
    job = _Job(
        objective=objective,
        wish=wish_of(objective),
        workers=values(found.get("workers", [])),
        inputs=values(found.get("inputs", [])),
        tasks_allowed=number_after("never more than", request.system, TASKS_UNLESS_TOLD),
    )
    strategy, stages = _strategy(request), _fitted(_stages(job), job)
    tasks = _with_tries(stages, job) if strategy == "select" else _tasks(stages, job)
    told = f"Say first that the demo model wrote it. Then give the {job.wish.kind}, task by task."
    brings: dict[str, Any] = {"workers": []} if "workers" in (request.output_schema or {}).get("properties", {}) else {}
    return {
        **brings,
        "goal": f"{SIGNED} {gist(objective)}",
        "strategy": strategy,
        "final_instruction": told if len(tasks) > 1 else "",
        "tasks": tasks,
    }


def _strategy(request: Request) -> str:
    """The first that is offered: the usual one, or the only one."""
    return str(((request.output_schema or {}).get("properties", {}).get("strategy") or {"enum": ["merge"]})["enum"][0])


def _with_tries(stages: list[list[_Step]], job: _Job) -> list[dict[str, Any]]:
    """The tasks where one of several results is to be chosen: the last step is tried twice, where there is room."""
    before, last = stages[:-1], stages[-1][0]
    if len(stages[-1]) > 1 or sum(map(len, before)) + 2 > job.tasks_allowed:
        before, last = [], _whole(job, job.best(_GATHERING))
    tries = min(2, job.tasks_allowed)
    tasks = _tasks([*before, [last] * tries], job)
    return [*tasks[:-tries], *(task | {"required": tries < 2} for task in tasks[-tries:])]


def _stages(job: _Job) -> list[list[_Step]]:
    """The steps in stages; each gets the results of all the stages before it."""
    gathered = _gathering(job)
    busy = {step.worker for step in gathered}
    reckoned = _only_by_others(_reckoning(job, alone=not gathered), busy)
    earlier = [*gathered, *reckoned]
    written = _only_by_others(_writing(job, len(earlier)), busy if earlier else set())
    later = [stage for stage in (reckoned, written + _handing_over(job)) if stage]
    if gathered and later:
        gathered = [_for_others(step, job) for step in gathered]
    if gathered and reckoned and job.wish.expression:  # what is to be worked out stands in the objective
        gathered, later = gathered + reckoned, later[1:]
    return ([gathered] if gathered else []) + later or [[_whole(job, job.best(_GATHERING))]]


def _for_others(step: _Step, job: _Job) -> _Step:
    """The step, told that others go on from it, where it would otherwise be the whole objective."""
    return replace(step, instruction=f"{GATHER} {job.objective}") if step.instruction == job.objective else step


def _gathering(job: _Job) -> list[_Step]:
    wish, inside = job.wish, job.inside()
    enough = wish.expression or (wish.writing and not wish.figures) or wish.hand_over
    if not (wish.facts or wish.subjects or inside or not enough):
        return []
    gatherer = inside if inside and not wish.outside else job.reading_pages() or job.best(_GATHERING)
    steps = [_about(subject, gatherer or _first(job)) for subject in wish.subjects] or [_whole(job, gatherer)]
    if inside and inside != gatherer:
        steps.append(_Step("Read the inputs", f"{GATHER} {job.objective}", "Every finding names its input.", inside))
    return steps


def _about(subject: str, worker: str) -> _Step:
    return _Step(
        subject[0].upper() + subject[1:], f"{PART} {subject}", "Every finding about it names its source.", worker
    )


def _whole(job: _Job, worker: str | None) -> _Step:
    """The objective as one task."""
    criterion = "It is answered, or it is said what is missing for that."
    return _Step(gist(job.objective, 80), job.objective, criterion, worker or _first(job))


def _reckoning(job: _Job, *, alone: bool) -> list[_Step]:
    worker = job.best(_RECKONING)
    if worker is None or not (job.wish.figures or job.wish.expression):
        return []
    if alone:
        return [_whole(job, worker)]
    instruction = f"{FIGURES} {job.objective}"
    return [_Step("Work out the figures", instruction, "Every figure comes with its expression or query.", worker)]


def _writing(job: _Job, steps_before: int) -> list[_Step]:
    worker = job.best(_WRITING)
    if worker is None or not (job.wish.writing or steps_before > 1):
        return []
    if not steps_before and not job.wish.hand_over:
        return [_whole(job, worker)]
    instruction = f"{WRITE.format(job.wish.kind)} {gist(job.objective, 300)}"
    return [_Step(f"Write the {job.wish.kind}", instruction, "Every figure in it stands in a result.", worker)]


def _handing_over(job: _Job) -> list[_Step]:
    worker = job.best(_HANDING_OVER)
    if worker is None or not job.wish.hand_over:
        return []
    instruction = f"{WRITE.format('escalation')} {gist(job.objective, 300)}"
    return [_Step("Write the escalation", instruction, "The next team can begin without asking back.", worker)]


def _only_by_others(steps: list[_Step], busy: set[str]) -> list[_Step]:
    """Steps of workers that have no earlier part: who gathers, reports on it in the same task."""
    return [step for step in steps if step.worker not in busy]


def _fitted(stages: list[list[_Step]], job: _Job) -> list[list[_Step]]:
    """The stages within the tasks allowed: middle stages go first, then subjects share a task."""
    while len(stages) > 1 and 1 + sum(map(len, stages[1:])) > job.tasks_allowed:
        stages = [stages[0], *stages[2:]]
    room = job.tasks_allowed - sum(map(len, stages[1:]))
    first = stages[0]
    if len(first) <= room:
        return stages
    if room == 1:
        return [[_whole(job, first[0].worker)], *stages[1:]]
    kept, rest = first[: room - 1], first[room - 1 :]
    shared = replace(
        rest[0],
        title=" and ".join(step.title for step in rest[:2]) + (" and others" if len(rest) > 2 else ""),
        instruction="\n".join(step.instruction for step in rest),
    )
    return [[*kept, shared], *stages[1:]]


def _tasks(stages: list[list[_Step]], job: _Job) -> list[dict[str, Any]]:
    tasks: list[dict[str, Any]] = []
    for stage in stages:
        before = [task["id"] for task in tasks]
        tasks += [_task(step, f"t{len(before) + place}", before, job) for place, step in enumerate(stage, 1)]
    return tasks


def _task(step: _Step, task_id: str, before: list[str], job: _Job) -> dict[str, Any]:
    instruction = _careful(step, job)
    told = job.objective in instruction
    return {
        "id": task_id,
        "title": step.title,
        "instruction": instruction,
        "context": "" if told else f"The objective: {excerpt(job.objective, CONTEXT_CHARACTERS)}",
        "success_criterion": step.criterion,
        "worker": step.worker,
        "depends_on": before,
        "required": True,
    }


def _careful(step: _Step, job: _Job) -> str:
    """The instruction, which quotes what it is about where that would order what the worker may not be able to do."""
    instruction, names = step.instruction, (given["name"] for given in job.inputs)
    if not is_delicate(instruction) and (
        job.sees_inputs(step.worker) or not any(name in instruction for name in names)
    ):
        return instruction
    asks, about = asked_and_about(instruction)
    line = " ".join(about.split()).replace('"', "'")
    quoted = line if len(line) <= QUOTED_CHARACTERS else gist(line, QUOTED_CHARACTERS)
    return f'{SAY if asks == about else asks} "{quoted}"'


def _fitness(worker: dict[str, Any], talent: _Talent) -> int:
    """Tools count, and words: three times in the name and where the description begins."""
    lead = " ".join(worker["description"].split()[:6])
    early = _hits(talent, worker["name"]) + _hits(talent, lead)
    without_tools = 2 if talent is _WRITING and not worker["tools"] else 0
    tools = 2 * len(talent.tools & set(worker["tools"]))
    return 3 * early + _hits(talent, worker["description"]) + tools + without_tools


def _hits(talent: _Talent, text: str) -> int:
    return len({word.lower() for word in talent.words.findall(text)})


def _any_fits(workers: Sequence[dict[str, Any]], talent: _Talent) -> bool:
    return any(_fitness(worker, talent) > 1 for worker in workers)


def _is_table(given: dict[str, Any]) -> bool:
    return bool(_TABLE.search(given["media_type"]) or _TABLE.search(given["name"].rpartition(".")[2]))


def _first(job: _Job) -> str:
    return str(job.workers[0]["name"])
