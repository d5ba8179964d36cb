"""Every grader with a run that it passes and one that it fails."""

from typing import Any

import pytest

from app.evaluation.evidence import Evidence
from app.evaluation.expectations import WAYS
from app.evaluation.grading import GRADERS, grade, parallel_share
from tests.evaluation.cases import evidence, expected, names, task

VAGUE = {"code": "instruction_vague", "detail": "task 't1' says nothing"}
REPORT = {"ok": True, "errors": [], "warnings": [VAGUE]}
TWO_LOOKS = (task("t1", "analyst"), task("t2", "analyst"), task("t3", "writer", "t1", "t2"))
DISPUTE = {
    "topic": "Churn in March", "status": "unresolved",
    "claims": [{"task": "t1", "claim": "4.1 percent"}, {"task": "t2", "claim": "3.1 percent"}],
}  # fmt: skip
GAP = {"task": "t4", "reason": "timeout", "impact": "The costs of support are missing."}
MANY = evidence(
    *TWO_LOOKS, conflicts=[DISPUTE], gaps=[GAP], data={"total": 2750, "rows": [{"n": 1}, {"n": 2}], "ok": True}
)
DRY = Evidence({**MANY.run, "limits": {"dry_run": True}}, MANY.plan, ())

PASSING_AND_FAILING: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("status", {"status": ["succeeded", "partial"]}, {"status": ["partial"]}),
    ("stop_reason", {"stop_reason": "completed"}, {"stop_reason": "gaps"}),
    ("workers", {"workers": ["analyst", "writer"]}, {"workers": ["analyst"]}),
    ("workers", {"workers": ["analyst"], "secondary": ["writer"]}, {"workers": ["analyst", "writer", "critic"]}),
    ("plan.tasks", {"plan": {"tasks": {"least": 3, "most": 3}}}, {"plan": {"tasks": {"most": 2}}}),
    ("plan.tasks", {"plan": {"tasks": {"least": 3}}}, {"plan": {"tasks": {"least": 4}}}),
    ("plan.parallel_share", {"plan": {"parallel_share": 0.6}}, {"plan": {"parallel_share": 0.7}}),
    ("plan.shape", {"plan": {"shape": "single"}}, {"plan": {"shape": "hybrid"}}),
    ("plan.strategy", {"plan": {"strategy": "merge"}}, {"plan": {"strategy": "select"}}),
    ("fact 1: contains", {"facts": [{"contains": "SOUTH  sold"}]}, {"facts": [{"contains": "north"}]}),
    ("fact 1: lacks", {"facts": [{"lacks": "north"}]}, {"facts": [{"lacks": "The south"}]}),
    ("fact 1: matches", {"facts": [{"matches": "(?i)south .* pieces"}]}, {"facts": [{"matches": "^south"}]}),
    ("fact 1: lacks_match", {"facts": [{"lacks_match": "^south"}]}, {"facts": [{"lacks_match": "s.uth"}]}),
    ("fact 1: number", {"facts": [{"number": 2750}]}, {"facts": [{"number": 2751}]}),
    ("fact 1: number", {"facts": [{"number": 2760, "tolerance": 10}]}, {"facts": [{"number": 2760, "tolerance": 9}]}),
    ("fact 1: number", {"facts": [{"number": 2805, "percent": 2}]}, {"facts": [{"number": 2805, "percent": 1}]}),
    (
        "fact 1: equals",
        {"facts": [{"at": "$.result.data.total", "equals": 2750}]},
        {"facts": [{"at": "$.result.data.total", "equals": "2750"}]},
    ),
    (
        "fact 1: equals",
        {"facts": [{"at": "$.result.data.ok", "equals": True}]},
        {"facts": [{"at": "$.result.data.rows[0].n", "equals": True}]},
    ),
    ("fact 1: equals", {"facts": [{"at": "$.error", "equals": None}]}, {"facts": [{"at": "$.id", "equals": None}]}),
    (
        "fact 1: count",
        {"facts": [{"at": "$.result.data.rows[*]", "count": 2}]},
        {"facts": [{"at": "$.result.data.rows[?@.n>1]", "count": 2}]},
    ),
    (
        "fact 1: contains",
        {"facts": [{"at": "$.tasks[?@.id=='t2'].output.text", "contains": "t2 is done"}]},
        {"facts": [{"at": "$.tasks[?@.id=='t9'].output.text", "contains": "t9"}]},
    ),
    ("fact 1: lacks", {"facts": [{"lacks": "x"}]}, {"facts": [{"at": "$.result.nothing", "lacks": "x"}]}),
    ("conflict 1", {"conflicts": [{"words": ["churn", "4.1"]}]}, {"conflicts": [{"words": ["churn", "5.1"]}]}),
    (
        "conflict 1",
        {"conflicts": [{"words": ["churn"], "tasks": ["t1", "t2"], "status": "unresolved"}]},
        {"conflicts": [{"words": ["churn"], "tasks": ["t1", "t3"]}]},
    ),
    (
        "conflict 1",
        {"conflicts": [{"words": ["march"], "status": "unresolved"}]},
        {"conflicts": [{"words": ["march"], "status": "resolved"}]},
    ),
    ("gap 1", {"gaps": [{"words": ["costs of support"]}]}, {"gaps": [{"words": ["tickets"]}]}),
    ("gap 1", {"gaps": [{"task": "t4", "words": ["timeout"]}]}, {"gaps": [{"task": "t3"}]}),
    ("most.cost_usd", {"most": {"cost_usd": "0.05"}}, {"most": {"cost_usd": "0.04"}}),
    ("most.llm_calls", {"most": {"llm_calls": 5}}, {"most": {"llm_calls": 4}}),
    ("most.tool_calls", {"most": {"tool_calls": 3}}, {"most": {"tool_calls": 2}}),
    ("most.tokens", {"most": {"tokens": 1000}}, {"most": {"tokens": 999}}),
    ("most.wall_s", {"most": {"wall_s": 2}}, {"most": {"wall_s": 1.9}}),
]


