"""The check `trades`: what cannot be done, or breaks a constraint, is a flaw that names row and figure."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.artifacts import Artifact
from app.domain.checks import CHECKS, Worked
from app.domain.job import JobInput
from app.domain.plan import Task
from app.domain.results import Output

POSITIONS = "symbol,quantity\nACME,60\nacme,40\nNORD,50\nCASH,1000\n"
PRICES = "symbol,price,currency\nACME,50.00,EUR\nNORD,80,EUR\nBETA,12.345,EUR\n"
CONSTRAINTS = """\
rule,symbol,least,target,most
weight,NORD,0.10,0.2,0.45
weight,CASH,0.01,,0.50
weight,*,,,0.6
turnover,,,,0.3
"""
HELD = {"ACME": Fraction(100), "NORD": Fraction(50)}
PRICE = {"ACME": Fraction(50), "NORD": Fraction(80), "BETA": Fraction("12.345")}


def trade(side: str, symbol: str, quantity: Any, price: Any = None, amount: Any = None) -> dict[str, Any]:
    price = float(PRICE.get(symbol, 1)) if price is None else price
    amount = round(quantity * price, 2) if amount is None else amount
    return {"symbol": symbol, "side": side, "quantity": quantity, "price": price, "amount": amount}


def flaws(data: Any, handed: str | None = None, form: str = "text", **files: str) -> list[tuple[str, str]]:
    """Pointer and detail of what is wrong, with these instead of the usual inputs. `handed` is a file of the result."""
    contents = {"positions": POSITIONS, "prices": PRICES, "constraints": CONSTRAINTS} | files
    inputs = [JobInput(name=f"{name}.csv", content=text) for name, text in contents.items() if text != "none"]
    artifacts = (
        ()
        if handed is None
        else (Artifact.model_validate({"name": "Trades.csv", "media_type": "text/csv", form: handed}),)
    )
    worked = Worked(Task(id="t1", instruction="Trade."), Output(summary="", data=data, artifacts=artifacts), inputs)
    return [(each.pointer, each.detail) for each in CHECKS["trades"](worked)]


def said(*trades: Any, **files: str) -> list[str]:
    return [detail for _, detail in flaws({"trades": [*trades]}, **files)]


def test_trades_within_all_bounds_pass() -> None:
    assert said(trade("sell", "NORD", 10), trade("buy", "BETA", 100, 12.345, 1234.5), trade("sell", "ACME", 5)) == []
    assert said(trade("sell", "NORD", "10", "80.00", "800")) == []
    assert said() == []


BROKEN: dict[str, tuple[list[Any], list[str]]] = {
    "more than is held": (
        [trade("sell", "ACME", 10), trade("sell", "ACME", 91)],
        ["trade 2 (sell ACME): 101 are sold by now, and 100 are held (positions.csv line 3)"],
    ),
    "what is not held": ([trade("sell", "BETA", 1)], ["1 are sold by now, and 0 are held (no row of positions)"]),
    "cash below zero": (
        [trade("buy", "ACME", 21)], ["cash is -50: 50 more is spent", "CASH is -50 of 10000, -0.5 %"],
    ),
    "a weight above its bound": (
        [trade("buy", "NORD", 12)], ["NORD is 4960 of 10000, 49.6 %, and constraints.csv line 2 allows 45 % at most"],
    ),
    "a weight below its bound": (
        [trade("sell", "NORD", 38)], ["NORD is 960 of 10000, 9.6 %, and constraints.csv line 2 asks for 10 % at least"],
    ),
    "too much turnover": (
        [trade("sell", "NORD", 20), trade("buy", "ACME", 20), trade("sell", "ACME", 10)],
        ["3100 are bought and sold, 31 % of 10000, and constraints.csv line 5 allows 30 % at most"],
    ),
    "another price": (
        [trade("sell", "NORD", 10, 80.5)], ["trade 1 (sell NORD): its price is 80.5, and that in prices 80"],
    ),
    "another amount": (
        [trade("buy", "BETA", 100, 12.345, 1234.49)],
        ["trade 1 (buy BETA): its amount is 1234.49, and 100 times 12.345 is 1234.5"],
    ),
    "a symbol without a price": ([trade("buy", "ZULU", 1)], ["trade 1 (buy ZULU): prices has no ZULU"]),
    "no side": ([trade("short", "NORD", 1)], ["trade 1 (NORD): side is 'short', neither buy nor sell"]),
    "a quantity that is none": ([trade("buy", "NORD", -1, 80, 80)], ["quantity is -1, and must be a figure above 0"]),
    "true for a figure": ([trade("buy", "NORD", True, 80, 80)], ["quantity is True, and must"]),
    "cash itself": ([trade("buy", "CASH", 1)], ["trade 1 has no symbol, or is of CASH"]),
    "no object": (["sell everything"], ["trade 1 is no object"]),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_what_breaks_a_constraint_is_named_with_row_and_figure(case: str) -> None:
    made, expected = BROKEN[case]
    found = said(*made)
    for words in expected:
        assert any(words in each for each in found), found


def test_bounds_are_exact_to_the_last_digit() -> None:
    """0.4 of 10000 is 50 shares of 80, to the cent: a float would say a little more, or less."""
    exactly = CONSTRAINTS.replace("0.45", "0.4")
    assert said(constraints=exactly) == []
    assert said(constraints=CONSTRAINTS.replace("0.45", "0.399999999999")) != []
    third = said(trade("sell", "BETA", 0.1, 12.345, 1.23), positions=f"{POSITIONS}BETA,0.1\n")
    assert third == []
    assert "1.24" in said(trade("sell", "BETA", 0.1, 12.345, 1.24), positions=f"{POSITIONS}BETA,0.1\n")[0]


@pytest.mark.parametrize(("quantity", "amount"), [(1, 12.35), (3, 37.04), (5, 61.73), (2, 24.69)])
def test_amounts_are_in_cents_and_half_a_cent_goes_up(quantity: int, amount: float) -> None:
    assert said(trade("buy", "BETA", quantity, 12.345, amount)) == []
    for other in (amount - 0.01, amount + 0.01, amount - 0.005):
        [found] = said(trade("buy", "BETA", quantity, 12.345, round(other, 3)))
        assert f"{quantity} times 12.345 is {amount}, to the cent" in found


HANDED = "symbol,side,quantity,price,amount\nNORD,sell,10,80.00,800\nacme,Buy,2,50,100.00\n"
OTHER_FILES = {
    "another side": (HANDED.replace("sell", "buy"), "Trades.csv line 2 says buy 10 NORD at 80.00 for 800, and trade 1"),
    "twice": (HANDED + HANDED.partition("\n")[2], "Trades.csv has 4 trades, and data has 2"),
    "one left out": (HANDED.partition("acme")[0], "Trades.csv has 1 trades, and data has 2"),
    "no amount": (HANDED.replace(",800", ","), "Trades.csv line 2: amount is empty"),
    "no table": ("", "Trades.csv is empty"),
}


@pytest.mark.parametrize("case", OTHER_FILES)
def test_a_file_of_trades_lists_those_that_were_checked(case: str) -> None:
    made = {"trades": [trade("sell", "NORD", 10), trade("buy", "ACME", 2)]}
    handed, words = OTHER_FILES[case]

    assert flaws(made, HANDED) == []
    [(pointer, detail)] = flaws(made, handed)

    assert (pointer, words in detail) == ("/artifacts/0", True), detail


def test_a_file_of_trades_that_nobody_can_read_as_text_is_told_so() -> None:
    [(pointer, detail)] = flaws({"trades": []}, "c3ltYm9s", "base64")

    assert (pointer, detail) == ("/artifacts/0", "Trades.csv is handed over as base64: hand it over as text")


RULES = "rule,symbol,least,most\n"
FAULTS = {
    "no constraints": ({"constraints": "none"}, "the job has no input constraints.csv"),
    "no column": ({"prices": "symbol,cost\nACME,1\n"}, "prices.csv line 1: there is no column price"),
    "no figure": ({"positions": "symbol,quantity\nACME,many\n"}, "positions.csv line 2: quantity is no figure: 'many'"),
    "an empty figure": ({"positions": "symbol,quantity\nACME,\n"}, "positions.csv line 2: quantity is empty"),
    "too many digits": ({"prices": f"symbol,price\nACME,1{'0' * 400}\n"}, "prices.csv line 2: price is no figure"),
    "a position without a price": ({"positions": "symbol,quantity\nZULU,1\n"}, "line 2: ZULU has no price"),
    "two currencies": (
        {"prices": "symbol,price,currency\nACME,1,EUR\nNORD,2,USD\n"},
        "prices.csv line 3: prices in EUR and USD cannot be added up",
    ),
    "two prices": ({"prices": "symbol,price\nACME,1\nACME,2\nNORD,1\n"}, "line 3: ACME has two prices, 1 and 2"),
    "a price of nothing": ({"prices": "symbol,price\nACME,0\n"}, "prices.csv line 2: a price of 0 says nothing"),
    "a short position": ({"positions": "symbol,quantity\nACME,-1\n"}, "line 2: -1 ACME are held: short positions"),
    "an unknown rule": ({"constraints": "rule,symbol,least,most\nsector,X,0,1\n"}, "line 2: there is no rule 'sector'"),
    "a weight in percent": ({"constraints": "rule,symbol,least,most\nweight,ACME,0,15\n"}, "weights are shares"),
    "a comma between thousands": ({"positions": "symbol,quantity\nACME,1,000\n"}, "line 2: 3 cells, and"),
    "such a price": ({"prices": "symbol,price\nACME,1,234.50\n"}, "prices.csv line 2: 3 cells, and the header has 2"),
    "a cell short": ({"constraints": f"{RULES}weight,NORD,0.1\n"}, "line 2: 3 cells, and the header has 4"),
    "two columns of one name": (
        {"positions": "symbol,quantity,Quantity\nACME,1,100\n"}, "positions.csv line 1: there are two columns quantity",
    ),
    "a quote in a column that is not read": (
        {"positions": 'symbol,quantity,name\nCASH,1,"c\nACME,9,A\n'}, "positions.csv line 2: unexpected end of data",
    ),
    "two of them": ({"positions": 'symbol,quantity,name\nCASH,1,"c\nACME,9,A"\n'}, "line 2: a quote opens that does"),
    "a weight of nothing": ({"constraints": f"{RULES}weight,,0,0.1\n"}, "constraints.csv line 2: symbol is empty"),
    "a weight of an unknown symbol": ({"constraints": f"{RULES}weight,ACNE,0,0.1\n"}, "line 2: ACNE has no price"),
    "a bound that nothing keeps": ({"constraints": f"{RULES}weight,ACME,0.5,0.1\n"}, "least is 0.5, and most is 0.1"),
    "a turnover of a symbol": ({"constraints": f"{RULES}turnover,ACME,,0.1\n"}, "neither a `least` nor a symbol"),
    "no rules": ({"constraints": RULES}, "constraints.csv line 1: no row follows"),
    "nothing at all": ({"positions": ""}, "positions.csv is empty"),
    "a price of nobody": ({"prices": "symbol,price\n,1\n"}, "prices.csv line 2: symbol is empty"),
    "a broken table": ({"prices": 'symbol,price\n"ACME,1\n' + "x" * 140_000}, "field larger than field limit"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_inputs_that_nothing_can_be_held_against_say_where_and_why(case: str) -> None:
    files, words = FAULTS[case]
    [found] = said(trade("sell", "NORD", 1), **files)
    assert words in found
    assert found.endswith("Escalate, and say so.")


def test_other_delimiters_and_a_byte_order_mark_are_read() -> None:
    prices = "\ufeffSymbol;Price\nACME;50\nNORD;80\n"
    assert said(trade("sell", "NORD", 10), prices=prices, positions=POSITIONS.replace(",", "\t")) == []


@pytest.mark.parametrize("data", [None, {}, {"trades": None}, {"trades": "none"}, [], {"trades": [{}] * 2_001}])
def test_data_without_trades_are_refused(data: Any) -> None:
    [(pointer, detail)] = flaws(data)
    assert (pointer, detail[:27]) == ("/data/trades", "data has no list `trades`, ")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.sampled_from(["symbol", "side", "quantity"]), each),
    max_leaves=8,
)
FIGURES = st.integers(1, 60) | st.floats(0.01, 60)
TRADES = st.builds(trade, st.sampled_from(["buy", "sell"]), st.sampled_from([*PRICE]), FIGURES)


@given(st.dictionaries(st.sampled_from(["trades", "other"]), st.lists(JSON, max_size=3) | JSON) | JSON)
def test_it_never_fails_whatever_was_written(data: Any) -> None:
    assert all(detail for _, detail in flaws(data))


@given(st.lists(TRADES, max_size=4))
def test_what_passes_is_within_every_bound_by_another_reckoning(made: list[dict[str, Any]]) -> None:
    if said(*made):
        return
    held, cash, moved = dict(HELD), Fraction(1000), Fraction(0)
    for each in made:
        quantity, amount = Fraction(str(each["quantity"])), Fraction(str(each["amount"]))
        sign = 1 if each["side"] == "buy" else -1
        held[each["symbol"]] = held.get(each["symbol"], Fraction(0)) + sign * quantity
        cash, moved = cash - sign * amount, moved + amount
        assert abs(quantity * PRICE[each["symbol"]] - amount) <= Fraction(1, 200)
    values = {symbol: quantity * PRICE[symbol] for symbol, quantity in held.items()}
    total = sum(values.values(), cash)
    assert min(cash, *values.values()) >= 0
    assert moved <= Fraction(3, 10) * 10_000
    assert Fraction(1, 10) * total <= values["NORD"] <= Fraction(45, 100) * total
    assert all(value <= Fraction(6, 10) * total for value in values.values())
