"""What a scripted model writes: a good answer for each purpose, and what may be wrong with one."""

import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from app.agents import judge
from app.agents.arbiter import UNDECIDED, cases_of
from app.agents.critic import criteria_of
from app.agents.judge import labelled
from app.domain.conversation import Block
from app.domain.events import Purpose
from app.domain.findings import SEVERITIES
from app.domain.job import JobInput
from app.domain.plan import Plan
from app.domain.policy.rounds import gaps_to_close
from app.domain.reduction_tree import tree_of
from app.domain.snapshot import Snapshot
from app.domain.topics import Topic
from tests.support.story import call_block, text_block


class Scene(NamedTuple):
    """Where an answer is given."""

    plan: Plan
    """The plan that the script has the supervisor make."""
    run: Snapshot
    topic: Topic
    number: int
    """Of the reply: no two are the same, except that 0 says nothing new."""

    @property
    def delivered(self) -> list[str]:
        """What the answer in the making may rest on."""
        return [task.task.id for task in self.run.reconcilable]

    @property
    def missing(self) -> list[str]:
        """What the answer in the making has to do without."""
        return [name for name in self.run.tasks if name not in self.delivered]


RULINGS = ["give_up", "reassign", "ask_human", "accept_partial", "retry_stronger_model", "split"]
"""What a supervisor decides, whether it is possible or not."""


