"""What a customer sends at once."""

from dataclasses import dataclass

from parcels.carriers.rates import price_of


class TooHeavy(Exception):
    """A parcel that no carrier takes."""


@dataclass(frozen=True)
class Parcel:
    """A parcel, by its weight and its zone."""

    grams: int
    zone: str = "home"

    def __post_init__(self) -> None:
        if self.grams <= 0:
            raise ValueError("a parcel weighs something")
        if self.grams > 30_000:
            raise TooHeavy(self.grams)

    @property
    def cents(self) -> int:
        return price_of(self.grams, self.zone)


class Basket:
    """Parcels that are sent together. From the fifth parcel on, the cheapest is free."""

    def __init__(self, limit: int = 10) -> None:
        self.limit = limit
        self.parcels: list[Parcel] = []

    def add(self, parcel: Parcel | None) -> None:
        """Put a parcel in."""
        if parcel is None:
            raise TypeError("there is no parcel")
        self.parcels.append(parcel)

    def cents(self) -> int:
        """What all of them cost together."""
        prices = sorted(each.cents for each in self.parcels)
        return sum(prices[1:] if len(prices) > 5 else prices)
