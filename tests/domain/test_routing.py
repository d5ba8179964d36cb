"""Plans that a rule of the team makes."""

from dataclasses import replace

from app.domain import events as ev
from app.domain.policy.routing import TITLE_CHARACTERS, is_sent_by_rule, plan_by_rule
from app.domain.team import Team
from tests.support.story import TEAM, Story, brief

ROUTED = Team.model_validate(
    TEAM.model_dump() | {"routing": [{"when": {"contains": ["refund"]}, "worker": TEAM.workers[0].name}]}
)


def story_of(objective: str) -> Story:
    story = Story(replace(brief(), team=ROUTED, objective=objective))
    story.queued()
    story.started()
    return story


def test_the_title_of_a_long_objective_is_cut_plainly() -> None:
    plan = plan_by_rule(story_of("A refund,\nplease. " + "So it is. " * 30).run)

    assert plan is not None
    [task] = plan.tasks
    assert task.title.startswith("A refund, please. So it is.")
    assert task.title.endswith("…")
    assert len(task.title) == TITLE_CHARACTERS
    assert "\n" not in task.title


def test_a_task_is_sent_by_a_rule_whatever_its_title() -> None:
    story = story_of("A refund, please.")
    plan = plan_by_rule(story.run)
    assert plan is not None
    [task] = plan.tasks
    titled = task.model_copy(update={"title": "As it was called"})
    story.tell(ev.PlanCreated(tasks=(titled,), revision=1))

    assert is_sent_by_rule(story.run, titled)
    assert not is_sent_by_rule(story.run, titled.model_copy(update={"instruction": "Other.", "worker": "baker"}))
