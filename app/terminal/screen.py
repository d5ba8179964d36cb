"""A run as lines of a screen: its plan as a tree, what is being written, and totals. Pure: the time is handed in."""

from collections.abc import Iterable
from datetime import datetime
from textwrap import wrap

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from app.terminal.output import MARKS, STYLES
from app.terminal.plan_tree import Twig, twigs
from app.terminal.progress import SUPERVISOR, Progress, ShownTask
from app.terminal.text import one_line
from app.terminal.words import duration, money

TIME, COST = 8, 7
"""Characters of these columns."""
WIDE = 72
"""From this width on state and worker have columns; below it they stand beneath their task."""
NARROW = 30
"""Below this width a task has no columns at all: its name is worth more."""
GUIDE_SHARE = 3
"""A part of the width, at most, that the guides of the tree may take."""
TEXT_LINES = 2
"""Lines of text under way that are shown."""


def screen(run: Progress, now: datetime, width: int, height: int) -> Text:
    """The whole of it, no wider and no higher than that."""
    above, below = _head(run, width), _foot(run, now, width)
    tree = _tree(run, now, width)
    room = max(height - len(above) - len(below), 1)
    if len(tree) > room:
        tree = _shortened(run, now, width, room)
    return Text("\n").join([*above, *tree, *below][-height:])


def _head(run: Progress, width: int) -> list[Text]:
    about = " · ".join(part for part in (run.phase or run.status, run.team, run.run_id) if part)
    lines = [_line(run.objective, width, "bold"), _line(about, width, "dim")]
    if text := run.texts.get(SUPERVISOR):
        lines += _written(text, "", width)
    return lines


def _foot(run: Progress, now: datetime, width: int) -> list[Text]:
    lines = [_line(f"? {asked['question']}", width, "yellow") for asked in run.questions.values()]
    if run.away:
        lines.append(_line(f"! the stream is away, and is taken up again: {run.away}", width, "red"))
    return [*lines, *(_line(each, width, "bold") for each in wrap(totals(run, now), width))]


def totals(run: Progress, now: datetime) -> str:
    """Tasks, time, money and tokens, against their limits."""
    done = sum(task.status == "succeeded" for task in run.planned)
    lost = sum(task.is_over for task in run.planned) - done
    begun, end = run.started_at, run.ended_at or now
    passed_ms = (end - begun).total_seconds() * 1000 if begun else 0
    cost, most = money(str(run.cost_usd)), run.limits.get("cost_usd")
    bound = run.limits.get("tokens")
    parts = [
        f"{done} of {len(run.planned)} tasks" + (f", {lost} lost" if lost else ""),
        duration(max(passed_ms, 0)),
        f"{cost} of {money(most)}" if most else cost,
        f"{run.tokens:,} of {bound:,} tokens" if bound else f"{run.tokens:,} tokens",
    ]
    return " · ".join(parts)


def _tree(run: Progress, now: datetime, width: int) -> list[Text]:
    lines: list[Text] = []
    for twig in twigs([{"id": task.id, "depends_on": task.needs} for task in run.planned]):
        lines += _twig(run, twig, now, width)
    lost = [task for task in run.tasks.values() if not task.is_planned]
    if lost:
        lines.append(_line("no longer in the plan:", width, "dim"))
        lines += [_task(task, "   ", now, width) for task in lost]
    return lines


def _twig(run: Progress, twig: Twig, now: datetime, width: int) -> list[Text]:
    task = run.tasks[twig.task["id"]]
    return [_task(task, _narrow(twig.stem, width), now, width), *_beneath(run, task, _narrow(twig.below, width), width)]


def _task(task: ShownTask, guide: str, now: datetime, width: int) -> Text:
    """A task on its line: what it is to the left, what it took to the right."""
    mark, style = MARKS.get(task.status, "?"), STYLES.get(task.status, "")
    right = [f"{_took(task, now):>{TIME}}", f"{money(str(task.cost_usd)) if task.cost_usd else '':>{COST}}"]
    if width >= WIDE:
        number = f"#{task.attempt}" if task.attempt else ""
        right = [f"{task.status:<9}", _fit(task.worker, 12), f"{number:<3}", *right]
    columns = " ".join(right if width >= NARROW else ())
    left = _fit(f"{guide}{mark} {task.id} {one_line(task.title)}", max(width - cell_len(columns) - 1, 1))
    line = Text(f"{left} {columns}", no_wrap=True, overflow="crop")
    line.stylize(style, len(guide), len(guide) + 1)
    if width >= WIDE:
        line.stylize(style, len(left) + 1, len(left) + 10)
    return line


def _took(task: ShownTask, now: datetime) -> str:
    if task.started_at is None:
        return ""
    return duration(max(((task.ended_at or now) - task.started_at).total_seconds() * 1000, 0))


def _beneath(run: Progress, task: ShownTask, guide: str, width: int) -> Iterable[Text]:
    """What there is to say of a task beside its line."""
    if task.is_over and task.status == "succeeded":
        return
    told = [_waits(run, task), task.doing, task.note]
    if width < WIDE and task.attempt:
        told.insert(0, f"{task.worker} #{task.attempt}")
    if said := ", ".join(one_line(each) for each in told if each):
        yield _line(f"{guide}{said}", width, "dim" if task.status != "failed" else "red")
    if text := run.texts.get(task.id):
        yield from _written(text, guide, width)


def _waits(run: Progress, task: ShownTask) -> str:
    """What a task waits for, where its place in the tree does not say that."""
    if task.status != "pending" or len(task.needs) < 2:
        return ""
    left = [name for name in task.needs if name in run.tasks and not run.tasks[name].is_over]
    return f"waits for {', '.join(left)}" if left else ""


def _written(text: str, guide: str, width: int) -> list[Text]:
    """The last lines of text under way."""
    room = max(width - cell_len(guide) - 2, 8)
    lines: list[str] = []
    for line in reversed(text.splitlines()):
        if len(lines) >= TEXT_LINES:
            break
        words = one_line(line)
        # Where characters are two cells wide, half of them fit.
        lines = wrap(words, room if cell_len(words) == len(words) else room // 2) + lines
    return [_line(f"{guide}│ {each}", width, "italic dim") for each in lines[-TEXT_LINES:]]


def _shortened(run: Progress, now: datetime, width: int, room: int) -> list[Text]:
    """What is under way, and how many there are of the others."""
    lines: list[Text] = []
    ordered = sorted(run.planned, key=lambda task: _URGENCY.get(task.status, 2))
    shown = 0
    for task in ordered:
        more = [_task(task, " ", now, width), *_beneath(run, task, "   ", width)]
        if len(lines) + len(more) > room - 1:
            break
        lines += more
        shown += 1
    left = ordered[shown:]
    counts = {status: sum(task.status == status for task in left) for status in MARKS}
    told = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    return [*lines, _line(f" … and {told}", width, "dim")][:room]


_URGENCY = {"running": 0, "waiting": 0, "failed": 1, "cancelled": 2, "pending": 3, "succeeded": 4, "skipped": 5}


def _narrow(guide: str, width: int) -> str:
    most = width // GUIDE_SHARE // 3 * 3
    return guide if len(guide) <= most else guide[-most:] if most else ""


def _line(text: str, width: int, style: str) -> Text:
    guide = text[: len(text) - len(text.lstrip())]
    return Text(_fit(guide + one_line(text), width).rstrip(), style, no_wrap=True, overflow="crop")


def _fit(text: str, cells: int) -> str:
    """The text in just so many cells."""
    text = text if cell_len(text) <= cells else set_cell_size(text, max(cells - 1, 0)) + "…"
    return set_cell_size(text, cells)
