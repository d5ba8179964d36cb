"""One run that uses everything the engine can do, and a provider that answers it by what was said, not by when.

Whoever asks the same thing again gets the same answer, so the run comes to the same end however often it is broken off.
"""

import re
from typing import Any

from app.domain.team import Supervisor, Team
from app.domain.team_rules import ReviewRules
from app.domain.worker import Worker
from tests.support.service import plan_of, report, synthesis, task
from tests.support.stub_answers import (
    Answer,
    as_json,
    call,
    overloaded,
    paused,
    rate_limited,
    refusal,
    text,
    tool_calls,
    truncated,
)
from tests.support.stub_script import SeenRequest

QUESTION_S = 0.3
"""How long a question waits for its answer, which nobody gives."""

EVERYBODY = Team(
    name="everybody",
    question_timeout_s=QUESTION_S,
    review=ReviewRules(critic=True),
    supervisor=Supervisor(artifacts=True),
    conflict_resolution=("judge", "tie_break"),
    workers=(
        Worker(
            name="clerk",
            description="Sends and keeps.",
            instructions="Send and keep.",
            tools=("send_mail", "put_record", "look_up"),
        ),
        Worker(name="searcher", description="Searches.", instructions="Search.", tools=("web_search",)),
        Worker(name="writer", description="Writes.", instructions="Write.", artifacts=True),
    ),
)

PLAN = plan_of(
    task("errands", "clerk"),
    task("search", "searcher"),
    task("overloaded"),
    task("long"),
    task("sloppy"),
    task("vague"),
    task("unclear"),
    task("large"),
    task("hopeless", required=False),
    task("needs-hopeless", needs=["hopeless"], required=False),
    task("makes-do", needs=["hopeless", "errands"], on_missing_input="proceed"),
    task("last", needs=["search", "overloaded", "long", "sloppy", "vague", "unclear", "large"]),
)
"""Parallel and dependent tasks, each with a fate that its name tells."""

LIMITS = {"concurrency": 4, "tokens": 2_000_000, "tasks": 20}
PARKED_S = 0.3
"""How long the provider wants to be left alone before the plan."""
PARK_AFTER_S = 0.1
"""Seconds beyond which an engine parks a run here."""
ASSUMED = "The first is meant."
ANSWER = f"All that could be had, green or violet. {ASSUMED}"
DELIVERED = (
    "errands", "search", "overloaded", "long", "sloppy", "vague", "unclear", "large-1", "large-2", "makes-do", "last",
)  # fmt: skip

CLOSABLE = {
    "task": "hopeless", "impact": "Less is known.",
    "follow_up": {
        "title": "", "instruction": "Do closing, narrowly.", "success_criterion": "",
        "worker": "writer", "depends_on": [],
    },
}  # fmt: skip
"""What the first answer lacks, and who may bring it in another round of work."""
DISPUTED = {
    "topic": "the colour", "status": "unresolved", "resolution": None, "method": None, "confidence": None,
    "claims": [{"task": "errands", "claim": "green"}, {"task": "last", "claim": "violet"}],
}  # fmt: skip
"""What the last answer leaves open: a judge looks at it, and there is no further round in which a task could."""
UNDECIDED = {
    "judgements": [{"conflict": "c1", "reason": "Who knows.", "holds": "undecided", "confidence": 0.1}], "notes": "",
}  # fmt: skip
ACCEPTED = {
    "verdict": "accepted", "notes": "Fine.",
    "criteria": [{"criterion": f"c{number}", "met": True, "note": "so"} for number in (1, 2, 3)],
}  # fmt: skip

RULINGS: dict[str, dict[str, Any]] = {
    "vague": {"decision": "reassign", "worker": "clerk", "instruction": "Do vague, narrowly.", "reason": "Narrower."},
    "unclear": {
        "decision": "ask_human", "question": "Which?", "choices": ["the first", "the second"],
        "default_action": "proceed", "assumption": ASSUMED, "reason": "Only they know.",
    },
    "large": {
        "decision": "split", "reason": "Two things.",
        "parts": [
            {"id": name, "title": name, "instruction": f"Do {name}.", "success_criterion": "", "worker": "writer"}
            for name in ("large-left", "large-right")
        ],
    },
}  # fmt: skip
"""What becomes of the tasks at which a worker stops, by their names."""
_TASK_RULED_ON = re.compile(r'<task>\s*{"id": "([a-z]+)"')
_TASK = re.compile(r"<task>\s*Do ([a-z-]+)(, narrowly)?\.")


