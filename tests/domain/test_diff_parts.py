"""Long files of diffs in parts: nothing is lost, nothing stands twice, and every line keeps its number."""

import difflib

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.diff_parts import parts_of
from app.domain.diffs import read_diff
from app.domain.material import Item, rows_of_diff
from tests.support.templates import REVIEW, diff_of, plan_for, team_of
from tests.support.templates import given as given_input

MANY = settings(max_examples=60, deadline=None, derandomize=True, database=None)
LINES = st.lists(st.sampled_from(["a", "bb", "- c", "+ d", "@@ e", "\\ f", "", "x" * 300]), max_size=120)


def item_of(text: str) -> Item:
    [file] = read_diff(text)
    return Item(file.path, "c.diff", 11, 10 + file.text.count("\n"), file.text, note="modified", is_diff=True)


@MANY
@given(LINES, LINES, st.integers(0, 5), st.integers(100, 4_000))
def test_the_parts_of_a_file_have_its_lines_with_their_numbers(
    before: list[str], after: list[str], context: int, room: int
) -> None:
    old, new = ([f"{line} {n}" for n, line in enumerate(lines)] for lines in (before, after))
    text = "\n".join(difflib.unified_diff(old, new, "a/f.py", "b/f.py", n=context, lineterm="")) + "\n"
    if text == "\n":
        return
    whole = item_of(text)

    parts = parts_of(whole, room)

    [file] = read_diff(text)
    read = [read_diff(part.text)[0] for part in parts]
    assert {n: line for each in read for n, line in each.lines.items()} == file.lines
    assert {n: line for each in read for n, line in each.removed_lines.items()} == file.removed_lines
    assert sum(len(each.lines) for each in read) == len(file.lines)
    assert frozenset().union(*(each.touched for each in read)) == file.touched
    told = [row for part in parts for row in rows_of_diff(part.text.removesuffix("\n").split("\n")) if row[0]]
    assert told == [row for row in rows_of_diff(text.removesuffix("\n").split("\n")) if row[0]]
    assert (parts[0].first, parts[-1].last) == (whole.first, whole.last)
    assert [part.first for part in parts[1:]] == [part.last + 1 for part in parts[:-1]]
    assert len(parts) == 1 or max(part.size for part in parts) <= max(room, 2_400) + 320


def test_a_new_file_a_removed_one_and_an_end_without_a_line_end_can_be_parted() -> None:
    new = "--- /dev/null\n+++ b/f.py\n@@ -0,0 +1,300 @@\n" + "".join(f"+line {n}\n" for n in range(300))
    removed = new.replace("+++ b/f.py", "+++ /dev/null").replace("--- /dev/null", "--- a/f.py")
    removed = removed.replace("@@ -0,0 +1,300 @@", "@@ -1,300 +0,0 @@").replace("\n+line", "\n-line")
    for text in (new, removed, f"{new}\\ No newline at end of file\n"):
        parts = parts_of(item_of(text), 2_500)
        assert len(parts) > 2
        assert (
            sum(len(read_diff(part.text)[0].lines) + len(read_diff(part.text)[0].removed_lines) for part in parts)
            == 300
        )


def test_a_file_that_no_task_could_show_is_looked_at_by_several_and_is_one_for_coverage() -> None:
    diff = given_input("c.diff", diff_of(("long.py", 6_000), ("short.py", 5), ("other.py", 900)))

    plan = plan_for(team_of(REVIEW | {"fill": 40_000, "title": "{{count}}: {{path}}"}), [diff])

    assert plan.validation.warnings == ()
    assert [each.item for each in plan.material] == ["long.py", "short.py", "other.py"]
    assert all(look.whole for each in plan.material for look in each.tasks)
    assert len(plan.material[0].tasks) > 3
    assert [each.lines for each in plan.material] == ["1-6004", "6005-6013", "6014-6917"]
    assert plan.tasks[0].title == '1: "long.py"'
    shown = [line for task in plan.tasks for line in task.context.split("\n") if "+line 5999 of long.py" in line]
    assert shown == ["  6001| +line 5999 of long.py"]
