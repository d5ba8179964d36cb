"""How the demo model plans."""

from typing import Any

from app.llm.demo_prompts import gist, opening_of, sections, values
from app.llm.model import Request


def plan(request: Request) -> dict[str, Any]:
    found = sections(opening_of(request))
    objective = found["objective"][0]
    worker = values(found["workers"])[0]["name"]
    return {
        "goal": gist(objective),
        "final_instruction": "Say that the answer comes from the demo model.",
        "tasks": [
            {
                "id": "t1",
                "title": gist(objective, 60),
                "instruction": objective,
                "context": "",
                "success_criterion": "It is answered.",
                "worker": worker,
                "depends_on": [],
                "required": True,
            }
        ],
    }
