"""Nested runs, as the engine sees them: begun for an attempt, followed while they last, stopped when nobody waits."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

import structlog

from app.agents.aside import done_aside
from app.agents.worker.nested import material_of, objective_of
from app.domain import events as ev
from app.domain.crew import Crew
from app.domain.errors import BudgetSpent, ErrorCode, JobRefused
from app.domain.expansion import expanded, takes_template
from app.domain.job import Job, Limits
from app.domain.nested import Allowance, Parent, child_id
from app.domain.plan import Plan
from app.domain.policy.agenda import attempt_in, worker_of
from app.domain.policy.allowances import LEAST_TOKENS
from app.domain.policy.budget import room_of_task
from app.domain.policy.children import MOST_NESTED, ends_by, limits_of_child, wants_child
from app.domain.policy.commands import RunChild
from app.domain.policy.failed_attempts import fail_attempt
from app.domain.results import Problem
from app.domain.snapshot import Snapshot
from app.domain.team import TeamRef
from app.domain.topics import Topic
from app.engine.run_desk import RunDesk
from app.runtime import Runtime
from app.store.acceptance import NewRun, Origin, accept
from app.store.children import cancel_orphans, nested_in_tree, tell_parents, terms_of
from app.store.database import TROUBLE
from app.store.inheritance import Nesting
from app.store.inputs import contents_of
from app.store.teams import StoredTeam, team_named

log = structlog.get_logger(__name__)

FAULTS_TOLD = 3
_CODES: Mapping[str, ErrorCode] = {
    "template_empty": "template_empty",
    "template_too_large": "template_too_large",
    "input_unparseable": "input_unparseable",
}
"""What keeps a nested run from its plan, as the codes of tasks have it."""


class _CannotNest(Exception):
    """Why the team of a worker cannot do its task."""

    def __init__(self, message: str, code: ErrorCode = "request_rejected") -> None:
        super().__init__(message)
        self.problem = Problem(code=code, message=message)


async def begin_child(runtime: Runtime, desk: RunDesk, command: RunChild) -> None:
    """Have the run that does the work of an attempt accepted, and tell its parent. Done twice it changes nothing."""
    topic = Topic("work", command.task_id, command.attempt)
    await desk.admit()
    try:
        _check_task(desk.run, topic)
        async with desk.allot(topic) as allowance:
            begun = asyncio.create_task(_begin(runtime, desk, topic, allowance))
            try:
                await asyncio.shield(begun)
            except asyncio.CancelledError:
                await begun  # A run that is there must be known to its parent, or nobody would wait for its end.
                raise
    except BudgetSpent as spent:
        if desk.run.exhausted is None:
            told = ev.BudgetExhausted(
                limit=spent.limit, call="work", allowed=spent.allowed, needed=spent.needed, left=spent.left
            )
            await desk.record(topic.entry(told))
    except _CannotNest as refused:
        if wants_child(run := desk.run, topic):
            await desk.record(fail_attempt(run, run.tasks[command.task_id], refused.problem, desk.now()))


async def _begin(runtime: Runtime, desk: RunDesk, topic: Topic, allowance: Allowance) -> None:
    started = await _accepted(runtime, desk, topic, allowance)
    if wants_child(desk.run, topic):  # Others may have told of its end meanwhile.
        await desk.record(topic.entry(started))


async def _accepted(runtime: Runtime, desk: RunDesk, topic: Topic, allowance: Allowance) -> ev.ChildStarted:
    """What the parent is told of the run that there is now, be it one that was accepted before a crash."""
    run, team = desk.run, await _team_of(runtime, desk.run, topic)
    parent = Parent(run=run.brief.run_id, task=topic.task_id or "", attempt=topic.number)
    if await nested_in_tree(runtime.database, parent.run) >= MOST_NESTED:
        raise _CannotNest(f"Nothing nests further: the job has {MOST_NESTED} nested runs, the most that one may have.")
    limits = limits_of_child(run, team.team.limits, allowance, (ends_by(run, topic) - desk.now()).total_seconds())
    _check(runtime, team, limits)
    own = await terms_of(runtime.database, parent.run)
    assert own is not None  # It is ours.
    objective = await done_aside(material_of(run, topic), lambda: objective_of(run, topic))
    plan = await _plan_of_template(runtime, run, team, limits, objective)
    job = Job.model_construct(
        objective=objective,
        inputs=(),
        output_schema=worker_of(run, attempt_in(run, topic)).output_schema,
        on_question=run.on_question,
        priority=own["priority"],
        metadata=own["metadata"],
    )
    nesting = Nesting(parent, ends_by(run, topic), run.brief.inputs)
    # Its trace is ours: its spans are below that of the attempt.
    trace, tracing = run.brief.trace, runtime.tracing
    attempt = trace.place(f"attempt:{parent.task}:{parent.attempt}")
    is_sampled = trace.is_sampled if tracing is None else tracing.samples(trace)
    origin = Origin(traceparent=attempt._replace(is_sampled=is_sampled).traceparent)
    new = NewRun(child_id(parent), job, team, limits, plan, "template", origin, nested=nesting)
    accepted = await accept(runtime.database, run.brief.tenant, new)
    if not accepted.replayed:
        return _told_of(run, new.run_id, TeamRef(name=team.team.name, version=team.version), limits)
    there = await terms_of(runtime.database, new.run_id)
    assert there is not None  # It kept ours from being stored.
    ref = TeamRef(name=there["team_name"], version=there["team_version"])
    return _told_of(run, new.run_id, ref, Limits.model_validate(there["limits"]))


def _told_of(run: Snapshot, child: str, team: TeamRef, limits: Limits) -> ev.ChildStarted:
    """The nested run, and what of its limits is taken from its parent's budget."""
    bounds = run.brief.limits
    allowance = Allowance(
        tokens=None if bounds.tokens is None else limits.tokens,
        cost_usd=None if bounds.cost_usd is None else limits.cost_usd,
    )
    return ev.ChildStarted(run=child, team=team, allowance=allowance)


