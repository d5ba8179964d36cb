"""What an answer is sent back for: every kind of bad one, and no good one."""

import json
from collections import Counter
from collections.abc import Sequence

import pytest

from app.agents.converse import consequences
from app.domain import events as ev
from app.domain.fold_conversation import conversation_after
from app.domain.topics import Topic
from tests.agents.syntheses import BAD, GOOD, REPAIRED, RUNS, Case
from tests.support.story import Story, called, text_block

TOPIC = Topic("synthesize")
MENDED = [case for case in BAD if case.kind == "gap_unnamed"]
"""What code can mend by itself."""
LOST = [case for case in BAD if case not in MENDED]


def names_of(cases: Sequence[Case]) -> list[str]:
    return [f"{number}-{case.run}-{case.kind}" for number, case in enumerate(cases)]


def answer(story: Story, reply: object) -> ev.AnyFact:
    """What comes of a reply, all of which is recorded."""
    text = reply if isinstance(reply, str) else json.dumps(reply)
    heard = called("synthesize").completed(stop_reason="end_turn", content=[text_block(text)])
    follows = consequences(story.run, TOPIC, conversation_after(story.talk(TOPIC), heard), {})
    story.record(TOPIC.entry(heard), *follows)
    [taken] = [each.fact for each in follows if isinstance(each.fact, ev.SynthesisCompleted | ev.SynthesisRejected)]
    return taken


@pytest.mark.parametrize("case", BAD, ids=names_of(BAD))
def test_a_bad_answer_is_sent_back_once_and_a_better_one_is_taken(case: Case) -> None:
    story = RUNS[case.run]()

    rejected = answer(story, case.reply)
    repaired = answer(story, REPAIRED[case.run])

    assert isinstance(rejected, ev.SynthesisRejected)
    assert case.kind in {flaw.code for flaw in rejected.errors}
    assert rejected.note is not None
    assert isinstance(repaired, ev.SynthesisCompleted)
    assert story.settle()[-1] in ("run.succeeded", "run.partial")


@pytest.mark.parametrize("case", MENDED, ids=names_of(MENDED))
def test_a_gap_that_no_reply_names_is_named_by_code(case: Case) -> None:
    story = RUNS[case.run]()

    assert isinstance(answer(story, case.reply), ev.SynthesisRejected)
    taken = answer(story, case.reply)
    story.settle()

    assert isinstance(taken, ev.SynthesisCompleted)
    assert "\n\nMissing from this answer: " in taken.answer
    assert (story.run.status, story.run.stop_reason) == ("partial", "gaps")


@pytest.mark.parametrize("case", LOST, ids=names_of(LOST))
def test_a_bad_answer_is_never_delivered(case: Case) -> None:
    story = RUNS[case.run]()

    for _ in range(2):
        rejected = answer(story, case.reply)
        assert isinstance(rejected, ev.SynthesisRejected)
    story.settle()

    assert (story.run.status, story.run.stop_reason) == ("partial", "synthesis_failed")
    assert story.run.result is not None
    assert (story.run.result.answer, story.run.result.data, len(story.run.result.outputs)) == (
        None,
        None,
        len(story.run.tasks),
    )


@pytest.mark.parametrize("case", GOOD, ids=names_of(GOOD))
def test_a_good_answer_is_taken_at_once(case: Case) -> None:
    taken = answer(RUNS[case.run](), case.reply)

    objections = [flaw.detail for flaw in taken.errors] if isinstance(taken, ev.SynthesisRejected) else []
    assert objections == []
    assert isinstance(taken, ev.SynthesisCompleted)


def test_there_are_enough_of_each() -> None:
    kinds = Counter(case.kind for case in BAD)

    assert len(BAD) >= 60 <= len(GOOD)
    assert min(kinds.values()) >= 1
