"""Which structured results contradict each other, and which only differ."""

from typing import Any

import pytest

from app.domain.contradictions import Source, contradictions


def found(*data: Any, instructions: tuple[str, ...] = (), **seen: set[str]) -> list[tuple[str, list[tuple[str, str]]]]:
    sources = [
        Source(
            f"t{number}",
            each,
            instructions[number] if instructions else "Do it.",
            frozenset(seen.get(f"t{number}", ())),
        )
        for number, each in enumerate(data)
    ]
    return [(each.topic, [(claim.task, claim.claim) for claim in each.claims]) for each in contradictions(sources)]


@pytest.mark.parametrize(
    ("one", "other", "topic", "claims"),
    [
        (
            {"company": "Acme", "founded": 2009},
            {"company": "ACME", "founded": 2011},
            "founded of Acme",
            ["2009", "2011"],
        ),
        ({"id": 7, "is_open": True}, {"id": 7, "is_open": False}, "is open of 7", ["yes", "no"]),
        ({"town": "Bonn"}, {"town": "Trier"}, "town", ["Bonn", "Trier"]),
        ({"n": 5}, {"n": -5}, "n", ["5", "-5"]),
        (
            {"rows": [{"name": "a", "n": 1}, {"name": "b", "n": 2}]},
            {"rows": [{"name": "b", "n": 3}, {"name": "a", "n": 1}]},
            "n of b",
            ["2", "3"],
        ),
        *(
            ({"item": "it", "is": one}, {"item": "it", "is": other}, "is of it", [one, other])
            for one, other in (
                ("allergic", "not allergic"),
                ("smoker", "ex-smoker"),
                ("smoker", "nonsmoker"),
                ("aspirin", "no aspirin"),
                ("stopped", "not stopped"),
                ("known", "unknown"),
                ("50 mg", "150 mg"),
                ("5 mg", "5 g"),
                ("g", "mg"),
                ("penicillin", "penicillin, stopped"),
                ("continued", "discontinued"),
            )
        ),
        ([{"sku": "x", "price": 9.5}], [{"sku": "x", "price": 12}], "price of x", ["9.5", "12"]),
    ],
)
def test_the_same_field_of_the_same_thing_with_another_value(
    one: Any, other: Any, topic: str, claims: list[str]
) -> None:
    assert found(one, other) == [(topic, list(zip(["t0", "t1"], claims, strict=True)))]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"company": "Acme", "founded": 2009}, {"company": "Globex", "founded": 2011}),
        ({"company": "Acme", "year": 2023, "revenue": 1}, {"company": "Acme", "year": 2024, "revenue": 2}),
        ({"share": 0.33}, {"share": 0.3333}),
        ({"n": 41_000_000}, {"n": 41_234_567}),
        ({"town": "Bonn"}, {"town": "Bonn, Germany"}),
        ({"town": "BONN "}, {"town": "bonn"}),
        ({"is": "no allergies"}, {"is": "no allergies known"}),
        ({"is": "two tablets"}, {"is": "two tablet"}),
        ({"notes": "fine", "confidence": 0.9}, {"notes": "poor", "confidence": 0.2}),
        ({"n": None}, {"n": 3}),
        ({"n": "3"}, {"n": 4}),
        ({"text_of_all": "x" * 80}, {"text_of_all": "y" * 80}),
        ({"rows": [{"n": 1}, {"n": 2}]}, {"rows": [{"n": 3}, {"n": 4}]}),
        ({"rows": [{"name": "a", "n": 1}, {"name": "a", "n": 2}]}, {"rows": [{"name": "a", "n": 3}]}),
        ("Bonn", "Trier"),
        ({}, []),
    ],
)
def test_what_only_differs_is_no_contradiction(one: Any, other: Any) -> None:
    assert found(one, other) == []


def test_results_without_a_subject_are_compared_only_under_one_instruction() -> None:
    assert found({"total": 10}, {"total": 20}, instructions=("Add up invoice A.", "Add up invoice B.")) == []


def test_who_was_given_the_other_result_may_have_corrected_it() -> None:
    assert found({"n": 1}, {"n": 2}, t1={"t0"}) == []


def test_who_agrees_with_a_side_is_named_with_it() -> None:
    assert found({"n": 2009}, {"n": 2011}, {"n": 2011}) == [("n", [("t0", "2009"), ("t1", "2011"), ("t2", "2011")])]


def test_there_is_an_end_to_what_is_found_and_looked_at() -> None:
    one, other = ({"rows": [{"name": str(name), "n": name + add} for name in range(5_000)]} for add in (0, 10_000))

    assert len(found(one, other)) == 20


@pytest.mark.parametrize("unit", ["g", "none", "mg/ml"])
def test_a_unit_that_is_no_subject_is_compared(unit: str) -> None:
    said = [{"facts": [{"item": "metformin dose", "number": 5, "written_unit": each}]} for each in ("mg", unit)]
    expected = [("written unit of metformin dose", [("t0", "mg"), ("t1", unit)])]
    assert found(*said) == ([] if unit == "mg/ml" else expected)
