"""The lint of plans: what a sound plan says that will hardly go well, found by code before anything runs.

Each check is a function and a line of `RULES`. A serious flaw is one about which there is little doubt: it has the
supervisor write its plan once more. Everything else is a warning, and so are all flaws about a client's own plan.
The checks know words, not meanings, so they pass over whatever they are not sure of.
"""

from collections.abc import Callable, Iterator
from itertools import combinations, islice
from typing import NamedTuple

from app.domain.crew import Crew
from app.domain.flaws import Flaw, FlawCode
from app.domain.lint_words import (
    ABOVE,
    ACTS,
    CHARACTERS_READ,
    EARLIER,
    RUNS,
    WEB,
    may_mean_what_it_is_given,
    orders_in,
    says_nothing,
    takes_its_hands_off,
    tasks_named_in,
    telling_words,
    unquoted,
    words_in,
)
from app.domain.plan import NAME_SHOWN, Plan, Task
from app.domain.plan_strategy import candidates_of
from app.domain.selecting import FEWEST_CANDIDATES
from app.domain.strategies import strategies_open
from app.domain.text import is_blank, shorten
from app.domain.worker import Worker

RESULTS_HELD = 30
"""Results that one answer, or one task, can be made from: beyond, each is shown too little of."""
MOST_WARNINGS = 50
QUOTE_CHARACTERS = 80
LEAST_TOKENS = 2_000
"""What one call takes: the worker's rules, its task, the form of the result, and a short one."""
SAME_WORDS = 0.85
"""The part of a task's words that another has all of, from which on it is the same task with a little more."""
FEWEST_WORDS_COMPARED = 3
FEWEST_WORDS_OF_A_SUBJECT = 2


class Spot(NamedTuple):
    """A place in the plan and what is odd about it."""

    pointer: str
    detail: str


class Rule(NamedTuple):
    """One check."""

    code: FlawCode
    serious: bool
    find: Callable[[Plan, Crew], Iterator[Spot]]


def linted(plan: Plan, crew: Crew) -> Plan:
    """The plan with what is odd about it among its warnings. One with errors is left as it is."""
    if not plan.validation.ok:
        return plan
    found = (
        Flaw(code=rule.code, pointer=spot.pointer, detail=spot.detail)
        for rule in RULES
        for spot in rule.find(plan, crew)
    )
    report = plan.validation.model_copy(update={"warnings": tuple(islice(found, MOST_WARNINGS))})
    return plan.model_copy(update={"validation": report})


def serious_in(plan: Plan) -> tuple[Flaw, ...]:
    """The warnings for which a plan is sent back once."""
    return tuple(flaw for flaw in plan.validation.warnings if flaw.code in SERIOUS)


def _each(plan: Plan) -> Iterator[tuple[str, Task]]:
    for index, task in enumerate(plan.tasks):
        yield f"/tasks/{index}", task


def _named(task: Task) -> str:
    return repr(task.id[:NAME_SHOWN])


def _quoted(text: str) -> str:
    return repr(shorten(" ".join(text.split()), QUOTE_CHARACTERS)[0])


def _tools_missing(plan: Plan, crew: Crew) -> Iterator[Spot]:
    for pointer, task in _each(plan):
        worker = crew.workers.get(task.worker)
        if worker is not None and (lack := lack_of(task, worker, crew)):
            yield Spot(f"{pointer}/instruction", f"task {_named(task)} {lack}")


def lack_of(task: Task, worker: Worker, crew: Crew) -> str | None:
    """What a task plainly asks for that its worker has no tool for."""
    orders = list(orders_in(task.instruction))
    hands_off = takes_its_hands_off(f"{task.instruction[:CHARACTERS_READ]}\n{task.context}")
    if not crew.may_act(worker) and not hands_off:
        if act := next((order for order in orders if any(each.match(order) for each in ACTS)), None):
            return f"orders {_quoted(act)}, and {worker.name} has no tool that changes anything; {_advice(crew)}"
        if run := next((order for order in orders if not worker.tools and RUNS.match(order)), None):
            return f"orders {_quoted(run)}, and {worker.name} has no tools; {_advice(crew)}"
    look = next((order for order in orders if any(each.match(order) for each in WEB)), None)
    if look is not None and not crew.may_read(worker, "web"):
        return f"orders {_quoted(look)}, and {worker.name} has no tool that reaches the web"
    others = [name for name, other in crew.workers.items() if crew.may_read(other, "inputs")]
    if others and not task.depends_on and worker.name not in others:
        said = unquoted(task.instruction)
        if given := next((name for name in crew.inputs if "." in name and name in said), None):
            has = f"{' or '.join(others)} has one"
            return f"needs the input {_quoted(given)}, and {worker.name} has no tool that reads inputs; {has}"
    return None


