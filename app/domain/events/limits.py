"""What happens at the limits of a run."""

from typing import Literal

from app.domain.events.calls import Purpose
from app.domain.events.fact import Fact
from app.domain.usage import Money


class BudgetExhausted(Fact):
    """A call was not made, since its worst case does not fit into what the run may still spend.

    No other call was under way whose end could have freed room. The work ends, and what there is is reconciled from
    what was kept for that.
    """

    type = "budget.exhausted"

    limit: Literal["tokens", "cost_usd"]
    """The limit that the call would have passed."""
    call: Purpose
    """What the call was for."""
    allowed: Money
    """The limit; tokens, or US dollars, like all amounts here."""
    needed: Money
    """The least that the call may be let go with."""
    left: Money
    """What was left for it: neither spent nor kept for the answer."""