@pytest.mark.parametrize(("name", "passing", "failing"), PASSING_AND_FAILING)
def test_a_grader_passes_what_is_as_expected_and_fails_what_is_not(
    name: str, passing: dict[str, Any], failing: dict[str, Any]
) -> None:
    assert names(grade(expected(**passing), MANY)) == []
    failed = [check for check in grade(expected(**failing), MANY) if not check.passed]
    assert [check.name for check in failed] == [name]
    assert failed[0].detail


def test_flaws_of_a_plan_that_a_case_forbids_are_found_and_others_are_not() -> None:
    flawed = evidence(plan_changes={"validation": REPORT})

    assert names(grade(expected(plan={"without": ["instruction_vague"]}), flawed)) == ["plan.without"]
    assert names(grade(expected(plan={"without": ["tasks_overlap"]}), flawed)) == []


def test_a_run_without_a_plan_or_a_result_fails_what_is_expected_of_them() -> None:
    nothing = Evidence({**MANY.run, "status": "failed", "stop_reason": "no_results", "result": None})

    failed = names(
        grade(
            expected(plan={"shape": "single"}, facts=[{"contains": "x"}], gaps=[{"task": "t1"}], workers=["w"]), nothing
        )
    )

    assert failed == ["status", "workers", "plan", "fact 1: contains", "gap 1"]


def test_every_grader_and_every_way_to_say_a_fact_has_a_case_here() -> None:
    tried = {name.partition(" ")[0].partition(".")[0] for name, _, _ in PASSING_AND_FAILING}
    ways = {name.removeprefix("fact 1: ") for name, _, _ in PASSING_AND_FAILING if name.startswith("fact")}

    failing = [expected(**fields) for _, _, fields in PASSING_AND_FAILING]
    idle = [grader for grader in GRADERS if not any(names(grader(each, MANY)) for each in failing)]
    assert idle == []
    assert tried == {"status", "stop_reason", "workers", "plan", "fact", "conflict", "gap", "most"}
    assert ways == WAYS


def test_workers_of_a_job_that_was_only_planned_are_those_of_its_plan() -> None:
    assert DRY.workers == {"analyst", "writer"}


def test_a_worker_that_never_began_was_not_used() -> None:
    skipped = {**task("t2", "writer", "t1"), "status": "skipped", "attempts": []}

    assert evidence(task("t1", "analyst"), skipped).workers == {"analyst"}


@pytest.mark.parametrize(
    ("tasks", "share"),
    [
        ([task("a")], 0),
        ([task("a"), task("b")], 1),
        ([task("a"), task("b", "w", "a")], 0),
        (TWO_LOOKS, 2 / 3),
        ([], 0),
    ],
)
def test_the_parallel_share_is_that_of_tasks_with_another_one_on_their_level(tasks: Any, share: float) -> None:
    assert parallel_share(tasks) == pytest.approx(share)


def test_what_planning_took_counts_where_it_was_a_run_of_its_own() -> None:
    both = Evidence(MANY.run, MANY.plan, MANY.tasks, None, planning=MANY.run)

    assert (both.took.tokens, both.took.llm_calls, both.cost_usd, both.wall_ms) == (2000, 10, 0.1, 4000)


def test_a_pattern_takes_time_linear_in_the_text() -> None:
    long = evidence(answer="a" * 200_000)

    assert names(grade(expected(facts=[{"lacks_match": "(a|a)*b"}]), long)) == []
