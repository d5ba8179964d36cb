from dataclasses import replace
from time import thread_time
from typing import Any

import pytest
from pydantic import ValidationError

from app.domain import events as ev
from app.domain.errors import IllegalMove
from app.domain.events import Entry
from app.domain.findings import Finding, ReportedFindings, Suppressed
from app.domain.job import JobInput
from app.domain.media_types import PARQUET
from app.domain.merging import Merge, merged
from app.domain.placing import placed, source_of
from app.domain.plan import Task
from app.domain.policy.agenda import open_topics
from app.domain.policy.commands import PlaceFindings
from app.domain.policy.endings import result_of
from app.domain.policy.findings_due import reported_in
from app.domain.results import Problem
from app.domain.sifting import Sifting, findings_told, said_of_suppressed
from app.domain.surroundings import look_at
from app.domain.team import Team
from app.domain.team_rules import FindingRules
from app.domain.topics import Topic
from app.domain.values import changed
from app.domain.worker import Worker
from tests.support.documents import as_input, docx_of, pdf_of
from tests.support.found import DIFF, FINDERS, TEXT, found, in_diff, place, report
from tests.support.found import placed as placed_run
from tests.support.story import TEAM, WORKER, Story, called, task, text_block

SOURCES = {given.name: source_of(given) for given in (TEXT, DIFF)}


def finding(told: dict[str, Any], number: int = 1, task: str = "a") -> Finding:
    [reported] = ReportedFindings.model_validate({"findings": [told]}).findings
    return reported.numbered(number, task)


def place_of(told: dict[str, Any]) -> tuple[str | None, int, int, str] | str:
    """Where a finding ends: its place, or why it has none."""
    looked_up = placed(finding(told), SOURCES)
    if isinstance(looked_up, Suppressed):
        assert looked_up.reason == "not_at_location"
        return looked_up.detail
    where = looked_up.location
    return where.path, where.line, where.end_line, where.side


