import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app.domain import events as ev
from app.domain.brief import Brief
from app.domain.contents import Content, Contents
from app.domain.conversation import Block
from app.domain.events import event_from
from app.domain.fold import fold
from app.domain.job import Limits
from app.domain.span_values import Span
from app.domain.spans import Spans
from app.domain.usage import Usage
from tests.support.story import as_json, call_block, text_block
from tests.support.troubled import PROSE, TEAM

FIRST_RELEASE: list[dict[str, Any]] = json.loads((Path(__file__).parent / "first_release.json").read_text())
"""The log of a run with troubles, as the first release wrote it."""

CALL: dict[str, Any] = {"purpose": "work", "model": "m", "usage": Usage().model_dump(mode="json"), "duration_ms": 1}
WORK: dict[str, Any] = {"task_id": "t1", "attempt": 1}


def fact(seq: int, kind: str, data: dict[str, Any], task_id: str | None = None, attempt: int | None = None) -> Any:
    at = f"2026-01-01T00:00:{seq:02}.000000Z"
    return {"seq": seq, "type": kind, "at": at, "run_id": "run_1", "task_id": task_id, "attempt": attempt, "data": data}


def reply(content: Sequence[Block], stop_reason: str = "end_turn", **more: Any) -> dict[str, Any]:
    told = ev.LlmCompleted(**CALL, stop_reason=stop_reason, content=list(content), **more)
    return told.model_dump(mode="json")


def told(facts: Sequence[Any]) -> dict[str, Span]:
    """All spans of a log, by id."""
    spans = Spans()
    complete = [span for each in facts for span in spans.take(each)]
    return {span["id"]: span for span in [*spans.frames(), *complete, *spans.unfinished()]}


def contents(facts: Sequence[Any]) -> dict[int, Content]:
    """Requests and replies of a log, by the number of their event."""
    reader = Contents()
    found = {each["seq"]: reader.take(each) for each in facts}
    return {seq: content for seq, content in found.items() if content is not None}


def started() -> list[Any]:
    begun = {"worker": "w", "model": "m", "instruction": "do", "tools": []}
    return [fact(1, "run.queued", {"team": {"name": "crew", "version": 1}}), fact(2, "task.started", begun, **WORK)]


def test_a_log_of_the_first_release_folds_to_the_end_it_had() -> None:
    log = [event_from(each) for each in FIRST_RELEASE]

    run = fold(Brief(log[0].run_id, "Find out.", TEAM, Limits()), log)

    assert (run.status, run.result and run.result.answer) == ("succeeded", "It is 3, as two have found.")
    assert [event_from(as_json(event)) for event in log] == log


def test_the_spans_of_a_log_of_the_first_release_say_what_became_of_each_reply() -> None:
    spans = told(FIRST_RELEASE)

    calls = {int(name.split(":")[1]): span for name, span in spans.items() if span["kind"] == "llm"}
    assert [(seq, span["attributes"]["outcome"], span["status"]) for seq, span in sorted(calls.items())] == [
        (3, "rejected", "error"),
        (5, "used", "ok"),
        (9, "cut", "error"),
        (10, "refused", "error"),
        (12, "used", "ok"),
        (17, "failed", "error"),
        (18, "used", "ok"),
        (21, "rejected", "error"),
        (23, "rejected", "error"),
        (26, "used", "ok"),
        (29, "used", "ok"),
        (31, "rejected", "error"),
        (33, "used", "ok"),
    ]
    assert calls[3]["attributes"] | {"error_code": "plan_unparseable", "asked_again": True} == calls[3]["attributes"]
    assert calls[23]["attributes"]["asked_again"] is False
    assert calls[9]["attributes"]["max_tokens"] is None
    assert (spans["task:t1"]["name"], spans["attempt:t3:2"]["name"]) == ("Find the sum", "Check it, attempt 2")


def test_what_was_sent_can_be_read_from_a_log_of_the_first_release() -> None:
    sent = contents(FIRST_RELEASE)

    last = sent[18]["request"]
    assert [message["role"] for message in last["messages"]] == ["user", "assistant", "user"]
    assert last["messages"][2]["content"][0]["content"] == "3"
    assert last["system"].startswith("You are the worker")
    assert last["max_tokens"] is last["tools"] is last["output_schema"] is None
    assert sent[18]["reply"] == [{"type": "text", "text": PROSE}]
    assert sent[17]["reply"] is None


