"""Second looks at a run that has ended: a new answer from its results, or a new run from a part of its plan on."""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

import uuid_utils
from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from app.api.bodies import JsonBodyRoute
from app.api.deps import Key, RunId, WaitSeconds
from app.api.errors import FieldError, Refusal, RunNotFound, run_unreadable
from app.api.field_errors import FIELD_ERRORS_SHOWN, pointer_to
from app.api.jobs import (
    ENDED,
    OriginOf,
    answer_with_run,
    digest_of,
    own_plan,
    refuse_unpriced,
    workers_at_depth,
)
from app.api.schemas.runs import Run
from app.api.schemas.service import PROBLEMS
from app.api.templates import plan_of_template
from app.api.visits import Visit, VisitOf, tell_of_run
from app.domain import events as ev
from app.domain.attribution import attributed
from app.domain.crew import Crew
from app.domain.errors import RunUnreadable
from app.domain.expansion import takes_template
from app.domain.job import Job, LimitChanges, Limits, Objective, OwnPlan
from app.domain.names import Names
from app.domain.origin import OriginKind, RunOrigin
from app.domain.plan import TASKS_CEILING, TEXT_LIMITS, Plan, PlanSource
from app.domain.policy.handed_up import half_done
from app.domain.second_looks import SUPERVISOR, all_results, results_kept, with_models, without_ties
from app.domain.strategies import Strategy
from app.domain.team_rules import ModelName
from app.store.acceptance import NewRun, Origin, accept, accepted_before
from app.store.idempotency import IdempotencyKey
from app.store.inheritance import Inheritance
from app.store.inputs import contents_of
from app.store.sources import NotEnded, Source, source_of

router = APIRouter(prefix="/v1/runs", route_class=JsonBodyRoute, tags=["runs"], responses=PROBLEMS)

ANSWERS: dict[int | str, dict[str, object]] = {200: {"model": Run, "description": ENDED}}
TaskNames = Annotated[Names, Field(max_length=TASKS_CEILING)]


_NO_CHANGES = LimitChanges()


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")


class Resynthesis(_Body):
    """How the answer is made anew."""

    strategy: Strategy | None = None
    """How results become the answer: `merge`, `select` or `reduce`; null for the way that the run had."""
    model: ModelName | None = None
    """The supervisor's model for it: a tier or a model id; null for the one that the run had."""
    exclude: TaskNames = ()
    """Ids of tasks whose results are left out. The answer counts them as gaps."""
    final_instruction: str | None = Field(default=None, max_length=TEXT_LIMITS["final_instruction"])
    """What the synthesis is told about the answer; null for what the plan says."""


class Fork(_Body):
    """From where on a run is done again, and what is different then."""

    begin_at: TaskNames = Field(default=(), alias="from")
    """Ids of the tasks that are done again, with everything that rests on them. Tasks that delivered nothing, and those
    that are new or told something else in `plan`, are done in any case."""
    plan: OwnPlan | None = None
    """Another plan; null for the newest one of the run."""
    models: dict[str, ModelName] = Field(default_factory=dict, max_length=100)
    """Other models: a tier or a model id by worker, or by `supervisor`."""
    limits: LimitChanges = LimitChanges()
    """Limits that differ from those of the run."""
    objective: Objective | None = None
    """Another objective; null for that of the run."""


class Retry(_Body):
    """What of a run is done again."""

    only: Literal["failed"] | None = None
    """`failed`: the tasks that delivered nothing, and what rests on them. Null: everything, from the plan on."""


@dataclass(frozen=True, slots=True)
class _Look:
    """A request for a second look, and the run that it is at."""

    request: Request
    visit: Visit
    source: Source
    origin: Origin
    key: str | None
    wait_s: int | None

    @property
    def path(self) -> str:
        return f"POST {self.request.url.path}"


