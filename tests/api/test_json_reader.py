"""The reader by pieces agrees with the standard one, wherever the pieces are cut."""

import json
import time
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.bodies import parsed
from app.api.json_reader import BARE_BYTES_ALLOWED, PIECE_BYTES, SHORT_BYTES, JsonReader, NotJson, TooManyValues
from app.domain.text import clean_text

LONG = "x" * (SHORT_BYTES + 1)
ESCAPES = ("\\ud83d", "\\ude00", "\\ud83d\\ude00", "\\u0041", "\\u0000", "\\\\", '\\"', "\\n", "\\/")
WRITTEN = (*ESCAPES, "a", "é", "😀", LONG)
FRAGMENTS = (
    *(piece.encode() for piece in WRITTEN),
    *b'"\\{}[],: \n10-a\x00\xff\xc3'.decode("latin-1"),
    *(b"\\u", b".5", b"e3", b"true", b"null", b"NaN", b"\xed\xa0\xbd", b"\xef\xbb\xbf", b'"a":'),
)
NUMBERS = ("0", "-0", "-0.0", "0e5", "1E+2", "0.1", "1e308", "9223372036854775807", "-9223372036854775808")

spaces = st.sampled_from(["", "", " ", "\n", "\t\r"])
texts = st.lists(st.sampled_from(WRITTEN), max_size=12).map(lambda pieces: f'"{"".join(pieces)}"')
cuts = st.lists(st.integers(0, 4_000), max_size=20)


def arrays(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(st.tuples(spaces, items).map("".join), max_size=5).map(lambda each: f"[{','.join(each)}]")


def objects(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    member = st.tuples(spaces, texts, spaces, st.just(":"), items).map("".join)
    return st.lists(member, max_size=5).map(lambda each: f"{{{','.join(each)}}}")


documents = st.recursive(
    texts | st.sampled_from([*NUMBERS, "true", "false", "null"]),
    lambda items: arrays(items) | objects(items),
    max_leaves=12,
).map(str.encode)
anything = st.lists(st.sampled_from(FRAGMENTS), max_size=25).map(
    lambda pieces: b"".join(piece if isinstance(piece, bytes) else piece.encode("latin-1") for piece in pieces)
)


def members(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """An object's members, no two of which have the same name once it is cleaned."""
    made: dict[str, Any] = {}
    for name, value in pairs:
        if clean_text(name) in made:
            raise ValueError(name)
        made[clean_text(name)] = value
    return made


def no_constant(name: str) -> None:
    raise ValueError(name)


def cleaned(value: Any) -> Any:
    match value:
        case str():
            return clean_text(value)
        case dict():
            return {name: cleaned(item) for name, item in value.items()}
        case list():
            return [cleaned(item) for item in value]
        case _:
            return value


def as_the_standard_reads(body: bytes) -> str | None:
    """The value in Python's own words; None when the body is refused."""
    try:
        value = json.loads(body.decode("utf-8-sig"), object_pairs_hook=members, parse_constant=no_constant)
    except ValueError:
        return None
    return repr(cleaned(value))


def as_we_read(body: bytes, places: Iterable[int]) -> str | None:
    reader, start = JsonReader(), 0
    try:
        for end in [*sorted({place % (len(body) + 1) for place in places}), len(body)]:
            reader.take(body[start:end])
            start = end
        return repr(reader.finished(reader.value()))
    except NotJson:
        return None


@given(documents | anything, cuts)
def test_what_is_read_is_what_the_standard_reader_reads(body: bytes, places: list[int]) -> None:
    assert as_we_read(body, places) == as_the_standard_reads(body)


@pytest.mark.parametrize("body", [b'"\\ud83d\\ude00%b\\\\"', '"é😀%b\\""'.encode(), b'["a%b", 1.5e3, -0.0]'])
@pytest.mark.parametrize("padding", [b"", b"y" * SHORT_BYTES], ids=["short", "long"])
def test_a_body_may_be_cut_anywhere(body: bytes, padding: bytes) -> None:
    body %= padding

    assert {as_we_read(body, [place]) for place in range(len(body))} == {as_the_standard_reads(body)}


@pytest.mark.parametrize(("one", "other"), [(LONG, LONG), ("\\u0000", "\ufffd"), (f"{LONG}\\ud83d", f"{LONG}\ufffd")])
def test_names_that_are_the_same_in_the_end_are_refused(one: str, other: str) -> None:
    with pytest.raises(Exception, match="names a field twice"):
        parsed(f'{{"metadata": {{"{one}": 1, "{other}": 2}}}}'.encode())


def test_the_place_of_a_fault_is_found_soon_however_many_texts_there_are() -> None:
    texts = ",".join([f'"{LONG}"'] * 2_000)
    body = f"[{texts}\n{' ' * 2_000_000}x".encode()
    reader = JsonReader()
    for start in range(0, len(body), PIECE_BYTES):
        reader.take(body[start : start + PIECE_BYTES])
    begun = time.perf_counter()
    with pytest.raises(NotJson, match="at line 2, column 2000001"):
        reader.value()

    assert time.perf_counter() - begun < 0.5


@pytest.mark.parametrize("bare", [b" ", b"\n", b"1", b"x", b"-", b"1 "])
def test_what_is_outside_of_texts_is_bounded_and_texts_are_not(bare: bytes) -> None:
    reader = JsonReader()
    reader.take(b'"%b"' % (b" " * 2 * BARE_BYTES_ALLOWED))
    reader.take((bare * BARE_BYTES_ALLOWED)[:BARE_BYTES_ALLOWED])

    with pytest.raises(TooManyValues):
        reader.take(bare)
