"""Attempts as calls of their workers: which breakers hear of them, and what becomes of probes that come to nothing."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from app.domain import events as ev
from app.domain.errors import Held
from app.domain.events import Entry
from app.engine.worker_doors import WorkerDoors
from app.store.breakers import Which
from tests.support.story import PAIR, Story, brief, started, task


class Watched:
    """A brake whose probes are all due, and that notes what its doors hear."""

    def __init__(self, on_enter: Callable[[str], BaseException | None] = lambda _: None) -> None:
        self.heard: list[tuple[str, str]] = []
        self.began: dict[str, datetime | None] = {}
        self._on_enter = on_enter

    def is_due(self, _: Which) -> bool:
        return True

    def door(self, which: Which, about: str | None = None, began_at: datetime | None = None) -> Any:
        self.began[which.name] = began_at
        return _Door(self, which.name, self._on_enter)


class _Door:
    def __init__(self, brake: Watched, name: str, on_enter: Callable[[str], BaseException | None]) -> None:
        self._brake, self._name, self._on_enter = brake, name, on_enter

    async def enter(self) -> None:
        if (error := self._on_enter(self._name)) is not None:
            raise error

    def answered(self) -> None:
        self._brake.heard.append((self._name, "answered"))

    def leave(self) -> None:
        self._brake.heard.append((self._name, "left"))


def beginning(*workers: str) -> list[Entry]:
    """Attempts that begin, of these workers."""
    return [
        Entry(ev.TaskStarted(worker=name, model="m", instruction="do", tools=()), f"t{number}", 1)
        for number, name in enumerate(workers)
    ]


@pytest.mark.parametrize("error", [Held("taken"), RuntimeError("broke")])
async def test_a_probe_is_given_back_when_another_cannot_be_had(error: BaseException) -> None:
    brake = Watched(lambda name: error if name.endswith("baker") else None)
    story = Story(replace(brief(), team=PAIR))
    doors = WorkerDoors(brake)  # type: ignore[arg-type]

    if isinstance(error, Held):
        assert not await doors.may_begin(story.run, beginning("able", "baker"))
    else:
        with pytest.raises(RuntimeError):
            await doors.may_begin(story.run, beginning("able", "baker"))

    assert ("worker:crew/able", "left") in brake.heard


async def test_a_breaker_hears_since_when_a_successful_attempt_has_been_at_work() -> None:
    story = started(task("a"))
    story.start("a")
    begun_at = story.now
    story.wait(200)
    brake = Watched()

    WorkerDoors(brake).hear(  # type: ignore[arg-type]
        story.run, [story.topic("work", "a").entry(ev.TaskSucceeded(summary="s", text="t"))]
    )

    assert brake.heard[0] == ("worker:crew/able", "answered")
    assert brake.began == {"worker:crew/able": begun_at}
