"""What failures cost: how far budgets are overshot, and what a task that fails spends in vain.

The overshoot is looked for in rehearsed runs: the real agents and policy, while chance plays model, tools and machine.
A reply takes any part of what it may, fails in any way, and the process dies at any moment.
"""

from dataclasses import dataclass
from random import Random

from app.domain.job import Limits
from app.domain.plan import Plan, Task, validated
from tests.support.rehearsal import rehearse
from tests.support.script import CALL_OUTCOMES, TOOL_OUTCOMES, Script

LIMITS = (8_000, 30_000, 100_000, 400_000)
WORKERS = ("able", "baker")


@dataclass(frozen=True, slots=True)
class Overshoot:
    """What was found in runs with a limit of tokens."""

    runs: int
    exhausted: int
    """Runs whose budget had no room for a call."""
    largest: int
    """Tokens beyond its limit that a run has spent at most; 0 when none has."""


def overshoot_of(runs: int, seed: int) -> Overshoot:
    """The largest overshoot of so many rehearsed runs."""
    chance, exhausted, largest = Random(seed), 0, 0
    for _ in range(runs):
        run = rehearse(_script(chance)).run
        assert run.brief.limits.tokens is not None
        exhausted += run.exhausted is not None
        largest = max(largest, (run.usage.amount + run.unsettled).tokens - run.brief.limits.tokens)
    return Overshoot(runs, exhausted, largest)


def _script(chance: Random) -> Script:
    calls = chance.choices(["answer", "tools", *CALL_OUTCOMES], [30, 30, *[1] * len(CALL_OUTCOMES)], k=20)
    return Script(
        plan=_plan(chance),
        limits=Limits(concurrency=8, tokens=chance.choice(LIMITS), timeout_s=900, tasks=40),
        pair=chance.random() < 0.5,
        calls=tuple(calls),
        tools=tuple(chance.choices(TOOL_OUTCOMES, k=5)),
        choices=tuple(chance.randrange(8) for _ in range(7)),
        delays=tuple(chance.choices([0, 1, 5, 61], [6, 3, 2, 1], k=11)),
        crashes=frozenset(chance.randrange(150) for _ in range(chance.randrange(5))),
        shares=tuple(chance.random() for _ in range(13)),
    )


def _plan(chance: Random) -> Plan:
    """Twelve tasks, of which some need earlier ones."""
    tasks: list[Task] = []
    for number in range(12):
        needs = [task.id for task in tasks if chance.random() < 0.1]
        tasks.append(Task(id=f"t{number}", instruction=f"do t{number}", worker="able", depends_on=tuple(needs)))
    return validated(Plan(tasks=tuple(tasks)), WORKERS, len(tasks))


@dataclass(frozen=True, slots=True)
class Spending:
    """What a task took that fails until its instruction is another."""

    spent: int
    """Tokens."""
    in_vain: int
    """Those of attempts that failed."""
    delivered: bool


def spending(failures: int) -> Spending:
    """What is spent on a task of three attempts whose first ones fail, so many of them."""
    plan = validated(Plan(tasks=(Task(id="t0", instruction="do t0", worker="able"),)), WORKERS, 1)
    # An attempt hands in something useless, and again when it is told so. Then the instruction is rewritten.
    calls = (*("useless", "useless", "answer") * failures, "answer")
    story = rehearse(Script(plan=plan, limits=Limits(attempts=3), own_plan=True, calls=calls, delays=(0,)))
    [task] = story.run.tasks.values()
    failed = [attempt.usage.amount.tokens for attempt in task.attempts if attempt.status == "failed"]
    return Spending(task.usage.amount.tokens, sum(failed), task.delivered)