async def _team_of(runtime: Runtime, run: Snapshot, topic: Topic) -> StoredTeam:
    """The team that does the work of an attempt, as it is now."""
    name = worker_of(run, attempt_in(run, topic)).team or ""
    found = await team_named(runtime.database, run.brief.tenant, name)
    if found is None:
        raise _CannotNest(f"The worker is the team {name}, which is not known.")
    return found


async def _plan_of_template(
    runtime: Runtime, run: Snapshot, stored: StoredTeam, limits: Limits, objective: str
) -> Plan | None:
    """The plan that the template of the team makes of the parent's inputs; None for a team without one. Raises
    `_CannotNest`."""
    team = stored.team.at_depth(limits.depth)
    template = team.plan_template
    if template is None or not takes_template(team, None, objective, has_inputs=bool(run.brief.inputs)):
        return None
    inputs = await contents_of(runtime.database, run.brief.tenant, run.brief.run_id)
    crew = Crew(team, runtime.means, limits, tuple(given.name for given in inputs))
    try:
        return await done_aside(
            [given.content for given in inputs], lambda: expanded(template, objective, inputs, crew)
        )
    except JobRefused as refused:
        why = " ".join([refused.detail, *(detail for _, detail in refused.errors[:FAULTS_TOLD])])
        raise _CannotNest(why, _CODES.get(refused.code, "request_rejected")) from None


def _check_task(run: Snapshot, topic: Topic) -> None:
    """Raises `_CannotNest` when the task itself leaves too little for a nested run."""
    left = room_of_task(run, topic).tokens
    if left is not None and left < LEAST_TOKENS:
        raise _CannotNest(f"The task has {left} tokens left, and a nested run needs {LEAST_TOKENS}.", "budget_exceeded")


def _check(runtime: Runtime, stored: StoredTeam, limits: Limits) -> None:
    """Raises `_CannotNest` when the team can do nothing within these limits."""
    team = stored.team.at_depth(limits.depth)
    if not team.workers:
        raise _CannotNest(f"All workers of the team {team.name} are teams themselves, and the run may not nest deeper.")
    prices, ids = runtime.model.prices, {runtime.model.model_id(name) for name in team.used_models}
    if limits.cost_usd is not None and (unpriced := sorted(each for each in ids if not prices.knows(each))):
        raise _CannotNest(f"The run has a limit in US dollars, and these have no known price: {', '.join(unpriced)}.")


class Nursery:
    """The nested runs of this process's runs, and of those that others have left: no end stays unheard, and none goes
    on for which nobody waits."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._news = asyncio.Event()

    def look(self) -> None:
        """Look now: a nested run has ended or is no longer wanted, or it is time to see what others have left."""
        self._news.set()

    async def tell_of_end(self) -> None:
        """Have parents hear of ends now, before the place of a nested run that has ended goes to somebody else."""
        with suppress(*TROUBLE):  # They hear of it later.
            await tell_parents(self._runtime.database, self._runtime.queue)
        self.look()

    async def look_forever(self) -> None:
        """Look whenever there is news, or somebody asks for it."""
        runtime = self._runtime
        while True:
            await self._news.wait()
            self._news.clear()
            told = await tell_parents(runtime.database, runtime.queue)
            stopped = await cancel_orphans(runtime.database, runtime.queue)
            if stopped:
                log.info("nested runs stopped", runs=stopped)
            if told or stopped:
                self._news.set()  # There may be more.
