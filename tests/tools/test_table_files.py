"""How files become tables, without the process around it."""

import base64
import json
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pytest

from app.tools.tables import answer, table_name

WORLD_BANK = """"Data Source","World Development Indicators",

"Last Updated Date","2025-07-01",

"Country Name","Country Code","2022","2023",
"Aruba","ABW","10.5","11",
"Chad","TCD","12","13.5",
"""


def told(sql: str, content: str | bytes, name: str = "t.csv", format_: str = "csv") -> dict[str, Any]:
    body = content.encode() if isinstance(content, str) else content
    return answer({"sql": sql, "tables": [{"name": name, "format": format_}]}, iter([body]))


def listing(content: str | bytes, format_: str = "csv") -> str:
    return str(told("", content, f"t.{format_}", format_)["text"])


def rows(sql: str, content: str | bytes, format_: str = "csv") -> list[str]:
    found = told(sql, content, f"t.{format_}", format_)
    assert "error" not in found, found["error"]
    return [line.strip("| ") for line in found["text"].splitlines()[4:]]


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("sales 2025.csv", "sales_2025"), ("2025.csv", "t_2025"), ("order.csv", "t_order"),
        ("Umsätze-Q1.csv", "umsätze_q1"), ("...", "input"), ("a.b.csv", "a_b"),
        ("x'; DROP TABLE y; --.csv", "x_drop_table_y"), ("taken.csv", "t_taken"), ("Umsa\u0308tze.csv", "umsätze"),
    ],
)  # fmt: skip
def test_tables_are_named_by_one_rule(name: str, table: str) -> None:
    assert table_name(name, {"order", "taken"}) == table


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("country,2022,2023\nA,10,11\nB,12,13\n", "country VARCHAR, 2022 BIGINT, 2023 BIGINT"),
        ('"country","2022","2023"\n"A","10","11"\n"B","12","13"\n', "country VARCHAR, 2022 BIGINT, 2023 BIGINT"),
        ("country,2023\nA,10\nB,12\n", "country VARCHAR, 2023 BIGINT"),
        ("2021,2022,2023\n5,6,7\n", "2021 BIGINT, 2022 BIGINT, 2023 BIGINT"),
        ("region,1,2,3\nA,5,6,7\nB,4,5,6\n", "region VARCHAR, 1 BIGINT, 2 BIGINT, 3 BIGINT"),
        ("region,01,02,03\nA,5,6,7\nB,4,5,6\n", "region VARCHAR, 01 BIGINT, 02 BIGINT, 03 BIGINT"),
        ("name,1001,1002\nA,5,6\nB,7,8\n", "name VARCHAR, 1001 BIGINT, 1002 BIGINT"),
        ("who,2025-01-01,2025-01-02\nA,5,6\nB,7,8\n", "who VARCHAR, 2025-01-01 BIGINT, 2025-01-02 BIGINT"),
        ("a,b\nx,1\n", "a VARCHAR, b BIGINT"),
        ("a,b\n", "a VARCHAR, b VARCHAR"),
        (WORLD_BANK, "Country Name VARCHAR, Country Code VARCHAR, 2022 DOUBLE, 2023 DOUBLE, column4 VARCHAR"),
        ("Report of May\n\nregion,n\nA,1\nB,2\n", "region VARCHAR, n BIGINT"),
    ],
)
def test_names_are_found_even_where_they_are_numbers(content: str, columns: str) -> None:
    found = listing(content)

    assert columns in found
    assert "names in the first line" in found or "names below" in found


@pytest.mark.parametrize(
    ("content", "count"),
    [
        ("A,10,11\nB,12,13\n", 2),
        ("1,2\n3,4\n", 2),
        ("1,2,3\n1,2,3\n", 2),
        ("Anna,1980,2001\nBob,1975,1999\n", 2),
        ("A,2.5,1.5\nB,2,3\n", 2),
        ("A,-1\nB,2\n", 2),
        ("2025-01-01,x\n2025-01-02,y\n", 2),
        ("A,100,200\nB,150,20\nC,1,2\n", 3),
    ],
)
def test_a_file_without_names_loses_no_row_and_says_so(content: str, count: int) -> None:
    assert rows("SELECT count(*) FROM t", content) == [str(count)]
    assert "no names found, so that the first line is data" in listing(content)


