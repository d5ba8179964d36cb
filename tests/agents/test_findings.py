"""What models are told of findings, and what is made of their words about them."""

import json
from typing import Any

import pytest

from app.agents.reading import Unreadable
from app.agents.roles import ROLES
from app.agents.supervisor.finding_checks import FINDING_CHECKS
from app.agents.supervisor.ground import ground_of
from app.agents.supervisor.mended import mended
from app.agents.worker.report import report_of
from app.domain import events as ev
from app.domain.results import Output, Synthesis
from app.domain.topics import Topic
from tests.support.found import FINDERS, found, in_diff, placed, report, verifying
from tests.support.story import Story

ANSWERING = Topic("synthesize")
QUERY = 'query = "select " + rows'
REPORTS = (
    [in_diff(11, QUERY, severity="critical", message="The rows go into the query as they are.", confidence=95)],
    [
        report(3, message="The third line says the wrong year altogether."),
        report(9, message="The ninth line may be a little too long.", confidence=50),
        in_diff(1, "no such words", message="A lock that was held here is never given back."),
    ],
)


def sifted() -> Story:
    story = placed(*REPORTS)
    story.tell(ev.FindingVerified(id="f1", number=1, verdict="confirmed", confidence=90, reason="So it is."))
    assert story.settle() == ["findings.filtered", "findings.ranked"]
    return story


def test_the_answer_is_made_from_the_findings_that_are_left() -> None:
    prompt = ROLES["synthesize"].open(sifted().run, ANSWERING)

    shown = json.loads(prompt.message.split("<findings>\n")[1].split("\n</findings>")[0])
    assert [each["id"] for each in shown["shown"]] == ["f1", "f2"]
    assert (shown["left"], shown["suppressed"]) == (2, {"below_threshold": 1, "not_at_location": 1})
    results = [json.loads(part.split("\n</result>")[0]) for part in prompt.message.split("<result>\n")[1:]]
    assert [result["data"] for result in results] == [None, None]
    assert "ninth line" not in prompt.message
    assert "2 were" in prompt.system


def test_before_they_are_placed_the_prompt_that_its_cost_is_reckoned_by_holds_them_all() -> None:
    prompt = ROLES["synthesize"].open(found(*REPORTS).run, ANSWERING)

    assert "<findings>" not in prompt.message
    assert "ninth line" in prompt.message


def test_of_many_findings_those_without_room_are_counted() -> None:
    many = [report(n % 30 + 1, message=" ".join(f"w{n}x{each}" for each in range(90))) for n in range(150)]
    story = placed(many, [])
    story.settle()
    prompt = ROLES["synthesize"].open(story.run, ANSWERING)

    told = json.loads(prompt.message.split("<findings>\n")[1].split("\n</findings>")[0])
    assert told["left"] == 150
    assert 0 < len(told["shown"]) == 150 - told["not_shown"] < 150
    assert f"{told['not_shown']} more are left" in prompt.system


def flaws(answer: str, story: Story | None = None, **fields: Any) -> list[str]:
    ground = ground_of((story or sifted()).run)
    return [flaw.code for check in FINDING_CHECKS for flaw in check(Synthesis(answer=answer, **fields), ground)]


GOOD = "Critical, src/a.py:11: the rows go into the query as they are. Also: The third line says the wrong year."


@pytest.mark.parametrize(
    "answer",
    [
        GOOD,
        "See f1, and the year.",
        "In a.py the query is made of rows.",
        "Rows go straight into the query.",
        f"{GOOD} Line 9 is fine.",
    ],
)
def test_an_answer_that_tells_of_what_is_left_is_right(answer: str) -> None:
    assert flaws(answer) == []


@pytest.mark.parametrize(
    "answer",
    [
        f"{GOOD} The ninth line may be a little too long.",
        f"{GOOD} And a lock that was held here is never given back!",
        f"{GOOD} See notes.txt:9.",
        f"{GOOD} See notes.txt#L9.",
    ],
)
def test_an_answer_that_tells_of_what_was_left_out_is_not(answer: str) -> None:
    assert flaws(answer) == ["finding_suppressed"]


