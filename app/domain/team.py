"""A team: a supervisor, its workers, and the limits they work within."""

import hashlib
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from app.domain.job import Limits, TeamName

WorkerName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
TIERS = ("fast", "balanced", "deep")
ModelName = Annotated[str, StringConstraints(min_length=1, max_length=200)]
"""A tier (`fast`, `balanced`, `deep`) or a model id."""


Rung = Literal["refine", "stronger_model", "fallback_worker", "ask_human", "give_up"]
"""What may follow when an attempt has failed: the same worker with a rewritten instruction, the same on the next tier,
the worker that it names as its fallback, a question to a person when the worker has escalated, or nothing."""
LADDER: tuple[Rung, ...] = ("refine", "stronger_model", "fallback_worker", "ask_human")


QUESTION_TIMEOUT_S = 3_600.0


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")


class Supervisor(_Part):
    """Who plans and reconciles."""

    model: ModelName = "deep"
    """A tier (`fast`, `balanced`, `deep`) or a model id."""
    instructions: str = ""
    """What it is told about this team: who does what, and what a good plan looks like."""
    examples: tuple[str, ...] = ()
    """Plans that it should take as models, each after the objective it belongs to."""


class Worker(_Part):
    """A role: what it is good for, what it is told, and what it may use."""

    name: WorkerName
    """Its name in plans: lower-case letters, digits, `-` and `_`."""
    description: str = Field(min_length=1)
    """What the supervisor reads when it chooses a worker."""
    instructions: str = Field(min_length=1)
    """What the worker itself is told, whatever its task."""
    model: ModelName = "balanced"
    """A tier (`fast`, `balanced`, `deep`) or a model id."""
    tools: tuple[str, ...] = ()
    """Names of the tools it may use, of those under `/v1/tools`."""
    max_steps: int = Field(default=10, ge=1, le=100)
    """Model replies in one attempt."""
    timeout_s: float = Field(default=180, gt=0, le=86_400)
    """Seconds of one attempt."""
    must_use: tuple[str | tuple[str, ...], ...] = Field(default=(), max_length=20)
    """Tools without which its tasks cannot be done: its result is taken once a call of each has succeeded. A list among
    them names several of which one will do."""
    output_schema: dict[str, Any] | None = None
    """JSON schema that the `data` of the worker's result must fit."""
    fallback: WorkerName | None = None
    """Another worker of the team that may take over a task at which this one fails."""
    kind: WorkerName | None = None
    """Workers of one kind do the same work: a task for one of them is begun by whichever is less loaded."""

    @property
    def needed_tools(self) -> tuple[tuple[str, ...], ...]:
        """What it must use, as alternatives each."""
        return tuple((each,) if isinstance(each, str) else each for each in self.must_use)

    @property
    def models(self) -> tuple[str, ...]:
        """Who may play it: its own model, and above a tier the higher ones."""
        return TIERS[TIERS.index(self.model) :] if self.model in TIERS else (self.model,)


def _unsaid_of(worker: Worker) -> set[str]:
    """Its fields that the first release lacked and that say nothing."""
    return {name for name in ("fallback", "kind", "must_use") if not getattr(worker, name)}


class Condition(_Part):
    """What a text must have for a route to be taken."""

    contains: tuple[Annotated[str, StringConstraints(min_length=1, max_length=200)], ...] = Field(
        min_length=1, max_length=50
    )
    """Words or phrases, of which the text holds at least one; letter case does not matter."""

    def holds_for(self, folded: str) -> bool:
        """Whether a text meets it, of which the letter case is folded."""
        return any(phrase.casefold() in folded for phrase in self.contains)


class Route(_Part):
    """A rule that sends jobs or tasks to a worker, without asking a model."""

    when: Condition
    """Looked for in the objective of a job, and in the title and the instruction of a task."""
    worker: WorkerName
    """Who does them."""


class Stragglers(_Part):
    """What is done about tasks that take much longer than the others."""

    policy: Literal["wait", "drop", "hedge"] = "wait"
    """`wait` for them; `drop` them once all else is done: the run goes on to its answer, and uses what still comes
    before its end; or `hedge`: a second worker tries the same side by side, and the first result counts."""
    quorum: float | None = Field(default=None, gt=0, lt=1)
    """With `drop`, the part of the tasks that must have delivered before any is dropped; null for 0.75."""
    after_s: float | None = Field(default=None, gt=0, le=86_400)
    """Seconds after which a task is a straggler; null for three times what the others took."""

    @model_validator(mode="after")
    def _fits_its_policy(self) -> "Stragglers":
        if self.quorum is not None and self.policy != "drop":
            raise ValueError(f"a quorum goes with the policy drop; this is {self.policy}")
        if self.after_s is not None and self.policy == "wait":
            raise ValueError("after_s goes with the policies drop and hedge; this is wait")
        return self


