"""A run's spans as OpenTelemetry has them: by the conventions, whole, and without a word of what the job is about."""

from typing import Any

import pytest
from hypothesis import given, settings

from app.domain.genai import NAME_LENGTH, otel_span
from app.domain.genai_content import MESSAGES_CHARACTERS, TEXT_CHARACTERS, content_of
from app.domain.otlp import document_around, span_as_json
from app.domain.spans import Spans
from app.domain.trace_ids import RunTrace, TracePlace, place_in, trace_of_job
from tests.domain.test_spans import FIRST_RELEASE
from tests.support.collector import attributes, check_trees, read_json
from tests.support.rehearsal import runs
from tests.support.story import Story, as_json

RUN_ID = "run_01a22168085c7788a2fef2a36551fa03"
CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def exported(facts: Any, trace: RunTrace) -> list[Any]:
    """The spans of a log as a collector reads them, each when it has ended."""
    spans = Spans()
    found = [span for fact in facts for span in [*spans.take(fact), *spans.ended_frames()]]
    before, behind = document_around({"service.name": "chargehand"}, "1")
    return read_json(before + ",".join(span_as_json(otel_span(trace, "default", span, {})) for span in found) + behind)


@settings(max_examples=60, deadline=None)
@given(runs())
def test_each_span_of_a_run_is_told_once_below_one_that_is_told(story: Story) -> None:
    trace = RunTrace(story.run.brief.run_id)
    log = [as_json(event) for event in story.log]
    found = exported(log, trace)

    whole = Spans()
    complete = [span["id"] for fact in log for span in whole.take(fact)]
    names = [attributes(span)["chargehand.span"] for span in found]
    assert sorted(names) == sorted([*complete, *(span["id"] for span in whole.frames())])
    check_trees(found)
    assert [span.name for span in found if not span.parent_span_id] == [f"invoke_workflow {story.run.brief.team.name}"]
    assert {span.trace_id.hex() for span in found} == {trace.trace_id}


def test_spans_are_named_as_the_conventions_have_it() -> None:
    found = {attributes(span)["chargehand.span"]: span for span in exported(FIRST_RELEASE, RunTrace(RUN_ID))}
    names = {name: span.name for name, span in found.items()}
    call = attributes(found["llm:5"])

    assert {name for name, span in found.items() if "chargehand.tenant" in attributes(span)} == {"run"}
    assert names["plan"] == "plan"
    assert names["task:t1"] == "task t1"
    assert names["attempt:t1:1"].startswith("invoke_agent ")
    assert names["llm:5"] == f"chat {call['gen_ai.request.model']}"
    assert [span.kind for name, span in found.items() if name.startswith("llm:")] == [3] * 13
    assert {span.kind for name, span in found.items() if not name.startswith("llm:")} == {1}
    operations = {attributes(span).get("gen_ai.operation.name") for span in found.values()}
    assert operations >= {"invoke_workflow", "plan", "invoke_agent", "chat"}
    assert call["gen_ai.provider.name"] == "anthropic"
    assert call["llm.token_count.total"] == call["gen_ai.usage.input_tokens"] + call["gen_ai.usage.output_tokens"]
    assert isinstance(call["chargehand.cost_usd"], float)
    assert call["openinference.span.kind"] == "LLM"
    assert call["session.id"] == call["gen_ai.conversation.id"] == RUN_ID
    assert call["graph.node.parent_id"] == f"{RUN_ID}/plan"


def test_a_failure_has_its_code_and_no_words() -> None:
    found = exported(FIRST_RELEASE, RunTrace(RUN_ID))
    failed = [attributes(span)["error.type"] for span in found if span.status.code == 2]

    assert "output_truncated" in failed
    assert all(code.replace("_", "").isalpha() for code in failed)
    assert {span.status.message for span in found} == {""}


def test_nothing_of_the_content_is_told_unless_asked_for() -> None:
    titles = {"Find the sum", "Check it"}
    told = str(exported(FIRST_RELEASE, RunTrace(RUN_ID)))

    assert [title for title in titles if title in told] == []
    assert "messages" not in told
    assert "input.value" not in told