MISPLACED = {
    "an input that the job lacks": (report(location={"input": "other.txt"}), "has no input named other.txt"),
    "a file that the diff does not change": (in_diff(11, "return run(query)", "src/b.py"), "has no file 'src/b.py'"),
    "a file within a text": (report(location={"path": "src/a.py"}), "has no file"),
    "a diff without a file": (in_diff(11, "return run(query)", None), "has no file"),
    "evidence that stands nowhere": (report(3, "line 31."), "nowhere"),
    "evidence that stands elsewhere more than once": (in_diff(10, "return run(query)"), "more than once"),
    "evidence that stands nearly everywhere": (report(3, "i)"), "fewer than 3 letters or digits"),
    "evidence across what the diff does not show": (in_diff(14, "def other(): new = 1"), "nowhere"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISPLACED)
def test_what_is_at_no_place_is_dropped_and_says_why(case: str) -> None:
    told, says = MISPLACED[case]
    assert says in str(place_of(told))


PLACED = {
    "at its line": (report(3), (None, 3, 3, "new")),
    "an input named as the path": (report(location={"path": TEXT.name}), (None, 3, 3, "new")),
    "with other white space": (report(3, " line\t 3. "), (None, 3, 3, "new")),
    "over several lines": (report(3, "line 3.\nline 4.\n\nline 5."), (None, 3, 5, "new")),
    "within wider lines": (report(3, "line 4.", location={"end_line": 6}), (None, 3, 6, "new")),
    "beyond the end of the input": (report(3, location={"end_line": 400}), (None, 3, 3, "new")),
    "once elsewhere": (report(9, "line 22."), (None, 22, 22, "new")),
    "an added line": (in_diff(11, 'query = "select " + rows'), ("src/a.py", 11, 11, "new")),
    "context": (in_diff(10, "def total(rows):"), ("src/a.py", 10, 10, "new")),
    "with the marks of the diff": (in_diff(41, "+    new = 1"), ("src/a.py", 41, 41, "new")),
    "both sides copied": (in_diff(41, "-    old = 1\n+    new = 1"), ("src/a.py", 41, 41, "new")),
    "by the number in the text of the diff": (in_diff(7, 'query = "select "'), ("src/a.py", 11, 11, "new")),
    "a removed line": (in_diff(40, "old = 1"), ("src/a.py", 40, 40, "old")),
    "the letter before the path": (in_diff(41, "new = 1", "b/src/a.py"), ("src/a.py", 41, 41, "new")),
    "of two places the named one": (in_diff(12, "return run(query)"), ("src/a.py", 12, 12, "new")),
}  # fmt: skip


@pytest.mark.parametrize("case", PLACED)
def test_a_finding_is_where_its_evidence_stands(case: str) -> None:
    told, where = PLACED[case]
    assert place_of(told) == where


def lines_at(content: str, line: int, evidence: str) -> tuple[int, int] | None:
    """The lines at which a finding about a text ends."""
    source = source_of(JobInput(name=TEXT.name, content=content))
    looked_up = placed(finding(report(line, evidence)), {TEXT.name: source})
    return None if isinstance(looked_up, Suppressed) else (looked_up.location.line, looked_up.location.end_line)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_have_the_numbers_that_workers_read(end: str) -> None:
    long = "x" * 1_996 + " the needle " + "y" * 2_000
    content = end.join(["one", long, "three", "same", "other", "same", ""])

    assert lines_at(content, 5, "three") == (5, 5)
    assert lines_at(content, 6, "same") == (6, 6)
    assert lines_at(content, 8, "same") == (8, 8)
    assert lines_at(content, 2, "the needle") == (2, 3)
    assert lines_at(content, 3, "dle yyy") == (3, 3)
    assert lines_at(content, 2, "thethree") is None


@pytest.mark.parametrize("cut", ["ab", "a ", " b", "  "])
def test_evidence_may_reach_over_the_cut_of_a_long_line(cut: str) -> None:
    content = f"{'x' * 1_990} the need{cut}le {'y' * 50}"
    at = content.index(cut, 1_990) + 1
    shifted = "x" * (2_000 - at) + content

    assert lines_at(shifted, 1, f"the need{cut}le yyy") == (1, 2)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (as_input(pdf_of("line 3.")), "PDF"),
        (as_input(docx_of("line 3."), "report.docx"), "DOCX"),
        (JobInput(name="rows.parquet", media_type=PARQUET, content="UEFSMQ=="), "table"),
    ],
)
def test_in_what_has_no_text_nothing_is_placed_and_it_says_what_it_is(given: JobInput, kind: str) -> None:
    told = report(3, given.content[:4], location={"input": given.name, "line": 1, "end_line": 1})
    looked_up = placed(finding(told), {given.name: source_of(given)})

    assert isinstance(looked_up, Suppressed)
    assert (looked_up.reason, looked_up.detail) == (
        "not_at_location",
        f"{given.name} is a {kind}: places in it are not looked up.",
    )


PAGES = """\
[page 1 of 2]
7.2 The Supplier may raise
the fees at any time, by
[page 2 of 2]
notice of five days.
8. Term"""
PARAGRAPHS = """\
[paragraph 1] ## 7. Fees
[paragraph 2] The Supplier may raise the fees[footnote 2] at any time.
[table 1, row 1] Service | Fee
[table 1, row 2] Support | 400
[paragraph 3] 9. Term"""
TYPESET = "the \u201cSupplier\u2019s\u201d self-\nservice \u2013 and its \ufb01rst agree-\n[page 2 of 2]\nment."
IN_DOCUMENTS = {
    "across a page": (PAGES, 3, "at any time, by notice of five days.", (3, 5)),
    "with the mark of the page": (PAGES, 3, "at any time, by\n[page 2 of 2]\nnotice of five days.", (3, 5)),
    "at the mark before it": (PAGES, 4, "[page 2 of 2]\nnotice of five days.", (5, 5)),
    "moved": (PAGES, 1, "8. Term", (6, 6)),
    "a paragraph": (PARAGRAPHS, 2, "The Supplier may raise the fees at any time.", (2, 2)),
    "with all its marks": (PARAGRAPHS, 1, PARAGRAPHS.partition("\n[table")[0], (1, 2)),
    "a heading and what follows": (PARAGRAPHS, 1, "## 7. Fees\nThe Supplier may raise", (1, 2)),
    "without the marks of headings": (PARAGRAPHS, 1, "7. Fees The Supplier", (1, 2)),
    "a row of a table": (PARAGRAPHS, 4, "Support | 400\n9. Term", (4, 5)),
    "in plain typography": (TYPESET, 1, "the \"Supplier's\" self-service - and its first agreement", (1, 4)),
    "as it was set": (TYPESET, 1, TYPESET.replace("[page 2 of 2]\n", ""), (1, 4)),
    "nothing but a mark": (PARAGRAPHS, 2, "[paragraph 2]", None),
    "elsewhere, not at all": (PARAGRAPHS, 2, "The Customer may raise the fees", None),
}  # fmt: skip


