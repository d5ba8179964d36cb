"""What speaks against a result, as far as code can see."""

from dataclasses import replace
from typing import Any

import pytest

from app.agents.worker.proof import objections_to
from app.agents.worker.work import WORK
from app.domain import events as ev
from app.domain.crew import Means
from app.domain.lint import linted
from app.domain.results import Output
from app.domain.team import Team
from app.domain.tool_use import with_calls
from app.domain.topics import Topic
from app.domain.worker import Worker
from tests.support.story import Story, brief, call_block, called, plan_of, started, task, text_block, with_team

SEARCHED = {"type": "web_search_tool_result", "content": [{"url": "https://found.example/by-the-provider"}]}


def working() -> Story:
    """A worker that was given one address, asked for another, got a third, and had the provider find a fourth."""
    story = started(
        task("a", title="Look it up", success_criterion="It is known.", context="See http://given.example/x.")
    )
    story.start("a")
    story.hear("work", [call_block("c1", url="https://asked.example/page")], "tool_use", "a")
    story.use_tool("a", "c1", "It links to https://Linked.example/deep/page, and says so.")
    story.hear("work", [SEARCHED, text_block("I made up https://invented.example.")], name="a")
    return story


def objections(**output: Any) -> list[str]:
    story = working()
    found = objections_to(Output(**{"summary": "s", "text": "t", **output}), story.run, Topic("work", "a"))
    assert {flaw.code for flaw in found} <= {"result_rejected"}
    return [flaw.detail for flaw in found]


@pytest.mark.parametrize("text", ["do a", "  Do\n a ", "Look it up", "It is known."])
def test_a_result_that_only_repeats_the_task_is_none(text: str) -> None:
    assert "repeats the task" in " ".join(objections(summary=text, text=text))
    assert objections(summary=text, text=f"{text}: it is 42.") == []


@pytest.mark.parametrize("text", ["TODO", "tbd.", "N/A", "…", "---", "Lorem ipsum dolor sit amet", "To be written"])
def test_a_placeholder_is_no_result(text: str) -> None:
    assert "placeholder" in " ".join(objections(summary=text, text=""))
    assert objections(summary=text, text="", data={"total": 3}) == []


@pytest.mark.parametrize("text", ["7", "No.", "Nothing is to be done.", "TODO lists were found in two files."])
def test_a_short_result_is_one(text: str) -> None:
    assert objections(summary=text, text=text) == []


@pytest.mark.parametrize(
    "source",
    [
        "https://asked.example/page",
        "https://linked.example/deep/page",
        "The page https://linked.example/deep/page.",
        "https://found.example/by-the-provider",
        "http://given.example/x",
        "sales.csv, rows 3 to 9",
        "general knowledge",
    ],
)
def test_what_was_given_asked_for_or_found_may_be_named(source: str) -> None:
    assert objections(sources=(source,)) == []


@pytest.mark.parametrize(
    "source", ["https://nowhere.example", "see https://invented.example", "https://linked.example/other"]
)
def test_an_address_that_the_worker_never_saw_is_no_source(source: str) -> None:
    [objection] = objections(sources=("https://asked.example/page", source))

    assert source in objection
    assert "asked.example" not in objection


def uncalled(*must_use: str | tuple[str, ...], code: str | None = None) -> list[str]:
    """What is said of a result whose worker has called `look` and had the provider search, and must have used more."""
    story = Story(with_team(brief(), tools=("look", "web_search", "read"), must_use=must_use))
    story.begin(task("a"))
    story.start("a")
    searched = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    found = {
        "type": "web_search_tool_result",
        "tool_use_id": "s1",
        "content": [] if code is None else {"error_code": code},
    }
    story.hear("work", [searched, found, call_block("c1")], "tool_use", "a")
    story.use_tool("a", "c1", code=code)
    output = Output(summary="It is 42.")
    return [each.detail for each in objections_to(output, story.run, Topic("work", "a"))]


@pytest.mark.parametrize("must_use", [(), ("look",), ("look", "web_search"), (("read", "look"),)])
def test_a_worker_that_has_used_what_it_must_is_believed(must_use: tuple[str | tuple[str, ...], ...]) -> None:
    assert uncalled(*must_use) == []


def test_a_result_without_a_call_that_the_task_needs_is_told_which_one() -> None:
    [objection] = uncalled("look", "read")

    assert "no call of read has brought anything" in objection


