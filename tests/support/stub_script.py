"""Who asks, what was scripted for them, and what the stub provider remembers of a request."""

import re
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.stub_answers import Answer

_WORKER = re.compile(r'worker "([^"]+)"')
_ROLE_OF_PROPERTY = {
    "tasks": "plan",
    "answer": "synthesize",
    "severity": "verify",
    "verdict": "review",
    "choice": "select",
    "uncertain": "reduce",
    "judgements": "arbitrate",
    "decision": "rule",
    "instruction": "refine",
}


@dataclass(eq=False, slots=True)
class SeenRequest:
    """A request as the stub saw it, and what became of it."""

    number: int
    role: str
    call: int
    """1 for the first request of this role."""
    at: float
    """Seconds of the monotonic clock."""
    body: dict[str, Any]
    body_sha256: str
    headers: dict[str, str]
    peer: int
    """The client's port: equal for requests on one connection."""
    outcome: str = "open"
    """`open`, `answered`, `status NNN`, `rejected`, `error event`, `cut`, `reset` or `client_disconnected`."""
    ended_at: float | None = None

    @property
    def streamed(self) -> bool:
        """Whether the client asked for a stream."""
        return bool(self.body.get("stream"))


Script = Answer | Callable[[SeenRequest], Answer | Awaitable[Answer]]


def role_of(body: dict[str, Any]) -> str:
    """Whose request this is, told by the schema it asks for and by the worker its system prompt names."""
    schema = (body.get("output_config") or {}).get("format", {}).get("schema", {})
    for name, role in _ROLE_OF_PROPERTY.items():
        if name in schema.get("properties", {}):
            return role
    worker = _WORKER.search(system_of(body))
    return f"work:{worker[1]}" if worker else "work"


def system_of(body: dict[str, Any]) -> str:
    """The system prompt of a request as text."""
    system = body.get("system") or ""
    return system if isinstance(system, str) else "\n".join(block["text"] for block in system)


@dataclass(slots=True)
class Rules:
    """What was scripted for one role."""

    numbered: dict[int, Script] = field(default_factory=dict)
    queue: deque[Script] = field(default_factory=deque)
    standing: Script | None = None

    def pick(self, call: int) -> Script | None:
        """The script for call number `call`; a queued one is used up."""
        if call in self.numbered:
            return self.numbered[call]
        return self.queue.popleft() if self.queue else self.standing


def names_of(role: str) -> tuple[str, ...]:
    """The names that rules may call a role by, the most particular first."""
    family = role.partition(":")[0]
    return (role, family, "*") if family != role else (role, "*")
