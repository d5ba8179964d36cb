"""How results become an answer: the strategies, and which of them a plan may follow."""

from collections.abc import Sequence
from typing import Literal, get_args

Strategy = Literal["merge", "select", "reduce"]
"""`merge`: the results complete each other, and all of them are put together. `select`: several tasks try the same, and
the answer is made from the one that a judge chooses. `reduce`: there are more results than one context holds."""
USUAL: Strategy = "merge"
"""The one of plans that say nothing, where nobody else does."""


def strategies_open(fixed: Strategy | None) -> Sequence[Strategy]:
    """The strategies among which a plan may choose, given the one that its job or team has fixed."""
    return get_args(Strategy) if fixed is None else (fixed,)
