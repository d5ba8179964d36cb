"""How the demo model rewrites an instruction, and puts an answer together."""

from collections.abc import Sequence
from typing import Any

from app.llm.demo_data import data_of
from app.llm.demo_findings import told_of
from app.llm.demo_grid import compared, grids_in, in_words
from app.llm.demo_prompts import SIGNED, excerpt, gist, opening_of, sections, unsigned, values
from app.llm.model import Request

ROOM_CHARACTERS = 24_000
"""For the results in an answer together."""
RESULT_CHARACTERS = 3_000
SUMMARY_CHARACTERS = 300

ESCALATED = "no_progress"
"""How an attempt ends in which the worker escalated."""

NOTICE = (
    f"> {SIGNED} this answer was put together by rules from what the tasks brought back. No language model wrote or "
    "checked it. Set ANTHROPIC_API_KEY to have one answer."
)


def ruling(_: Request) -> dict[str, Any]:
    """What a stand-in cannot do, no other attempt of it can: the task is given up, and the answer says so."""
    why = f"{SIGNED} no rule here can tell what else would help."
    return {"decision": "give_up", "worker": None, "instruction": None, "reason": why}


def refinement(request: Request) -> dict[str, Any]:
    """A narrower instruction than the last one, which differs from every earlier one by its number.

    After an escalation it is the last one, which ends the task: no rule finds better words.
    """
    attempts = values(sections(opening_of(request)).get("attempt", []))
    last = attempts[-1]
    if last["error"] == ESCALATED:
        change = f"{SIGNED} left as it was: in other words it would still take a language model."
        return {"instruction": last["instruction"], "change": change}
    first = attempts[0]["instruction"].strip()
    return {
        "instruction": (
            f"{first}\n\nThis is attempt {last['number'] + 1}. The last one ended with {last['error']}. Do the most "
            "important part alone, in fewer steps, and report what you have even if it is incomplete."
        ),
        "change": f"{SIGNED} narrowed to the most important part, because the last attempt ended with {last['error']}.",
    }


def review(request: Request) -> dict[str, Any]:
    """A look at each criterion that says what a stand-in can say: that it has not judged anything."""
    assert request.output_schema is not None  # Whoever asks for a review says by what.
    names = request.output_schema["properties"]["criteria"]["items"]["properties"]["criterion"]["enum"]
    note = f"{SIGNED} no rule here can judge that; it is taken as met."
    looks = [{"criterion": name, "met": True, "note": note} for name in names]
    return {"verdict": "accepted", "criteria": looks, "notes": f"{SIGNED} nobody has judged this answer."}


def selection(request: Request) -> dict[str, Any]:
    """The first of the candidates: what a stand-in can say is that it has judged none of them."""
    assert request.output_schema is not None  # Whoever asks for a choice says among what.
    wanted = request.output_schema["properties"]
    names = wanted["criteria"]["items"]["properties"]["criterion"]["enum"]
    note = f"{SIGNED} no rule here can judge that."
    looks = [{"criterion": name, "best": None, "note": note} for name in names]
    reason = f"{SIGNED} nobody has judged these results; the first that was shown is taken."
    return {"criteria": looks, "choice": wanted["choice"]["enum"][0], "reason": reason}


def judgement(request: Request) -> dict[str, Any]:
    """A judgement that leaves everything open: a stand-in cannot weigh evidence."""
    assert request.output_schema is not None  # Whoever asks for a judgement says about what.
    names = request.output_schema["properties"]["judgements"]["items"]["properties"]["conflict"]["enum"]
    reason = f"{SIGNED} no rule here can weigh evidence."
    open_still = [{"conflict": name, "reason": reason, "holds": "undecided", "confidence": 0.0} for name in names]
    return {"judgements": open_still, "notes": f"{SIGNED} nothing is decided."}


