"""Further rounds of work: what an answer lacks leads to other tasks, as a revision of the plan, within limits."""

from collections.abc import Mapping

from app.domain import events as ev
from app.domain.events import Entry
from app.domain.lint import linted
from app.domain.plan import Plan, Task, validated
from app.domain.policy.budget import overspent
from app.domain.policy.routing import routed
from app.domain.policy.splitting import part_names
from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState

LOW_CONFIDENCE = 0.5
"""A result whose worker is less sure of it is thin."""


def gaps_to_close(run: Snapshot) -> list[str]:
    """The tasks whose gaps another round may close; none when there is no further round.

    Where a critic has refused the answer, these are all that have ended: it may ask for more than code can see. What an
    answer from a chosen result does not rest on leaves no gap.
    """
    left = rounds_left(run)
    is_over = run.newest_at is None or run.wrap_up_at is None or run.newest_at >= run.wrap_up_at
    if left <= 0 or is_over or run.exhausted is not None or overspent(run) is not None:
        return []
    concerned = {task.task.id for task in (*run.reconcilable, *run.lacked)}
    ended = [n for n, task in run.tasks.items() if task.ended and n not in run.late and n in concerned]
    if run.is_refused:
        return ended
    return [name for name in ended if why_thin(run.tasks[name]) is not None]


def rounds_left(run: Snapshot) -> int:
    """How many further rounds the run may have. One that has brought nothing is the last."""
    begun, every = run.answering, run.every_task
    is_barren = begun.round > 1 and not any(task.delivered for task in every if task.position >= begun.round_from)
    return 0 if is_barren else run.brief.limits.rounds - begun.round


def why_thin(task: TaskState) -> str | None:
    """Why a task that has ended leaves a gap; None when it has delivered something to rest on."""
    output = task.output
    if output is None:
        return task.error.code if task.error else task.status
    if output.partial:
        return "partial"
    if output.unverified:
        return "unverified"
    return "low_confidence" if output.confidence is not None and output.confidence < LOW_CONFIDENCE else None


def next_plan(run: Snapshot, wanted: Mapping[str, Task]) -> tuple[Plan, Mapping[str, str]]:
    """The plan with tasks that are `wanted`, each by the task whose gap it is to close, and its validation report; and
    the ids that they get. They may depend on tasks that delivered, and on gaps that others close.

    A task that delivered nothing leaves the plan for the one that closes its gap. What was skipped only for lack of
    such is done after all, as it was planned.
    """
    assert run.plan is not None
    told = dict(wanted)
    while after_all := [task for task in run.plan.tasks if _may_be_done_after_all(run, task, told)]:
        told |= {task.id: task for task in after_all}
    names = {name: part_names(run, run.tasks[name], [task])[task.id] for name, task in told.items()}
    tasks: list[Task] = []
    for task in run.plan.tasks:
        if task.id not in names or run.tasks[task.id].delivered:
            kept = tuple(need for need in task.depends_on if need not in names or run.tasks[need].delivered)
            tasks.append(task.model_copy(update={"depends_on": kept}))
    new = [_placed(run, run.tasks[name], task, names) for name, task in told.items()]
    tasks += routed(run, Plan(tasks=tuple(new))).tasks
    plan = run.plan.model_copy(update={"revision": run.plan.revision + 1, "tasks": tuple(tasks)})
    crew = run.brief.crew
    return linted(validated(plan, [*crew.workers], crew.limits.tasks), crew), names


def _may_be_done_after_all(run: Snapshot, task: Task, told: Mapping[str, Task]) -> bool:
    state = run.tasks[task.id]
    is_victim = task.id not in told and state.error is not None and state.error.code == "dependency_failed"
    return is_victim and all(run.tasks[need].delivered or need in told for need in task.depends_on)


def _placed(run: Snapshot, old: TaskState, task: Task, names: Mapping[str, str]) -> Task:
    """A task of the new round: what the old one was, as far as nothing else is said, and what it rests on."""
    whole = old.task
    before = [need for need in whole.depends_on if need in names or run.tasks[need].delivered]
    if old.delivered:
        before.append(whole.id)
    instead = {name: new for name, new in names.items() if not run.tasks[name].delivered}
    needs = [instead.get(need, need) for need in (*before, *task.depends_on)]
    return task.model_copy(
        update={
            "id": names[whole.id],
            "title": task.title or whole.title,
            "context": "\n\n".join(filter(None, (task.context or whole.context, *old.next.told))),
            "success_criterion": task.success_criterion or whole.success_criterion,
            "worker": task.worker or whole.worker,
            "depends_on": tuple(dict.fromkeys(need for need in needs if need != names[whole.id])),
            "required": whole.required and not old.delivered,
            "on_missing_input": whole.on_missing_input,
        }
    )


def begin_round(run: Snapshot, plan: Plan, names: Mapping[str, str]) -> Entry:
    """The revision of the plan with which a further round of work begins."""
    assert run.plan is not None
    number = run.answering.round + 1
    revised = ev.PlanRevised.from_to(run.plan, plan, f"Round {number}: {', '.join(names)} brought too little.")
    return Entry(revised.model_copy(update={"round": number, "redispatched": dict(names)}))


def gaps_found(run: Snapshot, impacts: Mapping[str, str], names: Mapping[str, str]) -> list[Entry]:
    """The gaps of an answer that were not told before: tasks that delivered nothing, and those of which others are to
    bring more."""
    found: list[Entry] = []
    for name, task in run.tasks.items():
        is_told = task.delivered or name in run.answering.gaps
        if task.is_awaited or (is_told and name not in names):
            continue
        gap = ev.GapFound(
            task=name,
            reason=why_thin(task) or "insufficient",
            impact=impacts.get(name, ""),
            redispatched_as=names.get(name),
        )
        found.append(Entry(gap))
    return found
