"""The files of a review: what stands in them, that it is at its place, and that no text of others can leave its own."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given as given_any
from hypothesis import settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.domain.artifacts import FILE_BYTES, TOGETHER_BYTES
from app.domain.coverage import Covered
from app.domain.diffs import read_diff
from app.domain.findings import Finding, Suppressed
from app.domain.makers.markdown import block, code, plain, quoted
from app.domain.makers.review_comments import review_in_comments
from app.domain.makers.review_markdown import review_in_markdown
from app.domain.makers.review_sarif import review_in_sarif
from app.domain.makers.reviewed import Reviewed, _changed
from tests.support.sarif import SARIF
from tests.support.templates import given

MANY = settings(max_examples=80, deadline=None, derandomize=True, database=None)
DIFF = """diff --git a/src/über weg.py b/src/über weg.py
--- a/src/über weg.py
+++ b/src/über weg.py
@@ -10,4 +10,5 @@ def first():
 ten
-old eleven
+new eleven
+new twelve
 thirteen
 fourteen
@@ -40,3 +41,2 @@ def second():
 forty-one
-old forty-one
 forty-two
"""
PATH = "src/über weg.py"


def finding(number: int = 1, **changes: Any) -> Finding:
    place = {"input": "c.diff", "path": PATH, "line": 11, "end_line": 11, "side": "new"} | changes.pop("location", {})
    fields = {"id": f"f{number}", "severity": "warning", "category": "Race condition", "message": "It is late.",
              "location": place, "evidence": "new eleven", "confidence": 90, "tasks": ["bugs-1"]}  # fmt: skip
    return Finding.model_validate(fields | changes)


def review(*findings: Finding, suppressed: tuple[Suppressed, ...] = (), **changes: Any) -> Reviewed:
    change = {("c.diff", file.path): [file] for file in read_diff(DIFF)}
    material = (
        Covered(input="c.diff", item=PATH, lines="1-18", status="part", tasks=("bugs-1",), missing=("history-1",)),
        Covered(input="c.diff", item="uv.lock", lines="19-30", status="left_out", reason="without", pattern="*.lock"),
    )
    fields = {"answer": "Not ready.", "material": material, "workers": {"bugs-1": "bugs", "history-1": "history"}}
    return Reviewed("run_1", "code-review", findings=findings, suppressed=suppressed, change=change, **fields | changes)


def sarif(*findings: Finding, **changes: Any) -> dict[str, Any]:
    """The run of the log, which fits the schema."""
    log = json.loads(review_in_sarif(review(*findings, **changes)))
    SARIF.validate(log)
    [run] = log["runs"]
    return dict(run)


def test_a_sarif_log_has_the_findings_by_rule_and_what_was_suppressed_with_its_reason() -> None:
    gone = Suppressed(**finding(3).model_dump(), reason="refuted", detail="A guard stands above.")
    nowhere = Suppressed(**finding(4).model_dump(), reason="not_at_location")

    run = sarif(finding(1, severity="critical"), finding(2, category=""), suppressed=(gone, nowhere))

    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["finding", "race-condition"]
    results = run["results"]
    assert [(each["ruleId"], each["ruleIndex"], each["level"]) for each in results] == [
        ("race-condition", 1, "error"), ("finding", 0, "warning"), ("race-condition", 1, "warning"),
        ("race-condition", 1, "warning"),
    ]  # fmt: skip
    assert [each.get("suppressions", [{}])[0].get("justification") for each in results] == [
        None, None, "Refuted by a second look. A guard stands above.", "Not at the place that it names.",
    ]  # fmt: skip
    assert [len(each["locations"]) for each in results] == [1, 1, 1, 0]
    place = results[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "src/%C3%BCber%20weg.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 11, "endLine": 11, "snippet": {"text": "new eleven"}}
    prints = [each["partialFingerprints"]["chargehandFinding/v1"] for each in results]
    assert len(set(prints)) == 4
    assert prints[0].removesuffix(":1") == prints[2].removesuffix(":2")


def test_it_says_of_files_that_nobody_has_looked_at_that_it_is_so() -> None:
    [invocation] = sarif()["invocations"]

    assert invocation["executionSuccessful"] is False
    assert [each["message"]["text"] for each in invocation["toolExecutionNotifications"]] == [
        "Reviewed in part. No result of history-1.",
        "Left out of the review. Reason: *.lock.",
    ]


def test_the_place_of_a_removed_line_is_the_line_after_it() -> None:
    removed = {"line": 42 - 1, "end_line": 41, "side": "old"}

    [result] = sarif(finding(location=removed, evidence="old forty-one"))["results"]

    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 42, "endLine": 42}
    assert result["properties"]["side"] == "old"
    [first] = sarif(finding(location={"line": 11, "end_line": 11, "side": "old"}))["results"]
    assert first["locations"][0]["physicalLocation"]["region"]["startLine"] == 11


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a b.py", "a%20b.py"), ("http://evil/x.py", "http%3A//evil/x.py"), ("/etc/passwd", "etc/passwd"),
        ("日本.py", "%E6%97%A5%E6%9C%AC.py"), ("a?b#c.py", "a%3Fb%23c.py"),
        ("a\\b.py", "a%5Cb.py"), ("100%.py", "100%25.py"),
    ],
)  # fmt: skip
def test_a_path_is_a_relative_reference_whatever_is_in_it(path: str, uri: str) -> None:
    [result] = sarif(finding(location={"path": path}))["results"]

    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_more_results_than_there_is_room_for_are_counted() -> None:
    run = sarif(*(finding(number, message="x" * 2_000, evidence="y" * 4_000) for number in range(1, 200)))

    [told] = [each for each in run["invocations"][0]["toolExecutionNotifications"] if "stand in the data" in str(each)]
    assert told["message"]["text"].startswith(f"{199 - len(run['results'])} more results")


def comments(*findings: Finding) -> dict[str, Any]:
    return dict(json.loads(review_in_comments(review(*findings))))


def test_comments_are_at_the_lines_and_the_side_that_a_code_host_knows() -> None:
    told = comments(
        finding(1),
        finding(2, location={"line": 11, "end_line": 12}),
        finding(3, location={"line": 14, "end_line": 41}, evidence="forty-one"),
        finding(6, location={"line": 13, "end_line": 41}, evidence="fourteen"),
        finding(4, location={"line": 41, "end_line": 41, "side": "old"}),
        finding(5, location={"input": "CONTRIBUTING.md", "path": None, "line": 3, "end_line": 3}),
    )

    places = [{name: value for name, value in each.items() if name != "body"} for each in told["comments"]]
    assert places == [
        {"path": PATH, "line": 11, "side": "RIGHT"},
        {"path": PATH, "line": 12, "side": "RIGHT", "start_line": 11, "start_side": "RIGHT"},
        {"path": PATH, "line": 41, "side": "RIGHT"},
        {"path": PATH, "line": 14, "side": "RIGHT", "start_line": 13, "start_side": "RIGHT"},
        {"path": PATH, "line": 41, "side": "LEFT"},
    ]
    assert told["event"] == "COMMENT"
    assert "`CONTRIBUTING.md`, line 3: It is late." in told["body"]
    assert "| `uv.lock` | left out | pattern `*.lock` |" in told["body"]
    assert told["comments"][0]["body"] == "**Warning:** It is late.\n\n*f1, 90 of 100*"


TWO_COMMITS = """diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,2 +1,3 @@
 one
