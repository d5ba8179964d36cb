"""What a judge of conflicts is shown, and what is made of what it and the task that breaks a tie say."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from app.agents.arbiter import ARBITRATE, UNDECIDED, cases_of
from app.agents.converse import consequences
from app.agents.supervisor.synthesize import SYNTHESIZE
from app.domain import events as ev
from app.domain.answering import claims_alike
from app.domain.fold_conversation import conversation_after
from app.domain.policy.agenda import ARBITRATING
from app.domain.results import Claim, Conflict
from app.domain.topics import Topic
from tests.agents.asked import judging
from tests.agents.syntheses import disputed
from tests.agents.test_answers import answer
from tests.domain.test_resolution import told
from tests.support.story import Story, called, text_block

SYNTHESIS = Topic("synthesize")


def judgement(holds: str, name: str = "c1", reason: str = "The register says so.") -> dict[str, Any]:
    return {"conflict": name, "reason": reason, "holds": holds, "confidence": 1.7}


def judged(story: Story, *judgements: dict[str, Any]) -> list[ev.AnyFact]:
    """What comes of a judge's reply, all of which is recorded."""
    text = json.dumps({"judgements": judgements, "notes": "so"})
    heard = called("arbitrate").completed(stop_reason="end_turn", content=[text_block(text)])
    follows = consequences(story.run, ARBITRATING, conversation_after(story.talk(ARBITRATING), heard), {})
    story.record(ARBITRATING.entry(heard), *follows)
    return [each.fact for each in follows]


def letter_of(story: Story, claim: str) -> str:
    return next(letter for letter, each in cases_of(story.run)["c1"].claims.items() if each.claim == claim)


def test_a_judge_sees_what_was_asked_the_claims_and_their_evidence_and_not_whose_they_are() -> None:
    story = judging()

    prompt = ARBITRATE.open(story.run, ARBITRATING)
    [shown] = [json.loads(part.split("\n</conflict>")[0]) for part in prompt.message.split("<conflict>\n")[1:]]

    assert "Find out." in prompt.message
    assert (shown["conflict"], shown["topic"]) == ("c1", "the year")
    said = {each["claim"]: each["evidence"]["text"] for each in shown["claims"].values()}
    assert said == {"2009": "It was 2009.", "2011": "It was 2011."}
    assert [*shown["claims"]] == ["A", "B"]
    assert all({"claim", "evidence"} == each.keys() for each in shown["claims"].values())
    assert not any(
        {"task", "worker", "title", "confidence"} & each["evidence"].keys() for each in shown["claims"].values()
    )


def test_the_order_of_the_claims_is_made_up_by_the_ids_and_always_the_same() -> None:
    claims = tuple(Claim(task="a", claim=f"claim {number}") for number in range(30))
    orders = set()
    for name in ("c1", "c2", "c3"):
        story = told("judge", found=(Conflict(id=name, topic="t", claims=claims, status="unresolved"),))
        order = {letter: claim.claim for letter, claim in cases_of(story.run)[name].claims.items()}
        assert order == {letter: claim.claim for letter, claim in cases_of(story.run)[name].claims.items()}
        assert len(order) == len(claims)
        assert "D1" in order
        orders.add(tuple(order.values()))
    assert len(orders) == 3


def test_what_a_judge_decides_is_the_claim_word_for_word() -> None:
    story = judging()

    [fact] = judged(story, judgement(letter_of(story, "2011")))

    assert isinstance(fact, ev.ConflictJudged)
    assert (fact.id, fact.resolution, fact.reason, fact.confidence) == ("c1", "2011", "The register says so.", 1.0)
    assert story.talking() == [SYNTHESIS]


@pytest.mark.parametrize("written", [str.lower, str.upper, " {} ".format])
def test_a_judge_may_write_its_letter_as_it_likes(written: Callable[[str], str]) -> None:
    [fact] = judged(story := judging(), judgement(written(letter_of(story, "2011"))))
    [left] = judged(judging(), judgement(written("undecided")))

    assert isinstance(fact, ev.ConflictJudged)
    assert isinstance(left, ev.ConflictJudged)
    assert (fact.resolution, left.resolution) == ("2011", None)


@pytest.mark.parametrize(
    "judgements",
    [
        [],
        [judgement("A"), judgement("B")],
        [judgement("A", "c2")],
        [judgement("C")],
        [judgement("A", reason=" ")],
    ],
)
def test_a_judgement_that_cannot_be_taken_is_sent_back_once(judgements: list[dict[str, Any]]) -> None:
    story = judging()

    [first] = judged(story, *judgements)
    [second] = judged(story, *judgements)

    assert isinstance(first, ev.JudgementRejected)
    assert isinstance(second, ev.JudgementRejected)
    assert (first.note is None, second.note) == (False, None)
    assert story.settle() == ["conflict.left_open", "run.succeeded"]


def settled_by_a_judge() -> Story:
    story = judging()
    judged(story, judgement(letter_of(story, "2011")))
    return story


def conflict(status: str = "resolved", **fields: Any) -> dict[str, Any]:
    claims = [{"task": "a", "claim": "2009"}, {"task": "b", "claim": "2011"}]
    return {"topic": "the year", "claims": claims, "status": status} | fields


def said(text: str, *conflicts: dict[str, Any]) -> dict[str, Any]:
    return {"answer": text, "confidence": 0.8, "statements": [], "conflicts": [*conflicts], "gaps": []}