def test_lines_above_the_names_are_left_out_and_told() -> None:
    assert rows('SELECT sum("2022") FROM t', WORLD_BANK) == ["22.5"]
    assert "names below 4 lines that are left out (Data Source World Development Indicators" in listing(WORLD_BANK)


def test_a_header_that_is_shorter_than_its_rows_is_no_note() -> None:
    assert rows("FROM t", "a,b\n1,2,3\n4,5,6\n") == ["1 | 2 | 3", "4 | 5 | 6"]
    assert len(rows("FROM t", "a,b\nu,v,w\nx,y,z\n")) >= 2


@pytest.mark.parametrize(
    ("delimiter", "said"), [(",", "cells end with ','"), (";", "cells end with ';'"), ("\t", "cells end with tab")]
)
def test_the_listing_says_how_cells_end_and_shows_the_first_row(delimiter: str, said: str) -> None:
    found = listing(f"a{delimiter}b\nx{delimiter}7\n")

    assert said in found
    assert found.endswith("First row: x | 7")


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_line_ends_of_one_kind(ends: str) -> None:
    assert rows("FROM t", ends.join(["id,n", "1,10", "2,20", ""])) == ["1 | 10", "2 | 20"]


@pytest.mark.parametrize("content", ["id,n\r\n1,10\n2,20\r\n", "id,n\n1,10\r2,20\n", "id,n\r\n1,10\r2,20\n"])
def test_line_ends_of_several_kinds(content: str) -> None:
    assert rows("FROM t", content) == ["1 | 10", "2 | 20"]


def test_line_breaks_within_cells_are_kept() -> None:
    assert rows("SELECT length(a), n FROM t", 'a,n\r\n"x\ny",1\r\n') == ["3 | 1"]


@pytest.mark.parametrize(
    "content",
    [
        "d,n\n03/04/2025,1\n05/06/2025,2\n",
        "d,n\n03/04/25,1\n05/06/25,2\n",
        "d,n\n03-04-2025,1\n05-06-2025,2\n",
        "d,n\n03/04/2025 10:00:00,1\n05/06/2025 11:00:00,2\n",
        "d,n\n13/04/2025,1\n05/16/2025,2\n",
    ],
)
def test_days_whose_order_nobody_can_tell_stay_text(content: str) -> None:
    first = content.splitlines()[1].partition(",")[0]

    assert rows("SELECT d FROM t LIMIT 1", content) == [first]
    assert '"d" stays text: nothing tells the day from the month' in listing(content)


@pytest.mark.parametrize(
    ("content", "day", "said"),
    [
        ("d,n\n03/04/2025,1\n25/06/2025,2\n", "2025-04-03", "day first, then month"),
        ("d,n\n03/04/2025,1\n06/25/2025,2\n", "2025-03-04", "month first, then day"),
        ("d,e\n03/04/2025,06/25/2025\n05/06/2025,1/1/2025\n", "2025-03-04", "month first, then day"),
        ("d,e\n03/04/25,25/06/25\n05/06/25,1/1/25\n", "2025-04-03", "day first, then month"),
        ("d,n\n03.04.2025,1\n05.06.2025,2\n", "2025-04-03", "day first, then month"),
    ],
)
def test_days_whose_order_the_file_gives_away_are_days(content: str, day: str, said: str) -> None:
    assert rows("SELECT d FROM t LIMIT 1", content) == [day]
    assert said in listing(content)


def test_days_of_the_standard_need_no_word() -> None:
    assert rows("SELECT month(d) FROM t", "d,n\n2025-04-03,1\n") == ["4"]
    assert "days" not in listing("d,n\n2025-04-03,1\n")


def test_codes_that_look_like_numbers_stay_as_they_are() -> None:
    content = "sku,n,m\n1E10,1,1.5e3\n12E3,2,2e5\n17E1,3,1\n"

    assert rows("SELECT sku, m FROM t", content) == ["1E10 | 1500.0", "12E3 | 200000.0", "17E1 | 1.0"]
    assert "sku stays text: its values are codes like 1E10" in listing(content)


