"""The room that a call is given in the budgets of its task and of its run, before it is made."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from app.agents.ask import Call
from app.agents.desk import Desk
from app.domain.policy.budget import LEAST_REPLY, is_limited, room_of_task
from app.llm.estimates import worst_case


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