@pytest.mark.parametrize(
    ("content", "stop_reason", "outcome", "status"),
    [
        ([text_block("all")], "end_turn", "used", "ok"),
        ([call_block("c1")], "tool_use", "used", "ok"),
        ([text_block("ha")], "max_tokens", "cut", "error"),
        ([], "refusal", "refused", "error"),
        ([], "pause_turn", "continued", "ok"),
        ([], "model_context_window_exceeded", "unusable", "error"),
        ([], "struck_by_lightning", "unusable", "error"),
    ],
)
def test_a_reply_is_said_to_be_used_only_when_it_is(
    content: list[Block], stop_reason: str, outcome: str, status: str
) -> None:
    old = reply(content, stop_reason)
    del old["thrown_away"]

    span = told([*started(), fact(3, "llm.completed", old, **WORK)])["llm:3"]

    assert (span["attributes"]["outcome"], span["status"]) == (outcome, status)


def test_the_span_of_a_call_is_handed_on_once_and_only_when_its_outcome_is_known() -> None:
    spans = Spans()
    for each in started():
        assert spans.take(each) == []
    rejected = {"errors": [{"code": "output_invalid", "pointer": "", "detail": "empty"}], "note": "Again."}

    assert spans.take(fact(3, "llm.completed", reply([]), **WORK)) == []
    [span] = spans.take(fact(4, "task.rejected", rejected, **WORK))
    assert span["attributes"]["outcome"] == "rejected"
    assert spans.take(fact(5, "llm.completed", reply([text_block("it is so")]), **WORK)) == []
    [span] = spans.take(fact(6, "task.succeeded", {"summary": "it is so", "free_form": True}, **WORK))
    assert span["attributes"] | {"outcome": "used", "free_form": True} == span["attributes"]
    assert spans.unfinished() == []


def test_a_refinement_that_could_not_be_read_is_rejected_by_the_end_of_its_task() -> None:
    failed = {"error": {"code": "timeout", "message": "The instruction was not improved: the reply is empty"}}
    asked = reply([text_block("")]) | {"purpose": "refine"}
    log = [*started(), fact(3, "task.retrying", failed, **WORK), fact(4, "llm.completed", asked, "t1", 2)]

    span = told([*log, fact(5, "task.failed", failed, **WORK)])["llm:4"]

    assert (span["attributes"]["outcome"], span["status"], span["parent_id"]) == ("rejected", "error", "task:t1")
    assert "not improved" in span["attributes"]["error_message"]


def test_input_and_output_of_a_tool_stand_side_by_side() -> None:
    called = {"call_id": "c1", "name": "look", "input": {"q": 1}, "effect": "read", "key": "k"}
    returned = {"call_id": "c1", "name": "look", "output": "seen", "omitted": 7, "duration_ms": 1, "provider": False}
    searched = {"call_id": "s1", "name": "web_search", "input": {"query": "x"}, "output": "2 results", "omitted": 0}
    searched |= {"duration_ms": 0, "provider": True}
    log = [*started(), fact(3, "tool.started", called, **WORK), fact(4, "tool.completed", returned, **WORK)]

    spans = told([*log, fact(5, "tool.completed", searched, **WORK)])

    assert (
        spans["tool:3"]["attributes"] | {"input": {"q": 1}, "output": "seen", "omitted": 7}
        == (spans["tool:3"]["attributes"])
    )
    assert [spans["tool:5"]["attributes"][side] for side in ("input", "output")] == [{"query": "x"}, "2 results"]


def test_a_long_log_leaves_nothing_behind_but_what_is_open() -> None:
    spans, reader = Spans(), Contents()
    for each in started():
        spans.take(each)
    begun = {"worker": "w", "model": "m", "instruction": "do", "tools": []}
    complete = 0
    for number in range(2, 60):
        whose: dict[str, Any] = {"task_id": "t1", "attempt": number}
        for kind, data in (
            ("task.started", begun),
            ("llm.completed", reply([text_block("x" * 1_000)], opening={"system": "s", "message": "m"})),
            ("task.retrying", {"error": {"code": "timeout", "message": "slow"}}),
        ):
            each = fact(number, kind, data, **whose)
            reader.take(each)
            complete += len(spans.take(each))

    assert complete == 58
    assert (spans._replies, spans._tools, reader._talks) == ({}, {}, {})
