"""`chargehand show`: how a run stands, what came of it, and what is to be done about it."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from app.client import Client, Question, Run, Task
from app.terminal.arguments import RunName
from app.terminal.options import AsJson
from app.terminal.output import MARKS, console, in_style, print_json, print_prose, print_table
from app.terminal.service import Service, at_service
from app.terminal.tables import Column, Row
from app.terminal.text import one_line
from app.terminal.which_run import run_meant
from app.terminal.words import counted, duration, moment, money, status_of

TASK_COLUMNS = (
    Column("TASK"),
    Column("STATUS", needed=8),
    Column("TITLE", is_cut=True, needed=7),
    Column("WORKER", needed=4),
    Column("TRIES", "right", needed=3),
    Column("TIME", "right", needed=2),
    Column("COST", "right", needed=1),
)


@at_service
def show(service: Service, run: RunName, as_json: AsJson = False) -> None:
    """Show how a run stands and what came of it."""

    async def found(client: Client) -> tuple[Run, list[Task], list[Question]]:
        run_id = await run_meant(client, run)
        if as_json:
            return await client.run(run_id), [], []
        shown, tasks, questions = await asyncio.gather(
            client.run(run_id), client.tasks(run_id), client.questions(run_id)
        )
        return shown, tasks, questions

    shown, tasks, questions = service.ask(found)
    if as_json:
        print_json(shown)
        return
    to = console()
    print_prose(to, _head(shown))
    if tasks:
        to.print()
        print_table(TASK_COLUMNS, [_row(task) for task in tasks], to)
    _print_result(to, shown)
    print_prose(to, _todo(shown, questions))


def _head(run: Run) -> Iterator[Text]:
    yield Text(one_line(run["objective"]), "bold")
    status = Text().append_text(in_style(run["status"], status_of(run)))
    if run["stop_reason"] not in (None, "completed", run["status"]):
        status.append(f" ({one_line(str(run['stop_reason']))})")
    yield _fact("run", run["id"])
    yield Text("status    ").append_text(status)
    if run["error"]:
        yield _fact("error", f"{run['error']['code']}: {run['error']['message']}")
    team, tasks = run["team"], run["progress"]["tasks"]
    yield _fact("team", f"{team['name']}@{team['version']}")
    if tasks["total"]:
        states = ", ".join(f"{many} {state}" for state, many in tasks.items() if many and state != "total")
        yield _fact("tasks", f"{tasks['total']}: {states}")
    timing, usage, limits = run["timing"], run["usage"], run["limits"]
    yield _fact("time", f"{duration(timing['wall_ms'])}, after {duration(timing['queued_ms'])} in line")
    budget = f" of {money(limits['cost_usd'])}" if limits.get("cost_usd") else ""
    calls = f"{counted(usage['llm_calls'], 'model call')}, {counted(usage['tool_calls'], 'tool call')}"
    yield _fact("cost", f"{money(usage['cost_usd'])}{budget}; {calls}")
    for key, value in run["metadata"].items():
        yield _fact("label", f"{key}={value}")


def _fact(name: str, value: str, style: str = "") -> Text:
    return Text(f"{name:<10}{one_line(value)}", style)


def _row(task: Task) -> Row:
    status = task["status"]
    error = task["error"]
    words = f"{MARKS.get(status, '?')} {error['code'] if error else status}"
    return [
        task["id"],
        in_style(status, words),
        task["title"],
        task["worker"],
        str(len(task["attempts"])),
        _time_of(task),
        money(task["usage"]["cost_usd"]),
    ]


def _time_of(task: Task) -> str:
    begun = [moment(each["started_at"]) for each in task["attempts"]]
    ended = [moment(each["finished_at"]) for each in task["attempts"] if each["finished_at"]]
    if not begun or len(ended) < len(begun):
        return ""
    return duration(1000 * (max(ended) - min(begun)).total_seconds())


def _print_result(to: Console, run: Run) -> None:
    result = run["result"]
    if result is None:
        return
    if result["answer"] is not None:
        to.print()
        from app.terminal.prose import print_answer  # What lays Markdown out is loaded where there is some.

        print_answer(to, result["answer"])
    remarks = [*_remarks(result)]
    if remarks:
        to.print()
        print_prose(to, remarks)


def _remarks(result: Any) -> Iterator[Text]:
    for conflict in result["conflicts"]:
        said = conflict["resolution"] or " / ".join(f"{each['task']}: {each['claim']}" for each in conflict["claims"])
        yield _fact("conflict", f"{conflict['topic']} ({conflict['status']}): {said}", "yellow")
    for gap in result["gaps"]:
        yield _fact("gap", f"{gap['task']} ({gap['reason']}): {gap['impact']}", "yellow")
    coverage = result["coverage"]
    yield _fact("coverage", f"{coverage['delivered']} of {coverage['required']} required tasks delivered")
    for artifact in result["artifacts"]:
        yield _fact("file", f"{artifact['name']} ({artifact['bytes']} bytes): {artifact['url']}")


def _todo(run: Run, questions: Sequence[Question]) -> Iterator[Text]:
    """What the run waits for that people give, and how."""
    open_ones = [each for each in questions if each["status"] == "open"]
    if run["waiting_for"] == "plan_approval" or open_ones:
        yield Text()
    if run["waiting_for"] == "plan_approval":
        yield Text("The plan waits for approval:", "yellow")
        for command in ("plan", "approve", "edit", "reject"):
            yield Text(f"  chargehand {command} {run['id']}", "yellow")
    for each in open_ones:
        yield Text(f"It asks: {one_line(each['question'])}", "yellow")
        yield Text(f"  chargehand answer {run['id']} {one_line(each['id'])}", "yellow")
