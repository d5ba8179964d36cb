"""Room in a file, in bytes: what a service hands over is bounded by these, and characters of some scripts are three."""

import json
from collections.abc import Iterable
from typing import Any

from app.domain.artifacts import TOGETHER_BYTES

MARKDOWN_ANSWER_BYTES = 80_000
MARKDOWN_FINDINGS_BYTES = 220_000
MARKDOWN_TABLE_BYTES = 80_000
SARIF_RESULTS_BYTES = 270_000
SARIF_NOTES_BYTES = 70_000
COMMENTS_BYTES = 180_000
COMMENTS_BODY_BYTES = 40_000
COMMENTS_TABLE_BYTES = 15_000
"""Together they leave some room within what one answer may hand over. A code host takes a body of 65,536 characters."""
TESTS_TABLE_BYTES = 150_000
TESTS_LIST_BYTES = 30_000
TESTS_BYTES = TOGETHER_BYTES - TESTS_TABLE_BYTES - TESTS_LIST_BYTES - 10_000
"""For the files of tests and their patch together: the rest is for the table, its list of files, and its words."""


def bytes_of_text(text: str) -> int:
    """Bytes that a text takes in a file."""
    return len(text.encode())


def bytes_of_json(value: Any, depth: int = 0) -> int:
    """Bytes that a value takes in a file of JSON with an indent of 1, so deep within others, with what parts it from
    the next."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    return bytes_of_text(text) + depth * (text.count("\n") + 1) + 2


def fitting(sizes: Iterable[int], room: int) -> int:
    """How many things of these sizes, from the first, have room together."""
    count = 0
    for size in sizes:
        room -= size
        if room < 0:
            break
        count += 1
    return count
