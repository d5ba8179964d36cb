"""What a provider says it has counted in one call, checked before it is booked.

Money and limits rest on these numbers, and they come from any server whatever. A count that is absent, negative,
absurd or no whole number is replaced by our estimate, and the usage is marked as estimated.
"""

from collections.abc import Callable
from typing import Any

from app.domain.usage import Usage
from app.llm.pricing import Prices

MOST_TOKENS = 10_000_000
"""No call reads or writes more: a larger count is a mistake."""
MOST_SEARCHES = 1_000
_TOO_MANY = 4
"""So many times more written than the call allowed, or than there is of it: a mistake, though servers count loosely."""
_TOO_FEW = 4
"""So many times more written than was counted before the reply: it was never counted."""

_INPUT, _OUTPUT = "input_tokens", "output_tokens"
_CACHE_READ, _CACHE_WRITE = "cache_read_input_tokens", "cache_creation_input_tokens"
_KEPT = (_INPUT, _OUTPUT, _CACHE_READ, _CACHE_WRITE, "server_tool_use")


def whole_number(value: Any, most: int = MOST_TOKENS) -> int | None:
    """`value` as a count; None for what is none. Some servers write 120 as 120.0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # The bounds first: NaN passes neither, and infinity is no whole number.
    return int(value) if 0 <= value <= most and value == int(value) else None


class Counts:
    """The provider's own counts, from whichever parts of the reply hold them."""

    def __init__(self) -> None:
        self._told: dict[str, Any] = {}
        self._output_is_early = False

    def take(self, usage: Any, *, early: bool = False) -> None:
        """Later counts replace earlier ones; a zero never does, since some servers send it for "see elsewhere".

        What is told `early`, before the reply, counts little of it on most servers, and all of it on some.
        """
        if not isinstance(usage, dict):
            return
        for name in _KEPT:
            if (count := usage.get(name)) or name not in self._told:
                self._told[name] = count
                self._output_is_early = early if name == _OUTPUT else self._output_is_early

    def __bool__(self) -> bool:
        """Whether the provider has told anything that can be used."""
        return bool(whole_number(self._told.get(_INPUT)) or whole_number(self._told.get(_OUTPUT)))

    def usage(
        self,
        prices: Prices,
        *model_ids: str,
        written: int,
        allowed: int = MOST_TOKENS,
        estimate: Callable[[], Usage],
        ended: bool = True,
    ) -> Usage:
        """The usage of the call, at the prices of the first of `model_ids` that has any.

        `written` is how many tokens the reply must have had at about, `allowed` how many it might have had; a call that
        has not `ended` has at least the former.
        """
        cached = [self._optional(name) for name in (_CACHE_READ, _CACHE_WRITE)]
        fresh, output = whole_number(self._told.get(_INPUT)), self._output(max(allowed, written))
        read, kept = (count or 0 for count in cached)
        estimated = not ended or None in cached
        if fresh is None or fresh + read + kept == 0:
            fresh, estimated = max(estimate().input_tokens - read - kept, 0), True
        if output is None or (output == 0 and written) or (self._output_is_early and output * _TOO_FEW < written):
            output, estimated = written, True
        searches, sure = self._searches()
        usage = Usage(
            llm_calls=1,
            input_tokens=fresh + read + kept,
            cache_read_tokens=read,
            cache_write_tokens=kept,
            output_tokens=output if ended else max(output, written),
            estimated=estimated or not sure,
        )
        return prices.priced(usage, *model_ids, web_searches=searches)

    def _output(self, allowed: int) -> int | None:
        """What was written, as far as it can be that."""
        return whole_number(self._told.get(_OUTPUT), min(_TOO_MANY * allowed, MOST_TOKENS))

    def _optional(self, name: str) -> int | None:
        """A count that servers without a cache leave out; None when it is there and no count."""
        value = self._told.get(name)
        return 0 if value is None else whole_number(value)

    def _searches(self) -> tuple[int, bool]:
        """Searches that the provider ran, and whether that is sure."""
        told = self._told.get("server_tool_use")
        count = told.get("web_search_requests") if isinstance(told, dict) else told
        searches = 0 if count is None else whole_number(count, MOST_SEARCHES)
        return searches or 0, searches is not None
