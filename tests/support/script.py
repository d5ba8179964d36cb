"""What may befall a run: scripts for rehearsals, and how they are generated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from hypothesis import strategies as st

from app.domain import events as ev
from app.domain.brief import NOTHING_REUSED, Brief
from app.domain.errors import Held, ModelError, OutOfTime, RateLimited, RequestRejected
from app.domain.job import DryRunLimits, Limits, with_approval
from app.domain.plan import Plan
from app.domain.questions import OnQuestion
from app.domain.quote import Grounds, TokenPrices
from app.domain.retries import Patience
from app.domain.strategies import Strategy
from app.domain.team import Team
from app.domain.team_rules import ApprovalRules, ConflictMethod, ReviewRules, Stragglers
from app.domain.usage import Usage
from app.domain.worker import TIERS, Worker
from app.tools.tool import Arguments, Tool
from tests.support.graphs import plans
from tests.support.scripted_replies import FORMS, STOP_REASONS
from tests.support.story import BAKER, WORKER

FAULTS: Mapping[str, ModelError] = {
    "busy": RateLimited("busy", Usage(llm_calls=1)),
    "long wait": RateLimited("busy", Usage(llm_calls=1), retry_after_s=40),
    "longer than the run": RateLimited("busy", Usage(llm_calls=1), retry_after_s=100_000),
    "held": Held("a pause", retry_after_s=20),
    "slow": OutOfTime("slow", Usage(llm_calls=1)),
    "rejected": RequestRejected("no", Usage(llm_calls=1)),
    "unpaid": ModelError("no money", Usage(llm_calls=1), code="provider_billing"),
}
"""Calls that bring no reply."""

BUGS = ["break", "break late"]
"""Calls that break our own code, before they have cost something and after."""
CALL_OUTCOMES = list(dict.fromkeys([*FORMS, *STOP_REASONS, *BUGS, *FAULTS]))
TOOLS: Mapping[str, Tool] = {
    "look": Tool("look", "Looks.", Arguments, "read"),
    "send": Tool("send", "Sends.", Arguments, "once"),
}
PRICES = TokenPrices(*[Decimal("0.000005")] * 6)
GROUNDS = Grounds(prices=dict.fromkeys(TIERS, PRICES), reply_tokens=16_000)
"""What quotes rest on: tokens cost about what the scripted replies do."""
TOOL_OUTCOMES = ["new", "same", "broken", "invalid"]
DATA_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


WAIT = Stragglers()
NO_REVIEW = ReviewRules()
FREELY = ApprovalRules()


@dataclass(frozen=True, slots=True)
class Script:
    """What the world does. Lists are gone through in circles; turns are the engine's, counted from 0."""

    plan: Plan
    limits: Limits
    own_plan: bool = False
    strict: bool = False
    """Whether the worker must deliver data of a certain form."""
    finds: bool = False
    """Whether its data are findings."""
    pair: bool = False
    """Whether there is another worker that may stand in."""
    kind: str | None = None
    """What the two are, so that the less loaded one takes a task."""
    stragglers: Stragglers = WAIT
    review: ReviewRules = NO_REVIEW
    resolution: tuple[ConflictMethod, ...] = ()
    """What is tried on conflicts; where something is, answers have some."""
    asks_about_conflicts: bool = False
    calls: tuple[str, ...] = ("answer",)
    shares: tuple[float, ...] = ()
    """Parts of what a reply may have that it takes; without any it is of one size."""
    tools: tuple[str, ...] = ("new",)
    choices: tuple[int, ...] = (0,)
    """Which of the commands under way gets on."""
    delays: tuple[int, ...] = (1,)
    """Seconds that each step takes."""
    crashes: frozenset[int] = frozenset()
    on_question: OnQuestion | None = None
    people: tuple[bool, ...] = (False,)
    """Whether somebody answers one of the open questions, at each turn with one."""
    asks_approval: bool = False
    """Whether the job wants its plan approved."""
    approval: ApprovalRules = FREELY
    approvers: tuple[str, ...] = ("wait",)
    """What somebody does about a plan that waits for approval, turn by turn; in the end nothing more."""
    outages: frozenset[int] = frozenset()
    """When other runs have just opened a breaker that this one has to do with."""
    cancel_at: int | None = None
    reused: ev.ResultsReused = NOTHING_REUSED
    """What the run begins with."""

    @property
    def brief(self) -> Brief:
        schema = DATA_SCHEMA if self.strict else None
        output = "findings" if self.finds else "report"
        worker = WORKER.model_copy(update={"tools": tuple(TOOLS), "output_schema": schema, "output": output})
        if not self.pair:
            return self._with(worker)
        stand_in = BAKER.model_copy(update={"fallback": worker.name, "kind": self.kind})
        if self.kind is not None:
            own = {"tools": worker.tools, "output_schema": schema, "output": output}
            stand_in = stand_in.model_copy(update=own)
        return self._with(worker.model_copy(update={"fallback": "baker", "kind": self.kind}), stand_in)

    def _with(self, *workers: Worker) -> Brief:
        team = Team(
            name="crew",
            workers=workers,
            stragglers=self.stragglers,
            approval=self.approval,
            review=self.review,
            conflict_resolution=self.resolution,
            conflicts="ask_human" if self.asks_about_conflicts else "surface",
        )
        limits = self.limits
        if self.asks_approval and not isinstance(limits, DryRunLimits):
            limits = with_approval(limits)
        told = Brief("run_1", "Find out.", team, limits, patience=Patience(call_attempts=2), grounds=GROUNDS)
        return replace(told, reused=self.reused)


