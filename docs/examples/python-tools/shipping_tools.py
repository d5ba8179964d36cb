"""Two tools: one that only reads, and one that does something in the world."""

import hashlib
import math
from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

Zone = Literal["domestic", "europe", "world"]

_FIRST_KG = {"domestic": Decimal("4.90"), "europe": Decimal("12.50"), "world": Decimal("29.00")}
_FURTHER_KG = {"domestic": Decimal("0.60"), "europe": Decimal("2.10"), "world": Decimal("8.40")}
HEAVIEST_KG = 30


def parcel_price(
    weight_kg: Annotated[float, "What the parcel weighs, with its packing."],
    zone: Annotated[Zone, "Where it goes."],
    express: Annotated[bool, "Whether it is to arrive on the next working day; costs half as much again."] = False,
) -> dict[str, str]:
    """Works out what sending one parcel costs, in euros. Parcels of more than 30 kg are not taken."""
    if not 0 < weight_kg <= HEAVIEST_KG:
        raise ValueError(f"a parcel weighs more than 0 and up to {HEAVIEST_KG} kg")
    price = _FIRST_KG[zone] + (math.ceil(weight_kg) - 1) * _FURTHER_KG[zone]
    if express:
        price *= Decimal("1.5")
    return {"price_eur": str(price.quantize(Decimal("0.01"))), "zone": zone}


parcel_price.effect = "read"
parcel_price.timeout_s = 5


async def book_pickup(
    day: Annotated[date, "The day of the pickup."],
    parcels: Annotated[int, "How many parcels are picked up."],
    idempotency_key: str,
) -> str:
    """Books the pickup of parcels at our door. It is binding, and costs 6 euros."""
    # A true one would send the key along: the carrier then makes one booking of any number of requests.
    booking = hashlib.sha256(idempotency_key.encode()).hexdigest()[:8].upper()
    return f"Booked: PU-{booking}, {parcels} parcels on {day:%A, %d %B %Y}."


book_pickup.effect = "idempotent"