@pytest.mark.parametrize("digits", [19, 20, 30, 45])
def test_integers_of_a_csv_keep_every_digit(digits: int) -> None:
    numbers = ["1" * digits, "1" * (digits - 1) + "2"]

    assert rows("SELECT id FROM t", "id\n" + "\n".join(numbers)) == numbers


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        (["123456789012345678901234567890", "123456789012345678901234567891"], "HUGEINT"),
        (["12345678901234567890", "12345678901234567891", "3"], "HUGEINT"),
        (["12345678901234567", "12345678901234568", "1.5"], "VARCHAR"),
        (["1" * 45, "1" * 44 + "2"], "VARCHAR"),
        (["-12345678901234567", "-12345678901234568", "1.5"], "VARCHAR"),
    ],
)
def test_integers_of_json_keep_every_digit(numbers: list[str], kind: str) -> None:
    content = "[" + ",".join(f'{{"id": {number}}}' for number in numbers) + "]"

    assert rows("SELECT id FROM t", content, "json") == numbers
    assert f"id {kind}" in listing(content, "json")


def test_integers_within_objects_keep_every_digit() -> None:
    content = '{"s": {"id": 123456789012345678901234567890, "x": 1.5}}\n{"s": {"id": 123456789012345678901234567891}}'

    assert rows("SELECT count(DISTINCT s.id) FROM t", content, "json") == ["2"]


def test_fractions_beside_texts_of_many_digits_stay_numbers() -> None:
    content = json.dumps([{"v": 1.5, "t": "12345678901234567890"}])

    assert "v DOUBLE, t VARCHAR" in listing(content, "json")


@pytest.mark.parametrize("content", ['\ufeff[{"a": 1}, {"a": 2}]', '\ufeff{"a": 1}\n{"a": 2}\n'])
def test_a_byte_order_mark_is_no_part_of_json(content: str) -> None:
    assert rows("SELECT sum(a), count(*) FROM t", content, "json") == ["3 | 2"]


def test_a_byte_order_mark_is_no_part_of_a_name() -> None:
    assert rows("SELECT a FROM t", "\ufeffa,b\n1,2\n") == ["1"]


def test_letters_that_read_the_same_are_the_same() -> None:
    content = "Su\u0308d,n\nKo\u0308ln,1\nKöln,2\n"

    assert rows("SELECT sum(n) FROM t WHERE \"Süd\" = 'Ko\u0308ln'", content) == ["3"]


def parquet() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "x.parquet")
        duckdb.connect().execute(f"COPY (SELECT 7 AS n, 'é?>' AS word FROM range(50)) TO '{path}' (FORMAT parquet)")
        return path.read_bytes()


def test_parquet_is_read_from_every_spelling_of_base64() -> None:
    plain = base64.b64encode(parquet())
    spellings = [plain, base64.urlsafe_b64encode(parquet()), b"data:application/x;base64," + plain, plain.rstrip(b"=")]

    for spelling in [*spellings, base64.encodebytes(parquet())]:
        assert rows("SELECT sum(n) FROM t", spelling, "parquet") == ["350"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("not base64 at all!", "it is no base64"),
        ("größer", "'ascii' codec"),
        ("bm8gcGFycXVldA==", "Invalid"),
        ("", "Invalid"),
    ],
)
def test_what_is_no_parquet_is_told_with_a_reason(content: str, reason: str) -> None:
    assert f"t.parquet is not a table: {reason}" in listing(content, "parquet")


@pytest.mark.parametrize(
    "content", ["", "\n", "\x00", "a", ",,,\n,,,", '"', "a\x00b,c\n1,2", "\ufeff", "\r\r\n", "é" * 300]
)
def test_odd_files_become_tables_or_are_told(content: str) -> None:
    assert "- t (input" in listing(content) or "is not a table: " in listing(content)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", "5", '"x"', "null", "[1, [2]]", "[" * 5_000, '{"a": 1}{"a": 2}', "{x"]
)
def test_odd_json_becomes_a_table_or_is_told(content: str) -> None:
    assert "- t (input" in listing(content, "json") or "is not a table: " in listing(content, "json")


def test_paths_of_ours_are_in_no_reason() -> None:
    assert "/proc" not in listing("{x", "json")
    assert "/proc" not in listing("x", "parquet")
