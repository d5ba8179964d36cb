"""A busy run with a hundred tasks, as many events as a test likes, and no end."""

from collections.abc import Iterator
from itertools import count, islice

from app.domain import events as ev
from app.domain.events import Entry
from app.domain.plan import Plan, Task, validated
from tests.support.play import SPENT, Play

TASKS = 100
WIDTH = 10
AT_ONCE = 1_000
"""Facts of one commit."""


class LongRun:
    """A run of ten layers of ten tasks; those of the first five layers have ended, ten are at work."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.written = 0
        """Events so far, that of the job included."""
        self._calls = self._forever()

    async def begin(self) -> None:
        """Plan, and do half of it."""
        await self.play.start()
        tasks = tuple(_task(number) for number in range(TASKS))
        plan = validated(Plan(goal="Look everywhere.", tasks=tasks), ["writer"], TASKS)
        await self.play.record(self.play.reply("plan", text="{}"), Entry(ev.PlanCreated.of(plan)))
        done = [fact for number in range(TASKS // 2) for fact in self._done(_name(number))]
        begun = [_started(_name(number)) for number in range(TASKS // 2, TASKS // 2 + WIDTH)]
        await self.play.record(*done, *begun)
        self.written = 2 + 2 + len(done) + len(begun)

    async def go_on(self, events: int) -> None:
        """Write so many more events."""
        for start in range(0, events, AT_ONCE):
            some = list(islice(self._calls, min(AT_ONCE, events - start)))
            await self.play.record(*some)
            self.written += len(some)

    def _done(self, name: str) -> Iterator[Entry]:
        yield _started(name)
        yield self.play.reply("work", name, 1, text='{"summary": "done"}')
        yield Entry(ev.TaskSucceeded(summary=f"{name} is done.", tool_calls=0), name, 1)

    def _forever(self) -> Iterator[Entry]:
        """The tasks at work have a tool called by their model, in turn."""
        for number in count():
            name, call_id = _name(TASKS // 2 + number % WIDTH), f"toolu_{number}"
            asked = {"expression": f"{number} + 1"}
            content = [
                {"type": "text", "text": f"I need {number} + 1 now."},
                {"type": "tool_use", "id": call_id, "name": "calculate", "input": asked},
            ]
            replied = ev.LlmCompleted(
                purpose="work",
                model="stub",
                usage=SPENT,
                duration_ms=40,
                opening=ev.Opening(system="You look.", message=f"Do {name}.") if number < WIDTH else None,
                stop_reason="tool_use",
                content=content,
            )
            yield Entry(replied, name, 1)
            started = ev.ToolStarted(call_id=call_id, name="calculate", input=asked, effect="read", key=call_id)
            yield Entry(started, name, 1)
            ended = ev.ToolCompleted(call_id=call_id, name="calculate", duration_ms=3, output=str(number + 1))
            yield Entry(ended, name, 1)


def _name(number: int) -> str:
    return f"t{number + 1}"


def _task(number: int) -> Task:
    layer, place = divmod(number, WIDTH)
    above = {WIDTH * (layer - 1) + place, WIDTH * (layer - 1) + (place + layer) % WIDTH} if layer else set()
    return Task(
        id=_name(number),
        title=f"Look at place {place + 1}, the {layer + 1}. time",
        instruction=f"Look at place {place + 1} and say what there is.",
        worker="writer",
        depends_on=tuple(_name(each) for each in sorted(above)),
    )


def _started(name: str) -> Entry:
    return Entry(ev.TaskStarted(worker="writer", model="stub", instruction=f"Do {name}."), name, 1)
