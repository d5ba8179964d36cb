import json
from collections.abc import Callable

import pytest

from app.agents.reading import DETAIL_CHARACTERS, MOST_FLAWS, Unreadable, read_json
from app.agents.supervisor.plan import read_plan
from app.agents.supervisor.refine import read_refinement
from app.agents.supervisor.synthesis_reply import read_synthesis
from app.agents.worker.report import read_report
from app.domain.results import Escalation, Output

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

READABLE = {
    '{"a": 1}': {"a": 1},
    '\ufeff  {"a": 1}\n': {"a": 1},
    'Here:\n```json\n{"a": 1}\n```\nGood?': {"a": 1},
    'As noted [1], {"a": {"b": "}"}}.': {"a": {"b": "}"}},
    '{"a": 1}\n{"a": 1}': {"a": 1},
    '[{"a": 1}]': [{"a": 1}],
    '{"a": NaN, "b": Infinity}': {"a": None, "b": None},
    'Take {x} of [Note], f"{x:.2f}" and [0, 5): {"a": 1}': {"a": 1},
    'function f() { return "x"; }\n{"a": 1}': {"a": 1},
    "['a', 'b'] are keys, [[x]] is a link: {\"a\": 1}": {"a": 1},
    '{"a": "\\u0000 \\ud800 \\ud83c\\udf78"}': {"a": "\ufffd \ufffd \U0001f378"},
}


@pytest.mark.parametrize("written", READABLE)
def test_the_one_json_value_in_a_reply_is_found(written: str) -> None:
    assert read_json(written, "output_invalid") == READABLE[written]


UNREADABLE = {
    "": "empty",
    " \n": "empty",
    "No.": "holds no JSON",
    "42": "not a JSON object",
    '{"a": 1,}': "line 1, column",
    '{"a": 1': "not valid JSON",
    '{, "a": [{"b": 1}]}': "line 1, column 2",
    '```json\n{a, "b": [{"c": 1}]}\n```': "line 2, column 2",
    '{"a": 1} {"a": 2}': "2 different JSON values",
    "[" * 100_000: "JSON",
    '{"a":' * 50_000 + "1" + "}" * 50_000: "JSON",
    "{" * 100_000: "JSON",
}


