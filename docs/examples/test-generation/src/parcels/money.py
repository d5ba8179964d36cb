"""Amounts of money, in whole cents."""


class AmountError(ValueError):
    """A text that is no amount."""


def in_cents(text: str) -> int:
    """The amount that a text like `12.50` is, in cents."""
    if not text:
        raise AmountError("an amount is missing")
    whole, _, rest = text.partition(".")
    return int(whole) * 100 + _cents(rest)


def in_words(cents: int, *, currency: str = "EUR") -> str:
    """An amount for people, as `12.50 EUR`."""
    if cents < 0:
        raise AmountError("an amount is never negative here")
    return f"{cents // 100}.{cents % 100:02d} {currency}"


def discounted(cents: int, percent: int) -> int:
    """The amount less a discount, rounded down. From 100 percent on it is nothing."""
    if percent < 0:
        raise ValueError("a discount is never negative")
    if percent > 100:
        return 0
    return cents * (100 - percent) // 100


def _cents(text: str) -> int:
    return int(text.ljust(2, "0")) if text else 0