def test_a_run_has_a_trace_of_its_own_that_links_to_its_callers() -> None:
    trace = trace_of_job(RUN_ID, {"traceparent": CALLER, "parent": None})
    [root] = [span for span in exported(FIRST_RELEASE, trace) if not span.parent_span_id]

    assert trace.trace_id == root.trace_id.hex() == RUN_ID.removeprefix("run_")
    [link] = root.links
    assert (link.trace_id.hex(), link.span_id.hex()) == ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")


def test_a_nested_run_goes_on_in_the_trace_of_its_parent_at_any_depth() -> None:
    top = trace_of_job(RUN_ID, {"traceparent": CALLER, "parent": None})
    child = trace_of_job("run_a", {"traceparent": top.place("attempt:t1:1").traceparent, "parent": {"run": RUN_ID}})
    grandchild = trace_of_job("run_b", {"traceparent": child.place("attempt:x:2").traceparent, "parent": {"run": "a"}})

    assert {top.trace_id, child.trace_id, grandchild.trace_id} == {RUN_ID.removeprefix("run_")}
    assert {trace.session for trace in (top, child, grandchild)} == {RUN_ID}
    found = [*exported(FIRST_RELEASE, child), *exported(FIRST_RELEASE, grandchild)]
    roots = {span.parent_span_id.hex() for span in found if span.name.startswith("invoke_workflow")}
    assert roots == {top.span_id("attempt:t1:1"), child.span_id("attempt:x:2")}
    assert [link for span in found for link in span.links] == []
    check_trees(found, above=roots)


@pytest.mark.parametrize(
    "text",
    [None, "", "00-x", "00-" + "0" * 32 + "-00f067aa0ba902b7-01", "ff" + CALLER[2:], CALLER.upper(), CALLER + "-x"],
)
def test_what_is_no_traceparent_names_no_place(text: str | None) -> None:
    assert place_in(text) is None


@pytest.mark.parametrize(("flags", "sampled"), [("00", False), ("01", True), ("02", False), ("03", True)])
def test_a_traceparent_says_whether_its_trace_is_recorded(flags: str, sampled: bool) -> None:
    place = place_in(CALLER[:-2] + flags)

    assert place == TracePlace("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", sampled)
    assert RunTrace(RUN_ID, place).is_sampled is sampled


def test_an_id_that_makes_no_trace_is_made_one() -> None:
    short, zero = RunTrace("run_1"), RunTrace(f"run_{'0' * 32}")

    assert len(short.trace_id) == len(zero.trace_id) == 32
    assert int(zero.trace_id, 16) != 0
    assert short.session == "run_1"


def test_a_name_that_a_model_has_made_up_is_cut() -> None:
    span = {"id": "tool:3", "parent_id": "attempt:t1:1", "kind": "tool", "name": "x" * 5_000, "status": "error",
            "started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:00Z",
            "attributes": {"call_id": "c"}}  # fmt: skip
    told = otel_span(RunTrace(RUN_ID), "default", span, {})

    assert len(told.name) == NAME_LENGTH
    assert told.attributes["gen_ai.tool.name"] == "x" * NAME_LENGTH


def test_content_is_shortened_text_by_text_and_in_the_middle_of_a_conversation() -> None:
    span: Any = {"kind": "llm", "attributes": {"stop_reason": "end_turn"}}
    turn = {"role": "user", "content": [{"type": "text", "text": "y" * 50_000}]}
    request = {"system": "s" * 50_000, "messages": [turn] * 40}
    reply = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}},
    ]
    shown = content_of(span, {"request": request, "reply": reply})

    sent = str(shown["gen_ai.input.messages"])
    assert len(sent) < MESSAGES_CHARACTERS + 2_000
    assert "messages omitted" in sent
    assert len(str(shown["gen_ai.system_instructions"])) < TEXT_CHARACTERS + 200
    assert shown["gen_ai.output.messages"] == (
        '[{"role":"assistant","parts":[{"type":"reasoning","content":"hm"},{"type":"tool_call","id":"c1","name":"look",'
        '"arguments":{"a":1}}],"finish_reason":"end_turn"}]'
    )
