"""The arithmetic of quotes: from a plan, prices, limits and the history of such tasks to what the run will consume.

`least` is what a run that does all its plan asks cannot do without: one small call for each required task, and one for
the answer. `most` is what it may consume when all goes wrong: every attempt fails at its last step, and every reply and
what tools bring is as long as it may be; the run's own limits bound it. `likely` is the sum of what such tasks have
taken here on the average; where too few are known, a task is taken to have a typical length. All are reckoned once,
when the plan is made. What was spent until then is a part of them. Replies that are cut, and calls that the provider or
a crash breaks off, are not.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import reduce
from math import floor
from typing import TypeVar

from app.domain import events as ev
from app.domain.brief import Brief
from app.domain.lint import RESULTS_HELD
from app.domain.plan import Plan, Task
from app.domain.plan_strategy import candidates_of
from app.domain.protocol import SUPERVISOR_REPLIES
from app.domain.quote import (
    Grounds,
    Planning,
    Quote,
    SecondsRange,
    TokenPrices,
    TokensRange,
    Typical,
    money_range,
)
from app.domain.quoting_calls import LONGEST_TOKEN, call_s, least_call, so_many, typical_calls, worst_calls
from app.domain.schedule import time_for
from app.domain.snapshot import Snapshot
from app.domain.usage import Amount
from app.domain.worker import Worker

ENOUGH = 3
"""Tasks of a kind from which its history tells more than what is typical."""
CHARACTERS_PER_TOKEN = 4
OPENING_TOKENS = 1_500
"""What a request has beside instructions and task: the form of the answer, the rules, the tools."""
REPLY_TOKENS = 600
OUTCOME_TOKENS = 1_000
"""What a tool brings back."""
RESULT_TOKENS = 600
"""What a task hands on to those that need it, and to the answer."""
CALLS_WITH_TOOLS = 4
ANSWER_READ = 2_000
ANSWER_WRITTEN = 1_000
LONGEST_REQUEST = 1_000_000
"""Tokens that no model reads more of in one call."""
LONGEST_FORM = 6_000
"""What a first request may have beside the team's and the plan's own words, and the results of other tasks."""
LONGEST_RESULTS = 120_000
"""What may be shown of those."""
LONGEST_LOOK = 30_000
"""What is shown of a finding, and around it."""
LONGEST_OUTCOME = 20_000
"""What comes back to one reply that calls tools, at about."""
SEARCH_TOKENS = 10_000
"""What one search of the provider brings to read, at about; nobody bounds it."""
PlanT = TypeVar("PlanT", ev.PlanCreated, ev.PlanEdited)
_FREE = TokenPrices(*[Decimal(0)] * 6)
NESTED_TASKS = 5
NESTED_IN_A_ROW = 3
"""Calls of a nested team's plan, work and answer that are taken for usual in place of one, and how many of them follow
each other; its own quote says better."""
NESTED_CALLS_MOST = 40
"""How often what an attempt may take at the worst a nested run is taken to need: twelve tasks with three attempts each,
its plan and its answer."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A task of the plan, or the answer, in figures."""

    least: Amount
    likely: Typical
    most: Amount


def quoted(run: Snapshot, plan: PlanT, at: datetime) -> PlanT:
    """The plan with its quote, where something is known that one can rest on."""
    grounds = run.brief.grounds
    if grounds is None or plan.quote is not None:
        return plan
    return plan.model_copy(update={"quote": quote_of(run, plan, grounds, at)})


def quote_of(run: Snapshot, plan: Plan, grounds: Grounds, at: datetime) -> Quote:
    """The quote of a run that gets this plan now."""
    run = replace(run, brief=run.brief.joined_by(plan.workers))
    reused = {each.task for each in run.brief.reused.tasks}
    tasks = {task.id: _task_part(run.brief, task, grounds) for task in plan.tasks if task.id not in reused}
    answer = None if run.brief.needs_no_answer(plan) else _answer_part(run.brief, plan, grounds)
    judge = _judge_part(run.brief, plan, grounds) if candidates_of(plan) else None
    reductions = _reductions_part(run.brief, plan, grounds) if answer and plan.strategy == "reduce" else None
    looks = _looks_part(run.brief, plan, grounds)
    behind = [part for part in (judge, reductions, looks, answer) if part]
    parts = [*tasks.values(), *behind]
    spent, limits = run.usage.amount, run.brief.limits
    most = _total(spent, (part.most for part in parts))
    most_tokens = max(min(most.tokens, limits.tokens or most.tokens), spent.tokens)
    most_usd = max(min(most.cost_usd, limits.cost_usd or most.cost_usd), spent.cost_usd)
    least, likely = _total(spent, (part.least for part in parts)), _total(spent, (part.likely.amount for part in parts))
    planning_s = (at - run.started_at).total_seconds() if run.started_at else 0
    lasts = dict.fromkeys(reused, 0.0) | {name: part.likely.duration_s for name, part in tasks.items()}
    works_s = time_for(plan.tasks, lasts, limits.concurrency) + sum(part.likely.duration_s for part in behind)
    least_tokens, most_s = min(least.tokens, most_tokens), max(limits.timeout_s, planning_s)
    return Quote(
        cost_usd=money_range(least.cost_usd, likely.cost_usd, most_usd)
        if _all_priced(run.brief, plan, grounds)
        else None,
        tokens=TokensRange(
            least=least_tokens, likely=min(max(likely.tokens, least_tokens), most_tokens), most=most_tokens
        ),
        duration_s=SecondsRange(
            least=floor(planning_s * 1_000) / 1_000,
            likely=round(min(planning_s + works_s, most_s), 3),
            most=round(most_s, 3),
        ),
        basis="history"
        if all(part.likely.count >= ENOUGH for part in parts if part not in (judge, looks))
        else "limits",
        runs_considered=grounds.history.runs,
        planning=Planning(cost_usd=spent.cost_usd, tokens=spent.tokens, duration_s=round(planning_s, 3)),
    )


