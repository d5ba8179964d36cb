from contextlib import nullcontext
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from app.domain import events as ev
from app.domain.errors import IllegalMove
from app.domain.events import FACTS, RUN_ENDS, AnyFact, Fact, event_from
from app.domain.fold import after
from app.domain.plan import Plan
from app.domain.results import Escalation, Output, Synthesis
from app.domain.snapshot import Snapshot
from app.domain.topics import GO_ON, topic_named, topic_of
from tests.support.story import as_json, brief

TYPES = tuple(FACTS)

AT = datetime(2026, 1, 1, 12, 30, 15, 123456, tzinfo=UTC)
PROBLEM = {"code": "timeout", "message": "Too slow: \u201cé\u201d \U0001f378"}
CALL = {
    "purpose": "work",
    "model": "model-1",
    "usage": {"llm_calls": 1, "input_tokens": 3, "cost_usd": "0.000012", "estimated": True},
    "duration_ms": 5,
    "request_id": "req_1",
    "opening": {"system": "s", "message": "m", "tools": ["look"]},
    "max_tokens": 16_000,
    "terms_id": "0123456789ab",
    "terms": {"tools": [{"name": "look", "input_schema": {}}], "output_schema": {"type": "object"}},
}
PLAN = {
    "goal": "g",
    "tasks": [{"id": "a", "instruction": "do", "worker": "able", "budget": {"steps": 3}}],
    "shape": {"width": 1, "depth": 1, "strategy": "single"},
    "material": [{"input": "c.diff", "item": "a.py", "lines": "1-7", "tasks": [{"task": "a"}]}],
}
RESULT = {
    "answer": "All told.",
    "statements": [{"text": "It is so.", "tasks": ["a"]}],
    "gaps": [{"task": "b", "reason": "timeout"}],
    "coverage": {"required": 2, "delivered": 1, "missing": ["b"]},
    "outputs": [{"task": "a", "worker": "able", "status": "succeeded", "data": {"n": [1, None]}}],
}
REJECTED = {"errors": [{"code": "cycle", "pointer": "/tasks", "detail": "a -> a"}], "note": "Again."}
ENDED = {"stop_reason": "gaps", "result": RESULT}
TOOL = {"call_id": "call_1", "name": "look", "duration_ms": 4}

