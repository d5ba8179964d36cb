"""`chargehand plan`: the plan of a run, as a tree, as a Mermaid chart, or as the API tells it."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from app.client import Client, Plan, Task
from app.terminal.arguments import RunName
from app.terminal.errors import CommandRefused
from app.terminal.mermaid import flowchart
from app.terminal.options import AsJson
from app.terminal.output import MARKS, STYLES, console, print_json, print_lines
from app.terminal.plan_tree import twigs
from app.terminal.service import Service, at_service
from app.terminal.text import one_line
from app.terminal.which_run import run_meant

Revision = Annotated[int | None, typer.Option(min=1, help="An older revision; the newest unless it is given.")]
AsMermaid = Annotated[bool, typer.Option("--mermaid", help="Print a Mermaid flowchart.")]


@at_service
def plan(
    service: Service, run: RunName, mermaid: AsMermaid = False, revision: Revision = None, as_json: AsJson = False
) -> None:
    """Show the plan of a run as a tree."""
    if as_json and mermaid:
        raise CommandRefused("--json and --mermaid are two forms: give one of them")

    async def found(client: Client) -> tuple[Plan, list[Task]]:
        run_id = await run_meant(client, run)
        if revision is not None or as_json or mermaid:
            return await client.plan(run_id, revision), []
        plan, tasks = await asyncio.gather(client.plan(run_id), client.tasks(run_id))
        return plan, tasks

    shown, tasks = service.ask(found)
    if as_json:
        print_json(shown)
    elif mermaid:
        console()  # It has what the output cannot show replaced.
        typer.echo(flowchart(shown), nl=False)
    else:
        print_lines(console(), plan_lines(shown, {task["id"]: task["status"] for task in tasks}))


def plan_lines(plan: Plan, statuses: Mapping[str, str]) -> list[Text]:
    """The plan as a tree under its goal, with the state of each task that has one, and what is odd about it."""
    shape = plan["shape"]
    size = f", {len(plan['tasks'])} tasks, {shape['width']} at once" if shape else ""
    lines = [
        Text(one_line(plan["goal"]), "bold"),
        Text(f"revision {plan['revision']}, {plan['strategy']}{size}", "dim"),
    ]
    for twig in twigs(plan["tasks"]):
        line = Text().append(twig.stem, "dim")
        status = statuses.get(twig.task["id"])
        if status is not None:
            line.append(MARKS.get(status, "?") + " ", STYLES.get(status, ""))
        line.append(one_line(twig.task["id"]), "bold")
        line.append(" " + one_line(twig.task["title"]))
        line.append(" · " + one_line(twig.task["worker"]), "cyan")
        line.append(_remarks(twig.task, twig.also_after), "dim")
        lines.append(line)
    validation = plan["validation"]
    return [*lines, *_findings(validation["errors"], "red"), *_findings(validation["warnings"], "yellow")]


def _remarks(task: Mapping[str, Any], also_after: Sequence[str]) -> str:
    remarks = [f"also after {one_line(', '.join(also_after))}"] if also_after else []
    if not task["required"]:
        remarks.append("may fail")
    return f"  ({'; '.join(remarks)})" if remarks else ""


def _findings(findings: Sequence[Mapping[str, Any]], style: str) -> list[Text]:
    return [Text(one_line(f"{each['code']} {each['pointer']}: {each['detail']}"), style) for each in findings]
