"""A model provider that works, and fails at random in every way that providers fail."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from tests.soak.jobs import SHAPES
from tests.support.choices import choice
from tests.support.service import failed_in, plan_of, report, synthesis, task
from tests.support.stub_answers import (
    Answer,
    as_json,
    call,
    cut,
    error_event,
    overloaded,
    rate_limited,
    refusal,
    reset,
    server_error,
    text,
    tool_calls,
    truncated,
)
from tests.support.stub_script import SeenRequest

JOB = re.compile(r"(?:(\w+), )?job (\d+)\b")
INSTRUCTION = re.compile(r"(Do|Guess|Divide) [a-z]+ of job \d+")
STUCK = re.compile(r"(Guess|Divide) [a-z]+ of job")
"""Tasks at which a worker stops."""
TOLD = re.compile(r"The answer: |Take for granted: ")
"""What it goes on with."""
LONGEST_DELAY_S = 0.6
TOKENS_PER_CALL = 1_000
_USAGE = {"input_tokens": 800, "output_tokens": 200}

Fault = Callable[[Answer], Answer]
FAULTS: Mapping[str, tuple[float, Fault]] = {
    "429": (0.01, lambda _: rate_limited()),
    "429 for 6 s": (0.001, lambda _: rate_limited("6")),
    "529": (0.02, lambda _: overloaded()),
    "500": (0.02, lambda _: server_error()),
    "reset": (0.01, lambda _: reset()),
    "error event": (0.01, lambda _: error_event("overloaded_error", after="I will")),
    "cut": (0.02, lambda answer: cut(answer, after_bytes=150)),
    "truncated": (0.02, lambda _: truncated('{"summary": "lo')),
    "unusable": (0.02, lambda _: text('{"summary": ""}')),
    "refusal": (0.003, lambda _: refusal()),
}
"""How often each fault occurs, per request, and what it makes of the answer."""


class MoodyProvider:
    """Answers by what is asked, and fails by a seed: which request fails does not depend on when it comes."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._asked: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        """How often it failed, and how."""

    def __call__(self, seen: SeenRequest) -> Answer:
        """The answer to a request."""
        self._asked[seen.body_sha256] += 1
        chance = Random(f"{self._seed}:{seen.body_sha256}:{self._asked[seen.body_sha256]}")
        answer = replace(_answer(seen), usage=_USAGE, delay_s=chance.random() * LONGEST_DELAY_S)
        point = chance.random()
        for name, (rate, made_of) in FAULTS.items():
            if point < rate:
                self.faults[name] += 1
                return replace(made_of(answer), usage=_USAGE)
            point -= rate
        return answer


def job_of(seen: SeenRequest) -> int:
    """The number of the job that a request belongs to."""
    return int(_named(seen)[2])


def _named(seen: SeenRequest) -> re.Match[str]:
    found = JOB.search(_opening(seen))
    assert found is not None
    return found


def _instruction(seen: SeenRequest) -> str:
    found = INSTRUCTION.search(_opening(seen))
    assert found is not None
    return found[0]


def _opening(seen: SeenRequest) -> str:
    return str(seen.body["messages"][0]["content"][0]["text"])


def _answer(seen: SeenRequest) -> Answer:
    turns = len(seen.body["messages"])
    shape, number = _named(seen).groups()
    match seen.role:
        case "plan" if int(number) % 10 == 0 and turns == 1:
            return as_json(plan_of(task("a", needs=["b"]), task("b", needs=["a"])))
        case "plan":
            return as_json(SHAPES[shape or "single"].plan(int(number)))  # A nested run has no shape of its own.
        case "refine":
            return as_json({"instruction": f"{_instruction(seen)}, better.", "change": "Better."})
        case "rule":
            return as_json(_ruling(seen, number))
        case "synthesize":
            return as_json(synthesis(f"All of job {number}.", gaps=_gaps(seen, number)))
        case "select":
            return choice(seen, "A")
        case "review":
            look = {"criterion": "c1", "met": True, "note": "So it does."}
            return as_json({"verdict": "accepted", "criteria": [look], "notes": "Fine."})
        case "work:writer" if STUCK.search(_opening(seen)) and not TOLD.search(_opening(seen)):
            return as_json(report(escalation={"reason": "ambiguous_input", "message": "Which one?"}))
        case "work:clerk" if turns == 1:
            return _errands("send_mail", "put_record", "look_up", number=number)
        case "work:clerk" if turns == 3:
            return _errands("put_record", number=number)
        case _:
            return as_json(report(f"A part of job {number}."))


def _gaps(seen: SeenRequest, number: str) -> list[dict[str, Any]]:
    """What failed, with a task that would close the gap as long as there may be a further round of work."""
    schema = seen.body["output_config"]["format"]["schema"]
    may_go_on = "follow_up" in schema["properties"]["gaps"]["items"]["properties"]
    more = {"title": "", "instruction": f"Do more of job {number}.", "success_criterion": "", "worker": "writer"}
    told: dict[str, Any] = {"impact": "Something is missing."}
    told |= {"follow_up": more | {"depends_on": []}} if may_go_on else {}
    return [{"task": name, **told} for name in failed_in(_opening(seen))]


def _ruling(seen: SeenRequest, number: str) -> dict[str, Any]:
    """Tasks that are guesses need a person, and such as can be divided are."""
    ruling: dict[str, Any] = {"reason": "So it is."}
    if "Guess " in _opening(seen):
        asked = {"question": "Which one?", "default_action": "proceed", "assumption": f"Any one of job {number}."}
        return ruling | asked | {"decision": "ask_human"}
    if "Divide " in _opening(seen):
        parts = [{"id": name, "instruction": f"Do {name} of job {number}.", "worker": "writer"} for name in "ab"]
        return ruling | {"decision": "split", "parts": parts}
    return ruling | {"decision": "reassign", "worker": "writer"}


def _errands(*tools: str, number: str) -> Answer:
    return tool_calls(*(call(tool, {"text": f"job {number}"}) for tool in tools))
