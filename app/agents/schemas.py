"""The JSON schemas that models are held to. They enumerate what is allowed: workers, tasks, decisions.

Providers accept a subset of JSON Schema: closed objects, every property required, no limits on lengths or numbers. The
limits are checked by us after.
"""

from collections.abc import Sequence
from typing import Any, get_args

from app.domain.results import EscalationReason

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}


def _object(**properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _one_of(values: Sequence[str]) -> Schema:
    return {"type": "string", "enum": list(values)}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def plan_schema(workers: Sequence[str]) -> Schema:
    """A plan whose tasks name only these workers."""
    task = _object(
        id=TEXT,
        title=TEXT,
        instruction=TEXT,
        context=TEXT,
        success_criterion=TEXT,
        worker=_one_of(workers),
        depends_on=_list(TEXT),
        required={"type": "boolean"},
    )
    return _object(goal=TEXT, final_instruction=TEXT, tasks=_list(task))


def report_schema(data: Schema | None) -> Schema:
    """A worker's result or escalation; `data` is the schema of the worker's own structured part.

    Who escalates has none, so it may be null. What it defines is defined for the whole, where its references look.
    """
    escalation = _object(reason=_one_of(get_args(EscalationReason)), message=TEXT)
    fields = {"summary": TEXT, "text": TEXT, "confidence": NUMBER, "sources": _list(TEXT)}
    if data is None:
        return _object(**fields, escalation=_or_null(escalation))
    own = {name: value for name, value in data.items() if name != "$defs"}
    report = _object(**fields, data=_or_null(own), escalation=_or_null(escalation))
    return report | {"$defs": data["$defs"]} if "$defs" in data else report


def refinement_schema() -> Schema:
    """A rewritten instruction."""
    return _object(instruction=TEXT, change=TEXT)


def synthesis_schema(delivered: Sequence[str], missing: Sequence[str]) -> Schema:
    """An answer whose statements and claims rest on tasks that delivered; gaps name those that did not."""
    claim = _object(task=_one_of(delivered), claim=TEXT)
    conflict = _object(
        topic=TEXT,
        claims=_list(claim),
        status=_one_of(["resolved", "unresolved"]),
        resolution=_or_null(TEXT),
        method=_or_null(TEXT),
        confidence=_or_null(NUMBER),
    )
    statement = _object(text=TEXT, tasks=_list(_one_of(delivered)))
    gap = _object(task=_one_of(missing) if missing else TEXT, impact=TEXT)
    return _object(
        answer=TEXT,
        confidence=NUMBER,
        statements=_list(statement),
        conflicts=_list(conflict),
        gaps=_list(gap),
    )
