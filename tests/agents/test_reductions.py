"""What a group of results comes to: what is taken, what is sent back, and what others see of it."""

import json
from typing import Any

import pytest

from app.agents.converse import consequences
from app.agents.roles import ROLES
from app.agents.supervisor.ground import ground_of
from app.domain import events as ev
from app.domain.fold_conversation import conversation_after
from app.domain.policy.agenda import ANSWERING
from app.domain.reduction_tree import ROOM_CHARACTERS, groups_due
from app.domain.reductions import REDUCED_CHARACTERS
from app.domain.topics import Topic
from tests.support.many import first_group, many, of_size, planned_for_many, reduce, reduce_all, topic_of_group
from tests.support.story import USELESS, Story, called, text_block

GOOD: dict[str, Any] = {
    "text": "Town 1 has 1,007 people, town 2 has 2,007: 3,014 together.",
    "statements": [{"text": "Town 1 has 1,007 people.", "tasks": ["t1"]}],
    "contradictions": [],
    "uncertain": ["Nothing is said of the year."],
}
AGAINST = [{"topic": "people", "claims": [{"task": "t1", "claim": "1,007"}, {"task": "t2", "claim": "2,007"}]}]


def read(story: Story, topic: Topic, reply: object) -> ev.ReductionCompleted | ev.ReductionRejected:
    """What comes of a reply, all of which is recorded."""
    content = [text_block(json.dumps(reply))]
    told = called("reduce", number=topic.number).completed(stop_reason="end_turn", content=content)
    [entry] = consequences(story.run, topic, conversation_after(story.talk(topic), told), {})
    story.record(topic.entry(told), entry)
    assert isinstance(entry.fact, ev.ReductionCompleted | ev.ReductionRejected)
    return entry.fact


def test_a_good_one_is_taken_with_the_tasks_it_rests_on() -> None:
    story, topic = many(), first_group()

    taken = read(story, topic, GOOD | {"contradictions": AGAINST})

    assert isinstance(taken, ev.ReductionCompleted)
    assert (taken.level, taken.group, taken.number) == (1, 1, topic.number)
    assert taken.tasks == tuple(f"t{number}" for number in range(1, 17))
    assert [statement.tasks for statement in taken.statements] == [("t1",)]
    assert [claim.task for claim in taken.contradictions[0].claims] == ["t1", "t2"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"statements": [{"text": "Town 17 is large.", "tasks": ["t17"]}]}, "task_unknown"),
        ({"statements": [{"text": "Towns are large.", "tasks": []}]}, "output_invalid"),
        ({"statements": []}, "output_invalid"),
        ({"text": " "}, "output_invalid"),
        ({"text": "[insert the towns here]"}, "placeholder"),
        ({"text": "Town 1 has 1,008 people."}, "figure_unfounded"),
        ({"text": "Town 17 has 17,007 people."}, "figure_unfounded"),
        ({"uncertain": ["It may be 55,555."]}, "figure_unfounded"),
        ({"text": 'A worker says "the town has a harbour of its own".'}, "quotation_unfounded"),
        ({"contradictions": [{"topic": "people", "claims": AGAINST[0]["claims"][:1]}]}, "conflict_unfounded"),
        ({"contradictions": [{"topic": "", "claims": AGAINST[0]["claims"]}]}, "output_invalid"),
        ({"contradictions": [{"topic": "people", "claims": [{"task": "t40", "claim": "9"}]}]}, "task_unknown"),
        ({"text": "so it goes on and on. " * 500}, "output_invalid"),
    ],
)  # fmt: skip
def test_a_bad_one_is_sent_back_once_and_a_better_one_is_taken(change: dict[str, Any], code: str) -> None:
    story, topic = many(), first_group()

    rejected = read(story, topic, {**GOOD, **change})

    assert isinstance(rejected, ev.ReductionRejected)
    assert code in {flaw.code for flaw in rejected.errors}
    assert "The tasks of this group are: t1, t2, " in (rejected.note or "")
    assert isinstance(read(story, topic, GOOD), ev.ReductionCompleted)


def test_one_that_stays_bad_is_not_asked_for_a_third_time() -> None:
    story, topic = many(), first_group()
    for _ in range(2):
        rejected = read(story, topic, {**GOOD, "statements": []})

    assert isinstance(rejected, ev.ReductionRejected)
    assert rejected.note is None
    assert story.settle() == ["reduction.skipped"]


def test_one_that_stays_too_long_is_cut_and_says_so() -> None:
    story, topic = many(), first_group()
    long = {**GOOD, "text": "so it goes on and on. " * 500}

    read(story, topic, long)
    taken = read(story, topic, long)

    assert isinstance(taken, ev.ReductionCompleted)
    assert taken.characters <= REDUCED_CHARACTERS + 100
    assert "…" in taken.text