FINDING: dict[str, Any] = {
    "id": "f1",
    "severity": "warning",
    "category": "year",
    "message": "It is not 2009.",
    "location": {"input": "a.txt", "path": None, "line": 3, "end_line": 4, "side": "new"},
    "evidence": "founded 2009",
    "suggestion": "Say 2011.",
    "confidence": 85,
    "tasks": ["a"],
    "verdict": None,
    "note": "",
}
GROUP: dict[str, Any] = {"number": 7, "level": 1, "group": 2, "tasks": ["a", "b"], "holds": []}
DATA: dict[str, dict[str, Any]] = {
    "run.queued": {
        "objective": "o",
        "team": {"name": "crew", "version": 2},
        "limits": {"cost_usd": "2.50"},
        "plan": PLAN,
        "plan_source": "template",
        "planning": "template",
        "cost_asked": {"usd": "4.00"},
    },
    "results.reused": {
        "run": "run_0",
        "tasks": [{"task": "a", "status": "succeeded", "worker": "able", "output": {"summary": "s"}}],
        "assumptions": [{"task": "a", "question": "which?", "assumption": "this one"}],
    },
    "run.started": {"engine": "one", "epoch": 1},
    "run.resumed": {"engine": "two", "epoch": 2, "lost_calls": 1, "usage": CALL["usage"]},
    "run.waiting": {"reason": "provider", "until": AT + timedelta(seconds=9)},
    "run.cancel_requested": {"reason": "enough"},
    "run.succeeded": {"stop_reason": "completed", "result": RESULT},
    "run.partial": ENDED,
    "run.failed": {"stop_reason": "no_results", "error": PROBLEM, "result": RESULT},
    "run.cancelled": {"requested_at": AT, "tasks": [{"task": "a", "status": "cancelled", "stopped_at": None}]},
    "breaker.opened": {
        "name": "model:model-1",
        "kind": "model",
        "reason": "provider_unavailable",
        "failures": 5,
        "opened_at": "2026-01-01T00:00:00Z",
        "probe_at": "2026-01-01T00:00:10Z",
    },
    "breaker.closed": {"name": "model:model-1", "kind": "model"},
    "budget.exhausted": {"limit": "cost_usd", "call": "work", "allowed": "1.00", "needed": "0.05", "left": "0.04"},
    "plan.created": PLAN | {"source": "template"},
    "plan.invalid": REJECTED | {"sound": PLAN},
    "task.started": {"worker": "able", "model": "model-1", "instruction": "do", "tools": ["look"]},
    "task.succeeded": {
        "summary": "s",
        "data": {"deep": [{"n": 1.5}]},
        "text": "t",
        "confidence": 0.5,
        "sources": ["x"],
        "free_form": True,
    },
    "task.failed": {"error": PROBLEM},
    "task.retrying": {"error": PROBLEM, "next_attempt": 2, "not_before": AT, "refine": False},
    "task.reassigned": {
        "error": PROBLEM,
        "next_attempt": 2,
        "not_before": AT,
        "worker": "baker",
        "decision": "reassign",
    },
    "task.split": {"error": PROBLEM, "into": ["a-1", "a-2"], "change": "too much"},
    "plan.revised": {
        **PLAN,
        "revision": 2,
        "reason": "a was split",
        "added": ["a-1"],
        "removed": ["a"],
        "changed": ["b"],
        "round": 2,
        "redispatched": {"a": "a-1"},
    },
    "plan.approval_requested": {"revision": 1, "cause": "cost", "expires_at": AT, "default": "reject"},
    "plan.edited": {**PLAN, "revision": 2, "reason": "too broad", "added": ["b"], "removed": ["c"], "changed": ["a"]},
    "plan.approved": {"revision": 2, "by": "client"},
    "plan.rejected": {"revision": 1, "by": "client", "reason": "too broad"},
    "ruling.rejected": REJECTED,
    "question.asked": {
        "id": "q_1",
        "question": "which one?",
        "choices": ["this", "that"],
        "default": {"action": "proceed", "assumption": "this"},
        "expires_at": AT,
        "error": PROBLEM,
        "decision": "ask_human",
    },
    "question.answered": {"id": "q_1", "answer": "that"},
    "question.expired": {"id": "q_1"},
    "child.started": {"run": "run_2", "team": {"name": "crew", "version": 1}, "allowance": {"tokens": 10_000}},
    "child.ended": {"run": "run_2", "status": "succeeded", "stop_reason": "completed"},
    "task.refined": {"instruction": "do it well", "refined_from": 1, "change": "well"},
    "task.rejected": REJECTED,
    "task.escalated": {"reason": "out_of_scope", "message": "not mine", "partial": "half"},
    "task.skipped": {"error": PROBLEM},
    "task.cancelled": {"error": None},
    "task.dropped": {"after_s": 30.0},
    "attempt.failed": {"error": PROBLEM},
    "attempt.cancelled": {"delivered": 1},
    "llm.completed": {
        **CALL,
        "stop_reason": "max_tokens",
        "content": [{"type": "text", "text": "hi", "own": {"x": 1}}],
        "left_out": ["output_schema"],
        "thrown_away": PROBLEM,
    },
    "llm.failed": {**CALL, "error": PROBLEM, "retry_at": AT},
    "tool.started": {"call_id": "call_1", "name": "look", "input": {"q": [1]}, "effect": "once", "key": "k"},
    "tool.completed": {**TOOL, "output": "seen", "omitted": 7, "provider": True, "input": {"q": 1}},
    "tool.failed": {**TOOL, "error": PROBLEM, "provider": True},
    "synthesis.completed": {"answer": "All told.", "impacts": {"b": "less sure"}},
    "synthesis.rejected": REJECTED,
    "selection.completed": {
        "task": "a",
        "reason": "A names the year.",
        "candidates": ["a", "b"],
        "criteria": [{"criterion": "It names the year.", "best": "a", "note": "B does not."}],
    },
    "selection.rejected": REJECTED,
    "selection.failed": {"error": PROBLEM, "candidates": ["a", "b"]},
    "gap.found": {"task": "a", "reason": "timeout", "impact": "no prices", "redispatched_as": "a-1"},
    "review.completed": {
        "verdict": "needs_revision",
        "notes": "Name the year.",
        "criteria": [{"criterion": "It names the year.", "met": False, "note": "It does not."}],
        "round": 2,
    },
    "review.rejected": REJECTED,
    "reduction.completed": GROUP
    | {
        "text": "9 of them.",
        "statements": [{"text": "9", "tasks": ["a"]}],
        "contradictions": [{"topic": "year", "claims": [{"task": "a", "claim": "2009"}]}],
        "uncertain": ["the year"],
    },
    "reduction.rejected": REJECTED | {"number": 7},
    "reduction.skipped": GROUP | {"reason": "timeout"},
    "findings.placed": {
        "tasks": ["a"],
        "reported": 2,
        "placed": 1,
        "moved": ["f1"],
        "findings": [FINDING],
        "dropped": [FINDING | {"id": "f2", "reason": "not_at_location", "detail": "It stands nowhere."}],
    },
    "findings.merged": {
        "left": 1,
        "duplicates": 1,
        "merges": [{"id": "f1", "duplicates": ["f2"], "tasks": ["a", "b"], "severity": "warning", "confidence": 90}],
        "looks": [{"id": "f1", "lines": "> 3: x", "change": "@@"}],
        "unlooked": ["f3"],
    },
    "finding.verified": {
        "id": "f1",
        "number": 1,
        "verdict": "corrected",
        "confidence": 85,
        "severity": "info",
        "message": "It is 2011.",
        "suggestion": "Say 2011.",
        "reason": "The register says so.",
    },
    "verification.rejected": REJECTED | {"number": 1},
    "findings.filtered": {"threshold": 80, "left": 1, "below": ["f2"], "refuted": ["f3"], "unverified": ["f4"]},
    "findings.ranked": {"order": ["f1"], "counts": {"critical": 0, "warning": 1, "info": 0}},
    "conflict.judged": {
        "id": "c1",
        "resolution": "2009",
        "reason": "A register says so.",
        "confidence": 0.8,
        "sitting": 2,
    },
    "conflict.left_open": {"id": "c1", "method": "tie_break", "reason": "timeout"},
    "judgement.rejected": REJECTED,
    "conflict.found": {"id": "c1", "topic": "year", "claims": [{"task": "a", "claim": "2009"}], "status": "unresolved"},
}


