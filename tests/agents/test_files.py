import json
from typing import Any

import pytest

from app.agents.files import read_files
from app.agents.reading import Unreadable
from app.agents.worker.report import read_report, report_schema
from app.domain.artifacts import FILES_AT_MOST
from app.domain.results import Output

NOTE = {"name": "notes.md", "media_type": "Text/Markdown ", "text": "# Notes", "base64": None}


def flaws(*artifacts: Any) -> list[tuple[str, str]]:
    with pytest.raises(Unreadable) as refused:
        read_files({"artifacts": list(artifacts)})
    return [(flaw.pointer, flaw.detail) for flaw in refused.value.flaws]


def test_a_worker_that_may_hands_over_files() -> None:
    written = json.dumps({"summary": "Done.", "text": "See notes.md.", "artifacts": [NOTE]})

    output = read_report(written, None, files=True)
    assert isinstance(output, Output)
    assert [(each.name, each.media_type, each.content) for each in output.artifacts] == [
        ("notes.md", "text/markdown", b"# Notes")
    ]


def test_one_that_may_not_is_not_asked_for_any_and_hands_over_none() -> None:
    assert "artifacts" not in report_schema(None)["properties"]
    assert "artifacts" in report_schema(None, files=True)["required"]
    output = read_report(json.dumps({"summary": "Done.", "artifacts": [NOTE]}), None)
    assert isinstance(output, Output)
    assert output.artifacts == ()


@pytest.mark.parametrize("reply", ["prose", {}, {"artifacts": None}, {"artifacts": []}])
def test_a_reply_need_not_have_files(reply: Any) -> None:
    assert read_files(reply) == ()


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"name": "../notes.md"}, "no path"),
        ({"name": ".env"}, "begin with a dot"),
        ({"media_type": "markdown"}, "media_type"),
        ({"base64": "YQ=="}, "either text or base64"),
        ({"text": None}, "either text or base64"),
        ({"text": None, "base64": "*"}, "cannot be read"),
        ({"text": "x" * 500_001}, "at most 500000 bytes; this one has 500001"),
    ],
)
def test_a_file_that_misfits_is_a_flaw_at_its_place(changes: dict[str, Any], detail: str) -> None:
    [(pointer, said)] = flaws(NOTE, NOTE | changes)

    assert pointer == "/artifacts/1"
    assert detail in said


def test_a_file_without_its_fields_is_a_flaw() -> None:
    assert [pointer for pointer, _ in flaws({"text": "x"})] == ["/artifacts/0/name", "/artifacts/0/media_type"]


def test_too_many_files_and_too_much_of_them_are_flaws_that_say_the_bounds() -> None:
    [(_, many)] = flaws(*[NOTE] * (FILES_AT_MOST + 1))
    [(_, much)] = flaws(*[NOTE | {"text": "x" * 400_000}] * 3)

    assert "20 files at most" in many
    assert "1200000 bytes in all" in much