MOSTLY_FINE = st.sampled_from(
    ["answer", "tools"] * 8
    + ["wrapped", "garbled", "busy", "long wait", "useless", "escalate", "cut", "odd"] * 2
    + CALL_OUTCOMES
)
MOSTLY_FAST = st.sampled_from([0, 1, 2, 5] * 5 + [61, 1_000])
TURNS = st.integers(0, 120)


IMPATIENT = [
    Stragglers(policy="drop", quorum=0.4, after_s=5),
    Stragglers(policy="drop", quorum=0.2, after_s=1),
    Stragglers(policy="hedge", after_s=5),
    Stragglers(policy="hedge", after_s=1),
]
STRATEGIES: Sequence[Strategy] = ["merge", "merge", "merge", "select"]
REVIEWS = [NO_REVIEW, NO_REVIEW, *(ReviewRules(critic=True, rounds=rounds) for rounds in (0, 1, 2))]
RESOLUTIONS: Sequence[tuple[ConflictMethod, ...]] = [
    (), (), (), ("judge",), ("tie_break",), ("judge", "tie_break"), ("tie_break", "judge"),
]  # fmt: skip
RULES = [
    ApprovalRules(required=True, default="approve"),
    ApprovalRules(required=True, timeout_s=20),
    ApprovalRules(above_cost_usd=Decimal("0.1"), default="approve", timeout_s=20),
]
APPROVERS = st.sampled_from(["wait", "edit", "edit", "approve", "approve", "reject"])
POLICIES = [WAIT, Stragglers(policy="drop"), Stragglers(policy="hedge"), *IMPATIENT]


@st.composite
def scripts(
    draw: st.DrawFn,
    policies: Sequence[Stragglers] = POLICIES,
    rules: Sequence[ApprovalRules] = (),
    resolutions: Sequence[tuple[ConflictMethod, ...]] = RESOLUTIONS,
) -> Script:
    """Everything that may befall a run, whose team has one of these policies, one of these ways with conflicts, and one
    of these rules if there are any.

    Without rules, every fifth plan or so waits for approval.
    """
    limits = Limits(
        concurrency=draw(st.integers(1, 4)),
        attempts=draw(st.sampled_from([3, 3, 2, 1])),
        timeout_s=draw(st.sampled_from([900, 300, 60])),
        tokens=draw(st.sampled_from([None, None, None, 400_000, 60_000, 25_000, 4_000])),
        rounds=draw(st.sampled_from([1, 2, 3])),
    )
    return Script(
        plan=draw(plans()).model_copy(update={"strategy": draw(st.sampled_from(STRATEGIES))}),
        limits=limits,
        own_plan=draw(st.booleans()),
        strict=draw(st.sampled_from([False, False, True])),
        pair=draw(st.booleans()),
        kind=draw(st.sampled_from([None, "hand"])),
        stragglers=draw(st.sampled_from(policies)),
        review=draw(st.sampled_from(REVIEWS)),
        resolution=draw(st.sampled_from(resolutions)),
        asks_about_conflicts=draw(st.booleans()),
        calls=draw(st.lists(MOSTLY_FINE, min_size=5, max_size=16).map(tuple)),
        shares=draw(st.lists(st.floats(0, 1), max_size=4).map(tuple)),
        tools=draw(st.lists(st.sampled_from(TOOL_OUTCOMES), min_size=1, max_size=6).map(tuple)),
        choices=draw(st.lists(st.integers(0, 7), min_size=1, max_size=6).map(tuple)),
        delays=draw(st.lists(MOSTLY_FAST, min_size=5, max_size=16).map(tuple)),
        crashes=draw(st.frozensets(TURNS, max_size=4)),
        on_question=draw(st.sampled_from([None, None, "ask", "default", "fail"])),
        people=draw(st.lists(st.booleans(), min_size=1, max_size=6).map(tuple)),
        asks_approval=not rules and draw(st.sampled_from([False] * 9 + [True])),
        approval=draw(st.sampled_from(rules or [*[FREELY] * 12, *RULES])),
        approvers=draw(st.lists(APPROVERS, min_size=1, max_size=4).map(tuple)),
        outages=draw(st.sampled_from([frozenset[int]()] * 2) | st.frozensets(TURNS, max_size=6)),
        cancel_at=draw(st.sampled_from([None, None, None]) | TURNS),
    )
