"""Runs in which a model is about to be asked, one for each purpose."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from app.domain import events as ev
from app.domain.planned_worker import DynamicWorkers
from app.domain.results import Claim, Conflict
from app.domain.topics import Topic
from tests.support.found import FINDERS, verifying
from tests.support.many import first_group, reducing
from tests.support.story import PAIR, TEAM, Story, brief, planning, started, task, with_team

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def planning_with_workers() -> Story:
    story = Story(replace(brief(), team=TEAM.model_copy(update={"dynamic_workers": DynamicWorkers(tools=("look",))})))
    story.queued()
    story.started()
    return story


def working() -> Story:
    story = started(task("a"))
    story.start("a")
    return story


def working_to_a_schema() -> Story:
    story = Story(with_team(brief(), output_schema=SCHEMA))
    story.begin(task("a"))
    story.start("a")
    return story


def refining() -> Story:
    story = working()
    story.time_out("a")
    return story


def ruling() -> Story:
    story = Story(replace(brief(), team=PAIR))
    story.begin(task("a"))
    story.start("a")
    story.escalate("a", "not mine", partial="half")
    return story


def synthesizing() -> Story:
    story = started(task("a"), task("b"), task("c"))
    story.succeed("a")
    story.succeed("b")
    story.fail("c")
    return story


def selecting() -> Story:
    story = Story(brief())
    story.queued()
    story.started()
    story.planned(task("a"), task("b"), task("c"), strategy="select")
    story.succeed("a")
    story.succeed("b")
    story.fail("c")
    return story


def reviewing() -> Story:
    story = Story(replace(brief(), rubric="It names the year."))
    story.begin(task("a"), task("b"))
    story.succeed("a")
    story.succeed("b")
    story.synthesize()
    return story


def judging() -> Story:
    story = Story(replace(brief(), team=TEAM.model_copy(update={"conflict_resolution": ("judge",)})))
    story.begin(task("a"), task("b"))
    story.succeed("a", text="It was 2009.")
    story.succeed("b", text="It was 2011.")
    claims = (Claim(task="a", claim="2009"), Claim(task="b", claim="2011"))
    conflict = Conflict(id="c1", topic="the year", claims=claims, status="unresolved")
    story.tell(ev.ConflictFound.of(conflict))
    story.synthesize(answer="2009 or 2011.", conflicts=(conflict,))
    return story


def synthesizing_to_a_schema() -> Story:
    story = Story(replace(brief(), own_schema=SCHEMA))
    story.begin(task("a"))
    story.succeed("a", data={"n": 3})
    return story


def working_to_findings() -> Story:
    story = Story(replace(brief(), team=FINDERS))
    story.begin(task("a"))
    story.start("a")
    return story


ASKED: Mapping[str, tuple[Topic, Callable[[], Story]]] = {
    "plan": (Topic("plan"), planning),
    "plan with workers": (Topic("plan"), planning_with_workers),
    "work": (Topic("work", "a"), working),
    "work to a schema": (Topic("work", "a"), working_to_a_schema),
    "rule": (Topic("rule", "a"), ruling),
    "refine": (Topic("refine", "a", 2), refining),
    "select": (Topic("select"), selecting),
    "synthesize": (Topic("synthesize"), synthesizing),
    "reduce": (first_group(), reducing),
    "review": (Topic("review"), reviewing),
    "arbitrate": (Topic("arbitrate"), judging),
    "work to findings": (Topic("work", "a"), working_to_findings),
    "verify": (Topic("verify"), verifying),
    "synthesize to a schema": (Topic("synthesize"), synthesizing_to_a_schema),
}
"""What a model is asked, and how it comes to that."""