@pytest.mark.parametrize("case", IN_DOCUMENTS)
def test_in_the_text_of_a_document_marks_break_no_evidence(case: str) -> None:
    text, line, evidence, lines = IN_DOCUMENTS[case]
    given = as_input(pdf_of("what the file holds is not looked at here"))
    told = report(line, evidence, location={"input": given.name, "line": line, "end_line": line})
    looked_up = placed(finding(told), {given.name: source_of(given, text)})

    place = None if isinstance(looked_up, Suppressed) else (looked_up.location.line, looked_up.location.end_line)
    assert place == lines


def surroundings(text: str | None, line: int, evidence: str) -> str:
    given = as_input(pdf_of("x"))
    told = finding(report(line, evidence, location={"input": given.name, "line": line, "end_line": line}))
    return look_at(told, {given.name: source_of(given, text)}).lines


def test_around_a_place_in_a_document_paragraphs_stand_in_full_as_far_as_there_is_room() -> None:
    paragraphs = [f"[paragraph {number}] {'word ' * 300}end {number}." for number in range(1, 41)]

    shown = surroundings("\n".join(paragraphs), 20, "end 20.").split("\n")

    assert [line[:6] for line in shown] == ["   19:", ">  20:", "   21:"]
    assert shown[1] == f">  20: {paragraphs[19]}"


def test_of_a_document_that_cannot_be_read_again_a_verifier_sees_the_evidence() -> None:
    assert surroundings(None, 20, "The fees may rise.") == "The fees may rise."


def test_in_a_diff_that_cannot_be_read_nothing_is_placed_and_it_says_why() -> None:
    broken = JobInput(name="x.diff", content="no diff at all")
    looked_up = placed(finding(in_diff(1, "no diff")), {"change.diff": source_of(broken)})

    assert isinstance(looked_up, Suppressed)
    assert "x.diff cannot be read as a diff. It changes no file" in looked_up.detail


def test_evidence_that_stands_everywhere_takes_no_longer_than_it_may() -> None:
    source = source_of(JobInput(name="notes.txt", content="a a a a\n" * 50_000))
    started = thread_time()
    looked_up = placed(finding(report(49_000, "a a")), {"notes.txt": source})

    assert isinstance(looked_up, Finding)
    assert looked_up.location.line == 49_000
    looked_up = placed(finding(report(60_000, "a a")), {"notes.txt": source})
    assert isinstance(looked_up, Suppressed)
    assert thread_time() - started < 1


BROKEN: list[dict[str, Any]] = [
    {"severity": "grave"}, {"confidence": 101}, {"confidence": -1}, {"evidence": " "}, {"message": ""},
    {"location": {"line": 0}}, {"location": {"end_line": 1}}, {"evidence": "x" * 4_001},
]  # fmt: skip


@pytest.mark.parametrize("change", BROKEN)
def test_what_is_no_finding_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        finding(report(3, **change) if "evidence" not in change else report(3, change["evidence"]))


def lens(task: str) -> str:
    return {"a": "able", "b": "baker", "c": "able"}[task]


def merges(*told: tuple[str, dict[str, Any]]) -> list[Merge]:
    found = [finding(each, number, task) for number, (task, each) in enumerate(told, 1)]
    return merged(found, lens)