async def _look(
    request: Request, visit: VisitOf, run_id: RunId, key: Key, wait_s: WaitSeconds, origin: OriginOf
) -> _Look:
    """The run that is looked at. Raises `Refusal` when it cannot be, or not yet."""
    try:
        source = await source_of(visit.database, visit.tenant, run_id)
    except NotEnded:
        raise Refusal(409, "run_not_ended", "The run has not ended yet.") from None
    except RunUnreadable:
        raise run_unreadable() from None
    if source is None:
        raise RunNotFound
    return _Look(request, visit, source, origin, key, wait_s)


LookOf = Annotated[_Look, Depends(_look)]


@router.post("/{run_id}/resynthesize", status_code=202, response_model=Run, responses=ANSWERS)
async def resynthesize_a_run(look: LookOf, body: Resynthesis | None = None) -> Response:
    """Make the answer of an ended run anew from its stored results, as a new run. No worker is called.

    Whatever the run ended as: it is enough that a task delivered. The new run has the plan of the old one, with its
    results as they are, and its own log, usage and limits, those of the old one. `Idempotency-Key` and `Prefer: wait=N`
    work as for jobs.
    """
    body = body or Resynthesis()
    run = look.source.run
    _check_known(body.exclude, run.tasks, "exclude")
    plan = run.plan or Plan()
    if body.final_instruction is not None:
        plan = plan.model_copy(update={"final_instruction": body.final_instruction})
    if body.strategy is not None:
        plan = plan.model_copy(update={"strategy": body.strategy})
    if plan.strategy == "select":
        plan = without_ties(run, plan)
    reused = all_results(run, plan, body.exclude)
    if not any(each.status == "succeeded" for each in reused.tasks):
        raise Refusal(409, "nothing_delivered", "There is no result from which an answer could be made.")
    models = {SUPERVISOR: body.model} if body.model is not None else {}
    return await _accepted(look, body, _Changes("resynthesis", plan, reused, models, strategy=body.strategy))


@router.post("/{run_id}/fork", status_code=202, response_model=Run, responses=ANSWERS)
async def fork_a_run(look: LookOf, body: Fork | None = None) -> Response:
    """Do a part of an ended run again, as a new run: from some tasks on, with another plan, other models or limits.

    What neither begins anew nor rests on what does keeps its result, at no cost. Without `from` the tasks are done that
    have not delivered. A run that has no plan yet is planned. `Idempotency-Key` and `Prefer: wait=N` work as for jobs.
    """
    body = body or Fork()
    run = look.source.run
    plan = body.plan or run.plan
    _check_known(body.begin_at, plan.by_id if plan else (), "from")
    _check_known(body.models, [SUPERVISOR, *(worker.name for worker in run.brief.team.workers)], "models", named=True)
    changes = _Changes("fork", plan, None, body.models, body.limits, body.objective, body.begin_at)
    if body.plan is not None:
        changes = replace(changes, plan=attributed(body.plan, run.plan), made_by="client")
    return await _accepted(look, body, changes)


@router.post("/{run_id}/retry", status_code=202, response_model=Run, responses=ANSWERS)
async def retry_a_run(look: LookOf, body: Retry | None = None) -> Response:
    """Do the job of an ended run again, as a new run: from the start, or only what failed.

    From the start, which it is without a body, nothing of the old run is kept: it is planned anew, unless the job has
    brought its plan. With `only: failed` the tasks are done that delivered nothing, and what rests on them, as in a
    fork without changes. `Idempotency-Key` and `Prefer: wait=N` work as for jobs.
    """
    run, body = look.source.run, body or Retry()
    if body.only is None:
        nothing = ev.ResultsReused(run=run.brief.run_id)
        return await _accepted(look, body, _Changes("retry", None, nothing, from_start=True))
    in_part = [task.task.id for task in half_done(run)]
    if run.plan is not None and run.tasks and not in_part and all(task.delivered for task in run.tasks.values()):
        raise Refusal(409, "nothing_failed", "Every task of the run has delivered.")
    return await _accepted(look, body, _Changes("retry", run.plan, None, begin_at=in_part))


