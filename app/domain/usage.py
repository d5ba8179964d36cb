"""What model and tool calls consume, and how it adds up."""

from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer

_PLAIN = Annotated[str, Field(pattern=r"^-?\d+(\.\d+)?$")]

Money = Annotated[Decimal, PlainSerializer(lambda amount: format(amount, "f"), return_type=_PLAIN, when_used="json")]
"""US dollars; in JSON a string of plain digits. Any spelling of a decimal number is read, with an exponent too."""


LEAST_REPLY = 1_024
"""Tokens below which a reply is not worth asking for: it would be cut."""


class Amount(BaseModel):
    """Tokens and money, as limits count them."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    tokens: int = 0
    """Read and written together."""
    cost_usd: Money = Decimal(0)
    """At the provider's published prices, or the operator's own."""

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(tokens=self.tokens + other.tokens, cost_usd=self.cost_usd + other.cost_usd)

    def beyond(self, other: "Amount") -> "Amount":
        """By how much it is more; nothing where it is less."""
        return Amount(
            tokens=max(self.tokens - other.tokens, 0), cost_usd=max(self.cost_usd - other.cost_usd, Decimal(0))
        )


class Usage(BaseModel):
    """Tokens, calls and money. Adding two gives their total."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    llm_calls: int = 0
    """Requests sent to a model, failed and cancelled ones included."""
    tool_calls: int = 0
    """Tool calls carried out, failed ones included."""
    input_tokens: int = 0
    """All tokens read by the model: fresh ones, cache reads and cache writes together."""
    cache_read_tokens: int = 0
    """The part of `input_tokens` that came from the provider's cache."""
    cache_write_tokens: int = 0
    """The part of `input_tokens` that was written to the provider's cache."""
    output_tokens: int = 0
    """All tokens written by the model, thinking included."""
    cost_usd: Money = Decimal(0)
    """Calls to a model without a known price add nothing."""
    estimated: bool = False
    """True when a part of it is our estimate: a call whose end the provider never reported."""

    @property
    def amount(self) -> Amount:
        """What limits count of it."""
        return Amount(tokens=self.input_tokens + self.output_tokens, cost_usd=self.cost_usd)

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            llm_calls=self.llm_calls + other.llm_calls,
            tool_calls=self.tool_calls + other.tool_calls,
            input_tokens=self.input_tokens + other.input_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=self.cost_usd + other.cost_usd,
            estimated=self.estimated or other.estimated,
        )