def codes(fact: ev.AnyFact) -> set[str]:
    return {flaw.code for flaw in fact.errors} if isinstance(fact, ev.SynthesisRejected) else set()


def test_the_supervisor_is_told_what_the_judge_has_decided_and_must_heed_it() -> None:
    story = settled_by_a_judge()
    prompt = SYNTHESIZE.open(story.run, SYNTHESIS)

    assert '<judged>\n{"topic": "the year"' in prompt.message
    assert "<settled>" not in prompt.message
    assert codes(answer(story, said("All told, 2009.", conflict(resolution="2009", method="judge")))) == {
        "conflict_hidden"
    }
    taken = answer(story, said("All told, 2011.", conflict(resolution="2011", method="evidence", confidence=0.1)))

    assert isinstance(taken, ev.SynthesisCompleted)
    [known] = taken.conflicts
    assert (known.id, known.status, known.resolution, known.method, known.confidence) == (
        "c1", "resolved", "2011", "judge", 1.0,
    )  # fmt: skip
    assert story.settle() == ["run.succeeded"]


def test_the_same_claims_under_another_topic_are_the_conflict_that_the_judge_has_settled() -> None:
    story = settled_by_a_judge()
    taken = answer(story, said("All told, 2011; some say 2009.", conflict("unresolved", topic="when it was founded")))

    assert isinstance(taken, ev.SynthesisCompleted)
    assert [(each.id, each.topic, each.status, each.method) for each in taken.conflicts] == [
        ("c1", "the year", "resolved", "judge"),
    ]
    assert story.settle() == ["run.succeeded"]


def test_the_same_claims_under_two_topics_of_one_answer_are_two_conflicts() -> None:
    reworded = conflict("unresolved", topic="when it was rebuilt")
    taken = answer(
        settled_by_a_judge(), said("2011, not 2009.", reworded, conflict(resolution="2011", method="evidence"))
    )

    assert isinstance(taken, ev.SynthesisCompleted)
    assert [(each.id, each.status) for each in taken.conflicts] == [("c2", "unresolved"), ("c1", "resolved")]


@pytest.mark.parametrize(
    ("topic", "claims", "same"),
    [
        ("when it was founded", ("2009", "2011"), True),
        ("when it was founded", ("2009", "2010"), False),
        ("who", ("the elder brother", "The elder sister."), True),
        ("is it open", ("yes", "no"), False),
    ],
)
def test_claims_that_tell_make_the_same_conflict_under_any_topic(
    topic: str, claims: tuple[str, str], *, same: bool
) -> None:
    def of(topic: str, *said: str) -> Conflict:
        named = tuple(Claim(task=task, claim=claim) for task, claim in zip("ab", said, strict=True))
        return Conflict(id="c1", topic=topic, claims=named, status="unresolved")

    known = {"2": ("2009", "2011"), "t": ("The elder brother", "the elder sister"), "y": ("yes", "no")}
    found = of("another", *known[claims[0][0]])
    assert claims_alike(found, of(topic, *claims)) is same


def broken(text: str = "It was 2011.") -> Story:
    """A run in which a task has looked at a conflict anew."""
    story = told("tie_break")
    story.settle()
    story.succeed("tie-c1", text=text)
    return story


def with_tie(claim: str = "2011", **fields: Any) -> dict[str, Any]:
    told_of = conflict(method="tie_break", resolution="2011")
    return told_of | {"claims": [*told_of["claims"], {"task": "tie-c1", "claim": claim}]} | fields


def test_the_supervisor_is_told_which_task_was_to_decide_which_conflict() -> None:
    story = broken()
    prompt, schema = SYNTHESIZE.open(story.run, SYNTHESIS), SYNTHESIZE.offer(story.run, SYNTHESIS).schema

    assert '<tie_break>\n{"task": "tie-c1", "topic": "the year"' in prompt.message
    assert "tie_break" in str(schema)
    assert "judge" not in str(schema)


@pytest.mark.parametrize("method", ["tie_break", "tie-break", "Tie break"])
def test_a_tie_is_broken_by_what_the_task_for_it_claims(method: str) -> None:
    taken = answer(story := broken(), said("All told, 2011.", with_tie(method=method)))

    assert isinstance(taken, ev.SynthesisCompleted)
    assert [(each.id, each.status, each.method) for each in taken.conflicts] == [("c1", "resolved", "tie_break")]
    assert story.settle() == ["run.succeeded"]


@pytest.mark.parametrize(
    "claimed",
    [
        conflict(resolution="2011", method="tie_break"),
        with_tie(resolution="2009"),
        with_tie(topic="the town", claims=[{"task": "tie-c1", "claim": "2011"}, {"task": "c", "claim": "2012"}]),
        with_tie(method="judge"),
        with_tie(method="human"),
    ],
)
def test_no_method_is_taken_that_has_nothing_behind_it(claimed: dict[str, Any]) -> None:
    fact = answer(broken(), said("It was 2009, 2011 or 2012.", claimed))

    assert codes(fact) & {"conflict_unfounded", "task_unknown"}


@pytest.mark.parametrize("method", ["judge", "tie_break", "human"])
def test_a_supervisor_cannot_settle_a_conflict_as_somebody_else(method: str) -> None:
    story = judging()
    [undecided] = judged(story, judgement(UNDECIDED))
    assert isinstance(undecided, ev.ConflictJudged)
    assert undecided.resolution is None
    story = disputed()

    assert codes(answer(story, said("Acme: 2011, not 2009.", conflict(resolution="2011", method=method)))) == {
        "conflict_unfounded"
    }
