import base64
from dataclasses import replace

import pytest

from app.agents.results_shown import results_of
from app.domain import events as ev
from app.domain.artifacts import (
    FILE_BYTES,
    NAME_CHARACTERS,
    Artifact,
    ListedArtifact,
    content_fault,
    name_fault,
    named_apart,
    names_within_bounds,
)
from app.domain.policy.children import HandedUp, files_to_hand_up, output_of
from app.domain.results import Result
from app.domain.second_looks import all_results
from app.domain.snapshot import Snapshot
from tests.support.story import Story, brief, started, task


def file(name: str = "notes.md", text: str | None = "# Notes", media_type: str = "text/markdown") -> Artifact:
    encoded = base64.b64encode(b"\x00\xff").decode() if text is None else None
    return Artifact(name=name, media_type=media_type, text=text, base64=encoded)


def handed_over(run: Snapshot) -> list[tuple[str, str | None]]:
    assert run.result is not None
    return [(each.name, each.task) for each in run.result.artifacts]


@pytest.mark.parametrize(
    "name", ["a.md", "Bericht März.docx", "no ending", "test_it.py", "a..b", "x" * NAME_CHARACTERS]
)
def test_a_plain_name_is_taken(name: str) -> None:
    assert name_fault(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "a/b",
        "..\\b",
        "/etc/passwd",
        ".profile",
        "..",
        "a\nb",
        "a\x00",
        "a\u202egpj.exe",
        "x" * 121,
        "a\u2028b",
    ],
)
def test_what_is_no_plain_name_is_refused(name: str) -> None:
    assert name_fault(name) is not None


@pytest.mark.parametrize(
    "artifact",
    [
        file(media_type="markdown"),
        file(media_type="text/html; charset=utf-8"),
        file(media_type="text/html\r\nx: y"),
        file(text="x" * (FILE_BYTES + 1)),
        Artifact(name="a", media_type="text/plain"),
        Artifact(name="a", media_type="text/plain", text="a", base64="YQ=="),
        Artifact(name="a", media_type="image/png", base64="no base64!"),
    ],
)
def test_what_cannot_be_handed_over_says_why(artifact: Artifact) -> None:
    assert content_fault(artifact) is not None


def test_files_of_one_name_are_numbered_before_their_ending() -> None:
    files = [file(name) for name in ("a.md", "A.MD", "a.md", "a-2.md", "b", "b")]

    named = [each.name for each in named_apart(files, ["a.md"])]

    assert named == ["a-2.md", "A-3.MD", "a-4.md", "a-2-2.md", "b", "b-2"]


def test_a_numbered_name_stays_within_its_bound() -> None:
    name = "x" * (NAME_CHARACTERS - 3) + ".md"
    [named] = named_apart([file(name)], [name])

    assert len(named.name) == NAME_CHARACTERS
    assert named.name.endswith("-2.md")


def test_of_more_files_than_there_is_room_for_the_first_are_kept() -> None:
    assert names_within_bounds([("a", 600_000), ("b", 600_000), ("c", 100_000)]) == (("a", "c"), ("b",))
    assert len(names_within_bounds([(str(n), 0) for n in range(30)])[1]) == 10


def test_the_files_of_tasks_and_of_the_answer_go_out_under_names_that_differ() -> None:
    story = started(task("a"), task("b"))
    story.succeed("b", artifacts=(file(text="of b"),))
    story.succeed("a", artifacts=(file(text="of a"), file("data.bin", None, "application/octet-stream")))
    story.synthesize(artifacts=(file(text="of the answer"),))
    story.settle()

    assert handed_over(story.run) == [
        ("notes.md", "b"), ("notes-2.md", "a"), ("data.bin", "a"), ("notes-3.md", None),
    ]  # fmt: skip
    assert [each.artifact.content for each in story.run.files] == [b"of b", b"of a", b"\x00\xff", b"of the answer"]
    output = story.state("a").output
    assert output is not None
    assert [each.name for each in output.artifacts] == ["notes-2.md", "data.bin"]


def test_an_answer_that_is_made_again_takes_the_place_of_the_files_of_the_last() -> None:
    story = started(task("a"), task("b"))
    for name in "ab":
        story.succeed(name)
    story.synthesize(artifacts=(file(text="old"),))
    story.synthesize(artifacts=(file(text="new"),))
    story.settle()

    assert [each.artifact.text for each in story.run.files] == ["new"]


def test_a_run_that_fails_names_the_files_it_has() -> None:
    story = started(task("a"), task("b"))
    story.succeed("a", artifacts=(file(),))
    story.fail("b")
    story.cancel_requested()
    story.settle()

    assert [each.artifact.name for each in story.run.files] == ["notes.md"]


def test_a_run_that_begins_with_the_results_of_another_has_their_files() -> None:
    story = started(task("a"), task("b"))
    story.succeed("a", artifacts=(file(),))
    story.succeed("b", artifacts=(file(),))
    assert story.run.plan is not None
    reused = all_results(story.run, story.run.plan, exclude=["a"])

    again = Story(replace(brief(), reused=reused))
    again.queued(story.run.plan)
    again.tell(reused)
    again.started()
    again.settle()

    assert [(each.artifact.name, each.task) for each in again.run.files] == [("notes-2.md", "b")]


def test_what_rests_on_a_result_is_shown_its_files_in_short() -> None:
    story = started(task("a"))
    story.succeed("a", artifacts=(file(text="x" * 500_000), file("data.bin", None, "application/octet-stream")))

    [shown] = results_of([story.state("a")])

    long, binary = shown["artifacts"]
    assert (long["name"], long["bytes"]) == ("notes.md", 500_000)
    assert 100 < len(long["text"]) < 300_000
    assert "omitted" in long["text"]
    assert shown["truncated"] is True
    assert binary == {"name": "data.bin", "media_type": "application/octet-stream", "bytes": 2}


def test_a_result_without_files_is_shown_as_before() -> None:
    story = started(task("a"))
    story.succeed("a")
    [shown] = results_of([story.state("a")])

    assert "artifacts" not in shown


def test_a_nested_run_hands_up_its_files_and_names_those_it_keeps() -> None:
    listed = tuple(
        ListedArtifact(name=name, media_type="text/plain", bytes=size, task=task_id, url="/")
        for name, size, task_id in [("big.txt", 700_000, "a"), ("answer.txt", 400_000, None)]
    )
    result = Result(answer="It is so.", coverage={"required": 1, "delivered": 1}, artifacts=listed)

    names, left = files_to_hand_up(result)
    output = output_of("run_2", "succeeded", "completed", result, HandedUp((file("answer.txt"),), left))

    assert names == ("answer.txt",)
    assert output is not None
    assert output.nested is not None
    assert ([each.name for each in output.artifacts], output.nested.files_left) == (["answer.txt"], ("big.txt",))


def test_events_of_earlier_releases_have_no_files() -> None:
    assert ev.TaskSucceeded(summary="s").artifacts == ()