@dataclass(frozen=True, slots=True)
class _Changes:
    """What is different in the new run."""

    kind: OriginKind
    plan: Plan | None
    """As it is asked for; None where there is none yet."""
    reused: ev.ResultsReused | None
    """Results that are taken as they are; None where the plan says which of them hold."""
    models: Mapping[str, str] = field(default_factory=dict)
    limits: LimitChanges = _NO_CHANGES
    objective: str | None = None
    begin_at: Collection[str] = ()
    strategy: Strategy | None = None
    """How results become the answer; None as the job of the other run had it."""
    made_by: PlanSource | None = "run"
    """Who has made the plan."""
    from_start: bool = False
    """Whether it is the same job once more: its plan is approved again where it was to be."""


async def _accepted(look: _Look, body: BaseModel, changes: _Changes) -> Response:
    database, tenant, key = look.visit.database, look.visit.tenant, None
    if look.key is not None:
        key = IdempotencyKey(look.key, look.path, await asyncio.to_thread(digest_of, body))
    accepted = await accepted_before(database, tenant, key) if key else None
    if accepted is None:
        accepted = await accept(database, tenant, await _new_run(look, changes), key=key)
    tell_of_run(look.request, accepted)
    return await answer_with_run(look.visit, accepted, look.wait_s)


async def _new_run(look: _Look, changes: _Changes) -> NewRun:
    source, run = look.source, look.source.run
    before = Limits.model_validate({name: getattr(source.limits, name) for name in Limits.model_fields})
    asked = source.limits if changes.from_start else changes.limits.applied_to(before)
    limits = look.origin.quotas.within(asked)
    models = {**source.models, **changes.models}
    team = workers_at_depth(with_models(source.team.team, models), limits)
    refuse_unpriced(look.visit.runtime, team, limits, "/models" if changes.models else "/limits/cost_usd")
    strategy = changes.strategy or run.brief.own_strategy
    crew = Crew(team, look.visit.runtime.means, limits, tuple(given.name for given in run.brief.inputs), strategy)
    objective, reused = changes.objective or run.brief.objective, changes.reused
    plan, made_by = own_plan(changes.plan, crew), changes.made_by
    if plan is None:
        plan, made_by = await _as_if_sent_again(look, crew, objective)
    if reused is None:
        reused = results_kept(run, plan or Plan(), changes.begin_at)
    inherited = Inheritance(RunOrigin(run=run.brief.run_id, kind=changes.kind), reused, models, run.brief.inputs)
    job = Job.model_construct(
        objective=objective,
        inputs=(),
        output_schema=run.brief.own_schema,
        rubric=run.brief.rubric,
        strategy=strategy,
        planning=source.planning,
        on_question=source.on_question,
        priority=source.priority,
        metadata=dict(source.metadata),
    )
    return NewRun(f"run_{uuid_utils.uuid7().hex}", job, source.team, asked, plan, made_by, look.origin, inherited)


async def _as_if_sent_again(look: _Look, crew: Crew, objective: str) -> tuple[Plan | None, PlanSource | None]:
    """The plan of a job whose run came to none, and who has made it: what it brought along is taken again, and what is
    made from a template is made anew. Nothing where a rule or a model is to make it."""
    run = look.source.run
    if run.own_plan is not None and run.plan_source != "template":
        return own_plan(run.own_plan, crew), "run"
    if takes_template(crew.team, look.source.planning, objective, has_inputs=bool(run.brief.inputs)):
        inputs = await contents_of(look.visit.database, look.visit.tenant, run.brief.run_id)
        return await plan_of_template(crew, objective, inputs), "template"
    return None, None


def _check_known(names: Collection[str], known: Collection[str], place: str, *, named: bool = False) -> None:
    """Raises `Refusal` for names that mean nothing in this run; `named` says that they are keys of an object."""
    unknown = [(number, name) for number, name in enumerate(names) if name not in known]
    detail = f"The run has: {', '.join(known) or 'none'}."
    errors: list[FieldError] = [
        {"pointer": pointer_to(place, name if named else number), "detail": detail}
        for number, name in unknown[:FIELD_ERRORS_SHOWN]
    ]
    if errors:
        raise Refusal(422, "request_invalid", "The request names what the run does not have.", errors=errors)