def answer(request: Request) -> dict[str, Any]:
    """What came out in short, what is missing, and the results under headings."""
    found = sections(opening_of(request))
    results, missing = values(found.get("result", [])), values(found.get("failed", []))
    objective = gist("\n".join(found.get("objective", [])), 120)
    statements = _told(request)
    in_short = "\n".join(f"- {text} ({', '.join(tasks)})" for text, tasks in statements.items())
    heard = len(results) + sum(len(each["tasks"]) for each in values(found.get("reduction", [])))
    delivered = f"{heard} of {heard + len(missing)} tasks delivered."
    conflicts = [_open(each) for each in values(found.get("conflict", []))]
    parts = [NOTICE, f"# {objective}", delivered, in_short, *told_of(found), *_disputed(conflicts), *_missing(missing)]
    parts += _chapters(results)
    return data_of(request, results, missing) | {
        "answer": "\n\n".join(part for part in parts if part),
        "confidence": _confidence(results, missing),
        "statements": [{"text": text, "tasks": tasks} for text, tasks in statements.items()],
        "conflicts": conflicts,
        "gaps": [{"task": gap["task"], "impact": _impact(gap)} for gap in missing],
    }


def _open(conflict: dict[str, Any]) -> dict[str, Any]:
    """A contradiction that was found by code, which no rule here can decide."""
    undecided = {"status": "unresolved", "resolution": None, "method": None, "confidence": None}
    return {"topic": conflict["topic"], "claims": conflict["claims"]} | undecided


def _disputed(conflicts: Sequence[dict[str, Any]]) -> list[str]:
    sides = [" against ".join(f"{each['claim']} ({each['task']})" for each in told["claims"]) for told in conflicts]
    lines = [f"- {told['topic']}: {side}" for told, side in zip(conflicts, sides, strict=True)]
    return ["## Results contradict each other\n\n" + "\n".join(lines)] if lines else []


def reduction(request: Request) -> dict[str, Any]:
    """What each result says in short, with its task."""
    told = _told(request)
    statements = [{"text": text, "tasks": tasks} for text, tasks in told.items()]
    lines = [f"- {text} ({', '.join(tasks)})" for text, tasks in told.items()]
    return {"text": "\n".join([SIGNED, "", *lines]), "statements": statements, "contradictions": [], "uncertain": []}


def _told(request: Request) -> dict[str, list[str]]:
    """What results and reductions say, each once, with the tasks it rests on."""
    found = sections(opening_of(request))
    said = _statements(values(found.get("result", [])))
    for each in values(found.get("reduction", [])):
        for statement in each["statements"]:
            tasks = said.setdefault(statement["text"], [])
            tasks += [name for name in statement["tasks"] if name not in tasks]
    return said


def _statements(results: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """What the answer says, each once, with the tasks it rests on: first what the figures of several say together."""
    said: dict[str, list[str]] = {}
    if shared := compared({result["task"]: grids_in(result["text"]) for result in results}):
        said[in_words(shared[0])] = shared[1]
    for result in results:
        tasks = said.setdefault(_in_short(unsigned(result["summary"])), [])
        if result["task"] not in tasks:
            tasks.append(result["task"])
    return said


def _in_short(summary: str) -> str:
    """A summary as it is; of one that is an answer with parts, such as that of a nested run, how it begins."""
    return gist(summary.lstrip("# "), SUMMARY_CHARACTERS) if "\n\n" in summary else summary


def _chapters(results: Sequence[dict[str, Any]]) -> list[str]:
    room = min(RESULT_CHARACTERS, ROOM_CHARACTERS // max(len(results), 1))
    return [
        f"## {result['title'] or result['task']}\n\n"
        f"{excerpt(unsigned(result['text'] or result['summary']), room)}\n\n"
        f"*Task {result['task']}, {result['worker']}.*"
        for result in results
    ]


def _missing(missing: Sequence[dict[str, Any]]) -> list[str]:
    lines = [f"- {gap['title'] or gap['task']} ({gap['task']}): {_impact(gap)}" for gap in missing]
    return ["## What is missing\n\n" + "\n".join(lines)] if lines else []


def _impact(gap: dict[str, Any]) -> str:
    why = f"{gap['reason']}. {gap['message']}".strip()
    return f"Nothing of this task is in the answer. It ended with {why}"


def _confidence(results: Sequence[dict[str, Any]], missing: Sequence[dict[str, Any]]) -> float:
    """The mean of what the workers said, less the share that did not deliver."""
    stated = [result["confidence"] for result in results if result["confidence"] is not None]
    mean = sum(stated) / len(stated) if stated else 0.3
    return round(mean * len(results) / max(len(results) + len(missing), 1), 2)
