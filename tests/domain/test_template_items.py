"""What a plan template finds in inputs: files of diffs, functions of sources, sections of documents."""

from time import thread_time

import pytest

from app.domain.document_sections import HEADING_CHARACTERS, sections_of
from app.domain.errors import JobRefused
from app.domain.globs import fits
from app.domain.job import JobInput
from app.domain.media_types import PARQUET
from app.domain.plan_template import TemplateTask
from app.domain.python_functions import MOST_CHARACTERS, SourceUnreadable, read_source
from app.domain.template_items import MOST_ITEMS, MOST_SOURCES, Reader
from tests.support.documents import as_input, docx_of, pdf_of
from tests.support.templates import diff_of, given

SOURCE = '''\
"""A module."""
import os
from x import (
    y,
    z,
)

if os.name:
    def windows(): pass
else:
    @y
    @z(
        1)
    async def other():
        def inner(): pass
        return "\\d"


class Ledger:
    total = 0

    @property
    def sum(self):
        import late
        return 1

    class Entry:
        def post(self): ...

try:
    import fast
except ImportError:
    def slow(): pass
match os.name:
    case "nt":
        def matched(): pass
'''


def test_functions_and_methods_are_found_wherever_a_module_defines_them() -> None:
    source = read_source(SOURCE)

    assert [(each.name, each.first, each.last) for each in source.functions] == [
        ("windows", 9, 9),
        ("other", 11, 16),
        ("Ledger.sum", 22, 25),
        ("Ledger.Entry.post", 28, 28),
        ("slow", 33, 33),
        ("matched", 36, 36),
    ]
    assert source.imports == ((2, 2), (3, 6), (31, 31))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def f(:\n", "line 1 cannot be parsed"),
        ("x = 1\nprint 'hello'\n", "line 2 cannot be parsed"),
        ("(" * 5_000, "cannot be parsed"),
        ("-" * 100_000 + "1", "deeper than can be parsed"),
        ("x\0y", "cannot be parsed"),
        ("a" * (MOST_CHARACTERS + 1), f"may have {MOST_CHARACTERS} characters"),
    ],
)
def test_what_is_no_source_is_refused_with_the_line_and_without_a_word_of_it(text: str, why: str) -> None:
    with pytest.raises(SourceUnreadable, match=why) as refused:
        read_source(text)

    assert "hello" not in str(refused.value)


DOCUMENT = """\
A preface.

# Contract

## 1. Parties

Who they are.

3. Delivery

Within 30 days of the order.
1. This is an item
2. and so is this

1. an item behind an empty line
2. another one

4.1 Delay
Interest is due.

Article 7 - Liability

```
# no heading
```

Payment terms
-------------
Net.

Section 9 governs what the parties have agreed.

# The end
"""


def test_sections_begin_at_headings_of_markdown_and_at_numbered_ones() -> None:
    lines = DOCUMENT.removesuffix("\n").split("\n")

    sections = sections_of(lines)

    assert [section.heading for section in sections] == [
        "",
        "Contract: 1. Parties",
        "3. Delivery",
        "4.1 Delay",
        "Article 7 - Liability",
        "Payment terms",
        "The end",
    ]
    covered = [number for section in sections for number in range(section.first, section.last + 1)]
    assert covered == [*range(1, len(lines) + 1)]


@pytest.mark.parametrize("text", ["no heading at all", "a\n\nb\n\n- list\n- of things", "1. one\n2. two"])
def test_a_document_without_headings_is_one_section(text: str) -> None:
    [section] = sections_of(text.split("\n"))

    assert (section.heading, section.first, section.last) == ("", 1, text.count("\n") + 1)


def test_headings_without_anything_below_them_take_no_longer_than_others() -> None:
    started = thread_time()
    [section] = sections_of([f"# heading {number}" for number in range(320_000)] + ["text"])

    assert thread_time() - started < 2
    assert section.heading.startswith("heading 0: heading 1: ")
    assert len(section.heading) <= 2 * HEADING_CHARACTERS + 2


def test_an_empty_document_has_no_sections() -> None:
    assert sections_of([]) == sections_of(["", "  "]) == ()


@pytest.mark.parametrize(
    ("name", "pattern", "does"),
    [
        ("src/app/uv.lock", "*.lock", True),
        ("src/app/uv.lock", "*/*.lock", False),
        ("src/app/uv.lock", "**/*.lock", True),
        ("uv.lock", "**/*.lock", True),
        ("src/a.py", "src/**", True),
        ("src/x/y/a.py", "src/**/a.py", True),
        ("src/a.py", "src/**/a.py", True),
        ("source/a.py", "src/**", False),
        ("Ledger.add", "Ledger.*", True),
        ("A.PY", "*.py", False),
        ("tests/a.py", "test*", False),
        ("src/test_a.py", "s*", False),
        ("src/test_a.py", "src?test_a.py", False),
        ("src/test_a.py", "test*", True),
        ("a/b", "a/b/**", True),
        ("../etc/passwd", "etc/*", False),
        ("x" * 4_000, "**/" * 40 + "*a*a*a*a*b", False),
        ("a/" * 2_000, "**/a/" * 30 + "b", False),
    ],
)
def test_patterns_of_names_and_paths(name: str, pattern: str, does: bool) -> None:
    assert fits(name, pattern) is does


