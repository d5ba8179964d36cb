"""The reference job: a plan of 8 independent tasks, each two model calls around a tool call, and a synthesis.

18 model calls, 4 of them one after the other. The same script answers the service and the bare program beside it.
"""

import os
from typing import Any

from tests.support.stub_answers import as_json, call, delayed, held, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

TASKS = 8
MODEL_CALLS = 2 + 2 * TASKS
CALLS_IN_A_ROW = 4
EVENTS = 7 + 6 * TASKS
"""In the log of one run."""
CALL_SECONDS = float(os.environ.get("CALL_SECONDS", "0.05"))

TEAM = {
    "limits": {"concurrency": TASKS},
    "name": "bench",
    "description": "Does the reference job.",
    "workers": [
        {
            "name": "worker",
            "description": "Calculates.",
            "instructions": "Calculate what the task says.",
            "tools": ["calculate"],
        }
    ],
}

PLAN: dict[str, Any] = {
    "goal": "Do eight sums.",
    "final_instruction": "List them.",
    "tasks": [
        {
            "id": f"t{n}",
            "title": f"Sum {n}",
            "instruction": f"Calculate {n} times {n} and say what it is.",
            "context": "",
            "success_criterion": "The product is stated.",
            "worker": "worker",
            "depends_on": [],
            "required": True,
        }
        for n in range(1, TASKS + 1)
    ],
}
REPORT = {
    "summary": "It is done.",
    "text": "The product was calculated with the tool and is right. " * 5,
    "confidence": 0.9,
    "sources": [],
    "escalation": None,
}
SYNTHESIS = {
    "answer": "All eight products were calculated. " * 10,
    "confidence": 0.9,
    "statements": [{"text": "All eight products were calculated.", "tasks": [f"t{n}" for n in range(1, TASKS + 1)]}],
    "conflicts": [],
    "gaps": [],
}


def script(stub: StubProvider) -> None:
    """Have the stub answer the reference job, each call after the same time."""
    plan, report, synthesis = (delayed(as_json(value), CALL_SECONDS) for value in (PLAN, REPORT, SYNTHESIS))
    use_tool = delayed(tool_calls(call("calculate", {"expression": "7*7"})), CALL_SECONDS)
    stub.on("plan", plan)
    stub.on("synthesize", synthesis)
    stub.on("work", lambda seen: report if _has_used_tool(seen) else use_tool)


def script_in_turn(stub: StubProvider) -> None:
    """The same, with the plan of each run held back until its latch is released."""
    script(stub)
    plan = delayed(as_json(PLAN), CALL_SECONDS)
    stub.on("plan", lambda seen: held(plan, plan_latch(seen.call)))


def plan_latch(number: int) -> str:
    """What holds back the plan that is asked for as the `number`th, counted from 1."""
    return f"plan {number}"


def _has_used_tool(seen: SeenRequest) -> bool:
    return len(seen.body["messages"]) > 1
