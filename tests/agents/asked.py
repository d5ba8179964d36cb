"""Runs in which a model is about to be asked, one for each purpose."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from app.domain.topics import Topic
from tests.support.story import PAIR, Story, brief, planning, started, task, with_team

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


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


def synthesizing_to_a_schema() -> Story:
    story = Story(replace(brief(), own_schema=SCHEMA))
    story.begin(task("a"))
    story.succeed("a", data={"n": 3})
    return story


ASKED: Mapping[str, tuple[Topic, Callable[[], Story]]] = {
    "plan": (Topic("plan"), planning),
    "work": (Topic("work", "a"), working),
    "work to a schema": (Topic("work", "a"), working_to_a_schema),
    "rule": (Topic("rule", "a"), ruling),
    "refine": (Topic("refine", "a", 2), refining),
    "synthesize": (Topic("synthesize"), synthesizing),
    "synthesize to a schema": (Topic("synthesize"), synthesizing_to_a_schema),
}
"""What a model is asked, and how it comes to that."""
