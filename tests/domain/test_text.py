import json
import math
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.text import clean, clean_text, shorten

MANY = settings(max_examples=100, deadline=None, derandomize=True, database=None)

ODD = st.sampled_from(["\x00", "\ud83c", "\udf78", "\ud83c\udf78", "\U0001f378", "é", "a", "\\u0000", "\ufffd"])
TEXTS = st.lists(st.one_of(ODD, st.text(max_size=3)), max_size=8).map("".join)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(TEXTS, st.floats(), st.integers(), st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("dirty", "cleaned"),
    [
        ("plain", "plain"),
        ("a\x00b", "a\ufffdb"),
        ("é\x00", "é\ufffd"),
        ("x\ud83c y", "x\ufffd y"),
        ("\udf78", "\ufffd"),
        ("\udf78\ud83c", "\ufffd\ufffd"),
        ("\ud83c\udf78", "\U0001f378"),
        ("\ud83c\ud83c\udf78\udf78", "\ufffd\U0001f378\ufffd"),
        ("\U0001f378", "\U0001f378"),
        ("\\u0000", "\\u0000"),
        ("\\ud83c", "\\ud83c"),
    ],
)
def test_what_cannot_be_stored_is_replaced_and_nothing_else(dirty: str, cleaned: str) -> None:
    assert clean_text(dirty) == cleaned


@MANY
@given(TEXTS)
def test_cleaned_text_can_be_stored_and_is_not_changed_again(text: str) -> None:
    cleaned = clean_text(text)

    assert cleaned.encode("utf-8").decode("utf-8") == cleaned
    assert "\x00" not in cleaned
    assert clean_text(cleaned) == cleaned


@MANY
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
def test_text_that_can_be_stored_is_left_alone(text: str) -> None:
    assert clean_text(text) == text


@MANY
@given(VALUES)
def test_a_cleaned_value_is_strict_json_in_utf_8(value: Any) -> None:
    cleaned = clean(value)

    body = json.dumps(cleaned, allow_nan=False, ensure_ascii=False).encode("utf-8")
    assert json.loads(body) == cleaned
    assert clean(cleaned) == cleaned
    assert b"\x00" not in body


def test_a_value_nested_too_deeply_is_refused_rather_than_breaking_whoever_reads_it() -> None:
    value: Any = "x"
    for _ in range(600):
        value = [value]

    with pytest.raises(ValueError, match="levels deep"):
        clean(value)


def test_values_are_cleaned_at_every_depth() -> None:
    value = {"a\x00": [{"b": (math.nan, "\ud83c")}, -math.inf, 1.5, True, None, 10**30]}

    assert clean(value) == {"a\ufffd": [{"b": [None, "\ufffd"]}, None, 1.5, True, None, 10**30]}


def test_numbers_and_truth_stay_what_they_are() -> None:
    assert [type(item) for item in clean([True, 1, 1.0, None])] == [bool, int, float, type(None)]


@pytest.mark.parametrize("text", ["", "short", "x" * 100])
def test_text_within_the_limit_is_not_shortened(text: str) -> None:
    assert shorten(text, 100) == (text, 0)


@MANY
@given(st.integers(80, 400), st.integers(1, 5_000), st.sampled_from(["ab", "é\U0001f378", "\n["]))
def test_shortened_text_keeps_the_limit_and_its_counts_add_up(limit: int, more: int, letters: str) -> None:
    text = (letters * (limit + more))[: limit + more]
    shown, omitted = shorten(text, limit)

    assert len(shown) <= limit
    head, notice, tail = re.split(r"(\n\[… shortened: \d+ of \d+ characters omitted …\]\n)", shown)
    assert [int(number) for number in re.findall(r"\d+", notice)] == [omitted, len(text)]
    assert len(head) + omitted + len(tail) == len(text)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) >= len(tail) > 0


def test_a_limit_too_small_for_any_text_leaves_the_notice() -> None:
    shown, omitted = shorten("x" * 1_000, 10)

    assert omitted == 1_000
    assert "1000 of 1000 characters omitted" in shown