@pytest.mark.parametrize("written", UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_is_not_one_json_value_is_refused_with_the_reason(written: str) -> None:
    with pytest.raises(Unreadable, match=UNREADABLE[written]) as caught:
        read_json(written, "plan_unparseable")
    assert {flaw.code for flaw in caught.value.flaws} == {"plan_unparseable"}


WHOLE = {"goal": "LINE", "tasks": [{"id": "a", "worker": "w", "instruction": "Do."}], "strategy": "select"}
BREAKS: dict[str, Callable[[str], str]] = {
    "a raw line break": lambda written: written.replace("LINE", "one\ntwo"),
    "a comma too many": lambda written: written[:-1] + ",}",
    "no last brace": lambda written: written[:-1],
    "cut off in between": lambda written: written.split(', "strategy"')[0],
    "a comment": lambda written: written.replace("{", "{ // all of it\n", 1),
    "another comment": lambda written: written.replace("{", "{ # all of it\n", 1),
    "a third kind of comment": lambda written: written.replace("{", "{ /* all\n of it */ ", 1),
    "single quotation marks": lambda written: written.replace('"goal"', "'goal'"),
    "no quotation marks": lambda written: written.replace('"goal"', "goal"),
    "a list with a comma too many": lambda written: f"[{written},]",
    "a list with more before": lambda written: f'[1, "x", {written},]',
}
WRAPS = {
    "bare": "{}",
    "with a mark before it": "\ufeff{}",
    "in a fence": "```json\n{}\n```",
    "in prose": "Here it is:\n{}\nGood?",
    "in prose and a fence": "As [1] says:\n```\n{}\n```",
    "behind a whole one": '{{"goal": "another"}}\n{}',
}


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("how", BREAKS)
def test_a_broken_value_is_never_read_by_an_inner_part(how: str, wrap: str) -> None:
    with pytest.raises(Unreadable, match=r"not valid JSON: .+ at line \d+, column \d+"):
        read_plan(WRAPS[wrap].format(BREAKS[how](json.dumps(WHOLE))))


def test_what_is_wrong_with_a_broken_value_is_told_with_its_place() -> None:
    with pytest.raises(Unreadable, match="Invalid control character at line 2, column 14"):
        read_json('Here:\n{"text": "one\ntwo", "data": {"n": 1}}', "output_invalid")


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("how", ["a raw line break", "a comma too many", "no last brace", "a comment"])
def test_a_broken_report_is_neither_its_data_nor_prose(how: str, wrap: str) -> None:
    escalation = {"reason": "ambiguous_input", "message": "Which year?"}
    written = json.dumps({"summary": "LINE", "text": "", "data": {"n": 1}, "escalation": escalation})
    for schema in (None, SCHEMA):
        with pytest.raises(Unreadable, match="not valid JSON"):
            read_report(WRAPS[wrap].format(BREAKS[how](written)), schema)


def test_code_in_the_prose_of_a_report_is_prose() -> None:
    written = 'Call it so: f({"n": 1,}), or [{"n": 2]; and function () { return "x"; }'
    assert read_report(written, None) == Output(summary=written, text=written, free_form=True)


def test_a_report_is_read_with_its_defaults() -> None:
    assert read_report('{"text": "All of it.", "sources": "a.txt", "confidence": 1.7}', None) == Output(
        summary="All of it.", text="All of it.", confidence=1.0, sources=("a.txt",)
    )


def test_prose_is_a_report_of_a_worker_without_a_schema_only() -> None:
    assert read_report("It is 42.", None) == Output(summary="It is 42.", text="It is 42.", free_form=True)
    with pytest.raises(Unreadable):
        read_report("It is 42.", SCHEMA)


def test_json_of_another_form_is_kept_as_data() -> None:
    output = read_report('{"n": 3}', None)
    assert isinstance(output, Output)
    assert (output.data, json.loads(output.text)) == ({"n": 3}, {"n": 3})


@pytest.mark.parametrize("data", ['"many"', '{"n": "many"}', "{}", "null"])
def test_data_must_fit_the_workers_schema(data: str) -> None:
    with pytest.raises(Unreadable, match="data"):
        read_report(f'{{"summary": "s", "text": "t", "data": {data}}}', SCHEMA)


NUMBERS = {"type": "object", "additionalProperties": {"type": "integer"}}
HUGE: dict[str, dict[str, str]] = {
    "a value": {"n": "x\n" * 150_000},
    "a name": {"n" * 300_000: "many"},
    "many values": {f"n{number}": "many" for number in range(1_000)},
}


@pytest.mark.parametrize("huge", HUGE)
def test_a_rejection_repeats_only_a_little_of_what_it_rejects(huge: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read_report(json.dumps({"text": "t", "data": HUGE[huge]}), NUMBERS)

    assert 1 <= len(caught.value.flaws) <= MOST_FLAWS
    for flaw in caught.value.flaws:
        assert max(len(flaw.detail), len(flaw.pointer)) <= DETAIL_CHARACTERS
        assert "\n" not in flaw.detail
        assert "integer" in flaw.detail


def test_a_schema_cannot_make_us_fetch_another_one() -> None:
    with pytest.raises(Exception, match=r"127\.0\.0\.1:1"):
        read_report('{"text": "t", "data": {}}', {"$ref": "http://127.0.0.1:1/schema.json"})


def test_an_escalation_carries_what_the_worker_has_so_far() -> None:
    written = {"summary": "", "text": "half", "escalation": {"reason": "out_of_scope", "message": "Not mine."}}
    assert read_report(json.dumps(written), SCHEMA) == Escalation(
        reason="out_of_scope", message="Not mine.", partial="half"
    )


NULLS = {
    "title": None,
    "context": None,
    "success_criterion": None,
    "depends_on": None,
    "required": None,
    "budget": None,
}


def test_null_stands_for_what_a_reply_leaves_out() -> None:
    task = {"id": "a", "worker": "w", "instruction": "Do."}
    plan = read_plan(json.dumps({"goal": None, "final_instruction": None, "tasks": [task | NULLS]}))
    assert plan == read_plan(json.dumps({"tasks": [task]}))

    assert read_refinement('{"instruction": "Do.", "change": null}').change == ""

    conflict = {"topic": "t", "claims": [{"task": "a", "claim": "c"}]}
    told = {"answer": "All.", "conflicts": [conflict], "gaps": [{"task": "b"}]}
    nulls = {"statements": None, "conflicts": [conflict | {"status": None}], "gaps": [{"task": "b", "impact": None}]}
    assert read_synthesis(json.dumps(told | nulls), ["a"], ["b"]) == read_synthesis(json.dumps(told), ["a"], ["b"])

    escalation = {"reason": "out_of_scope", "message": None}
    assert isinstance(read_report(json.dumps({"escalation": escalation}), None), Escalation)


def test_null_is_a_value_in_a_workers_data() -> None:
    output = read_report('{"text": "t", "data": {"n": null}}', None)
    assert isinstance(output, Output)
    assert output.data == {"n": None}


def test_an_escalation_for_no_known_reason_is_refused() -> None:
    with pytest.raises(Unreadable, match="reason"):
        read_report('{"text": "t", "escalation": {"reason": "bored", "message": "m"}}', None)


@pytest.mark.parametrize("written", ['{"summary": "", "text": " "}', "{}", "   "])
def test_a_report_that_says_nothing_is_refused(written: str) -> None:
    with pytest.raises(Unreadable):
        read_report(written, None)


@pytest.mark.parametrize("tasks", ["7", '"all"', "[[]]", '[{"title": "x"}]', '{"id": "t1"}'])
def test_a_plan_of_the_wrong_form_names_the_field(tasks: str) -> None:
    with pytest.raises(Unreadable, match="tasks"):
        read_plan(f'{{"goal": "g", "tasks": {tasks}}}')


def test_a_synthesis_may_rest_only_on_tasks_that_delivered() -> None:
    written = {
        "answer": "So it is.",
        "statements": [{"text": "s", "tasks": ["a", "b"]}],
        "conflicts": [{"topic": "t", "claims": [{"task": "c", "claim": "x"}]}],
    }
    with pytest.raises(Unreadable, match="these did not: b, c"):
        read_synthesis(json.dumps(written), ["a"], ["b"])


def test_a_synthesis_keeps_impacts_of_missing_tasks_alone() -> None:
    written = {
        "answer": "So it is.",
        "confidence": 3,
        "statements": None,
        "conflicts": [{"topic": "t", "claims": [{"task": "a", "claim": "x"}], "status": "settled by lot"}],
        "gaps": [{"task": "b", "impact": "less"}, {"task": "z", "impact": "?"}],
    }
    synthesis = read_synthesis(json.dumps(written), ["a"], ["b"])
    assert (synthesis.impacts, synthesis.confidence) == ({"b": "less"}, 1.0)
    assert [(conflict.id, conflict.status) for conflict in synthesis.conflicts] == [("c1", "unresolved")]


@pytest.mark.parametrize("written", ['{"answer": ""}', '{"statements": []}', "[]", '[{"answer": "a"}]'])
def test_a_synthesis_without_an_answer_is_refused(written: str) -> None:
    with pytest.raises(Unreadable):
        read_synthesis(written, ["a"], [])


STATEMENT = {"text": "s", "tasks": ["a"]}
CONFLICT = {"topic": "t", "claims": [{"task": "a", "claim": "x"}]}


@pytest.mark.parametrize(
    "said",
    [
        {"answer": "   "},
        {"answer": "\u200b\n\ufeff"},
        {"statements": [STATEMENT, STATEMENT | {"tasks": []}]},
        {"statements": [STATEMENT | {"text": " "}]},
        {"conflicts": [CONFLICT | {"claims": []}]},
        {"conflicts": [CONFLICT | {"topic": ""}]},
        {"conflicts": [CONFLICT | {"claims": [{"task": "a", "claim": " "}]}]},
    ],
)
def test_an_answer_that_says_nothing_or_rests_on_nothing_is_refused(said: dict[str, object]) -> None:
    whole = {"answer": "So it is.", "statements": [STATEMENT], "conflicts": [CONFLICT]}
    assert read_synthesis(json.dumps(whole), ["a"], []).answer == "So it is."

    with pytest.raises(Unreadable):
        read_synthesis(json.dumps(whole | said), ["a"], [])


@pytest.mark.parametrize("written", ['{"instruction": "  "}', '{"instruction": "\\u200b"}', '{"change": "c"}'])
def test_a_new_instruction_that_says_nothing_is_refused(written: str) -> None:
    with pytest.raises(Unreadable):
        read_refinement(written)