def _advice(crew: Crew) -> str:
    able = [name for name, worker in crew.workers.items() if crew.may_act(worker)]
    if able:
        return f"give it to {' or '.join(able)}, or have it write the text and say that it changes nothing"
    return "nobody in the team has one: have it write the text and say that it changes nothing"


def _references_unmet(plan: Plan, _: Crew) -> Iterator[Spot]:
    """Results that an instruction speaks of and the worker will not see. What comes by way of another task may pass."""
    near = {task.id: _all_before(plan, task) | {task.id} for task in plan.tasks}
    for pointer, task in _each(plan):
        known = plan.by_id.keys() - near[task.id]
        said = unquoted(task.instruction)
        if named := next((name for name in tasks_named_in(said) if name in known), None):
            detail = (
                f"task {_named(task)} speaks of task {named!r}, which is not among its depends_on: it will not see it"
            )
            yield Spot(f"{pointer}/depends_on", detail)
        elif len(plan.tasks) > 1 and not task.depends_on and (found := EARLIER.search(said)):
            detail = (
                f"task {_named(task)} speaks of {found[0]!r} and has no depends_on: it will see no other task's result"
            )
            yield Spot(f"{pointer}/depends_on", detail)


def _all_before(plan: Plan, task: Task) -> set[str]:
    """The tasks whose results have led to a task."""
    before, ahead = set[str](), list(task.depends_on)
    while ahead:
        name = ahead.pop()
        if name not in before:
            before.add(name)
            ahead += plan.by_id[name].depends_on
    return before


def _too_many_results(plan: Plan, crew: Crew) -> Iterator[Spot]:
    count = len(plan.tasks)
    if count > RESULTS_HELD and plan.strategy != "reduce":
        ways_out = ["let each task do several things"]
        ways_out += ["take the strategy reduce"] if "reduce" in strategies_open(crew.strategy) else []
        ways_out += [f"have {name} do groups of them" for name, each in crew.workers.items() if each.team is not None]
        told = ", or ".join(ways_out)
        yield Spot("/tasks", f"the answer would be made from {count} results, and holds {RESULTS_HELD}: {told}")
    for pointer, task in _each(plan):
        if len(task.depends_on) > RESULTS_HELD:
            detail = f"task {_named(task)} is given {len(task.depends_on)} results, and can hold {RESULTS_HELD}"
            yield Spot(f"{pointer}/depends_on", detail)


def _vague_instructions(plan: Plan, _: Crew) -> Iterator[Spot]:
    for pointer, task in _each(plan):
        if not task.depends_on and is_blank(task.context) and says_nothing(task.instruction):
            detail = f"task {_named(task)} does not say what is to be found out or made: {_quoted(task.instruction)}"
            yield Spot(f"{pointer}/instruction", detail)


def _vague_references(plan: Plan, _: Crew) -> Iterator[Spot]:
    for pointer, task in _each(plan):
        said = unquoted(task.instruction)
        found = ABOVE.search(said) or (EARLIER.search(said) if len(task.depends_on) > 1 else None)
        if found and is_blank(task.context) and found.start() < QUOTE_CHARACTERS:
            detail = f"task {_named(task)} says {found[0]!r}: its worker sees no plan, and may not know what that is"
            yield Spot(f"{pointer}/instruction", detail)


def _overlaps(plan: Plan, _: Crew) -> Iterator[Spot]:
    """Tasks of one worker, given the same results, that say the same."""
    said = {task.id: words_in(task.instruction) for task in plan.tasks}
    known = {task.id: words_in(task.context) for task in plan.tasks}
    tries = candidates_of(plan)
    for (_first, one), (pointer, other) in combinations(_each(plan), 2):
        if one.id in tries and other.id in tries:
            continue
        alike = (one.worker, {*one.depends_on}) == (other.worker, {*other.depends_on}) and known[one.id] == known[
            other.id
        ]
        fewer, more = sorted((said[one.id], said[other.id]), key=len)
        if alike and len(fewer) >= FEWEST_WORDS_COMPARED and fewer <= more and len(fewer) >= SAME_WORDS * len(more):
            yield Spot(f"{pointer}/instruction", f"tasks {_named(one)} and {_named(other)} ask for the same")


