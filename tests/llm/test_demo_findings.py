"""The demo model as a worker that reports findings, and as whoever looks at them again."""

from typing import Any

from app.agents import shapes
from app.agents.roles import ROLES
from app.domain.findings import Finding, ReportedFindings
from app.domain.job import JobInput
from app.domain.placing import placed, source_of
from app.domain.policy.agenda import ANSWERING
from app.domain.topics import Topic
from app.llm.demo import DemoModel
from tests.llm.demo_driver import request_of, result, worked, worker
from tests.support.found import DIFF, TEXT, verifying
from tests.support.found import placed as placed_run
from tests.support.story import Story

QUERY = 'query = "select " + rows'
FINDER = worker("read_input", output="findings")


async def reported(given: JobInput, instruction: str, **more: Any) -> list[Finding]:
    """What it finds, each at its place."""
    finder = FINDER if "context" not in more else worker(output="findings")
    told = (await worked(finder, instruction, inputs=[given], **more)).output
    assert told.summary.startswith("Demo model:")
    data = ReportedFindings.model_validate(told.data)
    sources = {given.name: source_of(given)}
    looked_up = [placed(each.numbered(1, "a"), sources) for each in data.findings]
    assert [type(each) for each in looked_up] == [Finding] * len(looked_up)
    return looked_up


async def test_it_names_the_first_line_that_a_diff_adds_and_says_who_it_is() -> None:
    [told] = await reported(DIFF, "Look for bugs in change.diff.")

    assert (told.location.path, told.location.line, told.evidence) == ("src/a.py", 11, QUERY)
    assert told.message.startswith("Demo model:")
    assert (told.severity, told.confidence) == ("info", 100)


async def test_it_finds_the_same_in_a_part_of_the_diff_that_its_task_holds() -> None:
    [told] = await reported(DIFF, "Look for bugs.", context=f"The change of one file:\n\n{DIFF.content}")

    assert (told.location.input, told.location.line) == ("change.diff", 11)


async def test_of_a_text_it_names_the_first_line() -> None:
    [told] = await reported(TEXT, "Look for mistakes in notes.txt.")

    assert (told.location.path, told.location.line, told.evidence) == (None, 1, "line 1.")


async def test_without_anything_to_look_at_it_reports_none_or_says_that_it_cannot() -> None:
    outcome = (await worked(worker(output="findings"), "Look for bugs.")).outcome

    assert getattr(outcome, "reason", None) == "out_of_scope"


async def test_its_second_looks_are_read_and_change_nothing() -> None:
    role, story = ROLES["verify"], verifying()
    request = request_of("verify", role.open(story.run, Topic("verify")))
    reply = await DemoModel(delay_s=0).reply(request)
    story.record(*role.read(story.run, Topic("verify"), reply.content[0]["text"]))
    story.settle()

    [left] = story.run.answering.sifting.left
    assert (left.verdict, left.confidence) == ("confirmed", 90)
    assert left.note.startswith("Demo model:")


async def answer_of(story: Story) -> str:
    role = ROLES["synthesize"]
    schema = role.offer(story.run, ANSWERING).schema
    request = request_of("synthesize", role.open(story.run, ANSWERING), output_schema=schema)
    return str((await DemoModel(delay_s=0).reply(request)).content[0]["text"])


async def test_its_answer_tells_of_what_is_left() -> None:
    assert "- critical, notes.txt:3: The wording" in await answer_of(verifying())
    assert "## Findings" not in await answer_of(placed_run([], []))


RULES = """\
# Rules

## R1 Payment
Invoices are due no sooner than 45 days after receipt.

## R2 Secrecy
Confidential information is kept secret for 5 years.
"""
CONTRACT = """\
1. Money
1.1 Payment: an invoice is due
fourteen (14) days after receipt.
2. Secrecy
2.1 Confidential information is kept secret for 5 years after the end.
"""


async def passages(name: str, content: str, instruction: str) -> dict[str, Any]:
    """What a reader takes out, as others are given it."""
    text, number = shapes.TEXT, shapes.INTEGER
    passage = shapes.closed(
        number=shapes.or_null(text), source=text, line=number, end_line=number, quote=text, says=text
    )
    reader = worker("read_input", output_schema=shapes.closed(passages=shapes.listed(passage)))
    given = JobInput(name=name, content=content)
    told = (await worked(reader, instruction.format(name), inputs=[given])).output
    return result(name, **told.model_dump(mode="json"))


async def test_it_takes_out_clauses_by_their_numbers_and_names_figures_that_differ() -> None:
    rules = await passages("rules.md", RULES, "Take every rule out of {}.")
    clauses = await passages("deal.txt", CONTRACT, "Take out of {} what it says on these subjects: payment, secret.")
    finder = worker(output="findings")

    told = (await worked(finder, "Hold the clauses against the rules.", results=[rules, clauses])).output

    assert [(each["number"], each["line"], each["end_line"]) for each in clauses["data"]["passages"]] == [
        ("1.1", 2, 3), ("2.1", 5, 5),
    ]  # fmt: skip
    [found] = ReportedFindings.model_validate(told.data).findings
    assert (found.location.input, found.location.line, found.location.end_line) == ("deal.txt", 2, 3)
    assert found.message.startswith("Demo model: deal.txt 1.1 says 14 days, and rules.md R1 says 45 days.")


async def test_a_heading_alone_makes_no_clause_one_on_the_subject_of_a_rule() -> None:
    rule = "## R1 Term and renewal\nIt must not renew for more than 12 months, with notice against renewal."
    clause = "1. Term and renewal\n1.1 The initial term is 24 months. It ends without notice."
    rules = await passages("rules.md", rule, "Take every rule out of {}.")
    clauses = await passages("form.txt", clause, "Take out of {} what it says.")

    told = (await worked(worker(output="findings"), "Hold them against the rules.", results=[rules, clauses])).output

    assert told.data == {"findings": []}


async def test_a_figure_that_begins_a_line_is_no_number_of_a_clause() -> None:
    text = (
        "1. End\n1.1 Term: it ends after notice of\n30 days. Fees for another\n14 Business Days are due, and\n2 more."
    )

    told = await passages("deal.txt", text, "Take out of {} what it says.")

    assert [(each["number"], each["line"], each["end_line"]) for each in told["data"]["passages"]] == [("1.1", 2, 5)]


async def test_where_no_figures_differ_it_names_nothing_and_says_what_it_has_done() -> None:
    rules = await passages("rules.md", RULES, "Take every rule out of {}.")

    told = (await worked(worker(output="findings"), "Compare and review all of it.", results=[rules])).output

    assert told.data == {"findings": []}
    assert "named no place" in told.summary


async def test_it_says_that_it_compared_figures_only_where_it_has() -> None:
    rules = await passages("rules.md", RULES, "Take every rule out of {}.")
    blank = JobInput(name="notes.txt", content=" \n \n")

    told = await worked(worker("read_input", output="findings"), "Review it.", results=[rules], inputs=[blank])

    assert "read_input" in told.tools
    assert "compared figures" not in str(told.outcome)
