"""Requests for tests of the Claude client."""

from typing import Any

import pytest

from app.domain.conversation import Block, Message
from app.domain.errors import ModelError
from app.llm.claude import Claude
from app.llm.model import Request

TIERS = {"fast": "claude-haiku-5-5", "balanced": "claude-sonnet-5-5", "deep": "claude-opus-5-5"}
SYSTEM = 'You are the worker "researcher" of a team.'


def user(text: str) -> Message:
    return Message("user", [{"type": "text", "text": text}])


def assistant(*blocks: Block) -> Message:
    return Message("assistant", list(blocks))


def request(**changes: Any) -> Request:
    fields: dict[str, Any] = {
        "purpose": "work",
        "model": "fast",
        "system": SYSTEM,
        "messages": [user("What is 2 + 2?")],
        "max_tokens": 1_000,
        "timeout_s": 10,
    }
    return Request(**{**fields, **changes})


def claude_at(url: str, **changes: Any) -> Claude:
    fields: dict[str, Any] = {"api_key": "sk-test-key", "base_url": url, "tiers": TIERS, "calls_at_once": 8}
    return Claude(**{**fields, **changes})


def ignored(_: str) -> None:
    """A listener: makes a request streamed."""


async def failure_of(claude: Claude, **changes: Any) -> ModelError:
    """The error that such a request ends in."""
    with pytest.raises(ModelError) as caught:
        await claude.reply(request(**changes))
    return caught.value