-old two
+bad line
+good line
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,2 +1,3 @@
+the last line
 one
-bad line
+better line
"""


def test_a_line_of_one_of_several_commits_has_no_place_in_the_change_unless_it_is_known() -> None:
    said = [
        finding(1, location={"path": "a.py", "line": 2, "end_line": 2}, evidence="bad line"),
        finding(2, location={"path": "a.py", "line": 3, "end_line": 3}, evidence="better line"),
        finding(3, location={"path": "a.py", "line": 2, "end_line": 2, "side": "old"}, evidence="old two"),
        finding(4, location={"path": "a.py", "line": 2, "end_line": 2, "side": "old"}, evidence="bad line"),
    ]
    told = replace(review(*said), change=_changed([given("c.diff", TWO_COMMITS)], {"c.diff"}))

    review_of = json.loads(review_in_comments(told))
    assert [(each["line"], each["side"]) for each in review_of["comments"]] == [(3, "RIGHT"), (2, "LEFT")]
    assert "`a.py`, line 2, lines as one of the commits has them: It is late." in review_of["body"]
    log = json.loads(review_in_sarif(told))
    SARIF.validate(log)
    places = [each["locations"][0]["physicalLocation"] for each in log["runs"][0]["results"]]
    assert ["region" in each for each in places] == [False, True, False, False]


def test_a_file_that_a_later_commit_moves_has_the_parts_of_both_names() -> None:
    moved = "diff --git a/a.py b/b.py\nsimilarity index 90%\nrename from a.py\nrename to b.py\n"
    moved += "--- a/a.py\n+++ b/b.py\n@@ -1,1 +1,2 @@\n one\n+new two\n"

    change = _changed([given("c.diff", TWO_COMMITS + moved)], {"c.diff"})

    assert {path: len(parts) for (_, path), parts in change.items()} == {"a.py": 3, "b.py": 3}


def test_what_has_no_room_as_a_comment_stands_in_the_body_or_is_counted_there() -> None:
    told = comments(*(finding(number, message="x" * 2_000) for number in range(1, 200)))

    listed = told["body"].count("- **Warning**")
    assert len(told["body"]) < 65_000
    assert f"{199 - len(told['comments']) - listed} more findings stand in the data" in told["body"]


def test_the_files_of_a_review_are_no_longer_than_a_run_may_hand_over() -> None:
    wide = {"message": "日" * 2_000, "evidence": '"\n' * 2_000, "suggestion": "<語" * 2_000}
    found = [finding(number, category=f"{number}" * 30, **wide) for number in range(1, 201)]
    found += [finding(number, category=f"{number}" * 30, location={"path": "x"}) for number in range(201, 1_400)]
    unseen = [
        Covered(input="c.diff", item=f"{number}/{'é' * 900}.py", lines="1-2", status="part", missing=("bugs-1",) * 99)
        for number in range(5_000)
    ]
    told = review(*found, answer="<a>\n日" * 20_000, material=tuple(unseen))

    texts = [review_in_markdown(told), review_in_sarif(told), review_in_comments(told)]
    sizes = [len(text.encode()) for text in texts]
    assert max(sizes) < FILE_BYTES
    assert sum(sizes) < TOGETHER_BYTES
    assert all("more files" in text for text in texts)
    assert "The rest of the answer stands" in texts[0]
    SARIF.validate(json.loads(texts[1]))


def test_a_review_has_the_answer_the_findings_and_what_was_looked_at() -> None:
    gone = Suppressed(**finding(2).model_dump(), reason="below_threshold")
    fix = "Take the lock first."

    text = review_in_markdown(review(finding(suggestion=fix, verdict="confirmed"), suppressed=(gone,)))

    assert text == (
        "# Code review\n\n1 finding: 1 warning.\n\n> Not ready.\n\n## Findings\n\n"
        f"### 1. Warning: `{PATH}`, line 11\n\nIt is late.\n\n```\nnew eleven\n```\n\n"
        "**Suggestion:** Take the lock first.\n\n"
        "*f1, Race condition, found by bugs; 90 of 100, confirmed by a second look*\n\n"
        "## What was reviewed\n\n| file | reviewed | |\n|---|---|---|\n"
        f"| `{PATH}` | in part | by bugs-1; not by history-1 |\n| `uv.lock` | left out | pattern `*.lock` |\n\n"
        "## Left out\n\n1 of 2 findings: 1 not sure enough.\n"
    )
    assert review_in_markdown(review(answer=None, material=())) == "# Code review\n\nNo findings.\n"


def test_it_names_what_the_change_was_held_against_in_part() -> None:
    text = review_in_markdown(review(beside_cut={"CLAUDE.md": ["guidelines-1", "guidelines-2"]}))

    assert "Of `CLAUDE.md` only the beginning was shown to guidelines-1, guidelines-2.\n" in text


PIECES = [
    "# Forged", "## What was reviewed", "\n", "\n\n", "```", "~~~~", "`", "````python", "> ", "- ", "1. ", "    ",
    "| a | b |", "|---|", "<img src=x onerror=y>", "</blockquote>", "<!--", "-->", "<script>", "[x](https://e.example)",
    "![p](https://evil.example/p.png)", "[y]: https://e.example", "===", "---", "***", "*f9", "_", "\\", "|", "\u2028",
    "\u202e", "\r", "{0}", "a", " ", "&lt;", "@all", "word", "  ", "\n  ", "\n\n  ```\n",
    "\n```\n", "\\!", "www.e.example", "a@b.co",
]  # fmt: skip
HOSTILE = st.lists(st.sampled_from(PIECES), min_size=1, max_size=14).map("".join)
READER = MarkdownIt("commonmark").enable("table")


def flat(tokens: list[Token]) -> list[Token]:
    return [each for token in tokens for each in (token, *(token.children or ()))]


@MANY
@given_any(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE)
def test_no_text_of_others_can_forge_a_part_of_the_review(
    answer: str, message: str, evidence: str, suggestion: str, path: str
) -> None:
    said = finding(message=message, evidence=evidence, suggestion=suggestion, category=message, location={"path": path})
    material = (Covered(input="c.diff", item=path, lines="1-2", status="whole", tasks=("bugs-1",)),)
    told = review(said, answer=answer, material=material)

    for text in (review_in_markdown(told), json.loads(review_in_comments(told))["body"]):
        tokens = READER.parse(text)
        kinds = {token.type for token in flat(tokens)}
        assert not kinds & {"html_block", "html_inline", "image"}
        outside = [token for token in tokens if token.level == 0]
        headings = [tokens[tokens.index(token) + 1].content for token in outside if token.type == "heading_open"]
        assert [re.sub(r"Warning: .*", "Warning", each) for each in headings] in (
            ["Code review", "Findings", "1. Warning", "What was reviewed"],
            [],  # In a body there are none but of files that nobody has looked at.
        )
        assert [token.type for token in outside if token.type in ("hr", "ordered_list_open")] == []
        assert not any(token.type == "link_open" for token in flat([each for each in tokens if each.level < 2]))
        rows = [token for token in tokens if token.type == "tr_open"]
        assert len(rows) in (0, 2)
    SARIF.validate(json.loads(review_in_sarif(told)))


@settings(MANY, max_examples=400)
@given_any(HOSTILE)
def test_an_answer_in_a_review_shows_no_picture_runs_no_tag_and_names_nobody(answer: str) -> None:
    shown = quoted(answer)

    tokens = flat(READER.parse(shown))
    assert not {token.type for token in tokens} & {"html_block", "html_inline", "image"}
    assert not any(re.search(r"@\w", token.content) for token in tokens if token.type == "text")


@pytest.mark.parametrize(
    "answer",
    [
        "- a\n\n  ```\nx <img src=http://evil/x.png> ![p](http://evil/p.png)",
        "  ```\na\n```\n<img src=x>\n",
        "1. ~~~\n~~~\n<img src=x>\n~~~",
        "> ```\n\n<img src=x>",
        "\\![p](http://evil/p.png)",
    ],
)
def test_a_fence_that_a_reader_could_take_otherwise_covers_nothing(answer: str) -> None:
    assert not {token.type for token in flat(READER.parse(quoted(answer)))} & {"html_block", "html_inline", "image"}
    assert "<img" not in quoted(answer)


def test_a_fenced_block_of_an_answer_stands_as_it_is() -> None:
    code = '```java\nList<String> a = of("@x");\n```'

    assert quoted(f"So:\n\n{code}\n\n<b>") == "> So:\n>\n> " + code.replace("\n", "\n> ") + "\n>\n> &lt;b>"


def test_in_plain_text_no_address_becomes_a_link_and_nobody_is_called() -> None:
    text = plain("See www.evil.com, http://e.example, a@b.co and @all.")

    assert text == "See www\\.evil.com, http\\://e.example, a@\u200db.co and @\u200dall."


@MANY
@given_any(HOSTILE)
def test_a_text_keeps_its_words_where_nothing_in_it_means_anything(text: str) -> None:
    shown = re.sub(r"\s+", " ", re.sub("[\u2028\u202e\r]", " ", text)).strip()

    [_, inline, _] = READER.parse(f"x {plain(text)}") if shown else READER.parse("x")
    assert (
        "".join(child.content for child in inline.children or ()).replace("\u200d", "").strip() == f"x {shown}".strip()
    )
    if shown:
        [span] = [child for child in READER.parse(f"x {code(text)}")[1].children or () if child.type == "code_inline"]
        assert span.content == shown
    [fence] = READER.parse(block(text))
    assert fence.type == "fence"
    assert all(line.startswith(">") for line in quoted(text).split("\n"))
