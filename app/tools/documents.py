"""Documents among a job's inputs as the texts that their readers see, each turned into text once."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakValueDictionary

from app.domain.errors import ToolError
from app.domain.job import JobInput
from app.domain.media_types import document_kind
from app.domain.text import clean_text
from app.tools.sandbox import Sandbox

KEPT_CHARACTERS = 16 * 1024 * 1024
"""Characters of texts that are kept for the next call, of all documents together."""
ENTRY_CHARACTERS = 1_000
"""What each is reckoned at beside its text: one without a text takes room too."""
_PASSING = frozenset({"tool_busy"})
"""Errors that say nothing about the document."""


@dataclass(frozen=True, slots=True)
class Readable:
    """An input as its readers see it."""

    name: str
    media_type: str
    text: str = ""
    problem: ToolError | None = None
    """Why it has no text."""


class Documents:
    """Turns documents into text, in a sandbox, and keeps what came of the latest ones: by their contents, so that a run
    that has the documents of another one has their texts too."""

    def __init__(self, sandbox: Sandbox, *, kept_characters: int = KEPT_CHARACTERS) -> None:
        self._sandbox = sandbox
        self._room = kept_characters
        self._kept: OrderedDict[str, str | ToolError] = OrderedDict()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def readable(self, inputs: Sequence[JobInput]) -> list[Readable]:
        """The inputs as texts; of one that cannot be read, why."""
        return list(await asyncio.gather(*map(self._readable, inputs)))

    async def texts(self, inputs: Sequence[JobInput]) -> dict[str, str]:
        """The texts of documents among the inputs, by name; of those that have one. It waits until there is room."""
        waiting = [each for each in inputs if document_kind(each.media_type, each.content)]
        found: dict[str, str] = {}
        while waiting:
            read = await self.readable(waiting)
            found |= {each.name: each.text for each in read if each.problem is None}
            passing = {each.name for each in read if each.problem is not None and each.problem.code in _PASSING}
            waiting = [each for each in waiting if each.name in passing]
        return found

    async def _readable(self, item: JobInput) -> Readable:
        kind = document_kind(item.media_type, item.content)
        if kind is None:
            return Readable(item.name, item.media_type, item.content)
        key = await asyncio.to_thread(_digest, kind, item.content)
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                found = self._kept[key]
            else:
                found = await self._converted(kind, item.content)
                self._keep(key, found)
        if isinstance(found, ToolError):
            return Readable(item.name, item.media_type, problem=_about(item.name, found))
        return Readable(item.name, item.media_type, found)

    async def _converted(self, kind: str, content: str) -> str | ToolError:
        try:
            answer = await self._sandbox.answer("app.tools.document_text", {"kind": kind}, [content])
        except ToolError as error:
            return error
        if "error" in answer:
            return ToolError(answer["error"], answer["code"])
        return clean_text(answer["text"])

    def _keep(self, key: str, found: str | ToolError) -> None:
        if isinstance(found, ToolError) and found.code in _PASSING:
            return
        self._kept[key] = found
        self._room -= _size(found)
        while len(self._kept) > 1 and self._room < 0:
            _, oldest = self._kept.popitem(last=False)
            self._room += _size(oldest)


def _digest(kind: str, content: str) -> str:
    return f"{kind}:{hashlib.sha256(content.encode()).hexdigest()}"


def _size(found: str | ToolError) -> int:
    return ENTRY_CHARACTERS + (len(found) if isinstance(found, str) else 0)


def _about(name: str, error: ToolError) -> ToolError:
    return ToolError(f"{name} cannot be read: {error.message}", error.code)