def test_the_answer_is_made_from_the_reductions_and_rests_on_tasks() -> None:
    story = many()
    first, second = groups_due(story.run)
    reduce(story, first, "Town 1 has 1,007 people, town 2 has 2,007: 3,014 together.", uncertain=("The year.",))
    reduce(story, second, "The rest.")

    prompt = ROLES["synthesize"].open(story.run, ANSWERING)
    shown = [json.loads(part.split("\n</reduction>")[0]) for part in prompt.message.split("<reduction>\n")[1:]]

    assert "<result>" not in prompt.message
    assert [each["tasks"] for each in shown] == [list(first.named.tasks), list(second.named.tasks)]
    assert (shown[0]["text"][:6], shown[0]["uncertain"]) == ("Town 1", ["The year."])
    statement = ROLES["synthesize"].offer(story.run, ANSWERING).schema["properties"]["statements"]["items"]
    assert statement["properties"]["tasks"]["items"]["enum"] == list(story.run.tasks)


def test_what_was_reckoned_in_a_group_may_be_repeated_and_what_only_it_says_not_quoted() -> None:
    story = many()
    first, second = groups_due(story.run)
    reduce(story, first, "Town 1 has 1,007 people, town 2 has 2,007: 3,014 together, a harbour town of its own.")
    reduce(story, second)
    ground = ground_of(story.run)

    assert ground.figures.within(3_014, 3_014)
    assert not ground.words.have_quoted("a harbour town of its own")
    assert ground.words.have_quoted("Town 17 has 17007 people")


def test_a_contradiction_that_a_group_has_seen_must_be_told_in_the_answer() -> None:
    story = many()
    first, second = groups_due(story.run)
    taken = read(story, topic_of_group(first), GOOD | {"contradictions": AGAINST})
    assert isinstance(taken, ev.ReductionCompleted)
    reduce(story, second)

    prompt = ROLES["synthesize"].open(story.run, ANSWERING)
    said = {"answer": "Towns have people.", "statements": [{"text": "They do.", "tasks": ["t1"]}]}
    heard = called("synthesize").completed(stop_reason="end_turn", content=[text_block(json.dumps(said))])
    [entry] = consequences(story.run, ANSWERING, conversation_after(story.talk(ANSWERING), heard), {})

    assert "<conflict>" in prompt.message
    assert isinstance(entry.fact, ev.SynthesisRejected)
    assert {flaw.code for flaw in entry.fact.errors} == {"conflict_hidden"}


def test_a_group_that_is_skipped_shows_its_results_in_short() -> None:
    story = of_size(4, ROOM_CHARACTERS // 3)
    first, second = groups_due(story.run)
    topic = topic_of_group(first)
    for note in ("Again.", None):
        told = called("reduce", number=topic.number).completed(stop_reason="end_turn", content=[text_block("so")])
        story.record(topic.entry(told))
        story.record(topic.entry(ev.ReductionRejected(errors=(USELESS,), note=note, number=topic.number)))
    story.settle()
    reduce(story, second)

    message = ROLES["synthesize"].open(story.run, ANSWERING).message
    results = [json.loads(part.split("\n</result>")[0]) for part in message.split("<result>\n")[1:]]

    assert [result["task"] for result in results] == list(first.named.tasks)
    assert len(message) < ROOM_CHARACTERS * 1.1
    assert message.count("<reduction>") == 1


@pytest.mark.parametrize("characters", [1, 8_000])
def test_a_group_sees_its_results_whole(characters: int) -> None:
    story = of_size(31, characters)
    message = ROLES["reduce"].open(story.run, topic_of_group(groups_due(story.run)[0])).message

    assert message.count('"task"') == 16
    assert "truncated" not in message


def test_a_long_result_beside_short_ones_is_shown_whole_where_all_of_them_fit() -> None:
    story = planned_for_many(3)
    for number, size in enumerate((ROOM_CHARACTERS // 2, 1_000, 1_000), 1):
        story.succeed(f"t{number}", text="x" * size)

    assert "truncated" not in ROLES["synthesize"].open(story.run, ANSWERING).message


def test_the_next_level_is_made_from_reductions_and_sees_their_tasks() -> None:
    story = of_size(80, ROOM_CHARACTERS * 2 // 5)
    while (group := groups_due(story.run)[0]).level == 1:
        reduce(story, group)

    prompt = ROLES["reduce"].open(story.run, topic_of_group(group))
    tasks = ROLES["reduce"].offer(story.run, topic_of_group(group)).schema["properties"]["statements"]["items"]

    assert (prompt.message.count("<reduction>"), prompt.message.count("<result>")) == (20, 0)
    assert tasks["properties"]["tasks"]["items"]["enum"] == [f"t{number}" for number in range(1, 41)]


def test_where_everything_fits_the_answer_is_asked_for_as_by_a_merge() -> None:
    few, merged = many(30), many(30)
    assert merged.run.plan is not None
    object.__setattr__(merged.run, "plan", merged.run.plan.model_copy(update={"strategy": "merge"}))

    assert ROLES["synthesize"].open(few.run, ANSWERING) == ROLES["synthesize"].open(merged.run, ANSWERING)


def test_the_critic_sees_what_the_answer_was_made_from() -> None:
    story = many()
    reduce_all(story)
    story.synthesize()

    message = ROLES["review"].open(story.run, Topic("review")).message

    assert (message.count("<reduction>"), message.count("<result>")) == (2, 0)