def ruling(number: int) -> dict[str, Any]:
    """A ruling, which and with what default read off the number."""
    return {
        "decision": RULINGS[number % len(RULINGS)],
        "worker": "baker",
        "parts": [
            {"id": "x", "instruction": f"do the first half {number}", "worker": "able"},
            {"id": "y", "instruction": f"do the second half {number}", "worker": "able", "depends_on": ["x"]},
        ],
        "question": "Which one?",
        "choices": [["this", "that"], None][number % 2],
        "default_action": ["proceed", "skip", "proceed", "fail"][number // len(RULINGS) % 4],
        "assumption": "this one",
        "reason": "so it is",
    }


def _gap(scene: Scene, name: str) -> dict[str, Any]:
    """A gap, which another task may close."""
    gap: dict[str, Any] = {"task": name, "impact": "A part is missing."}
    if name in gaps_to_close(scene.run) and scene.number % 2 == 0:
        gap["follow_up"] = {"instruction": f"find {name} in another way {scene.number}", "worker": "able"}
    return gap


def _review(scene: Scene) -> dict[str, Any]:
    """A look at the answer, which one in three fails."""
    met = scene.number % 3 > 0
    looks = [{"criterion": name, "met": met, "note": "so it is"} for name in criteria_of(scene.run)]
    return {"verdict": "accepted" if met else "needs_revision", "criteria": looks, "notes": f"say more {scene.number}"}


def _choice(scene: Scene) -> dict[str, Any]:
    """A choice, which is read off the number."""
    labels = [*labelled(scene.run)]
    best = labels[scene.number % len(labels)]
    looks = [{"criterion": name, "best": best, "note": "so it is"} for name in judge.criteria_of(scene.run)]
    return {"criteria": looks, "choice": best, "reason": f"it is better {scene.number}"}


def _reduction(scene: Scene) -> dict[str, Any]:
    """A group put together."""
    group = next(group for group in tree_of(scene.run).pending if group.named.number == scene.topic.number)
    statement = {"text": "So.", "tasks": list(group.named.tasks)}
    return {"text": "All of a group.", "statements": [statement], "contradictions": [], "uncertain": []}


def _judgement(scene: Scene) -> dict[str, Any]:
    """A judgement of each conflict, one in three of which decides nothing."""
    letters = {name: [UNDECIDED, *case.claims][scene.number % 3] for name, case in cases_of(scene.run).items()}
    told = {"reason": "so it is", "confidence": 0.7}
    return {"judgements": [{"conflict": name, "holds": holds, **told} for name, holds in letters.items()], "notes": ""}


def _report(scene: Scene) -> dict[str, Any]:
    """A result, with findings where the worker reports such."""
    name = scene.topic.task_id or ""
    finds = scene.run.brief.finds(scene.run.tasks[name].tried(scene.topic.number).worker)
    data = {"findings": [finding(scene.number + each) for each in range(3)]} if finds else {"n": 3}
    return {"summary": f"{name} done", "text": f"#{scene.number}", "data": data}


def finding(number: int) -> dict[str, Any]:
    """A finding about a line of `NOTES`, or about none: which, and how grave and sure, is read off the number."""
    line = number % (len(NOTES.content.splitlines()) + 2) + 1
    return {
        "severity": SEVERITIES[number % 3],
        "category": "wording",
        "message": f"Line {line} says the wrong thing about its colour.",
        "location": {"input": NOTES.name, "path": None, "line": line, "end_line": line},
        "evidence": f"line {line} is {COLOURS[line % 2]}",
        "suggestion": "Say it otherwise.",
        "confidence": 50 + 7 * number % 51,
    }


COLOURS = ("green", "violet")
NOTES = JobInput(name="notes.txt", content="".join(f"line {line} is {COLOURS[line % 2]}\n" for line in range(1, 8)))
"""What scripted findings are about."""


def _verdict(scene: Scene) -> dict[str, Any]:
    """A second look, whose verdict is read off the number."""
    verdict = ("confirmed", "corrected", "refuted")[scene.number % 3]
    severity = "warning" if verdict == "corrected" else None
    told = {"severity": severity, "message": None, "suggestion": None}
    return {"reason": "so it is", "verdict": verdict, "confidence": 60 + scene.number % 41, **told}


DISPUTED = ("green", "violet")


def _conflicts(scene: Scene) -> list[dict[str, Any]]:
    """A conflict where the team has something to try on such, which a task that was planned for it may decide."""
    if not scene.run.brief.team.conflict_resolution or len(scene.delivered) < 2:
        return []
    first, second, *_ = scene.delivered
    claims = [{"task": first, "claim": DISPUTED[0]}, {"task": second, "claim": DISPUTED[1]}]
    told: dict[str, Any] = {"topic": "the colour", "status": "unresolved"}
    ties = [task for task in scene.run.answering.ties.values() if task in scene.delivered]
    if ties and scene.number % 2:
        claims.append({"task": ties[0], "claim": DISPUTED[0]})
        told |= {"status": "resolved", "resolution": DISPUTED[0], "method": "tie_break"}
    return [told | {"claims": claims}]


ANSWERS: Mapping[Purpose, Callable[[Scene], Any]] = {
    "plan": lambda scene: scene.plan.model_dump(mode="json", include={"goal", "strategy", "tasks"}),
    "work": lambda scene: _report(scene),
    "rule": lambda scene: ruling(scene.number),
    "refine": lambda scene: {"instruction": f"do {scene.topic.task_id}{scene.number or ''}", "change": "more exact"},
    "select": lambda scene: _choice(scene),
    "synthesize": lambda scene: {
        "answer": f"All told: {' or '.join(DISPUTED)}." if _conflicts(scene) else "All told.",
        "conflicts": _conflicts(scene),
        "statements": [{"text": "So.", "tasks": scene.delivered}],
        "gaps": [_gap(scene, name) for name in scene.missing],
        "data": {"n": 3},
        "data_sources": [{"pointer": "/", "tasks": scene.delivered}],
    },
    "reduce": lambda scene: _reduction(scene),
    "review": lambda scene: _review(scene),
    "arbitrate": lambda scene: _judgement(scene),
    "verify": lambda scene: _verdict(scene),
}
"""A good answer, as the JSON value that is asked for."""

NOTHING_USABLE = ["", "{", "{}", '{"answer": 7, "instruction": 7, "summary": 7, "tasks": 7}', '{"a": 1} {"a": 2}']
"""What is no answer to anything."""
LOOKING = "Let me look first. "
CALLS = [["look"], ["look", "send"], ["look"], ["send", "send"]]
"""The tools that a reply calls."""
ESCALATION = {"text": "half of it", "escalation": {"reason": "out_of_scope", "message": "Not mine."}}


def _written(scene: Scene) -> str:
    return json.dumps(ANSWERS[scene.topic.purpose](scene))


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"


FORMS: Mapping[str, Callable[[Scene], str]] = {
    "answer": _written,
    "wrapped": lambda scene: f"Here you are:\n```json\n{_written(scene)}\n```\nAnything else?",
    "prose": lambda scene: f"In short, it is {scene.number}. Nothing came of: {_listed(scene.missing)}.",
    "stale": lambda scene: _written(scene._replace(number=0)),
    "garbled": lambda scene: json.dumps(garbled(ANSWERS[scene.topic.purpose](scene), scene.number)),
    "useless": lambda scene: NOTHING_USABLE[scene.number % len(NOTHING_USABLE)],
    "escalate": lambda _: json.dumps(ESCALATION),
    "tools": lambda _: LOOKING,
    "pause": lambda _: LOOKING,
    "cut": lambda scene: _written(scene)[:20],
}
"""How an answer is written; one that ends oddly is written as well as any."""
STOP_REASONS: Mapping[str, str] = {
    "tools": "tool_use",
    "cut": "max_tokens",
    "pause": "pause_turn",
    "refuse": "refusal",
    "overflow": "model_context_window_exceeded",
    "odd": "compaction",
}
"""How a reply ends that is not simply final."""


def content_of(form: str, scene: Scene) -> list[Block]:
    """The content of a reply of that form."""
    tools = CALLS[scene.number % len(CALLS)] if form == "tools" else ()
    text = FORMS.get(form, _written)(scene)
    calls = [call_block(f"call_{scene.number}_{place}", name) for place, name in enumerate(tools)]
    return [text_block(text), *calls]


_PUT_IN: list[Any] = [None, "", "ghost", 7, [], {}, ["ghost", "ghost"], [{}]]


def garbled(value: Any, number: int) -> Any:
    """The value with something else in one of its places; which and what is read off the number."""
    value = deepcopy(value)
    places = list(_places(value))
    holder, key = places[number % len(places)]
    holder[key] = _PUT_IN[number // len(places) % len(_PUT_IN)]
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place within a JSON value: what holds it, and under which key."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])
