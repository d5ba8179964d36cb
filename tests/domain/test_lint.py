from collections.abc import Mapping
from dataclasses import replace
from time import thread_time
from typing import Any

import pytest

from app.domain.crew import Crew
from app.domain.flaws import FLAW_CODES, FlawCode
from app.domain.lint import MOST_WARNINGS, RESULTS_HELD, RULES, SERIOUS, linted, serious_in
from app.domain.plan import Plan, Validation
from app.domain.reduction_tree import RESULT_CHARACTERS, ROOM_CHARACTERS
from app.domain.team import Team
from tests.support.linted_plans import BAD, CREW, GOOD, WORKERS, plan_from, t

STRANGER = WORKERS[2].model_copy(update={"name": "stranger", "tools": ("tool_of_a_later_release",)})
WITH_STRANGER = replace(CREW, team=Team(name="crew", workers=(*WORKERS, STRANGER)))


def codes_in(plan: Plan) -> list[str]:
    return [flaw.code for flaw in plan.validation.warnings]


def lint(*tasks: dict[str, object], crew: Crew = WITH_STRANGER) -> Plan:
    return linted(plan_from(*tasks, crew=crew), crew)


@pytest.mark.parametrize("name", GOOD)
def test_of_a_good_plan_nothing_is_said(name: str) -> None:
    assert lint(*GOOD[name]).validation.warnings == ()


@pytest.mark.parametrize("name", BAD)
def test_of_a_bad_plan_that_is_said_and_nothing_else(name: str) -> None:
    code, tasks = BAD[name]
    plan = lint(*tasks)

    assert codes_in(plan) == [code]
    assert bool(serious_in(plan)) == (code in SERIOUS)
    assert plan.validation.ok


def test_the_tables_are_as_large_as_the_figures_say_and_try_every_rule() -> None:
    assert len(GOOD) >= 40
    assert len(BAD) >= 40
    tried = {code for code, _ in BAD.values()} | {code for code, _ in OF_TRIES.values() if code}
    assert tried == {rule.code for rule in RULES} <= FLAW_CODES.keys()


SAME = t("writer", "Write a slogan for the bakery.", required=False)
OF_TRIES: Mapping[str, tuple[FlawCode | None, tuple[dict[str, Any], ...]]] = {
    "the same twice": (None, (SAME, SAME)),
    "by two, with what both rest on": (None, (
        t("researcher", "Find what the bakery in Graz sells.", required=True),
        t("writer", "Write a slogan for the bakery from what it sells.", "t1", required=False),
        t("editor", "Write a slogan for the bakery from what it sells.", "t1", required=False),
    )),
    "alone": ("candidate_alone", (SAME,)),
    "one after the other": ("candidate_alone", (
        SAME, t("editor", "Write a better slogan than the one you are given.", "t1", required=False),
    )),
    "required": ("candidate_required", (SAME, SAME | {"required": True})),
}  # fmt: skip
"""Plans of which one result is to be chosen, and what is to be said of them."""


@pytest.mark.parametrize("name", OF_TRIES)
def test_of_a_plan_that_selects_what_is_said(name: str) -> None:
    code, tasks = OF_TRIES[name]
    plan = linted(plan_from(*tasks).model_copy(update={"strategy": "select"}), CREW)

    assert codes_in(plan) == ([code] if code else [])
    assert bool(serious_in(plan)) == (code in SERIOUS)


def test_one_candidate_is_all_there_can_be_where_a_run_may_have_one_task() -> None:
    crew = replace(CREW, limits=CREW.limits.model_copy(update={"tasks": 1}))

    assert linted(plan_from(SAME).model_copy(update={"strategy": "select"}), crew).validation.warnings == ()


def test_flaws_say_where_and_what_to_do() -> None:
    tasks = [t("researcher", "Find the price of a van in Graz."), t("writer", "Write a note. Save it as note.md.")]
    [flaw] = lint(*tasks).validation.warnings

    assert flaw.pointer == "/tasks/1/instruction"
    assert flaw.detail == (
        "task 't2' orders 'Save it as note.md', and writer has no tool that changes anything; "
        "give it to clerk or stranger, or have it write the text and say that it changes nothing"
    )


def test_an_order_that_nobody_can_carry_out_is_to_be_left_to_people() -> None:
    crew = replace(CREW, team=Team(name="crew", workers=(WORKERS[2],)))
    [flaw] = lint(t("writer", "Write a note. Save it as note.md."), crew=crew).validation.warnings

    assert "nobody in the team has one" in flaw.detail


def test_of_tools_of_which_nothing_is_known_nothing_is_said() -> None:
    crew = replace(CREW, means={})

    for name, (code, tasks) in BAD.items():
        if code == "tool_missing" and crew.workers[tasks[0]["worker"]].tools:
            assert lint(*tasks, crew=crew).validation.warnings == (), name


def test_an_answer_holds_as_many_results_as_have_room() -> None:
    assert ROOM_CHARACTERS == RESULTS_HELD * RESULT_CHARACTERS == 240_000
    many = [t("researcher", f"Find the mayor of the town with the post code {n}.") for n in range(RESULTS_HELD)]
    gathering = t("writer", "Write a list of the mayors.", *(f"t{n}" for n in range(1, RESULTS_HELD + 1)))

    assert codes_in(lint(*many)) == []
    assert codes_in(lint(*many, gathering)) == ["results_too_many"]


def test_a_plan_has_so_many_warnings_at_most_and_serious_ones_first() -> None:
    bare = [t("writer", "Do it.", success_criterion="") for _ in range(39)]
    plan = lint(*bare, t("writer", "Write a note. Save it as note.md."))

    assert len(plan.validation.warnings) == MOST_WARNINGS
    assert codes_in(plan)[:2] == ["tool_missing", "results_too_many"]


def test_a_plan_with_errors_is_not_looked_at() -> None:
    broken = Plan(validation=Validation(ok=False))

    assert linted(broken, CREW) is broken


def test_an_instruction_of_any_length_is_looked_at_in_no_time() -> None:
    long = [t("writer", 'and send the mail, "then" ' * 4_000) for _ in range(40)]
    begun = thread_time()

    lint(*long)

    assert thread_time() - begun < 2