@pytest.mark.parametrize("must_use", ["look", "read"])
def test_a_worker_is_not_to_blame_for_a_tool_that_is_left_alone(must_use: str) -> None:
    story = Story(with_team(brief(), tools=("look", "read"), must_use=(must_use,)))
    story.begin(task("a"))
    story.start("a")
    reply = called("work").completed(stop_reason="tool_use", content=[call_block("c1")])
    opening = ev.Opening(system="s", message="m", tools=("look",))  # "read" was not offered.
    story.record(story.topic("work", "a").entry(reply.model_copy(update={"opening": opening})))
    story.use_tool("a", "c1", code="breaker_open")

    [objection] = objections_to(Output(summary="It is 42."), story.run, Topic("work", "a"))

    assert objection.code == "breaker_open"


@pytest.mark.parametrize("tool", ["look", "web_search"])
def test_a_call_that_failed_has_brought_nothing(tool: str) -> None:
    [objection] = uncalled(("read", tool), code="tool_failed")

    assert f"read or {tool}" in objection


@pytest.mark.parametrize(
    "source",
    [
        "https://asked.example/page#results",
        "`https://asked.example/page`",
        "https://asked.example/page: the figures",
        "https://asked.example/page|Title",
        "[https://asked.example/page], read today",
        "https://given.example/x",
    ],
)
def test_an_address_is_the_same_however_it_is_written_down(source: str) -> None:
    assert objections(sources=(source,)) == []


CLAIMS = [
    "Saved report.md, commit 1a2b3c4.",
    "Done: I have saved the report as out/report.md.",
    "I've just e-mailed the offer to ann@firm.example.",
    "The report has been saved to report.md.",
    "report.md saved and committed as 1a2b3c.",
    "report.md was uploaded.",
]
NO_CLAIMS = [
    "Wrote the unit tests for app.py; they are in the text.",
    "Published 20190401, the study finds no effect.",
    "Installed capacity rose to 123456 MW in 2025.",
    "Written in Node.js, the service listens on a port.",
    "I wrote a letter that asks for the money back.",
    "report.md names three risks.",
]


@pytest.mark.parametrize(
    ("summary", "claims"), [*((each, True) for each in CLAIMS), *((each, False) for each in NO_CLAIMS)]
)
def test_a_result_that_claims_a_deed_without_a_call_is_marked(summary: str, claims: bool) -> None:
    story = started(task("a"))
    story.start("a")
    talk = story.run.conversation(Topic("work", "a"))

    assert with_calls(Output(summary=summary), talk).unverified is claims
    assert with_calls(Output(summary="Found.", text=summary), talk).unverified is claims


@pytest.mark.parametrize(
    ("codes", "calls", "unverified"),
    [((), 0, False), (("tool_failed", None), 2, False), (("tool_failed", "tool_call_invalid"), 2, True)],
)
def test_a_result_says_whether_any_call_bears_it_out(
    codes: tuple[str | None, ...], calls: int, unverified: bool
) -> None:
    story = started(task("a"))
    story.start("a")
    for number, code in enumerate(codes):
        story.hear("work", [call_block(f"c{number}", page=number)], "tool_use", "a")
        story.use_tool("a", f"c{number}", "seen", code)
    output = with_calls(Output(summary="s"), story.run.conversation(Topic("work", "a")))

    assert (output.tool_calls, output.unverified) == (calls, unverified)


@pytest.mark.parametrize(("takes_over", "unverified"), [(True, False), (False, True)])
def test_a_lack_of_tools_is_that_of_whoever_has_done_the_task(takes_over: bool, unverified: bool) -> None:
    told = {"description": "Looks.", "instructions": "Look."}
    able = Worker(name="able", fallback="scout", **told)
    team = Team(name="crew", workers=(able, Worker(name="scout", tools=("look",), **told)), ladder=("fallback_worker",))
    story = Story(replace(brief(), team=team, means={"look": Means("read", reads="web")}))
    ordered = task("a").model_copy(update={"instruction": "Search the web for pears."})
    story.queued()
    story.started()
    story.tell(ev.PlanCreated.of(linted(plan_of(ordered), story.run.brief.crew)))
    story.settle()
    if takes_over:
        for note in ("Again.", None):
            story.hear("work", [text_block("No.")], name="a")
            story.reject_result("a", note)
        assert "task.reassigned" in story.settle()
        story.hear("work", [call_block("c1")], "tool_use", "a")
        story.use_tool("a", "c1", "Pears cost 3 EUR.")

    [entry] = WORK.read(story.run, story.topic("work", "a"), '{"summary": "Pears cost 3 EUR."}')

    assert isinstance(entry.fact, ev.TaskSucceeded)
    assert entry.fact.unverified is unverified
