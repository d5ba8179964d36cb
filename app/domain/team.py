"""A team: a supervisor, its workers, and the limits they work within."""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

from pydantic import Field, model_validator

from app.domain import team_faults
from app.domain.job import Limits, TeamName
from app.domain.plan_template import PlanTemplate
from app.domain.planned_worker import DynamicWorkers, PlannedWorker
from app.domain.strategies import Strategy
from app.domain.team_rules import (
    ApprovalRules,
    ConflictMethod,
    FileMaker,
    FindingRules,
    ModelName,
    ReviewRules,
    Route,
    Stragglers,
    TeamPart,
)
from app.domain.worker import TIERS, Worker, unsaid_of

Rung = Literal["refine", "stronger_model", "fallback_worker", "ask_human", "give_up"]
"""What may follow when an attempt has failed: the same worker with a rewritten instruction, the same on the next tier,
the worker that it names as its fallback, a question to a person when the worker has escalated, or nothing."""
LADDER: tuple[Rung, ...] = ("refine", "stronger_model", "fallback_worker", "ask_human")


QUESTION_TIMEOUT_S = 3_600.0


class Supervisor(TeamPart):
    """Who plans and reconciles."""

    model: ModelName = "deep"
    """A tier (`fast`, `balanced`, `deep`) or a model id."""
    instructions: str = ""
    """What it is told about this team: who does what, and what a good plan looks like."""
    examples: tuple[str, ...] = ()
    """Plans that it should take as models, each after the objective it belongs to."""
    artifacts: bool = False
    """Whether its answers may come with files."""


_LATER = (
    "ladder", "question_timeout_s", "routing", "stragglers", "review", "approval", "conflicts", "output_schema",
    "dynamic_workers", "strategy", "conflict_resolution", "plan_template", "findings", "files", "mask_inputs",
)  # fmt: skip
"""The fields that the first release lacked."""