def _candidates_alone(plan: Plan, crew: Crew) -> Iterator[Spot]:
    if plan.strategy == "select" and not candidates_of(plan) and crew.limits.tasks >= FEWEST_CANDIDATES:
        detail = "the strategy is select, and there is one candidate only: let several tasks try the same thing"
        yield Spot("/tasks", detail)


def _candidates_required(plan: Plan, _: Crew) -> Iterator[Spot]:
    tries = candidates_of(plan)
    for pointer, task in _each(plan):
        if task.id in tries and task.required:
            detail = f"task {_named(task)} is a candidate and required: if it fails, the run cannot succeed"
            yield Spot(f"{pointer}/required", detail)


def _criteria_missing(plan: Plan, _: Crew) -> Iterator[Spot]:
    for pointer, task in _each(plan):
        if is_blank(task.success_criterion):
            detail = f"task {_named(task)} does not say by what one sees that it is done"
            yield Spot(f"{pointer}/success_criterion", detail)


def _unused_dependencies(plan: Plan, _: Crew) -> Iterator[Spot]:
    """Dependencies that have no word in common with the task, which does not speak of anything it is given either."""
    for pointer, task in _each(plan):
        said = f"{task.title} {task.instruction[:CHARACTERS_READ]} {task.context}"
        own = telling_words(said)
        if len(own) < FEWEST_WORDS_OF_A_SUBJECT or may_mean_what_it_is_given(task.instruction):
            continue
        for place, name in enumerate(task.depends_on):
            needed = plan.by_id[name]
            theirs = telling_words(f"{name} {needed.title} {needed.instruction}")
            if len(theirs) >= FEWEST_WORDS_OF_A_SUBJECT and own.isdisjoint(theirs):
                detail = f"task {_named(task)} waits for {name[:NAME_SHOWN]!r} and does not use its result"
                yield Spot(f"{pointer}/depends_on/{place}", detail)


def _budgets_unfit(plan: Plan, crew: Crew) -> Iterator[Spot]:
    limits = crew.limits
    for pointer, task in _each(plan):
        for field, what in (
            ("tokens", limits.tokens),
            ("timeout_s", limits.timeout_s),
            ("deadline_s", limits.timeout_s),
        ):
            allowed = getattr(task.budget, field)
            if allowed is not None and what is not None and allowed > what:
                detail = f"task {_named(task)} may take {allowed:g} {field}, and the whole run has {what:g}"
                yield Spot(f"{pointer}/budget/{field}", detail)
        if (tokens := task.budget.tokens) is not None and tokens < LEAST_TOKENS:
            detail = f"task {_named(task)} may take {tokens} tokens; a single reply takes about {LEAST_TOKENS}"
            yield Spot(f"{pointer}/budget/tokens", detail)
    yield from _sums_unfit(plan, crew)


def _sums_unfit(plan: Plan, crew: Crew) -> Iterator[Spot]:
    total, allowed = sum(task.budget.tokens or 0 for task in plan.tasks), crew.limits.tokens
    if allowed is not None and total > allowed:
        yield Spot("/tasks", f"the tasks may take {total} tokens together, and the whole run has {allowed}")
    path_s = max((_path_s(plan, task, {}) for task in plan.tasks), default=0)
    longest_s = max((task.budget.timeout_s or 0 for task in plan.tasks), default=0)
    if path_s > crew.limits.timeout_s >= longest_s:
        detail = (
            f"tasks that wait for each other may take {path_s:g} s, and the whole run has {crew.limits.timeout_s:g} s"
        )
        yield Spot("/tasks", detail)


def _path_s(plan: Plan, task: Task, known: dict[str, float]) -> float:
    """Seconds that a task and those it waits for may take, as far as the plan bounds them."""
    if task.id not in known:
        before = max((_path_s(plan, plan.by_id[name], known) for name in task.depends_on), default=0)
        known[task.id] = before + (task.budget.timeout_s or 0)
    return known[task.id]


RULES = (
    Rule("tool_missing", True, _tools_missing),
    Rule("reference_unmet", True, _references_unmet),
    Rule("results_too_many", True, _too_many_results),
    Rule("candidate_alone", True, _candidates_alone),
    Rule("instruction_vague", False, _vague_instructions),
    Rule("reference_vague", False, _vague_references),
    Rule("tasks_overlap", False, _overlaps),
    Rule("candidate_required", False, _candidates_required),
    Rule("dependency_unused", False, _unused_dependencies),
    Rule("budget_unfit", False, _budgets_unfit),
    Rule("criterion_missing", False, _criteria_missing),
)
"""Serious ones first: there is room for so many warnings only."""
SERIOUS = frozenset(rule.code for rule in RULES if rule.serious)