def test_the_same_point_at_the_same_place_is_one_finding_that_names_all_its_tasks() -> None:
    said = "The name goes into the query unescaped, so that it can be injected."
    other = "Unescaped name goes in the query: SQL can be injected."
    [merge] = merges(
        ("a", report(3, message=said, confidence=80)),
        ("b", report(2, location={"end_line": 4}, message=other, confidence=85, severity="critical")),
    )

    assert (merge.id, merge.duplicates, merge.tasks) == ("f1", ("f2",), ("a", "b"))
    assert (merge.severity, merge.confidence) == ("critical", 95)


def test_only_other_workers_raise_a_confidence_and_never_above_100() -> None:
    assert [each.confidence for each in merges(("a", report(3)), ("c", report(3)))] == [90]
    assert [each.confidence for each in merges(("a", report(3, confidence=95)), ("b", report(3)))] == [100]


def test_a_finding_is_compared_with_everything_at_its_place_however_long_that_is() -> None:
    opened, named = "The connection that is opened here is never closed.", "The table name comes from whoever calls it."
    long = {"line": 1, "end_line": 150}

    [merge] = merges(
        ("a", report(1, location=long, message=opened)),
        ("a", report(120, location={"end_line": 150}, message=named)),
        ("b", report(1, location=long, message=named)),
    )

    assert (merge.id, merge.duplicates) == ("f2", ("f3",))


APART: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "another place": (report(3), report(9)),
    "another point": (
        report(3, message="The connection that is opened here is never closed."),
        report(3, message="The table name comes from whoever calls it.", category="security"),
    ),
    "another file": (in_diff(3, "x"), report(3, "x")),
}


@pytest.mark.parametrize("case", APART)
def test_findings_that_differ_stay_apart(case: str) -> None:
    one, other = APART[case]
    assert merges(("a", one), ("b", other)) == []


def test_many_findings_at_one_place_are_compared_in_time_linear_in_their_number() -> None:
    told = [finding(report(3, message=f"word{n} thing{n} point{n}", category=f"c{n}"), n) for n in range(1, 1_500)]
    started = thread_time()
    merged(told, lens)
    assert thread_time() - started < 2


def test_findings_are_placed_before_anything_else_happens() -> None:
    story = found([report(3)], [report(9)])

    assert story.decide().commands == (PlaceFindings(("a", "b")),)
    assert story.decide().wake_at == story.run.deadline
    assert story.talking() == list(open_topics(story.run)) == []


def test_without_second_looks_they_are_filtered_and_ranked_at_once() -> None:
    story = placed_run([report(3), report(5, confidence=40)], [report(9, severity="info"), report(3)])

    assert story.settle() == ["findings.filtered", "findings.ranked"]
    sifting = story.run.answering.sifting
    assert [each.id for each in sifting.left] == ["f1", "f3"]
    assert [(each.id, each.reason) for each in sifting.suppressed] == [("f2", "below_threshold"), ("f4", "duplicate")]
    assert sifting.left[0].tasks == ("a", "b")
    assert sifting.left[0].confidence == 100
    assert story.talking() == [Topic("synthesize")]
    said = "Left out: 2 of 4 findings (1 not sure enough, 1 the same as another). The data have them, with the reasons."
    assert said_of_suppressed(sifting) == said


def looks(story: Story) -> list[str]:
    return [look.id for look in story.run.answering.sifting.due]


def verify(story: Story, number: int, verdict: Any, **said: Any) -> None:
    reply = called("verify", number=number).completed(stop_reason="end_turn", content=[text_block("so")])
    story.record(Topic("verify", number=number).entry(reply))
    story.tell(ev.FindingVerified(id=f"f{number}", number=number, verdict=verdict, reason="so it is", **said))


DOUBTED = [
    report(3, severity="critical", confidence=95),
    report(5, confidence=79),
    report(7, confidence=60),
    report(9, confidence=59),
    report(11, confidence=80),
]