class Team(TeamPart):
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
    """Rules, of which the first that fits is followed. A job whose objective fits becomes one task, or two where the
    rule has a second worker, and no plan is asked for; a planned task that fits goes to the rule's worker, whatever the
    plan says."""
    ladder: tuple[Rung, ...] = LADDER
    """What follows the first failed attempt at a task, the second and so on, as far as it is possible; after the last,
    the instruction is refined again. Escalations that the supervisor does not rule on climb it too."""
    question_timeout_s: float = Field(default=QUESTION_TIMEOUT_S, gt=0, le=86_400)
    """Seconds until a question to a person expires and its default is taken; sooner where the run has less time."""

    stragglers: Stragglers = Stragglers()
    """What is done about tasks that take much longer than the others."""
    approval: ApprovalRules = ApprovalRules()
    """Whose plans people approve before they are carried out. A job may ask for it; it cannot do without what its team
    wants."""
    conflicts: Literal["surface", "fail", "ask_human"] = "surface"
    """What becomes of contradictions between results that the supervisor could not resolve: the answer gives every side
    (`surface`), there is no answer (`fail`), or a person is asked first (`ask_human`)."""
    conflict_resolution: tuple[ConflictMethod, ...] = Field(default=(), max_length=2)
    """What is tried on such contradictions first, one after the other: a `judge` looks at the claims without knowing
    whose they are; a `tie_break` task has another worker establish what holds, within `limits.rounds`."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema that the `data` of its results must fit, unless a job has its own."""

    strategy: Strategy | None = None
    """How results become answers where a job does not say: `merge`, `select` or `reduce`; null leaves it to each plan.
    """
    review: ReviewRules = ReviewRules()
    """Whether a critic looks at answers before they go out."""
    findings: FindingRules = FindingRules()
    """What becomes of findings, for teams with workers whose `output` is `findings`."""
    files: tuple[FileMaker, ...] = Field(default=(), max_length=10)
    """What code makes files of at the end of its runs."""
    mask_inputs: bool = True
    """Whether what looks like a credential in the inputs of its jobs is masked before they are stored. In all else it
    is, whatever this says."""
    dynamic_workers: bool | DynamicWorkers = False
    """Whether a plan may bring workers of its own along; an object says what tools they may have, and how many."""
    plan_template: PlanTemplate | None = None
    """The plan of its jobs, made without a model when a job is accepted; null has the supervisor plan each."""

    @model_validator(mode="after")
    def _is_consistent(self) -> "Team":
        found = [
            *team_faults.of_workers(self.workers),
            *team_faults.of_rules(self.workers, self.routing, self.conflict_resolution),
            *team_faults.of_kinds(self.workers),
            *team_faults.of_findings(
                self.workers,
                has_rules=self.findings != FindingRules(),
                has_schema=self.output_schema is not None,
            ),
        ]
        if self.tool_isolation == "exclusive":
            found += team_faults.of_exclusive_tools(self.workers, self.dynamic_tools)
        if self.plan_template is not None:
            found += team_faults.of_template(self.plan_template, self.workers, self.strategy)
        team_faults.refuse(found)
        return self

    def rule_for_job(self, objective: str, *, has_inputs: bool) -> Route | None:
        """The first rule that sends a job somewhere."""
        return self._rule("jobs", (objective,), has_inputs=has_inputs)

    def worker_by_rule(self, title: str, instruction: str, *, has_inputs: bool) -> str | None:
        """The worker that the first rule has for a planned task; None without one."""
        rule = self._rule("tasks", (title, instruction), has_inputs=has_inputs)
        return None if rule is None else rule.worker

    def _rule(self, what: str, texts: Sequence[str], *, has_inputs: bool) -> Route | None:
        fitting = (route for route in self.routing if route.applies_to in (what, "both"))
        return next((route for route in fitting if route.when.holds_for(texts, has_inputs=has_inputs)), None)

    @property
    def dynamic(self) -> DynamicWorkers | None:
        """What workers a plan may bring along; None where it may not."""
        return DynamicWorkers() if self.dynamic_workers is True else self.dynamic_workers or None

    @property
    def dynamic_tools(self) -> tuple[str, ...]:
        """The tools that they may have: those of a list, or of the team's workers where these are not theirs alone."""
        if self.dynamic is None or self.dynamic.tools is not None:
            return self.dynamic.tools or () if self.dynamic else ()
        return () if self.tool_isolation == "exclusive" else tuple(self._tools_of_workers)

    @property
    def _tools_of_workers(self) -> dict[str, None]:
        return dict.fromkeys(tool for worker in self.workers for tool in worker.tools)

    @property
    def finds(self) -> bool:
        """Whether workers of it report findings."""
        return any(worker.finds for worker in self.workers)

    @property
    def checks_results(self) -> bool:
        """Whether code checks results of its workers, for which it needs the inputs of the job."""
        return any(worker.checks for worker in self.workers)

    def lens_of(self, worker: str) -> str:
        """Who that worker is where opinions are counted: those of one kind are one."""
        known = self.worker(worker)
        return known.kind or worker if known is not None else worker

    @property
    def critic_model(self) -> str:
        """The tier or model that plays the critic, the judge of candidates and that of conflicts."""
        return self.review.model or self.supervisor.model

    @property
    def used_models(self) -> set[str]:
        """The tiers and model ids that its runs may ask."""
        brought = TIERS if self.dynamic is not None else ()
        return {
            self.supervisor.model,
            self.critic_model,
            *brought,
            *((self.findings.model,) if self.finds else ()),
            *(name for worker in self.workers for name in worker.models),
        }

    def joined_by(self, workers: Sequence[PlannedWorker]) -> "Team":
        """The team with the workers that a plan has brought along. Those it has stay as they are."""
        new = (Worker.enlisted(each) for each in workers if self.worker(each.name) is None)
        fields = {name: getattr(self, name) for name in Team.model_fields}
        return Team.model_construct(**fields | {"workers": (*self.workers, *new)})

    def at_depth(self, levels: int) -> "Team":
        """The team of a run that may have so many levels of supervisors: on the last one no worker is a team."""
        nested = {worker.name for worker in self.workers if worker.team is not None}
        if levels > 1 or not nested:
            return self
        fields = {name: getattr(self, name) for name in Team.model_fields}
        workers = tuple(
            worker.model_copy(update={"fallback": None}) if worker.fallback in nested else worker
            for worker in self.workers
            if worker.name not in nested
        )
        routing = tuple(route for route in self.routing if nested.isdisjoint(route.workers))
        return Team.model_construct(**fields | {"workers": workers, "routing": routing})

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
            "workers": {n: left for n, each in enumerate(self.workers) if (left := unsaid_of(each))},
            "routing": {n: rule.unsaid for n, rule in enumerate(self.routing) if rule.unsaid},
        }
        if not self.supervisor.artifacts:
            unsaid["supervisor"] = {"artifacts"}
        defaults = {name: type(self).model_fields[name].default for name in _LATER}
        unsaid |= {name: True for name, default in defaults.items() if getattr(self, name) == default}
        return self.model_dump_json(exclude=unsaid)


class TeamRef(TeamPart):
    """A team and the version a run is pinned to."""

    name: str
    """Name of the team."""
    version: int
    """Its version; teams never change, they get a new one."""