def task(**fields: object) -> TemplateTask:
    return TemplateTask.model_validate({"id": "a", "instruction": "{{items}}", "worker": "w"} | fields)


INPUTS = [
    given("c.patch", diff_of(("src/a.py", 2), ("uv.lock", 1), ("docs/x.md", 1))),
    given("tool.py", "def f(): pass\n\n\nclass A:\n    def g(self): pass\n"),
    given("guide", "# One\r\n\r\ntext\r\n\r\n# Two\r\nmore\r\n"),
    given("rows.csv", "a,b\n1,2\n", "text/csv"),
]


@pytest.mark.parametrize(
    ("fields", "taken"),
    [
        ({"for_each": "inputs"}, ["c.patch", "tool.py", "guide", "rows.csv"]),
        ({"for_each": "inputs", "of": ["*.csv", "g*"]}, ["guide", "rows.csv"]),
        ({"for_each": "inputs", "without": "*.patch"}, ["tool.py", "guide", "rows.csv"]),
        ({"for_each": "files"}, ["src/a.py", "uv.lock", "docs/x.md"]),
        ({"for_each": "files", "only": ["src/**", "docs/**"]}, ["src/a.py", "docs/x.md"]),
        ({"for_each": "files", "without": ["*.lock"]}, ["src/a.py", "docs/x.md"]),
        ({"for_each": "functions"}, ["f", "A.g"]),
        ({"for_each": "functions", "only": "A.*"}, ["A.g"]),
        ({"for_each": "sections"}, ["One", "Two"]),
        ({"for_each": "sections", "of": "rows.csv"}, ["rows.csv"]),
        ({"for_each": "files", "of": "other.diff"}, []),
    ],
)
def test_what_is_taken(fields: dict[str, object], taken: list[str]) -> None:
    found = Reader(INPUTS).found_for(task(**fields))

    assert [item.name for item in found.taken] == taken


def test_things_say_where_in_their_input_they_are() -> None:
    reader = Reader(INPUTS)

    files, functions, sections = (
        [item.described for item in reader.found_for(task(for_each=kind)).taken]
        for kind in ("files", "functions", "sections")
    )

    assert files[:2] == [
        '"src/a.py" in "c.patch", lines 1-6, modified, +2 -0',
        '"uv.lock" in "c.patch", lines 7-11, modified, +1 -0',
    ]
    assert functions == ['"f" in "tool.py", lines 1-1', '"A.g" in "tool.py", lines 5-5']
    assert sections == ['"One" in "guide", lines 1-4', '"Two" in "guide", lines 5-6']


NO_TEXTS = [
    (as_input(pdf_of("a page")), "PDF"),
    (as_input(docx_of("# One", "text"), "report.docx"), "DOCX"),
    (given("rows.parquet", "UEFSMQ==", f"{PARQUET}; version=1"), "table"),
]


@pytest.mark.parametrize(("bytes_given", "kind"), NO_TEXTS)
def test_of_what_is_no_text_it_is_said_what_it_is_and_nothing_shown(bytes_given: JobInput, kind: str) -> None:
    [item] = Reader([bytes_given]).found_for(task(for_each="inputs")).taken

    assert (item.text, item.described) == ("", f'"{bytes_given.name}", lines 1-1, a {kind}')


@pytest.mark.parametrize(("bytes_given", "kind"), NO_TEXTS)
@pytest.mark.parametrize("for_each", ["sections", "files", "functions"])
def test_nor_is_it_taken_apart(bytes_given: JobInput, kind: str, for_each: str) -> None:
    with pytest.raises(JobRefused) as refused:
        Reader([bytes_given]).found_for(task(for_each=for_each, of="*"))

    why = f"It is a {kind}, and {for_each} are taken from texts alone."
    assert (refused.value.code, refused.value.errors) == ("input_unparseable", (("/inputs/0/content", why),))


@pytest.mark.parametrize(
    ("kind", "name", "content", "code", "pointer"),
    [
        ("files", "x.diff", "hello", "input_unparseable", "/inputs/1/content"),
        ("files", "x.diff", "--- a/x\n+++ b/x\n@@ -1,9 +1,1 @@\n x\n", "input_unparseable", "/inputs/1/content"),
        ("functions", "x.py", "def", "input_unparseable", "/inputs/1/content"),
        ("functions", "x.py", "# n\n" * 60_000, "input_unparseable", "/inputs/1/content"),
        ("sections", "x.md", "# a\nb\n" * (MOST_ITEMS + 1), "template_too_large", "/inputs"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(
    kind: str, name: str, content: str, code: str, pointer: str
) -> None:
    with pytest.raises(JobRefused) as refused:
        Reader([given("fine", "x"), given(name, content)]).found_for(task(for_each=kind, of=name))

    assert refused.value.code == code
    assert [place for place, _ in refused.value.errors] == [pointer]


def test_all_sources_together_are_bounded() -> None:
    source = "# note\n" * (MOST_CHARACTERS // 7)
    inputs = [given(f"{number}.py", source) for number in range(MOST_SOURCES // len(source) + 1)]

    with pytest.raises(JobRefused) as refused:
        Reader(inputs).found_for(task(for_each="functions"))

    assert f"more than {MOST_SOURCES} characters together" in refused.value.errors[0][1]
