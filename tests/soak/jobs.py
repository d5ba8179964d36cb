"""What the soak has done: jobs of different shapes and limits, each with a number that all its requests show."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

from app.domain.strategies import Strategy
from app.domain.team import Team
from app.domain.team_rules import ApprovalRules, Stragglers
from app.domain.worker import Worker
from tests.support.service import plan_of, task

TEAM = Team(
    name="soak",
    question_timeout_s=4,
    approval=ApprovalRules(timeout_s=4, default="approve"),
    workers=(
        Worker(name="writer", description="Writes.", instructions="Write."),
        Worker(
            name="clerk",
            description="Sends and keeps.",
            instructions="Send and keep.",
            tools=("send_mail", "put_record", "look_up"),
        ),
    ),
)
PAIR = Team(
    name="soak-pair",
    question_timeout_s=4,
    approval=ApprovalRules(timeout_s=4, default="approve"),
    stragglers=Stragglers(policy="hedge", after_s=0.4),
    workers=(
        Worker(name="writer", description="Writes.", instructions="Write.", fallback="second"),
        Worker(name="second", description="Writes too.", instructions="Write as well."),
    ),
)
"""Two who try the same side by side when one takes long."""
OFFICE = Team(
    name="soak-office",
    question_timeout_s=4,
    approval=ApprovalRules(timeout_s=4, default="approve"),
    workers=(
        Worker(name="bureau", description="Has it done.", team="soak"),
        Worker(name="writer", description="Writes.", instructions="Write."),
    ),
)
"""One whose worker is a team: its tasks are runs of their own."""
TEAMS = (TEAM, PAIR, OFFICE)
CONCURRENCY = TEAM.limits.concurrency
ALL_TASKS = ("first", "second", "third", "fourth", "fifth", "sixth")


@dataclass(frozen=True, slots=True)
class Shape:
    """A graph: which of the first tasks each task needs, and who does it."""

    needs: Sequence[Sequence[int]]
    worker: str = "writer"
    limits: dict[str, Any] = field(default_factory=dict)
    team: Team = TEAM
    word: str = "Do"
    """With which the instruction of every task begins."""
    strategy: Strategy = "merge"
    """How its results become the answer."""

    def plan(self, number: int) -> dict[str, Any]:
        """The plan of job `number`."""
        return plan_of(
            *(
                task(
                    name,
                    self.worker,
                    [ALL_TASKS[other] for other in needed],
                    instruction=f"{self.word} {name} of job {number}.",
                    required=place > 0,
                )
                for place, (name, needed) in enumerate(zip(ALL_TASKS, self.needs, strict=False))
            ),
            strategy=self.strategy,
        )


SHAPES = {
    "single": Shape([[]]),
    "fan": Shape([[], [], [], []]),
    "chain": Shape([[], [0], [1]]),
    "diamond": Shape([[], [0], [0], [1, 2]]),
    "errands": Shape([[], []], worker="clerk"),
    "asking": Shape([[], [], [0]], word="Guess"),
    "large": Shape([[], [0]], word="Divide"),
    "hedged": Shape([[], [], [0], [1]], team=PAIR),
    "tries": Shape([[], [], []], strategy="select"),
    "nested": Shape([[], [0]], worker="bureau", team=OFFICE),
    "tokens": Shape([[], [], [0], [1], [2], [3]], limits={"tokens": 18_000}),
    "money": Shape([[], [], [0], [1], [2], [3]], limits={"cost_usd": "0.12"}),
}


DECISIONS: Sequence[Sequence[str] | None] = [
    *[None] * 12,
    (), ("approve",), ("edit", "approve"), ("edit", "edit", "approve"), ("approve", "reject"), ("reject",),
]  # fmt: skip
"""What clients do about plans: most wait for nobody."""


@dataclass(frozen=True, slots=True)
class JobToDo:
    """One job, and what its client does beside waiting for the end."""

    number: int
    shape: str
    own_plan: bool
    cancel_after: int | None
    """Requests of anybody, seen by the provider, after which the client changes its mind."""
    answers: bool
    """Whether the client answers the questions of its run; nobody does otherwise."""
    follow: bool
    """Whether the client reads the event stream, text included."""
    forks: bool = False
    """Whether the client has what was not delivered done again afterwards, in a fork of the run."""
    reviewed: bool = False
    """Whether a critic looks at the answer."""
    decides: Sequence[str] | None = None
    """What the client does about the plan, which waits for it: nothing, and the default is taken, or `edit`, `approve`
    and `reject`, one after the other. None where the plan waits for nobody."""

    @property
    def body(self) -> dict[str, Any]:
        """What is posted."""
        shape = SHAPES[self.shape]
        plan = {"plan": shape.plan(self.number)} if self.own_plan else {}
        return {
            "objective": f"A {self.shape}, job {self.number}.",
            "team": shape.team.name,
            "limits": shape.limits,
            "approval": "none" if self.decides is None else "plan",
            "rubric": "It says which job it is." if self.reviewed else None,
        } | plan


def jobs(seed: int) -> Iterator[JobToDo]:
    """The jobs of a soak, without end."""
    chance = Random(seed)
    for number in count(1):
        yield JobToDo(
            number=number,
            shape=chance.choice(list(SHAPES)),
            own_plan=chance.random() < 0.4,
            cancel_after=chance.randrange(30) if chance.random() < 0.06 else None,
            answers=chance.random() < 0.6,
            follow=chance.random() < 0.15,
            decides=chance.choice(DECISIONS),
            reviewed=chance.random() < 0.2,
            forks=chance.random() < 0.15,
        )
