"""What a team tries on conflicts that an answer leaves unresolved, before anything else becomes of them.

The state alone says what is next, so that a crash repeats nothing: each method is tried once on each conflict, and what
was not tried, or came to nothing, is told as well.
"""

from collections.abc import Sequence

from app.domain import events as ev
from app.domain.crew import Reach
from app.domain.events import Entry
from app.domain.lint import linted
from app.domain.plan import TASKS_CEILING, Task, validated
from app.domain.policy.conflicts import is_unused_tie, unresolved_in
from app.domain.policy.rounds import rounds_left
from app.domain.results import Conflict
from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState
from app.domain.team_rules import ConflictMethod
from app.domain.text import shorten
from app.domain.worker import Worker

SITTINGS_ALLOWED = 3
"""Calls of the judge in one run: answers that are made anew may bring new conflicts."""
UNDECIDED = "undecided"
"""Why a conflict is left open although its task delivered: the answer made with that result does not resolve it."""
TOPIC_CHARACTERS = 500
ASKED_CHARACTERS = 2_000
"""What is repeated of the instruction and the context of a task whose claim is disputed."""
_REACHES: tuple[Reach, ...] = ("inputs", "web")

_INSTRUCTION = (
    "Establish what holds in this question: {topic}\n\n"
    "Others have looked into it before, and their results contradict each other. They are not shown to you, so that "
    "you are not led by them. Find it out anew, from sources of your own, as directly as you can. Give one definite "
    "answer to the question, the sources that it rests on, and how sure you are. If it cannot be established, say so "
    "and why."
)
_CRITERION = "It gives one definite answer to the question with the source of it, or says why there is none."
_CONTEXT = "The question has come up in work with this instruction:\n{asked}"


def next_method(run: Snapshot) -> ConflictMethod | None:
    """What is to be tried now on conflicts that the newest answer leaves open; None when nothing is.

    An answer that is to be made again for another reason is made first: it may leave other conflicts.
    """
    if run.synthesis is None or run.lacking or run.is_refused or run.answering.waiting:
        return None
    return next((method for method in run.brief.team.conflict_resolution if untried(run, method)), None)


def untried(run: Snapshot, method: ConflictMethod) -> list[Conflict]:
    """The conflicts that the newest answer leaves open, nobody has settled since, and the method was not tried on."""
    settled = {each.conflict.id for each in run.answering.settled}
    tried = run.answering.tried
    return [each for each in unresolved_in(run) if each.id not in settled and (method, each.id) not in tried]


def left_open(conflicts: Sequence[Conflict], method: ConflictMethod, reason: str) -> list[Entry]:
    """That a method came to nothing with these conflicts."""
    return [Entry(ev.ConflictLeftOpen(id=each.id, method=method, reason=reason)) for each in conflicts]


def begin_tie_break(run: Snapshot) -> list[Entry]:
    """A further round of work, in which a task decides each conflict; those for which there is no room stay open.

    An answer from one chosen result could not rest on such a task, so that none is planned for it.
    """
    assert run.plan is not None
    open_now, limits = untried(run, "tie_break"), run.brief.limits
    if run.plan.strategy == "select":
        return left_open(open_now, "tie_break", "strategy_select")
    room = min(limits.tasks, TASKS_CEILING) - len(run.tasks) if rounds_left(run) > 0 else 0
    chosen, left = open_now[: max(room, 0)], open_now[max(room, 0) :]
    entries = left_open(left, "tie_break", "limit_reached")
    if not chosen:
        return entries
    names = dict(zip((each.id for each in chosen), _new_names(run, chosen), strict=True))
    tasks = [_task(run, each, names[each.id]) for each in chosen]
    plan = run.plan.model_copy(update={"revision": run.plan.revision + 1, "tasks": (*run.plan.tasks, *tasks)})
    crew = run.brief.crew
    plan = linted(validated(plan, [*crew.workers], crew.limits.tasks), crew)
    number = run.answering.round + 1
    revised = ev.PlanRevised.from_to(run.plan, plan, f"Round {number}: {', '.join(names)} left unresolved.")
    return [*entries, Entry(revised.model_copy(update={"round": number, "ties": names}))]


