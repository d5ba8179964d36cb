import pytest
from parcels import in_cents
from parcels.money import AmountError


@pytest.mark.parametrize(("text", "cents"), [("12.50", 1250), ("3", 300), ("0.5", 50)])
def test_an_amount_is_read_as_cents(text: str, cents: int) -> None:
    assert in_cents(text) == cents


def test_no_amount_is_refused() -> None:
    with pytest.raises(AmountError, match="missing"):
        in_cents("")
