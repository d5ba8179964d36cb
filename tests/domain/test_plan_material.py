"""What a plan from a template is about: taken, told once for each thing, held against the tasks."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given as given_any
from hypothesis import settings
from hypothesis import strategies as st

from app.domain import events as ev
from app.domain.brief import Brief
from app.domain.coverage import Covered
from app.domain.errors import JobRefused
from app.domain.job import Limits, strictly, with_approval
from app.domain.material import MATERIAL_CHARACTERS
from app.domain.plan import Plan
from app.domain.plan_decisions import edit
from app.domain.policy.covered import material_covered
from app.domain.policy.endings import result_of
from app.domain.second_looks import all_results
from app.domain.team import Team
from tests.support.documents import as_input, pdf_of
from tests.support.story import Story, task
from tests.support.templates import REVIEW, SUMMARY, diff_of, given, plan_for, team_of

MANY = settings(max_examples=40, deadline=None, derandomize=True, database=None)
BINARY = "diff --git a/logo.png b/logo.png\nindex 1..2 100644\nBinary files a/logo.png and b/logo.png differ\n"
DIFF = given("change.diff", diff_of(("src/a.py", 3), ("uv.lock", 9), ("docs/b.md", 1)) + BINARY)
SECOND = {"id": "second", "for_each": "files", "instruction": "Look at {{path}}.", "context": "{{text}}",
          "worker": "writer"}  # fmt: skip


def told(plan: Plan) -> list[tuple[str | None, ...]]:
    """Each thing with its tasks, or why it has none."""
    return [
        (each.item, *(look.task for look in each.tasks)) if each.tasks else (each.item, each.left_out, each.pattern)
        for each in plan.material
    ]


def test_a_plan_says_of_each_thing_which_tasks_look_at_it_or_why_none_does() -> None:
    team = team_of(
        REVIEW | {"without": ["*.lock", "*.md"]}, SECOND | {"only": ["**"], "without": ["*.lock", "*.py"], "most": 1}
    )

    plan = plan_for(team, [DIFF])

    assert told(plan) == [
        ("src/a.py", "review-1"),
        ("uv.lock", "without", "*.lock"),
        ("docs/b.md", "second-1"),
        ("logo.png", "binary", None),
    ]
    assert {(each.input, each.lines) for each in plan.material if each.item == "src/a.py"} == {("change.diff", "1-7")}


def test_what_only_prepares_does_not_count_and_a_file_of_several_commits_is_one() -> None:
    twice = given("two.patch", diff_of(("a.py", 2), ("b.py", 1), ("a.py", 4)))
    first_look = SECOND | {"id": "first", "covers": False}

    plan = plan_for(team_of(first_look, REVIEW | {"only": "a.py"}), [twice])

    assert [task.id for task in plan.tasks] == ["first-1", "first-2", "first-3", "review-1", "review-2"]
    assert told(plan) == [("a.py", "review-1", "review-2"), ("b.py", "only", None)]
    assert plan.material[0].lines == "1-6, 12-19"


def test_what_a_thing_is_held_against_and_is_cut_makes_it_looked_at_in_part() -> None:
    held = SECOND | {"beside": "*.log", "context": "{{text}} {{beside}}", "when": {"inputs": "*.log"}}
    long = given("git.log", "a commit\n" * 3_000)

    plan = plan_for(team_of(held), [given("c.diff", diff_of(("a.py", 3))), long, given("short.log", "one line\n")])

    [look] = plan.material[0].tasks
    assert (look.whole, look.beside_cut) == (False, ("git.log",))
    assert "beside_cut" not in plan_for(team_of(held), [DIFF, given("x.log", "a\n")]).material[0].model_dump_json()


def test_a_document_cannot_stand_beside_what_tasks_are_about() -> None:
    held = SECOND | {"beside": "*.pdf", "context": "{{text}} {{beside}}", "when": {"inputs": "*.pdf"}}

    with pytest.raises(JobRefused) as refused:
        plan_for(team_of(held), [DIFF, as_input(pdf_of("Never."), "CONTRIBUTING.pdf")])

    assert refused.value.code == "input_unparseable"
    assert refused.value.errors == (
        ("/inputs/1/content", "It is a PDF, and inputs for {{beside}} are taken from texts alone."),
    )


def test_other_plans_have_nothing_of_it_and_no_client_may_say_it() -> None:
    plain = Plan(tasks=(task("a"),))
    said = {"tasks": [{"id": "a", "instruction": "Look."}], "material": [{"input": "c", "item": "x", "lines": "1-2"}]}

    assert "material" not in plain.model_dump()
    assert strictly(Plan, said).material == ()
    story = Story(Brief("run_1", "o", TEAM, Limits()))
    run_of(story, plan_for(TEAM, [DIFF]).model_copy(update={"material": ()}))
    story.settle()
    story.succeed("review-1")
    assert "material" not in result_of(story.run).coverage.model_dump()


@pytest.mark.parametrize(
    ("fill", "most", "count"), [(100_000, None, 1), (1_000, None, 6), (1_000, 4, 4), (1, None, 12)]
)
def test_a_task_takes_so_much_before_another_one_is_made(fill: int, most: int | None, count: int) -> None:
    diff = given("c.diff", diff_of(*((f"src/{number}.py", 10) for number in range(12))))

    plan = plan_for(team_of(REVIEW | {"fill": fill, "most": most}), [diff])

    assert len(plan.tasks) == count
    assert sorted(each.item for each in plan.material) == sorted(f"src/{number}.py" for number in range(12))


def test_a_task_that_is_filled_shows_all_of_what_it_is_about() -> None:
    diff = given("c.diff", diff_of(*((f"src/{number}.py", 300) for number in range(25))))

    plan = plan_for(team_of(REVIEW | {"fill": MATERIAL_CHARACTERS}), [diff])

    assert 1 < len(plan.tasks) < 12
    assert plan.validation.warnings == ()
    assert all(look.whole for each in plan.material for look in each.tasks)


RULES = given("CONTRIBUTING.md", "Use tabs.\n")
COMPLIANCE = SECOND | {"id": "rules", "when": {"inputs": ["CONTRIBUTING.md", "CLAUDE.md"]}, "beside": "*.md",
                       "context": "Rules:\n{{beside}}\n\n{{text}}"}  # fmt: skip
SECURITY = SECOND | {"id": "security", "when": {"contains": ["Security", "vulnerab"]}}


@pytest.mark.parametrize(
    ("objective", "inputs", "tasks"),
    [
        ("Review it.", [DIFF], {"review"}),
        ("Review it, SECURITY above all.", [DIFF], {"review", "security"}),
        ("Review it.", [DIFF, RULES], {"review", "rules"}),
        ("Is it vulnerable?", [DIFF, RULES], {"review", "rules", "security"}),
    ],
)
def test_a_task_is_there_when_the_job_says_or_brings_what_it_is_for(
    objective: str, inputs: Sequence[Any], tasks: set[str]
) -> None:
    plan = plan_for(team_of(REVIEW, COMPLIANCE, SECURITY), inputs, objective)

    assert {each.id.rpartition("-")[0] for each in plan.tasks} == tasks


def test_what_waits_for_a_task_that_is_not_there_alone_is_not_there_either() -> None:
    after = SUMMARY | {"depends_on": ["security"]}

    assert [each.id for each in plan_for(team_of(REVIEW, SECURITY, after), [DIFF]).tasks][-1] == "review-3"
    with pytest.raises(JobRefused, match="asks for nothing") as refused:
        plan_for(team_of(SECURITY), [DIFF])
    assert (refused.value.code, refused.value.errors[0][0]) == ("template_empty", "/objective")


def test_a_task_may_show_other_inputs_beside_what_it_is_about() -> None:
    source = given("src/a.py", "import os\nprint(os.name)\n")
    whole = REVIEW | {"context": "{{sources}}\n\n{{text}}", "only": ["*.py", "*.md"]}

    plan = plan_for(team_of(whole, COMPLIANCE), [DIFF, RULES, source])

    by_id = plan.by_id
    assert '"src/a.py", lines 1-2:\n     1| import os\n     2| print(os.name)' in by_id["review-1"].context
    assert by_id["review-2"].context.startswith("There is none.")
    assert "Rules:\nMaterial from the inputs." in by_id["rules-1"].context
    assert '"CONTRIBUTING.md", lines 1-1:\n     1| Use tabs.' in by_id["rules-1"].context


def test_a_source_is_known_by_the_last_part_of_its_path_where_that_says_which() -> None:
    diff = given("c.diff", diff_of(("src/one/__init__.py", 1), ("src/two/__init__.py", 1), ("src/a.py", 1)))
    inputs = [diff, given("__init__.py", "which = 1\n"), given("a.py", "this = 1\n")]

    plan = plan_for(team_of(REVIEW | {"context": "{{sources}}\n\n{{text}}"}), inputs)

    assert ["which = 1" in each.context or "this = 1" in each.context for each in plan.tasks] == [False, False, True]


def run_of(story: Story, plan: Plan) -> Any:
    """The run with this plan."""
    story.queued()
    story.started()
    story.tell(ev.PlanCreated.of(plan))
    return story.run


def story_of(team: Team, plan: Plan, *, approved: bool = False) -> Story:
    limits = Limits(timeout_s=10_000)
    story = Story(Brief("run_1", "Review it.", team, with_approval(limits) if approved else limits))
    run_of(story, plan)
    return story


def covered(story: Story) -> dict[str, Covered]:
    """What has become of each file."""
    told = material_covered(story.run)
    assert len({(each.input, each.item) for each in told}) == len(told)
    return {each.item: each for each in told}


TEAM = team_of(REVIEW | {"without": "*.lock"}, SECOND | {"without": "*.lock", "most": 1})


def test_coverage_says_what_the_tasks_have_looked_at() -> None:
    story = story_of(TEAM, plan_for(TEAM, [DIFF]))
    story.settle()
    story.succeed("review-1")
    story.succeed("second-1")
    story.fail("review-2")

    told = covered(story)

    assert [(name, each.status, each.tasks, each.missing) for name, each in told.items()] == [
        ("src/a.py", "whole", ("review-1", "second-1"), ()),
        ("uv.lock", "left_out", (), ()),
        ("docs/b.md", "part", ("second-1",), ("review-2",)),
        ("logo.png", "left_out", (), ()),
    ]
    assert [(told[name].reason, told[name].pattern) for name in ("uv.lock", "logo.png")] == [
        ("without", "*.lock"),
        ("binary", None),
    ]


def test_what_was_cut_or_stopped_before_its_end_is_looked_at_in_part() -> None:
    long = given("long.diff", diff_of(("long.py", 4_000), ("short.py", 1)))
    team = team_of(REVIEW)
    story = story_of(team, plan_for(team, [long]))
    story.settle()
    story.succeed("review-1")
    story.succeed("review-2", partial=True)

    assert {name: (each.status, each.cut) for name, each in covered(story).items()} == {
        "long.py": ("part", ("review-1",)),
        "short.py": ("part", ("review-2",)),
    }


def test_a_task_that_was_split_is_looked_at_by_its_parts_as_far_as_they_are_shown_it() -> None:
    story = story_of(TEAM, plan_for(TEAM, [DIFF]))
    story.settle()
    story.succeed("second-1")
    parts = [task("x").model_copy(update={"worker": "reviewer"}), task("y").model_copy(update={"worker": "reviewer"})]
    story.split("review-1", *parts)
    story.settle()
    story.succeed("review-1-1")
    assert (covered(story)["src/a.py"].status, covered(story)["src/a.py"].missing) == ("part", ("review-1-2",))
    story.succeed("review-1-2")
    assert covered(story)["src/a.py"].status == "whole"

    other = parts[1].model_copy(update={"context": "Something of its own."})
    story.split("review-2", parts[0], other)
    story.settle()
    for name in ("review-2-1", "review-2-2"):
        story.succeed(name)
    assert (covered(story)["docs/b.md"].status, covered(story)["docs/b.md"].cut) == ("part", ("review-2-1",))


def test_a_task_that_an_edit_gives_to_who_only_prepares_looks_at_nothing() -> None:
    team = team_of(SECOND | {"id": "map", "covers": False}, REVIEW | {"only": "src/a.py"})
    story = story_of(team, plan_for(team, [DIFF]), approved=True)
    story.settle()
    plan = story.run.plan
    assert plan is not None
    mapped = plan.by_id["review-1"].model_copy(update={"worker": "writer"})

    story.record(*edit(story.run, None, story.now, {"tasks": (mapped,)}, None))

    assert story.run.plan is not None
    assert ("src/a.py", "edited", None) in told(story.run.plan)


def test_an_edited_plan_leaves_out_what_no_task_is_shown_any_more() -> None:
    story = story_of(TEAM, plan_for(TEAM, [DIFF]), approved=True)
    story.settle()
    plan = story.run.plan
    assert plan is not None
    first, second, both = plan.tasks
    more = first.model_copy(update={"context": f"Mind the tests.\n\n{first.context}", "instruction": "Look well."})
    blind = both.model_copy(update={"context": "Look at nothing."})
    forged = second.model_copy(update={"id": "review-9"})

    story.record(*edit(story.run, None, story.now, {"tasks": (more, blind, forged)}, None))

    assert story.run.plan is not None
    assert told(story.run.plan) == [
        ("src/a.py", "review-1"),
        ("uv.lock", "without", "*.lock"),
        ("docs/b.md", "edited", None),
        ("logo.png", "binary", None),
    ]


def test_a_run_that_takes_results_over_covers_what_they_did() -> None:
    story = story_of(TEAM, plan_for(TEAM, [DIFF]))
    story.settle()
    for name in ("review-1", "review-2", "second-1"):
        story.succeed(name)
    plan = story.run.plan
    assert plan is not None
    reused = all_results(story.run, plan, exclude=["review-2"])
    again = Story(Brief("run_2", "Review it.", TEAM, Limits(), reused=reused))
    again.queued()
    again.tell(reused)
    again.started()
    again.tell(ev.PlanCreated.of(plan))

    assert {name: each.status for name, each in covered(again).items()} == {
        "src/a.py": "whole",
        "uv.lock": "left_out",
        "docs/b.md": "part",
        "logo.png": "left_out",
    }


@MANY
@given_any(
    st.lists(st.tuples(st.sampled_from(["src", "gen", "docs"]), st.integers(1, 40)), min_size=1, max_size=20),
    st.none() | st.integers(200, 4_000),
    st.none() | st.integers(1, 6),
    st.lists(st.sampled_from(["succeed", "fail", "partial"]), min_size=20, max_size=20),
    st.lists(st.booleans(), min_size=20, max_size=20),
)
def test_every_file_of_a_diff_is_covered_exactly_once_whatever_becomes_of_the_tasks(
    files: list[tuple[str, int]], fill: int | None, most: int | None, ends: list[str], kept: list[bool]
) -> None:
    named = [(f"{folder}/{number}.py", lines) for number, (folder, lines) in enumerate(files)]
    lenses = REVIEW | {"fill": fill, "most": most}, SECOND | {"only": "src/**"}
    team = team_of(*(each | {"without": "gen/**", "when_empty": "omit"} for each in lenses))
    try:
        plan = plan_for(team, [given("c.diff", diff_of(*named))], tasks=20)
    except JobRefused:
        assert all(folder == "gen" for folder, _ in files)
        return
    story = story_of(team, plan, approved=True)
    story.settle()
    tasks = tuple(each for each, keep in zip(plan.tasks, kept, strict=False) if keep) or plan.tasks[:1]
    story.record(*edit(story.run, None, story.now, {"tasks": tasks}, None))
    story.tell(ev.PlanApproved(revision=story.run.plan.revision if story.run.plan else 1))
    story.tell(ev.RunResumed(engine="two", epoch=2)) if story.run.status == "waiting" else None
    story.settle()
    outcome = dict(zip(story.run.tasks, ends, strict=False))
    for name, end in outcome.items():
        if story.state(name).status == "pending":
            story.start(name)
        story.fail(name) if end == "fail" else story.succeed(name, partial=end == "partial")

    told = covered(story)

    assert list(told) == [path for path, _ in named]
    for path, each in told.items():
        assert set(each.tasks) == {name for name in (*each.tasks, *each.missing) if outcome[name] != "fail"}
        assert (each.status == "left_out") == (each.reason is not None) == (not each.tasks and not each.missing)
        if path.startswith("gen"):
            assert (each.reason, each.pattern) == ("without", "gen/**")
        elif each.status == "left_out":
            assert each.reason == "edited"
        if each.status == "whole":
            assert (each.missing, each.cut) == ((), ())
            assert all(path in story.state(name).task.context for name in each.tasks)
