"""Was the team worth it? What a run's own figures say of that: the shapes of the report. `reporting.py` fills them."""

from decimal import Decimal

from pydantic import BaseModel, ConfigDict

from app.domain.usage import Money


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class CriticalPath(_Part):
    """What bounded the run: no parallelism beats it. The parts add up to `timing.critical_path_ms`."""

    tasks: tuple[str, ...] = ()
    """Ids of the tasks on the longest chain of those that waited for each other, first to last."""
    planning_ms: int = 0
    """From the start of the run to its plan."""
    tasks_ms: int = 0
    """What attempts at those tasks took, waits between them left out."""
    synthesis_ms: int = 0
    """From the end of the last task to the end of the run."""


class WorkerShare(_Part):
    """What one worker took."""

    worker: str
    """Its name."""
    tasks: int = 0
    """Tasks that it made an attempt at."""
    attempts: int = 0
    """Attempts that it made."""
    delivered: int = 0
    """Tasks that it delivered."""
    llm_calls: int = 0
    """Requests to its models."""
    tool_calls: int = 0
    """Tool calls that ended, those of the provider included."""
    input_tokens: int = 0
    """Tokens that its models read."""
    output_tokens: int = 0
    """Tokens that they wrote."""
    cost_usd: Money = Decimal(0)
    """What they cost."""


class PartShare(_Part):
    """What one part of the run took, and its share of the whole."""

    part: str
    """`planning`, `work`, `supervision` (rulings, rewritten instructions, reviews, judgements), `synthesis` (with a
    choice before it), or `lost`: what calls are reckoned to have cost whose end a crash took away."""
    llm_calls: int = 0
    """Requests to models."""
    tokens: int = 0
    """Tokens read and written."""
    cost_usd: Money = Decimal(0)
    """What they cost."""
    duration_ms: int = 0
    """Of planning and synthesis the time they took; of work that of all tasks one after the other; of supervision that
    of its calls."""
    tokens_share: float = 0.0
    """Its part of all tokens, 0 to 1."""
    cost_share: float = 0.0
    """Its part of the cost, 0 to 1."""
    duration_share: float = 0.0
    """Its part of the sum of all durations, 0 to 1."""


class RoundShare(_Part):
    """What one round of work took and brought. One that delivered nothing is the last."""

    round: int
    """Its number, from 1."""
    tasks: int = 0
    """Tasks that were new in it, the parts of such as were split among them."""
    delivered: int = 0
    """Those of them that delivered."""
    llm_calls: int = 0
    """Requests to models, from its beginning to that of the next one: the answers made in it are among them, and what
    nested runs took that ended in it."""
    tokens: int = 0
    """Tokens read and written."""
    cost_usd: Money = Decimal(0)
    """What they cost."""
    wall_ms: int = 0
    """How long it took, from its beginning to that of the next one or the end of the run."""
    gaps_closed: int = 0
    """Its tasks that were to close a gap and delivered."""
    gaps_left: int = 0
    """Tasks of the plan that had ended without a result when it was over, or with a part of one where the nested run
    brought no more and nobody else the rest."""
    conflicts_resolved: int = 0
    """Conflicts that its answers have resolved and no earlier one had."""


class Caller(_Part):
    """An attempt that made a call."""

    task: str
    """Id of the task."""
    attempt: int
    """Number of the attempt."""


class RepeatedCall(_Part):
    """The same tool called with the same input by several attempts."""

    tool: str
    """Name of the tool."""
    input: str
    """The input as JSON, shortened."""
    calls: int
    """How often it was called in all."""
    by: tuple[Caller, ...]
    """Who called it; the first of them when they are many."""


class LikeOutputs(_Part):
    """Two tasks that delivered much the same."""

    tasks: tuple[str, str]
    """Their ids."""
    likeness: float
    """Share of their runs of three words that both have, 0 to 1, as estimated from a sample."""


class Duplicates(_Part):
    """Work that was done twice."""

    repeated_calls: int = 0
    """Tool calls that another attempt had made before with the same input."""
    tool_calls: tuple[RepeatedCall, ...] = ()
    """Those calls, the most frequent first."""
    outputs: tuple[LikeOutputs, ...] = ()
    """Outputs that are much alike, the likest first."""
    complete: bool = True
    """False when the run made more different tool calls than are compared."""


class Waiting(_Part):
    """Working against waiting, in milliseconds."""

    busy_ms: int = 0
    """Time in which at least one model or tool was at work."""
    idle_ms: int = 0
    """The rest of the time from start to end."""
    parked_ms: int = 0
    """The part of it in which the run had given its place back."""
    provider_ms: int = 0
    """What calls waited for their provider: for a slot, a pause it had asked for, or to be sent again. The sum over all
    calls, which may overlap; so are the next two."""
    questions_ms: int = 0
    """What tasks waited for answers."""
    budget_ms: int = 0
    """What calls waited for room in the run's budget."""


class OneAgent(_Part):
    """What one agent would take that does every delivered task in one conversation, one after the other: an estimate.

    It makes the calls that the workers made, and reads before each of them all that was said in the tasks before. A
    task leaves behind what the last call of its attempt read and wrote. At the end one call reads all of it and writes
    the answer. A token costs what one of the workers' tokens cost on the average; time is that of the attempts that
    delivered and of the last call for the answer. Planning and failed attempts are left out.
    """

    llm_calls: int
    """Calls that it would make."""
    input_tokens: int
    """Tokens that it would read."""
    output_tokens: int
    """Tokens that it would write."""
    largest_context_tokens: int
    """What its last call would hold; above what its model can read, it could not do the job at all."""
    cost_usd: Money
    """What that would cost."""
    duration_ms: int
    """How long it would take."""
    tokens_ratio: float | None
    """Its tokens over those of the run: above 1 the team was cheaper. Null for a run without tokens."""
    duration_ratio: float | None
    """Its time over that of the run: above 1 the team was faster. Null for a run without time."""


class Report(_Part):
    """Was the team worth it? Told from the events of the run."""

    critical_path: CriticalPath
    """What bounded the run."""
    speedup: float
    """As `timing.speedup`: the sum of all parts over the time from start to end."""
    workers: tuple[WorkerShare, ...]
    """What each worker took, in the order in which they began."""
    parts: tuple[PartShare, ...]
    """Planning, work, supervision and synthesis side by side."""
    rounds: tuple[RoundShare, ...] = ()
    """What each round of work took and brought, the first one included; empty without a plan."""
    duplicates: Duplicates
    """Work that was done twice."""
    waiting: Waiting
    """Working against waiting."""
    one_agent: OneAgent | None
    """The same job done by one agent; null when nothing was delivered by a model, or something by a nested run."""