class Team(_Part):
    """A team as it is stored: immutable, and numbered by version."""

    name: TeamName
    """Its name: lower-case letters, digits and `-`."""
    description: str = ""
    """What it is good for, for people."""
    supervisor: Supervisor = Supervisor()
    """Who plans and reconciles."""
    workers: tuple[Worker, ...] = Field(min_length=1, max_length=50)
    """Who does the tasks."""
    tool_isolation: Literal["exclusive", "shared"] = "exclusive"
    """`exclusive` refuses a team in which two workers share a tool."""
    limits: Limits = Limits()
    """Limits of its runs, unless a job has others."""
    routing: tuple[Route, ...] = Field(default=(), max_length=50)
    """Rules, of which the first that fits is followed. A job whose objective fits becomes one task, and no plan is
    asked for; a planned task that fits goes to the rule's worker, whatever the plan says."""
    ladder: tuple[Rung, ...] = LADDER
    """What follows the first failed attempt at a task, the second and so on, as far as it is possible; after the last,
    the instruction is refined again. Escalations that the supervisor does not rule on climb it too."""
    question_timeout_s: float = Field(default=QUESTION_TIMEOUT_S, gt=0, le=86_400)
    """Seconds until a question to a person expires and its default is taken; sooner where the run has less time."""

    stragglers: Stragglers = Stragglers()
    """What is done about tasks that take much longer than the others."""
    conflicts: Literal["surface", "fail", "ask_human"] = "surface"
    """What becomes of contradictions between results that the supervisor could not resolve: the answer gives every side
    (`surface`), there is no answer (`fail`), or a person is asked first (`ask_human`)."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema that the `data` of its results must fit, unless a job has its own."""

    @model_validator(mode="after")
    def _is_consistent(self) -> "Team":
        names = [worker.name for worker in self.workers]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"workers named twice: {', '.join(repeated)}")
        known = set(names)
        for worker in self.workers:
            if worker.fallback is not None and (worker.fallback not in known or worker.fallback == worker.name):
                raise ValueError(f"the fallback of {worker.name} is no other worker of the team: {worker.fallback}")
            if foreign := sorted({tool for tools in worker.needed_tools for tool in tools} - set(worker.tools)):
                raise ValueError(f"{worker.name} must use tools that it does not have: {', '.join(foreign)}")
            if not all(worker.needed_tools):
                raise ValueError(f"{worker.name} must use one of no tools at all")
        if strangers := sorted({route.worker for route in self.routing} - known):
            raise ValueError(f"routes lead to workers that the team lacks: {', '.join(strangers)}")
        if self.tool_isolation == "exclusive" and (shared := self._tools_of_several()):
            raise ValueError(f"workers share tools, and tool_isolation is exclusive: {', '.join(shared)}")
        return self

    def _tools_of_several(self) -> list[str]:
        """Tools of several workers that are not of one kind."""
        roles: dict[str, set[tuple[str | None, str]]] = {}
        for worker in self.workers:
            role = (worker.kind, "") if worker.kind else (None, worker.name)
            for tool in worker.tools:
                roles.setdefault(tool, set()).add(role)
        return sorted(tool for tool, users in roles.items() if len(users) > 1)

    @model_validator(mode="after")
    def _kinds_make_sense(self) -> "Team":
        for worker in self.workers:
            if worker.kind is None:
                continue
            peers = [other for other in self.workers if other.kind == worker.kind and other is not worker]
            if not peers:
                raise ValueError(f"the kind {worker.kind} has one worker only: {worker.name}")
            if any(other.output_schema != worker.output_schema for other in peers):
                raise ValueError(f"the workers of the kind {worker.kind} have different output_schema")
        return self

    def route_for(self, *texts: str) -> str | None:
        """The worker that the first rule for any of the texts leads to; None without one."""
        folded = [text.casefold() for text in texts] if self.routing else []
        return next((route.worker for route in self.routing if any(map(route.when.holds_for, folded))), None)

    def worker(self, name: str) -> Worker | None:
        """The worker of that name."""
        return self._by_name.get(name)

    def peers_of(self, name: str) -> tuple[str, ...]:
        """The other workers of the same kind."""
        worker = self.worker(name)
        kind = worker.kind if worker else None
        return tuple(each.name for each in self.workers if each.kind == kind and each.name != name) if kind else ()

    @property
    def workers_with_kinds(self) -> list[str]:
        """The workers that have others of their kind."""
        return [worker.name for worker in self.workers if worker.kind]

    @cached_property
    def _by_name(self) -> dict[str, Worker]:
        return {worker.name: worker for worker in self.workers}

    @property
    def digest(self) -> str:
        """SHA-256 of the definition: equal digests mean an unchanged team."""
        return hashlib.sha256(self.definition.encode()).hexdigest()

    @property
    def definition(self) -> str:
        """The team as JSON, as it is stored.

        Fields that the first release lacked are left out where they say nothing: it reads the team then, and an
        unchanged team keeps its digest.
        """
        unsaid: dict[str, Any] = {
            "workers": {n: fields for n, each in enumerate(self.workers) if (fields := _unsaid_of(each))}
        }
        if self.ladder == LADDER:
            unsaid["ladder"] = True
        if self.question_timeout_s == QUESTION_TIMEOUT_S:
            unsaid["question_timeout_s"] = True
        if not self.routing:
            unsaid["routing"] = True
        if self.stragglers == Stragglers():
            unsaid["stragglers"] = True
        if self.conflicts == "surface":
            unsaid["conflicts"] = True
        if self.output_schema is None:
            unsaid["output_schema"] = True
        return self.model_dump_json(exclude=unsaid)


class TeamRef(_Part):
    """A team and the version a run is pinned to."""

    name: str
    """Name of the team."""
    version: int
    """Its version; teams never change, they get a new one."""