def _total(spent: Amount, amounts: Iterable[Amount]) -> Amount:
    return reduce(Amount.__add__, amounts, spent)


def _all_priced(brief: Brief, plan: Plan, grounds: Grounds) -> bool:
    used = {brief.team.supervisor.model, *([brief.team.critic_model] if candidates_of(plan) else [])}
    used |= {brief.team.findings.model} if brief.reports_findings(plan) else set()
    used |= {name for task in plan.tasks for worker in _who(brief, task) for name in _players(brief, worker)}
    return all(grounds.prices.get(brief.models.get(name, name)) is not None for name in used)


def _who(brief: Brief, task: Task) -> list[Worker]:
    """Who may have to do a task: its worker, and with a second attempt everybody."""
    return [worker for worker in brief.team.workers if brief.limits.attempts > 1 or worker.name == task.worker]


def _players(brief: Brief, worker: Worker) -> tuple[str, ...]:
    """The models that may play a worker. Those of a nested team are its own affair: the supervisor's stands in."""
    return worker.models or (brief.team.supervisor.model,)


def _prices(brief: Brief, grounds: Grounds, model: str) -> TokenPrices:
    return grounds.prices.get(brief.models.get(model, model)) or _FREE


def _task_part(brief: Brief, task: Task, grounds: Grounds) -> _Part:
    worker = brief.team.worker(task.worker)
    assert worker is not None  # The plan was validated against this very team.
    model = brief.models.get(worker.played_by, worker.played_by)
    prices = _prices(brief, grounds, _players(brief, worker)[0])
    past = grounds.history.tasks.get((worker.name, model))
    likely = past if past is not None and past.count >= ENOUGH else _typical_task(task, worker, prices)
    least = least_call(prices, len(task.instruction) // LONGEST_TOKEN) if task.required else Amount()
    return _Part(least, likely, _worst_task(brief, task, grounds))


def _typical_task(task: Task, worker: Worker, prices: TokenPrices) -> Typical:
    calls = min(_steps(task, worker), CALLS_WITH_TOOLS if worker.tools else 1)
    opening = OPENING_TOKENS + _told(task, worker) // CHARACTERS_PER_TOKEN + RESULT_TOKENS * len(task.depends_on)
    read = calls * opening + calls * (calls - 1) // 2 * (REPLY_TOKENS + OUTCOME_TOKENS)
    times, in_a_row = (NESTED_TASKS, NESTED_IN_A_ROW) if worker.team is not None else (1, 1)
    lasts = min(in_a_row * calls * call_s(REPLY_TOKENS), task.budget.timeout_s or worker.timeout_s)
    return typical_calls(prices, times * read, times * calls * REPLY_TOKENS, lasts)


def _told(task: Task, worker: Worker) -> int:
    """Characters that the worker is told of its role and its task."""
    return len(worker.instructions) + len(task.instruction) + len(task.context)


def _worst_task(brief: Brief, task: Task, grounds: Grounds) -> Amount:
    """Every attempt with whoever is dearest at it, and what the supervisor says between them."""
    attempts = brief.limits.attempts
    works = [_worst_attempt(brief, task, worker, grounds) for worker in _who(brief, task)]
    between = _worst_talk(brief, grounds, len(task.instruction) + len(task.context))
    tokens = attempts * (max(work.tokens for work in works) + 2 * between.tokens)
    cost = attempts * (max(work.cost_usd for work in works) + 2 * between.cost_usd)
    if task.budget.tokens is None:
        return Amount(tokens=tokens, cost_usd=cost)
    dearest = max(_dearest(brief, grounds, name) for worker in _who(brief, task) for name in _players(brief, worker))
    dearest = max(dearest, _dearest(brief, grounds, brief.team.supervisor.model))
    allowed = min(tokens, task.budget.tokens)
    fees = attempts * max(_fees(brief, task, worker, grounds) for worker in _who(brief, task))
    return Amount(tokens=allowed, cost_usd=min(cost, allowed * dearest + fees))


def _dearest(brief: Brief, grounds: Grounds, model: str) -> Decimal:
    prices = _prices(brief, grounds, model)
    return max(prices.dearest_read, prices.dearest_written)


def _steps(task: Task, worker: Worker) -> int:
    """Replies that an attempt may take."""
    return task.budget.steps or worker.max_steps


def _fees(brief: Brief, task: Task, worker: Worker, grounds: Grounds) -> Decimal:
    fee = max(_prices(brief, grounds, name).search for name in _players(brief, worker))
    return _steps(task, worker) * grounds.searches_with(worker.tools) * fee


def _worst_attempt(brief: Brief, task: Task, worker: Worker, grounds: Grounds) -> Amount:
    opening = LONGEST_FORM + _told(task, worker) + (LONGEST_RESULTS if task.depends_on else 0)
    searched = grounds.searches_with(worker.tools) * SEARCH_TOKENS
    turn = grounds.reply_tokens + LONGEST_OUTCOME + searched
    steps = _steps(task, worker)
    read = sum(min(opening + searched + number * turn, LONGEST_REQUEST) for number in range(steps))
    prices = [_prices(brief, grounds, name) for name in _players(brief, worker)]
    times = NESTED_CALLS_MOST if worker.team is not None else 1
    worst = worst_calls(prices, times * read, times * steps * grounds.reply_tokens)
    return worst + Amount(cost_usd=_fees(brief, task, worker, grounds))


def _worst_talk(brief: Brief, grounds: Grounds, told: int, model: str | None = None) -> Amount:
    """A conversation of the supervisor, or of the `model`: a ruling, a rewritten instruction, the answer."""
    written = SUPERVISOR_REPLIES * grounds.reply_tokens
    read = SUPERVISOR_REPLIES * (LONGEST_FORM + len(brief.team.supervisor.instructions) + told + written)
    return worst_calls([_prices(brief, grounds, model or brief.team.supervisor.model)], read, written)


def _answer_part(brief: Brief, plan: Plan, grounds: Grounds) -> _Part:
    prices, past = _prices(brief, grounds, brief.team.supervisor.model), grounds.history.answer
    likely = past if past is not None and past.count >= ENOUGH else None
    read = ANSWER_READ + RESULT_TOKENS * len(plan.tasks)
    guess = typical_calls(prices, read, ANSWER_WRITTEN, call_s(ANSWER_WRITTEN))
    told = LONGEST_RESULTS + len(brief.objective) + len(plan.final_instruction)
    return _Part(least_call(prices), likely or guess, _worst_talk(brief, grounds, told))


def _judge_part(brief: Brief, plan: Plan, grounds: Grounds) -> _Part:
    """The choice among candidates. With one that delivers there is none."""
    model = brief.team.critic_model
    prices = _prices(brief, grounds, model)
    read = ANSWER_READ + RESULT_TOKENS * len(candidates_of(plan))
    told = LONGEST_RESULTS + len(brief.objective) + len(plan.final_instruction)
    likely = typical_calls(prices, read, REPLY_TOKENS, call_s(REPLY_TOKENS))
    return _Part(Amount(), likely, _worst_talk(brief, grounds, told, model))


def _looks_part(brief: Brief, plan: Plan, grounds: Grounds) -> _Part | None:
    """Second looks at findings: likely a third of those that the team allows."""
    rules, most = brief.team.findings, brief.team.findings.second_looks
    if not brief.reports_findings(plan) or not most:
        return None
    count, prices = -(-most // 3), _prices(brief, grounds, rules.model)
    turns = -(-count // brief.limits.concurrency)
    likely = typical_calls(prices, count * ANSWER_READ, count * REPLY_TOKENS, turns * call_s(REPLY_TOKENS))
    worst = _worst_talk(brief, grounds, LONGEST_LOOK + len(brief.objective), rules.model)
    return _Part(Amount(), likely, so_many(most, worst))


def _reductions_part(brief: Brief, plan: Plan, grounds: Grounds) -> _Part | None:
    """The groups that results are put together in before the answer: likely as many as their number makes, and at the
    worst one for each result, all of them being long."""
    count, prices = len(plan.tasks), _prices(brief, grounds, brief.team.supervisor.model)
    if count < 2:
        return None
    groups = -(-count // RESULTS_HELD) if count > RESULTS_HELD else 0
    turns = -(-groups // brief.limits.concurrency)
    read = groups * ANSWER_READ + RESULT_TOKENS * count
    likely = typical_calls(prices, read if groups else 0, groups * ANSWER_WRITTEN, turns * call_s(ANSWER_WRITTEN))
    likely = likely if groups else replace(likely, count=ENOUGH)  # Most probably there are none.
    required = sum(task.required for task in plan.tasks)
    call, worst = least_call(prices), _worst_talk(brief, grounds, LONGEST_RESULTS + len(brief.objective))
    least = -(-required // RESULTS_HELD) if required > RESULTS_HELD else 0
    most = count + -(-count // RESULTS_HELD)
    return _Part(so_many(least, call), likely, so_many(most, worst))
