"""What a parcel costs, and which of them go together."""

from parcels.basket import Basket
from parcels.money import in_cents

__all__ = ["Basket", "in_cents"]
