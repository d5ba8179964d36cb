"""How things look at widths that terminals have: no line is wider, and nothing is obeyed."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from app.terminal.mermaid import flowchart
from app.terminal.plan_file import PlanUnreadable, as_file, changes_of, editable_of, read_file, with_findings
from app.terminal.plan_tree import twigs
from app.terminal.tables import Column, fitted
from app.terminal.text import as_json, cut, inert, one_line
from app.terminal.waterfall import waterfall
from app.terminal.words import ago, duration, moment, money, since

WIDTHS = [40, 80, 200]
AT = "2026-11-29T12:00:{:06.3f}Z"
ODD = "a\x1b[31mb\x9bc\u202ed\ud800e\x7f [bold]x[/] 日本語 \t\r\n"


def task(name: str, *needs: str, **fields: Any) -> dict[str, Any]:
    usual = {"title": name.upper(), "instruction": "Do.\nIt.", "context": "", "success_criterion": "", "worker": "w"}
    more = {"required": True, "on_missing_input": "skip", "budget": {"tokens": None, "steps": 3}}
    return {"id": name, "depends_on": [*needs]} | usual | more | fields


def plan(*tasks: dict[str, Any]) -> dict[str, Any]:
    return {"revision": 3, "goal": "the goal", "strategy": "merge", "final_instruction": "", "tasks": [*tasks]}


def span(kind: str, begin: float, end: float | None, parent: str | None = "run", **fields: Any) -> dict[str, Any]:
    finished = None if end is None else AT.format(end)
    usual = {"id": f"{kind}-{begin}-{end}", "name": kind, "status": "ok", "attributes": {}}
    return {"kind": kind, "parent_id": parent, "started_at": AT.format(begin), "finished_at": finished} | usual | fields


TRACE = {
    "run": {"created_at": AT.format(0)},
    "spans": [
        span("run", 0, 50, None, id="run", name="general"),
        span("plan", 0, 5, id="plan"),
        span("llm", 1, 5, "plan", name="plan opus"),
        span("task", 5, 40, id="task:t1", name=f"North {ODD}", attributes={"task_id": "t1"}),
        span("attempt", 5, 20, "task:t1", id="a1", status="error", attributes={"number": 1, "error_code": "timeout"}),
        span("attempt", 25, 40, "task:t1", id="a2", attributes={"number": 2, "worker": "senior"}),
        span("tool", 30, 30.001, "a2", name="calculate"),
        span("task", 40, None, id="task:t2", name="South", attributes={"task_id": "t2"}),
        span("attempt", 40, None, "task:t2", id="b1", attributes={"number": 1}),
        span("llm", 41, 45, "b1", name="work haiku"),
    ],
}


@pytest.mark.parametrize("width", WIDTHS)
def test_tables_fit_and_leave_out_what_is_least_needed(width: int) -> None:
    columns = [Column("RUN"), Column("COST", "right", needed=1), Column("TEAM", needed=2), Column("ABOUT", is_cut=True)]
    rows = [
        ["run_1", "$0.0001", "a-team-with-a-long-name", f"{ODD}{'word ' * 30}"],
        ["run_2", "$10", "b", "日本語" * 40],
    ]

    lines = [line.plain for line in fitted(columns, rows, width)]

    assert max(map(cell_len, lines)) <= width
    assert all(len(line.splitlines()) == 1 for line in lines)
    assert [line.split()[0] for line in lines] == ["RUN", "run_1", "run_2"]
    assert ("COST" in lines[0]) == (width > WIDTHS[0])
    whole = [line.plain for line in fitted(columns, rows, None)]
    assert whole[2].endswith("日本語" * 40)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_waterfall_has_a_line_for_each_span_on_one_axis(width: int) -> None:
    head, *lines, legend = [line.plain for line in waterfall(TRACE, width)]

    assert max(map(cell_len, (head, *lines, legend))) <= width
    names = [each.split("█")[0].split("▓")[0].split("▒")[0].split("░")[0].strip() for each in lines]
    assert [name.split()[0].rstrip("…") for name in names] == [
        "general", "plan", "plan", "t1", "✗", "attempt", lines[6].split()[0].rstrip("…"), "t2", "work",
    ]  # fmt: skip
    first, second = (next(line for line in lines if f"attempt {number}" in line) for number in (1, 2))
    assert first.rindex("▓") < second.index("▓"), "what was tried again stands apart"
    assert lines[6].count("░") == 1, "what takes next to no time is seen"
    assert "✗" in first
    assert lines[0].endswith("50.0 s")


def test_a_tree_has_each_task_once_below_what_it_waits_for_longest() -> None:
    grown = twigs([task("a"), task("b"), task("c", "a"), task("d", "c", "b"), task("e", "none"), task("f", "f")])

    assert [twig.stem + twig.task["id"] for twig in grown] == [
        "├─ a", "│  └─ c", "│     └─ d", "├─ b", "├─ e", "└─ f",
    ]  # fmt: skip
    assert [twig.also_after for twig in grown] == [(), (), ("b",), (), ("none",), ("f",)]
    deep = [task("t0"), *(task(f"t{number}", f"t{number - 1}") for number in range(1, 100))]
    assert [twig.task["id"] for twig in twigs(deep)] == [each["id"] for each in deep]


def test_a_chart_means_nothing_to_mermaid_but_its_boxes_and_ties() -> None:
    drawn = flowchart(plan(task("end", title='"]; click x "y" <b>&#'), task("b", "end", required=False)))

    assert drawn == (
        "flowchart LR\n"
        '    task1["end<br/>#34;#93;#59; click x #34;y#34; #60;b#62;#38;#35;<br/>w"]\n'
        '    task2["b<br/>B<br/>w"]\n'
        "    task1 --> task2\n"
        "    classDef optional stroke-dasharray: 4\n"
        "    class task2 optional\n"
    )


def test_a_plan_survives_its_file_and_only_what_differs_is_sent() -> None:
    before = plan(task("a"), task("b", "a", title="yes", context="  two\n\n lines \nno: 'end\"", worker="1e3"))
    text = as_file(before, "run_1", ["w", "x\n# y"])

    revision, fields = read_file(text)
    assert (revision, changes_of(before, fields)) == (3, {})
    assert "tokens" not in yaml.safe_load(text)["tasks"][0]["budget"]
    changed = read_file(text.replace("title: A", "title: Z"))[1]
    assert list(changes_of(before, changed)) == ["tasks"]
    assert changes_of(before, {"workers": []}) == {"workers": []}, (
        "what may not be changed is for the service to refuse"
    )
    found = with_findings(with_findings(text, ["first"]), [f"/tasks/0: {ODD}", "two"])
    assert found.splitlines()[1] == "#! two"
    assert "first" not in found
    assert read_file(found)[1] == editable_of(before)
    assert read_file("# nothing\n") == (None, {})
    assert read_file("goal: 2026-11-29\ntasks: [1, 2.5, yes, null]")[1] == {
        "goal": "2026-11-29",
        "tasks": [1, 2.5, True, None],
    }
    broken_ones = ["a: [", "- a", "a: 1\nb", "1: 2", "!!python/object:x.y {}", "\x00", "a: *b", "a: &b [*b]", "a: .nan"]
    for broken in [*broken_ones, "a: !!set {b}", "a: !!binary YQ==", 'a: "\\ud800"', "a: .inf", "? [a]\n: b"]:
        with pytest.raises(PlanUnreadable):
            read_file(broken)


@given(st.text(st.characters(), max_size=200))
def test_no_text_is_obeyed_by_a_terminal(text: str) -> None:
    for shown in (inert(text), one_line(text)):
        assert not [each for each in shown if each not in "\n\t" and (each < " " or "\x7f" <= each <= "\x9f")]
        assert shown.encode().decode() == shown
    assert len(one_line(text).splitlines()) <= 1
    told = as_json({"a": [text]})
    assert json.loads(told) == {"a": [text]}
    assert as_json({"a": [text]}, plain=True).isascii()
    assert told.isascii() or not set(told) & {"\x7f", "\x9b", "\u202e", "\u2028"}
    assert len(cut(text, 10)) <= 10


def test_quantities_are_said_shortly() -> None:
    now = moment("2026-11-29T12:00:00Z")
    spans = [duration(each) for each in (0, 999, 4_230, 61_000, 7_260_000, 90_000_000)]
    assert spans == ["0 ms", "999 ms", "4.2 s", "1 min 1 s", "2 h 1 min", "1 d 1 h"]
    assert [money(each) for each in (None, "0", "0.00412", "2.5", "12.3456")] == [
        "$0", "$0", "$0.0041", "$2.50", "$12.3456",
    ]  # fmt: skip
    assert [ago(f"2026-11-{day}T11:58:30Z", now) for day in (27, 29)] == ["2 d ago", "1 min ago"]
    assert since("2h", now) == "2026-11-29T10:00:00Z"
    assert since("2026-11-01", now) == "2026-11-01"
