"""How the demo model does a task: it really uses the worker's tools, and reports what they brought back."""

from typing import Any

from app.domain.conversation import Block
from app.llm.model import Request


def next_calls(request: Request) -> list[Block]:
    return []


def report(request: Request) -> dict[str, Any]:
    return {
        "summary": "Demo model: nothing",
        "text": "Demo model: nothing",
        "confidence": 0.2,
        "sources": [],
        "escalation": None,
    }