def written(kind: str) -> dict[str, Any]:
    return {"seq": 3, "type": kind, "at": AT, "run_id": "run_1", "task_id": "a", "attempt": 2, "data": DATA[kind]}


def test_every_type_of_event_has_an_example_here() -> None:
    assert set(TYPES) == set(DATA)


def test_every_fact_has_a_type_of_its_own() -> None:
    assert len(FACTS) == len(get_args(AnyFact))
    assert all(fact.type == kind for kind, fact in FACTS.items())


@pytest.mark.parametrize("kind", TYPES)
def test_every_type_of_event_can_be_folded_or_is_an_illegal_move(kind: str) -> None:
    event = event_from({**written(kind), "seq": 1})

    with nullcontext() if kind == "run.queued" else pytest.raises(IllegalMove):
        assert after(Snapshot(brief()), event).last_seq == 1


@pytest.mark.parametrize("kind", TYPES)
def test_an_event_comes_back_from_json_as_it_was(kind: str) -> None:
    event = event_from(written(kind))

    back = event_from(as_json(event))

    assert back == event
    assert type(back.data) is type(event.data) is FACTS[kind]
    assert back.type == kind


@pytest.mark.parametrize("kind", TYPES)
def test_the_data_of_an_event_are_the_fields_of_its_fact_and_the_type_stands_beside_them(kind: str) -> None:
    told = as_json(event_from(written(kind)))

    assert told["type"] == kind
    assert DATA[kind].keys() <= told["data"].keys() == FACTS[kind].model_fields.keys()


