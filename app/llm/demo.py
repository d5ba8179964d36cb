"""The demo model: a stand-in that works by rules, for people without a key. Every text of it says so.

It reads the same prompts as a language model, plans by the words of the objective and of the workers' descriptions,
really calls the workers' tools, and puts an answer together from what they brought back. The same request always gets
the same reply.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, assert_never

from app.domain.conversation import Block, text_of
from app.domain.quoting import CHARACTERS_PER_TOKEN
from app.llm.demo_answer import answer, judgement, reduction, refinement, review, ruling, selection
from app.llm.demo_files import with_file
from app.llm.demo_findings import verdict
from app.llm.demo_plan import plan
from app.llm.demo_work import next_calls, report
from app.llm.estimates import estimated_usage
from app.llm.model import STAND_IN, Reply, Request
from app.llm.pricing import Prices, Rates

PIECES = 12
"""In how many pieces a listener gets a text."""


class DemoModel:
    """A model without a provider. Its replies cost nothing."""

    def __init__(self, *, delay_s: float = 0.3) -> None:
        """`delay_s` is how long a call takes, so that a person can watch a run."""
        self._delay_s = delay_s
        self.prices = Prices({STAND_IN: Rates(input=Decimal(0), output=Decimal(0))})

    async def reply(self, request: Request) -> Reply:
        """Answer by rule; never fails."""
        if request.before_sending is not None:
            await request.before_sending()
        content, stop_reason = _content(request)
        await self._write(text_of(content), request.on_text)
        written = len(json.dumps(content, ensure_ascii=False)) // CHARACTERS_PER_TOKEN
        usage = estimated_usage(self.prices, request, STAND_IN, written).model_copy(update={"estimated": False})
        return Reply(content, stop_reason, usage, STAND_IN)

    async def _write(self, text: str, on_text: Callable[[str], None] | None) -> None:
        pieces = _pieces(text)
        for piece in pieces:
            await asyncio.sleep(self._delay_s / len(pieces))
            if on_text is not None:
                on_text(piece)

    def brakes(self) -> Mapping[str, datetime]:
        return {}

    def lift(self, model: str) -> None:
        """It never asks for a pause."""

    def model_id(self, model: str) -> str:
        """Always `demo`: there is one, whatever is asked for."""
        return STAND_IN

    async def close(self) -> None:
        """Nothing is held open."""


def _content(request: Request) -> tuple[list[Block], str]:
    if request.purpose == "work" and (calls := next_calls(request)):
        return calls, "tool_use"
    return [{"type": "text", "text": json.dumps(_written(request), ensure_ascii=False)}], "end_turn"


def _written(request: Request) -> dict[str, Any]:
    match request.purpose:
        case "plan":
            return plan(request)
        case "work":
            reported = report(request)
            return with_file(request, reported, name="result.md", text=reported["text"])
        case "rule":
            return ruling(request)
        case "refine":
            return refinement(request)
        case "select":
            return selection(request)
        case "synthesize":
            answered = answer(request)
            return with_file(request, answered, name="answer.md", text=answered["answer"])
        case "reduce":
            return reduction(request)
        case "review":
            return review(request)
        case "arbitrate":
            return judgement(request)
        case "verify":
            return verdict(request)
        case _:
            assert_never(request.purpose)


def _pieces(text: str) -> Sequence[str]:
    size = max(-(-len(text) // PIECES), 1)
    return [text[start : start + size] for start in range(0, len(text), size)]
