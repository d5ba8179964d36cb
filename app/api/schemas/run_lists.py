"""The shapes of lists of runs."""

from app.api.schemas.runs import Run
from app.api.schemas.shape import Page
from app.domain.states import TaskStatus


class ListedRun(Run):
    """A run in a list."""

    levels: list[dict[TaskStatus, int]] | None
    """The levels of its plan, from those tasks on that wait for no other: how many of each are in which status, as far
    as there are any. Null unless it is asked for, before there are tasks, and for plans of more than 256 kB."""


class RunPage(Page):
    """Runs, in the order that was asked for."""

    data: list[ListedRun]
    """The runs of this page."""
