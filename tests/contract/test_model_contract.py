"""One suite over every implementation of the port to language models."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

import pytest

from app.agents.report import read_report
from app.agents.schemas import report_schema
from app.agents.supervisor import read_plan, read_synthesis
from app.domain.conversation import Message, text_of
from app.domain.plan import validated
from app.domain.results import Output
from app.domain.team import Team, Worker
from app.llm.demo import DemoModel
from app.llm.model import Model, Request
from tests.llm import demo_driver as driver
from tests.llm.asking import claude_at
from tests.support.stub_answers import as_json, held, tool_calls
from tests.support.stub_answers import call as tool_call
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest
from tests.tools_offered import CALCULATE

WORKER = Worker(name="reckoner", description="Calculates.", instructions="Calculate.", tools=("calculate",))
TEAM = Team(name="crew", workers=(WORKER,))
TASK = {
    "id": "t1", "title": "Sum", "instruction": "What is 2 + 2?", "context": "", "success_criterion": "", "depends_on": [],
    "worker": "reckoner", "required": True,
}  # fmt: skip
PLAN = {"goal": "A sum", "final_instruction": "", "tasks": [TASK]}
REPORT = {"summary": "It is 4.", "text": "2 + 2 = 4", "confidence": 0.9, "sources": [], "escalation": None}
ANSWER = {
    "answer": "It is 4.", "confidence": 0.9, "statements": [{"text": "It is 4.", "tasks": ["t1"]}], "conflicts": [],
    "gaps": [],
}  # fmt: skip


@dataclass
class Candidate:
    """An implementation under test."""

    model: Model
    slow: Model
    """Of the same kind, and not answering before it is cancelled."""
    has_begun: Callable[[], bool]
    """Whether the slow one is at work."""
