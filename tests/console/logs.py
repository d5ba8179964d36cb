"""Logs of runs in which much happens, as clients get them: what the console's readings of logs are held against."""

from functools import cache
from typing import Any

from tests.console.test_fold import asked, begun_with_results, hedged, nested, reassigned, rehearsed, split
from tests.support.story import as_json


@cache
def many_logs() -> list[list[dict[str, Any]]]:
    """Those of stories of each kind, and of runs in which anything may happen."""
    told = [asked(answered=True), asked(answered=False), reassigned(), split(), hedged(), nested()]
    return [[as_json(event) for event in story.log] for story in (*told, begun_with_results(), *rehearsed())]