def test_an_answer_that_passes_over_a_critical_finding_is_not() -> None:
    assert flaws("All is well, but for a year.") == ["finding_unnamed"]
    told = mended(Synthesis(answer="All is well."), ground_of(sifted().run))
    assert told.answer == "All is well.\n\nCritical findings:\n\n- src/a.py:11: The rows go into the query as they are."


def test_what_is_left_may_be_quoted_and_its_figures_repeated_and_what_is_not_may_not() -> None:
    ground = ground_of(sifted().run)
    assert ground.holds("The rows go into the query as they are.")
    assert not ground.holds("The ninth line may be a little too long.")
    assert ground.outputs["b"].data["findings"][0]["confidence"] == 90


def test_a_verifier_learns_nothing_of_who_found_it_nor_how_sure_they_were() -> None:
    story = verifying()
    prompt = ROLES["verify"].open(story.run, Topic("verify"))
    finding = json.loads(prompt.message.split("<finding>\n")[1].split("\n</finding>")[0])

    assert sorted(finding) == ["category", "evidence", "location", "message", "severity", "suggestion"]
    assert ">  3: line 3." in prompt.message
    assert "   23: line 23." in prompt.message
    assert "line 24." not in prompt.message
    assert "able" not in prompt.message.replace("possible", "")
    assert ROLES["verify"].offer(story.run, Topic("verify")).model == "deep"


def test_a_verifier_of_a_diff_sees_what_changed() -> None:
    story = placed(*REPORTS)
    message = ROLES["verify"].open(story.run, Topic("verify")).message

    assert '>+ 11:     query = "select " + rows' in message
    assert "-    return sum(rows)" in message


UNREADABLE = [
    {"reason": ""}, {"verdict": "perhaps"}, {"confidence": 101}, {"confidence": None}, {"verdict": "corrected"},
]  # fmt: skip
VERDICT = {
    "reason": "So it is.", "verdict": "confirmed", "confidence": 80, "severity": None, "message": None,
    "suggestion": None,
}  # fmt: skip


@pytest.mark.parametrize("change", UNREADABLE)
def test_a_verdict_without_reason_or_correction_is_none(change: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        ROLES["verify"].read(verifying().run, Topic("verify"), json.dumps(VERDICT | change))


def test_what_is_confirmed_is_not_corrected_besides() -> None:
    said = VERDICT | {"severity": "info", "message": "It is nothing."}
    [entry] = ROLES["verify"].read(verifying().run, Topic("verify"), json.dumps(said))

    assert isinstance(entry.fact, ev.FindingVerified)
    assert (entry.fact.severity, entry.fact.message, entry.fact.reason) == (None, None, "So it is.")


def read(*findings: dict[str, Any]) -> Output:
    told = {"summary": "Looked.", "text": "Looked at it.", "data": {"findings": list(findings)}, "escalation": None}
    said = report_of(json.dumps(told), FINDERS.workers[0])
    assert isinstance(said, Output)
    return said


def test_a_report_of_findings_is_held_to_their_form() -> None:
    assert read(report(3)).data["findings"][0]["confidence"] == 90
    assert read().data == {"findings": []}
    with pytest.raises(Unreadable) as refused:
        read(report(3), report(3, confidence=300))
    assert [flaw.pointer for flaw in refused.value.flaws] == ["/data/findings/1/confidence"]
    with pytest.raises(Unreadable, match="at most 200"):
        read(*[report(3)] * 201)
    with pytest.raises(Unreadable):
        report_of(json.dumps({"summary": "s", "text": "t", "data": None}), FINDERS.workers[0])


def test_a_worker_that_reports_findings_is_told_how_and_sees_the_names_of_the_inputs() -> None:
    story = found([])
    prompt = ROLES["work"].open(story.run, Topic("work", "a"))
    assert "evidence is what stands at that place" in prompt.system
    assert (
        "findings"
        in ROLES["work"].offer(story.run, Topic("work", "a")).schema["properties"]["data"]["anyOf"][0]["properties"]
    )
