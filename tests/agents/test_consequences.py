"""What a model writes can be recorded, whatever it is: read, or turned down with the reasons."""

import json
from collections.abc import Mapping
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.agents.converse import consequences
from app.agents.roles import ROLES
from app.domain.events import Purpose, event_from
from app.domain.fold_conversation import conversation_after
from app.domain.policy.agenda import is_open, step_in
from app.domain.protocol import Ask
from app.domain.topics import Topic
from tests.agents.asked import ASKED
from tests.support.scripted_replies import ANSWERS, FORMS, NOTHING_USABLE, Scene
from tests.support.story import (
    Story,
    as_json,
    called,
    plan_of,
    task,
    text_block,
)

MANY = settings(max_examples=100, deadline=None, derandomize=True, database=None)

FIELDS = st.sampled_from([
    "tasks", "id", "worker", "instruction", "depends_on", "summary", "text", "data", "confidence", "sources",
    "escalation", "reason", "message", "answer", "statements", "conflicts", "claims", "task", "topic", "gaps",
])  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.just("a"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS | st.text(max_size=5), inner, max_size=5),
    max_leaves=12,
)

OUTCOMES: Mapping[Purpose, tuple[str, str]] = {
    "plan": ("plan.created", "plan.invalid"),
    "work": ("task.succeeded", "task.rejected"),
    "rule": ("task.reassigned", "ruling.rejected"),
    "refine": ("task.refined", "task.failed"),
    "select": ("selection.completed", "selection.rejected"),
    "synthesize": ("synthesis.completed", "synthesis.rejected"),
    "reduce": ("reduction.completed", "reduction.rejected"),
    "review": ("review.completed", "review.rejected"),
    "arbitrate": ("conflict.judged", "judgement.rejected"),
    "verify": ("finding.verified", "verification.rejected"),
}
"""What comes of an answer that can be read, and of one that cannot."""
ALSO_POSSIBLE = {"rule": ("task.retrying", "task.succeeded", "task.failed", "question.asked")}
SPLIT = ("task.split", "plan.revised")
AFTER_AN_ANSWER = ("gap.found", "plan.revised")
"""What may follow an answer: what it lacks, and another round of work."""
WITH_CONFLICT = ("conflict.found", "synthesis.completed")


def test_every_purpose_has_a_role_and_a_scripted_answer_and_is_asked_for_here() -> None:
    asked = {topic.purpose for topic, _ in ASKED.values()}

    assert set(get_args(Purpose)) == ROLES.keys() == ANSWERS.keys() == OUTCOMES.keys() == asked


def answered(story: Story, topic: Topic, text: str) -> list[str]:
    """The types of what follows from a final reply, all of which is recorded."""
    number = topic.number if topic.purpose in ("reduce", "verify") else None
    reply = called(topic.purpose, number=number).completed(stop_reason="end_turn", content=[text_block(text)])
    follows = consequences(story.run, topic, conversation_after(story.talk(topic), reply), {})
    story.record(topic.entry(reply), *follows)
    return [
        entry.fact.type for entry in follows if topic.purpose != "synthesize" or entry.fact.type not in AFTER_AN_ANSWER
    ]


def written(asked: str, form: str, number: int = 1) -> list[str]:
    """What follows from a scripted answer of that form."""
    topic, ask = ASKED[asked]
    story = ask()
    return answered(story, topic, FORMS[form](Scene(plan_of(task("a"), task("b", "a")), story.run, topic, number)))


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("form", ["answer", "wrapped"])
def test_a_good_answer_is_read_also_from_within_prose(asked: str, form: str) -> None:
    assert written(asked, form) == [OUTCOMES[ASKED[asked][0].purpose][0]]


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("number", range(len(NOTHING_USABLE)))
def test_what_answers_nothing_is_turned_down(asked: str, number: int) -> None:
    assert written(asked, "useless", number) == [OUTCOMES[ASKED[asked][0].purpose][1]]


@pytest.mark.parametrize("asked", ASKED)
def test_prose_is_an_answer_where_no_form_is_needed(asked: str) -> None:
    needs_form = asked in (
        "plan", "plan with workers", "work to a schema", "rule", "select", "reduce", "review", "arbitrate",
        "synthesize to a schema", "work to findings", "verify",
    )  # fmt: skip

    assert written(asked, "prose") == [OUTCOMES[ASKED[asked][0].purpose][needs_form]]


def test_an_instruction_that_was_tried_before_ends_the_task() -> None:
    assert written("refine", "stale") == ["task.failed"]


@pytest.mark.parametrize("asked", ["work", "work to a schema", "work to findings"])
def test_an_escalation_needs_no_data(asked: str) -> None:
    assert written(asked, "escalate") == ["task.escalated"]


@pytest.mark.parametrize("asked", ASKED)
def test_an_answer_with_one_place_written_over_is_read_or_turned_down(asked: str) -> None:
    outcomes = [written(asked, "garbled", number) for number in range(200)]

    possible = {*OUTCOMES[ASKED[asked][0].purpose], *ALSO_POSSIBLE.get(asked, ("task.escalated",))}
    assert {*map(tuple, outcomes)} <= {(kind,) for kind in possible} | {SPLIT}
    assert [OUTCOMES[ASKED[asked][0].purpose][1]] in outcomes


@pytest.mark.parametrize("asked", ASKED)
@MANY
@given(texts=st.lists(st.text() | VALUES.map(json.dumps), min_size=1, max_size=2))
def test_whatever_a_model_writes_is_read_or_turned_down_and_comes_back_from_the_log(
    asked: str, texts: list[str]
) -> None:
    topic, ask = ASKED[asked]
    story = ask()
    for text in texts:
        if is_open(story.run, topic):
            followed = answered(story, topic, text)
            assert len(followed) == 1 or tuple(followed) in (SPLIT, WITH_CONFLICT)

    assert [event_from(as_json(event)) for event in story.log] == story.log
    if is_open(story.run, topic):
        assert story.talk(topic).unusable == (story.talk(topic).rejections == 2)
        assert story.talk(topic).unusable or isinstance(step_in(story.run, topic), Ask)