@pytest.mark.parametrize("kind", TYPES)
def test_fields_that_an_older_process_does_not_know_are_ignored(kind: str) -> None:
    known = written(kind)
    newer = {**known, "shard": 7, "data": {**known["data"], "invented_later": {"x": [1]}}}

    assert event_from(newer) == event_from(known)


@pytest.mark.parametrize("kind", TYPES)
def test_an_event_cannot_be_changed(kind: str) -> None:
    event = event_from(written(kind))
    field = next(iter(type(event.data).model_fields))

    with pytest.raises(FrozenInstanceError):
        event.seq = 9  # type: ignore[misc]
    with pytest.raises(ValidationError, match="frozen"):
        setattr(event.data, field, None)


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(KeyError, match=r"run\.vanished"):
        event_from({**written("run.started"), "type": "run.vanished"})


@pytest.mark.parametrize("kind", TYPES)
def test_data_that_do_not_fit_are_refused(kind: str) -> None:
    with pytest.raises(ValidationError):
        event_from({**written(kind), "data": dict.fromkeys(DATA[kind], object())})


def test_the_types_that_end_a_run_are_among_the_events() -> None:
    assert set(RUN_ENDS) < set(TYPES)


WHOLE: list[tuple[type[Fact], type[BaseModel]]] = [
    (ev.PlanCreated, Plan),
    (ev.TaskSucceeded, Output),
    (ev.TaskEscalated, Escalation),
    (ev.SynthesisCompleted, Synthesis),
    (ev.RunCancelled, ev.Cancellation),
]


@pytest.mark.parametrize(("kind", "whole"), WHOLE)
def test_a_fact_that_consists_of_a_value_holds_all_of_it_and_comes_back_from_json(
    kind: type[Fact], whole: type[BaseModel]
) -> None:
    value = whole.model_validate(DATA[kind.type])

    fact = kind.of(value)

    assert fact == kind.model_validate_json(fact.model_dump_json())
    told = fact.model_dump()
    assert {name: told[name] for name in whole.model_fields} == value.model_dump()
    assert isinstance(fact, whole)


def test_a_fact_is_made_of_nothing_but_what_it_consists_of() -> None:
    with pytest.raises(AssertionError):
        ev.PlanCreated.of(Output(summary="no plan"))


@pytest.mark.parametrize("kind", TYPES)
def test_an_event_names_its_conversation_whether_it_is_read_as_a_value_or_as_json(kind: str) -> None:
    event = event_from(written(kind))
    told = as_json(event)
    purpose = told["data"].get("purpose")

    if purpose is None and kind not in GO_ON:
        with pytest.raises(KeyError):
            topic_of(event)
        return
    topic = topic_of(event)
    assert topic == topic_named(told["type"], purpose, told["task_id"], told["attempt"])
    assert topic.entry(event.data) == event.entry


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(cost=st.decimals(min_value=0, max_value=10**6, places=6), moment=st.datetimes(timezones=st.just(UTC)))
def test_money_and_time_keep_every_digit(cost: Decimal, moment: datetime) -> None:
    data = {**DATA["llm.failed"], "usage": {"cost_usd": cost}}
    event = event_from({**written("llm.failed"), "at": moment, "data": data})

    assert event_from(as_json(event)) == event