def test_critical_ones_and_those_just_below_the_threshold_are_looked_at_side_by_side() -> None:
    story = placed_run(DOUBTED, concurrency=2)

    assert looks(story) == ["f1", "f2", "f3"]
    assert story.talking() == list(open_topics(story.run)) == [Topic("verify", number=1), Topic("verify", number=2)]
    assert story.run.model_of(Topic("verify", number=1)) == "deep"
    verify(story, 1, "confirmed", confidence=70)
    assert story.talking() == [Topic("verify", number=2), Topic("verify", number=3)]
    verify(story, 2, "confirmed", confidence=88)
    verify(story, 3, "corrected", confidence=84, severity="info", message="It is less.")
    assert story.settle() == ["findings.filtered", "findings.ranked"]
    told = [(each.id, each.verdict, each.confidence, each.severity) for each in story.run.answering.sifting.left]
    assert told == [
        ("f1", "confirmed", 95, "critical"),
        ("f2", "confirmed", 88, "warning"),
        ("f5", None, 80, "warning"),
        ("f3", "corrected", 84, "info"),
    ]
    assert [each.reason for each in story.run.answering.sifting.suppressed] == ["below_threshold"]


def test_what_is_refuted_is_left_out_however_sure_it_was() -> None:
    story = placed_run(DOUBTED[:1])
    verify(story, 1, "refuted", confidence=90)
    story.settle()

    assert story.run.answering.sifting.left == []
    assert [(each.reason, each.detail) for each in story.run.answering.sifting.suppressed] == [("refuted", "so it is")]


def test_there_are_no_more_second_looks_than_the_team_allows_and_the_others_say_so() -> None:
    team = FINDERS.model_copy(update={"findings": FindingRules(second_looks=1)})
    story = placed_run(DOUBTED, team=team)

    assert looks(story) == ["f1"]
    found = story.run.answering.sifting.findings
    assert [(name, each.verdict) for name, each in found.items() if each.verdict] == [
        ("f2", "unverified"),
        ("f3", "unverified"),
    ]
    verify(story, 1, "confirmed", confidence=90)
    filtered = story.decide().entries[0].fact
    assert isinstance(filtered, ev.FindingsFiltered)
    assert filtered.unverified == ("f2", "f3")


def test_a_verifier_that_cannot_be_had_leaves_the_finding_unverified() -> None:
    story = placed_run(DOUBTED[:1])
    failure = called("verify", number=1).failed(Problem(code="model_refusal", message="no"))
    story.record(Entry(failure))

    [verified, *_] = [entry.fact for entry in story.decide().entries]
    assert isinstance(verified, ev.FindingVerified)
    assert (verified.verdict, verified.reason) == ("unverified", "model_refusal")
    story.settle()
    assert [(each.id, each.verdict) for each in story.run.answering.sifting.left] == [("f1", "unverified")]


@pytest.mark.parametrize("over", ["timeout", "budget"])
def test_second_looks_end_with_the_time_and_the_money_for_work(over: str) -> None:
    story = placed_run(DOUBTED)
    if over == "budget":
        story.tell(ev.BudgetExhausted(limit="tokens", allowed=10_000, needed=2_000, left=100, call="verify"))
    else:
        story.wait(880)

    assert story.settle() == ["finding.verified"] * 3 + ["findings.filtered", "findings.ranked"]
    reasons = {event.data.reason for event in story.log if isinstance(event.data, ev.FindingVerified)}
    assert reasons == {over}
    assert story.talking() == [Topic("synthesize")]


def add_task(story: Story, more: Task, findings: list[dict[str, Any]]) -> None:
    """One more task, which delivers these findings."""
    plan = story.run.plan
    assert plan is not None
    revised = plan.model_copy(update={"tasks": (*plan.tasks, more), "revision": plan.revision + 1})
    story.tell(ev.PlanRevised.from_to(plan, revised, "more"))
    story.succeed(more.id, data={"findings": findings})


def test_what_comes_later_is_compared_with_what_there_is_and_ids_stay() -> None:
    story = placed_run([report(3)], [report(9)])
    story.settle()
    story.synthesize()
    add_task(story, task("d"), [report(9), report(12)])

    place(story)

    sifting = story.run.answering.sifting
    assert sorted(sifting.findings) == ["f1", "f2", "f4"]
    assert sifting.findings["f2"].tasks == ("b", "d")
    assert [each.duplicate_of for each in sifting.dropped] == ["f2"]


