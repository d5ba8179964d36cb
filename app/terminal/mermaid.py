"""A plan as a Mermaid flowchart."""

import re
from collections.abc import Mapping
from typing import Any

from app.terminal.text import one_line

_PLAIN = re.compile(r"[^\w .,:()-]")
"""Whatever may mean something to Mermaid, which takes a character's number instead."""


def flowchart(plan: Mapping[str, Any]) -> str:
    """The tasks from left to right, those that may fail with a dashed border."""
    names = {task["id"]: f"task{number}" for number, task in enumerate(plan["tasks"], start=1)}
    lines = ["flowchart LR"]
    for task in plan["tasks"]:
        label = "<br/>".join(_escaped(each) for each in (task["id"], task["title"], task["worker"]) if each)
        lines.append(f'    {names[task["id"]]}["{label}"]')
    lines += [
        f"    {names[before]} --> {names[task['id']]}"
        for task in plan["tasks"]
        for before in task["depends_on"]
        if before in names
    ]
    optional = [names[task["id"]] for task in plan["tasks"] if not task["required"]]
    if optional:
        lines += ["    classDef optional stroke-dasharray: 4", f"    class {','.join(optional)} optional"]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return _PLAIN.sub(lambda found: f"#{ord(found[0])};", one_line(text))
