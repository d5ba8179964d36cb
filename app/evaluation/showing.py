"""A report for people: tables, drawn with lines on a terminal and plainly anywhere else."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from app.evaluation.report import CaseReport, Report, SideReport, SuiteReport

DETAIL_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Table:
    """What is told of one thing."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def show(report: Report, out: TextIO) -> None:
    """Write the report for people."""
    for suite in report.suites:
        for each in _tables(suite):
            _draw(each, out)
        out.write(f"{suite.suite}: {'met' if suite.met else 'NOT MET'}\n\n")


def _tables(suite: SuiteReport) -> Iterator[Table]:
    for side in suite.sides:
        named = f"{suite.suite}, {side.named}"
        yield Table(named, _CASE_COLUMNS, [_case_row(case, repeated=suite.repeat > 1) for case in side.cases])
        yield Table(f"{named}: all cases", ("", ""), _total_rows(side))
        if side.confusion:
            yield Table(f"{named}: routing", ("expected", "used", "runs", "right"), _confusion_rows(side))
            yield Table(f"{named}: workers", ("worker", "expected", "used", "both", "unwanted"), _worker_rows(side))
    if suite.bars:
        yield Table(f"{suite.suite}: bars", ("bar", "wanted", "got", "met"), _bar_rows(suite))
    if suite.comparison:
        first, second = (side.named for side in suite.sides)
        columns = ("figure", f"1: {first}", f"2: {second}", "1 less 2", "95 % interval", "says")
        yield Table(f"{suite.suite}: comparison", columns, _difference_rows(suite))


_CASE_COLUMNS = ("case", "outcome", "workers", "calls", "tokens", "USD", "s", "why")


def _case_row(case: CaseReport, *, repeated: bool) -> tuple[str, ...]:
    took = case.took
    why = case.error or ("; ".join(case.wrong) if case.outcome == "failed" else "")
    return (
        f"{case.id} #{case.repeat}" if repeated else case.id,
        case.outcome,
        ", ".join(case.used_workers),
        str(took.llm_calls),
        str(took.tokens),
        f"{took.cost_usd:.4f}",
        f"{took.wall_s:.1f}",
        why if len(why) <= DETAIL_CHARACTERS else f"{why[:DETAIL_CHARACTERS]}…",
    )


def _total_rows(side: SideReport) -> list[tuple[str, str]]:
    totals, mean, over = side.totals, side.totals.mean, side.overhead
    took = "-"
    if mean is not None:
        took = f"{mean.cost_usd:.4f} USD, {mean.llm_calls:.1f} calls, {mean.tokens:.0f} tokens, {mean.wall_s:.1f} s"
    return [
        ("passed, failed, errors, skipped", f"{totals.passed}, {totals.failed}, {totals.errors}, {totals.skipped}"),
        ("pass share", _number(totals.pass_share)),
        ("routing accuracy", _number(totals.routing_accuracy)),
        ("mean run", took),
        ("overhead of a case", f"{over.median_ms:.0f} ms median, {over.largest_ms:.0f} ms at most"),
        ("time", f"{over.elapsed_ms / 1000:.1f} s for runs of {over.runs_ms / 1000:.1f} s"),
    ]


def _confusion_rows(side: SideReport) -> list[tuple[str, ...]]:
    return [
        (", ".join(row.expected), ", ".join(row.used) or "none", str(row.runs), str(row.right))
        for row in side.confusion
    ]


def _worker_rows(side: SideReport) -> list[tuple[str, ...]]:
    return [(row.worker, str(row.expected), str(row.used), str(row.both), str(row.unwanted)) for row in side.workers]


def _bar_rows(suite: SuiteReport) -> list[tuple[str, ...]]:
    return [(bar.name, _number(bar.wanted), _number(bar.got), "yes" if bar.met else "NO") for bar in suite.bars]


def _difference_rows(suite: SuiteReport) -> list[tuple[str, ...]]:
    said = {None: "noise unknown: repeat more", True: "a difference", False: "no difference shown"}
    return [
        (
            each.name,
            _number(each.first),
            _number(each.second),
            f"{each.difference:+.4g}",
            "-" if each.interval is None else f"{each.interval[0]:+.4g} to {each.interval[1]:+.4g}",
            said[each.shown],
        )
        for each in suite.comparison
    ]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _draw(table: Table, out: TextIO) -> None:
    if out.isatty():
        _draw_for_terminals(table, out)
    else:
        _draw_plainly(table, out)


def _draw_for_terminals(table: Table, out: TextIO) -> None:
    from rich.console import Console
    from rich.table import Table as Drawn

    drawn = Drawn(title=table.title, title_justify="left", show_header=any(table.columns))
    for column in table.columns:
        drawn.add_column(column, overflow="fold")
    for row in table.rows:
        drawn.add_row(*row)
    Console(file=out, markup=False, emoji=False).print(drawn)


def _draw_plainly(table: Table, out: TextIO) -> None:
    """In aligned columns, of which the last is as long as it is: logs wrap for themselves."""
    rows = [table.columns, *table.rows] if any(table.columns) else table.rows
    widths = [max(len(row[place]) for row in rows) for place in range(len(table.columns) - 1)]
    out.write(f"{table.title}\n")
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        out.write(f"  {'  '.join([*cells, row[-1]])}".rstrip() + "\n")
    out.write("\n")