def file_of(name: str) -> dict[str, Any]:
    """What is handed over beside a result."""
    return {"name": "notes.md", "media_type": "text/markdown", "text": f"{name} is done", "base64": None}


class Features:
    """Answers every request of one such run."""

    def __init__(self) -> None:
        self._refused: set[str] = set()
        """Requests that have been asked to come again: each is only once."""

    def __call__(self, seen: SeenRequest) -> Answer:
        """The answer to a request."""
        turns = len(seen.body["messages"])
        match seen.role:
            case "plan" if turns == 1 and self._refuses(seen):
                return rate_limited(str(PARKED_S))
            case "plan":
                return as_json(plan_of(task("a", needs=["b"]), task("b", needs=["a"])) if turns == 1 else PLAN)
            case "refine":
                return as_json({"instruction": "Do sloppy, narrowly.", "change": "Narrower."})
            case "rule":
                return self._rule(seen, turns)
            case "synthesize" if "hopeless-1" in seen.body["messages"][0]["content"][0]["text"]:
                told = (*DELIVERED, "hopeless-1", "needs-hopeless-1")
                return as_json(synthesis(ANSWER, *told, conflicts=[DISPUTED], artifacts=[file_of("answer")]))
            case "synthesize" if turns == 1:
                return as_json(synthesis(ANSWER, "hopeless"))
            case "synthesize":
                return as_json(synthesis(ANSWER, *DELIVERED, gaps=[CLOSABLE]))
            case "arbitrate":
                return as_json(UNDECIDED)
            case "review":
                return as_json(ACCEPTED)
            case _:
                return self._work(seen, turns)

    def _rule(self, seen: SeenRequest, turns: int) -> Answer:
        found = _TASK_RULED_ON.search(seen.body["messages"][0]["content"][0]["text"])
        assert found is not None
        ruling = RULINGS[found[1]]
        return as_json(ruling | {"worker": "nobody"} if found[1] == "vague" and turns == 1 else ruling)

    def _refuses(self, seen: SeenRequest) -> bool:
        first = seen.body_sha256 not in self._refused
        self._refused.add(seen.body_sha256)
        return first

    def _work(self, seen: SeenRequest, turns: int) -> Answer:
        found = _TASK.search(seen.body["messages"][0]["content"][0]["text"])
        assert found is not None
        name, narrowed = found.groups()
        told = ASSUMED in seen.body["messages"][0]["content"][0]["text"]
        files = [file_of(name)] if name in ("long", "last") else []
        done = as_json(report(f"{name} is done", artifacts=files))
        match name:
            case "errands" if turns == 1:
                return tool_calls(*(call(tool, {"text": tool}) for tool in ("send_mail", "put_record", "look_up")))
            case "search":
                return _search() if turns == 1 else Answer(content=(_found("srvtoolu_2"), *done.content))
            case "overloaded" if self._refuses(seen):
                return overloaded()
            case "long" if seen.body["max_tokens"] <= 16_000:
                return truncated('{"summary": "lo')
            case "sloppy" if not narrowed:
                return text('{"summary": ""}')
            case "vague" if not narrowed:
                return as_json(report(escalation={"reason": "ambiguous_input", "message": "Which of the two?"}))
            case "unclear" | "large" if not told:
                return as_json(report(escalation={"reason": "ambiguous_input", "message": "Which of the two?"}))
            case "hopeless":
                return refusal()
            case _:
                return done


def _search() -> Answer:
    """A turn that the provider breaks off between its second search and what that brought."""
    return paused(_searched("srvtoolu_1"), _found("srvtoolu_1"), _searched("srvtoolu_2"))


def _searched(call_id: str) -> dict[str, Any]:
    return {"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {"query": "q"}}


def _found(call_id: str) -> dict[str, Any]:
    return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": []}
