"""The room that a call is given in the budgets of its task and of its run, before it is made."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from app.agents.aside import done_aside
from app.agents.ask import Call
from app.agents.desk import Desk
from app.agents.roles import ROLES
from app.domain.policy.agenda import ANSWERING, SELECTING
from app.domain.policy.budget import (
    ANSWER_TOKENS,
    FORM_TOKENS,
    REPORT_TOKENS,
    Kept,
    is_limited,
    room_of_task,
)
from app.domain.policy.resolution import is_resolving
from app.domain.quoting import CHARACTERS_PER_TOKEN
from app.domain.reduction_tree import characters_of, tree_of
from app.domain.snapshot import Snapshot
from app.domain.topics import Topic
from app.domain.usage import LEAST_REPLY
from app.llm.estimates import worst_answer, worst_case
from app.llm.model import Model


async def kept_for_answer(run: Snapshot, model: Model, asks: Topic | None = None) -> Kept:
    """What the answer takes at the worst with the material there is, and a share for each task that has not ended.

    Where a choice comes before it, that reads the same once more; unless it is what `asks`.
    """
    is_to_come = run.wants_answer or is_resolving(run) or any(task.is_awaited for task in run.tasks.values())
    if not is_to_come or (run.plan is not None and run.brief.needs_no_answer(run.plan)):
        return Kept()
    role = ROLES["synthesize"]
    offer = role.offer(run, ANSWERING)
    model_id = model.model_id(offer.model)
    read, expected = FORM_TOKENS, 0
    if run.plan is not None:
        prompt = await done_aside(role.material(run, ANSWERING), lambda: role.open(run, ANSWERING))
        request = Call(ANSWERING, run.conversation(ANSWERING), prompt, offer).request()
        read = worst_case(model.prices, request, model_id).input_tokens
        expected = REPORT_TOKENS * sum(not task.ended for task in run.tasks.values()) + _for_reductions(run)
    kept = Kept(
        worst_answer(model.prices, model_id, read, LEAST_REPLY),
        worst_answer(model.prices, model_id, expected, ANSWER_TOKENS - LEAST_REPLY),
    )
    if asks == SELECTING or not run.chooses_first:
        return kept
    judge_id = model.model_id(run.brief.team.critic_model)
    return Kept(
        kept.sure + worst_answer(model.prices, judge_id, read, LEAST_REPLY),
        kept.expected + worst_answer(model.prices, judge_id, expected, ANSWER_TOKENS - LEAST_REPLY),
    )


def _for_reductions(run: Snapshot) -> int:
    """Tokens that putting results together in groups probably takes, as long as work goes on that could spend them."""
    groups = tree_of(run).pending if run.phase == "executing" else ()
    read = sum(characters_of(member) for group in groups for member in group.members)
    return ANSWER_TOKENS * len(groups) + read // CHARACTERS_PER_TOKEN


@asynccontextmanager
async def within_budget(desk: Desk, call: Call) -> AsyncIterator[Call]:
    """The call as it may be made, with its worst case reserved for as long as it goes on.

    Waits while calls under way may free room. Raises `BudgetSpent` when it can never be made.
    """
    run, model = desk.run, desk.model
    of_task = room_of_task(run, call.topic)
    if not is_limited(run) and of_task.tokens is None:
        yield call
        return
    request = call.request()
    worst = worst_case(model.prices, request, model.model_id(request.model), call.talk.tokens)
    cap = of_task.cap(worst)
    if cap < min(LEAST_REPLY, worst.output_tokens):
        yield replace(call, cap=0)
        return
    began = time.monotonic()
    async with desk.reserve(call.topic, replace(worst, output_tokens=cap)) as granted:
        yield replace(call, cap=granted, waited_s=time.monotonic() - began)
