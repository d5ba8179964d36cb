"""What people are asked at the terminal about a run that goes on: its plan, its questions, and whether to end it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from rich.console import Console
from rich.text import Text

from app.client import Client, Plan, Quote, Refused, ServiceError
from app.terminal.plan_changes import plan_changes
from app.terminal.plan_command import plan_lines
from app.terminal.text import inert, one_line
from app.terminal.words import duration, money

Typed = Callable[[str], Awaitable[str | None]]
"""A prompt, and the line that is typed; None when nothing is: at the end of input, or since nothing is to be said any
more."""
_TO_BE_SAID_BETTER = {412, 422}
"""Statuses of refusals after which there is something to say yet: a plan that has changed, an answer not offered."""
Edit = Callable[[], Awaitable[None]]


async def decide_on_plan(
    client: Client, run_id: str, approval: Mapping[str, Any], to: Console, typed: Typed, edit: Edit
) -> None:
    """Have a plan approved, rejected, or edited and then decided on."""
    until = f"else {approval['default']} at {clock(approval['expires_at'])}"
    shown: Plan | None = None
    while True:
        plan = await client.plan(run_id)
        revision = plan["revision"]
        if shown is None or shown["revision"] != revision:
            _print_plan(to, plan, shown, (await client.run(run_id))["quote"])
            shown = plan
        said = await typed(f"Approve this plan? [y]es, [n]o, [e]dit; {until}: ")
        if said is None:
            return
        match said.strip().lower():
            case "y" | "yes":
                act = partial(client.approve, run_id, revision=revision)
            case "n" | "no":
                act = partial(client.reject, run_id, revision=revision)
            case "e" | "edit":
                await edit()
                continue
            case _:
                continue
        if await _tried(to, act):
            return


def _print_plan(to: Console, plan: Plan, before: Plan | None, quote: Quote | None) -> None:
    """Print what is decided on: the plan as a tree, its instructions, and what is different since it was shown last."""
    to.print()
    for line in plan_lines(plan, {}):
        to.print(line)
    to.print()
    for task in plan["tasks"]:
        to.print(Text.assemble((one_line(task["id"]), "bold"), f" {inert(task['instruction'])}"))
    if before is not None:
        to.print()
        for each in plan_changes(before, plan):
            to.print(Text(one_line(f"changed: {each}"), "cyan"))
    if quote is not None:
        cost = quote["cost_usd"]
        price = f"{money(cost['likely'])} ({money(cost['least'])} to {money(cost['most'])})" if cost else "not known"
        time = duration(1000 * quote["duration_s"]["likely"])
        to.print(Text(f"Likely cost: {price}; time: {time}.", "dim"))


async def answer(client: Client, run_id: str, question: Mapping[str, Any], to: Console, typed: Typed) -> None:
    """Have a question answered. An empty line leaves it open."""
    choices: Sequence[str] = question["choices"]
    to.print()
    to.print(Text(inert(question["question"]), "yellow"))
    for number, choice in enumerate(choices, 1):
        to.print(Text(f"  {number}. {one_line(choice)}"))
    default = question["default"]
    until = f"else {default['action']} at {clock(question['expires_at'])}"
    if default.get("assumption"):
        to.print(Text(one_line(f"Without an answer: {default['assumption']}"), "dim"))
    while (said := await typed(f"Answer, or Enter to leave it open; {until}: ")) is not None:
        said = said.strip()
        if not said:
            to.print(Text(f"It stays open: chargehand answer {run_id} {question['id']}", "dim"))
            return
        if choices and said.isdecimal() and said not in choices and 0 < int(said) <= len(choices):
            said = choices[int(said) - 1]
        if await _tried(to, partial(client.answer, run_id, question["id"], said)):
            return


async def _tried(to: Console, act: Callable[[], Awaitable[object]]) -> bool:
    """Whether it is settled: done, or by somebody else. What was not heard, or can be said better, is said again."""
    try:
        await act()
    except ServiceError as error:
        to.print(Text(one_line(str(error)), "red"))
        return isinstance(error, Refused) and error.status not in _TO_BE_SAID_BETTER
    return True


def clock(moment: str) -> str:
    """A moment of the API by the clock on the wall here."""
    return f"{datetime.fromisoformat(moment).astimezone():%H:%M:%S}"