@pytest.mark.parametrize(
    ("verdict", "said", "left"),
    [
        ("confirmed", {"confidence": 80}, ("critical", 85)),
        ("corrected", {"confidence": 30, "severity": "info"}, ("info", 30)),
        ("refuted", {"confidence": 90}, ("critical", 85)),
        ("unverified", {}, ("critical", 100)),
    ],
)
def test_a_later_report_of_the_same_changes_no_verdict(verdict: str, said: dict[str, Any], left: Any) -> None:
    story = placed_run([report(3, severity="critical", confidence=85)])
    verify(story, 1, verdict, **said)
    story.settle()
    story.synthesize()
    add_task(story, task("d").model_copy(update={"worker": "baker"}), [report(3, severity="critical", confidence=95)])

    place(story)

    [only] = story.run.answering.sifting.findings.values()
    assert (only.severity, only.confidence) == left
    assert (only.tasks, only.verdict) == (("a", "d"), verdict)


def test_what_a_run_ended_upon_is_filtered_by_the_same_rule() -> None:
    story = placed_run([report(3), report(5, confidence=70)], [])
    assert result_of(story.run).data is None
    story.wait(880)
    story.settle()
    unsettled = changed(story.run.answering.sifting, is_settled=False, below=frozenset())

    told = findings_told(unsettled)

    assert told == findings_told(story.run.answering.sifting) == result_of(story.run).data
    assert [len(told[name]) for name in ("findings", "suppressed")] == [1, 1]


def test_places_are_looked_up_once_for_each_task() -> None:
    story = placed_run([report(3)])
    with pytest.raises(IllegalMove, match="have their places"):
        story.tell(ev.FindingsPlaced(tasks=("a",), reported=0, placed=0))
    with pytest.raises(IllegalMove, match="nobody was to look"):
        verify(story, 1, "confirmed", confidence=90)


def test_a_result_that_was_taken_half_done_may_have_no_findings() -> None:
    story = found([])
    [state] = story.run.tasks.values()
    story.run = story.run.with_task(replace(state, output=state.output.model_copy(update={"data": None})))  # type: ignore[union-attr]
    assert [*reported_in(story.run, ["a"])] == []


def test_a_team_without_such_workers_has_nothing_to_do_with_findings() -> None:
    story = Story(found([]).run.brief)
    assert story.run.answering.sifting == Sifting()
    assert TEAM.definition == Team(name="crew", workers=(WORKER.model_copy(update={"output": "report"}),)).definition
    assert "findings" not in TEAM.definition
    assert '"output":"findings"' in FINDERS.definition
    assert Team.model_validate_json(FINDERS.definition) == FINDERS


ODD: list[dict[str, Any]] = [
    {"workers": [{"output": "findings", "output_schema": {"type": "object"}}]},
    {"workers": [{"output": "findings", "team": "other"}]},
    {"workers": [{}], "findings": {"threshold": 70}},
    {"workers": [{"output": "findings"}], "output_schema": {"type": "object"}},
    {"workers": [{"output": "findings"}], "findings": {"threshold": 101}},
    {"workers": [{"output": "findings"}], "findings": {"second_looks": 51}},
    {"workers": [{"output": "findings", "kind": "k"}, {"name": "other", "kind": "k"}]},
]


@pytest.mark.parametrize("fields", ODD)
def test_a_team_whose_findings_make_no_sense_is_refused(fields: dict[str, Any]) -> None:
    base = {"name": "able", "description": "Does.", "instructions": "Do."}
    workers = [base | worker for worker in fields["workers"]]
    with pytest.raises(ValidationError):
        Team.model_validate({"name": "crew"} | fields | {"workers": workers})


def test_its_models_are_among_those_that_a_run_may_ask() -> None:
    worker = Worker(name="able", description="Does.", instructions="Do.", model="fast", output="findings")
    team = Team(name="crew", workers=(worker,), findings=FindingRules(model="claude-x"))
    assert "claude-x" in team.used_models
    assert "claude-x" not in team.model_copy(update={"workers": (WORKER,)}).used_models