def _new_names(run: Snapshot, conflicts: Sequence[Conflict]) -> list[str]:
    taken, names = {*run.tasks, *run.replaced}, list[str]()
    for conflict in conflicts:
        name, number = f"tie-{conflict.id}", 1
        while name in taken:
            number += 1
            name = f"tie-{conflict.id}-{number}"
        taken.add(name)
        names.append(name)
    return names


def _task(run: Snapshot, conflict: Conflict, name: str) -> Task:
    """The task that is to decide a conflict: it is told the question, and neither the claims nor whose they are."""
    topic = shorten(conflict.topic, TOPIC_CHARACTERS)[0]
    disputed = [run.tasks[claim.task].task for claim in conflict.claims if claim.task in run.tasks]
    asked = dict.fromkeys(
        shorten("\n".join(filter(None, (task.instruction, task.context))), ASKED_CHARACTERS)[0] for task in disputed
    )
    return Task(
        id=name,
        title=shorten(f"Decide: {topic}", TOPIC_CHARACTERS)[0],
        instruction=_INSTRUCTION.format(topic=topic),
        context="\n\n".join(_CONTEXT.format(asked=each) for each in asked),
        success_criterion=_CRITERION,
        worker=_worker(run, conflict).name,
        required=False,
    )


def _worker(run: Snapshot, conflict: Conflict) -> Worker:
    """Who decides: somebody who has written none of the claims, if there is one who can; else who wrote the first.

    Of those who can, the ones of the same kind come first.
    """
    team = run.brief.team
    wrote = list(dict.fromkeys(run.tasks[each.task].worker for each in conflict.claims if each.task in run.tasks))
    peers = [peer for name in wrote for peer in team.peers_of(name)]
    names = dict.fromkeys([*peers, *(worker.name for worker in team.workers)])
    authors = [worker for worker in map(team.worker, wrote) if worker is not None] or [team.workers[0]]
    able = (team.worker(name) for name in names if name not in wrote)
    return next((worker for worker in able if worker is not None and _can(run, worker, authors)), authors[0])


def _can(run: Snapshot, worker: Worker, authors: Sequence[Worker]) -> bool:
    """Whether a worker reads what those who claim read, and no more, may do no more, and can report as they do.

    What a team keeps apart stays apart: nobody who reaches the web is asked about what stands in the inputs.
    """
    crew = run.brief.crew
    reads = [{what for what in _REACHES if crew.may_read(each, what)} for each in (worker, *authors)]
    may_act = crew.may_act(worker) and not any(map(crew.may_act, authors))
    has_form = worker.output_schema is None or any(worker.output_schema == each.output_schema for each in authors)
    return reads[0] == set().union(*reads[1:]) and not may_act and has_form


def open_ties(run: Snapshot) -> list[Entry]:
    """What is still to be told of conflicts that their own tasks did not decide: these ended without a result, or with
    one of which the answer made nothing."""
    still_open = {each.id for each in unresolved_in(run)}
    reasons = {
        name: _why_open(run, run.tasks[task], is_open=name in still_open)
        for name, task in run.answering.ties.items()
        if task in run.tasks and name not in run.answering.untied
    }
    return [
        Entry(ev.ConflictLeftOpen(id=name, method="tie_break", reason=reason))
        for name, reason in reasons.items()
        if reason is not None
    ]


def _why_open(run: Snapshot, task: TaskState, *, is_open: bool) -> str | None:
    if task.ended and not task.delivered:
        return task.error.code if task.error else task.status
    return UNDECIDED if is_open and task.delivered and task.task.id not in run.unheard else None


def untold_at_end(run: Snapshot, reason: str) -> list[Entry]:
    """What a run has to tell before it ends of conflicts that stay open: which methods were not tried, or not used."""
    unused = [name for name, task in run.answering.ties.items() if is_unused_tie(run, task)]
    entries = [*open_ties(run), *(Entry(ev.ConflictLeftOpen(id=n, method="tie_break", reason=reason)) for n in unused)]
    for method in run.brief.team.conflict_resolution:
        entries += left_open(untried(run, method), method, reason)
    return entries


def is_resolving(run: Snapshot) -> bool:
    """Whether something is still to be tried on conflicts, or to be told of what was tried."""
    return next_method(run) is not None or bool(open_ties(run))
