"""What is said of a run that has ended, and with which code its command ends."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from app.client import Run
from app.terminal.output import STYLES
from app.terminal.text import one_line
from app.terminal.words import duration, money

EXIT_CODES = {"succeeded": 0, "partial": 3, "failed": 4, "cancelled": 5}
LEFT = 130
"""The code of a command that was interrupted, and has left its run running."""


def print_end(to: Console, run: Run, url: str) -> None:
    """Print what came of a run: on a terminal with its answer as Markdown, else with the answer as it is."""
    result = run["result"]
    answer = result["answer"] if result is not None else None
    if answer:
        from app.terminal.prose import print_answer  # Markdown is not loaded before there is some.

        to.print()
        print_answer(to, answer)
        to.print()
    for line in _told(run, url):
        to.print(line, soft_wrap=not to.is_terminal)


def _told(run: Run, url: str) -> Iterator[Text]:
    result = run["result"]
    if result is not None:
        for gap in result["gaps"]:
            yield _of("gap", f"{gap['task']} ({gap['reason']}): {gap['impact']}", "yellow")
        for conflict in result["conflicts"]:
            said = conflict["resolution"] or " / ".join(f"{c['task']}: {c['claim']}" for c in conflict["claims"])
            yield _of("conflict", f"{conflict['topic']} ({conflict['status']}): {said}", "yellow")
        for file in result["artifacts"]:
            yield _of("file", f"{file['name']} ({file['media_type']}, {file['bytes']:,} bytes): {url}{file['url']}")
    reason = run["stop_reason"] if run["stop_reason"] not in (None, "completed", run["status"]) else None
    why = f": {run['error']['message']}" if run["error"] else ""
    yield _of(run["status"], f"{reason or ''}{why}".lstrip(": "), STYLES.get(run["status"], ""))
    most = run["limits"].get("cost_usd")
    bound = f" of {money(most)}" if most else ""
    tasks, usage = run["progress"]["tasks"], run["usage"]
    yield _of(
        "in all",
        f"{tasks['succeeded']} of {tasks['total']} tasks, {duration(run['timing']['wall_ms'])}, "
        f"{money(usage['cost_usd'])}{bound}, {usage['input_tokens'] + usage['output_tokens']:,} tokens",
    )
    yield _of("run", run["id"])
    if run["links"]["console"] is not None:
        yield _of("page", f"{url}{run['links']['console']}")


def _of(what: str, said: str, style: str = "") -> Text:
    return Text(f"{what:<11}{one_line(said)}".rstrip(), style)
