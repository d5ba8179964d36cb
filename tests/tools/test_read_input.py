import time

import pytest

from app.domain.job import JobInput
from app.domain.lines import lines_of
from app.tools.documents import Documents
from app.tools.read_input import read_input
from app.tools.sandbox import Sandbox
from app.tools.tool import ToolAnswer, ToolContext, call

READ_INPUT = read_input(Documents(Sandbox()))
NOTES = JobInput(name="notes.txt", content="Alpha\r\nbeta\nGamma beta\n")
LONG = JobInput(name="long.txt", content="\n".join(f"line {number}" for number in range(1, 3_001)))
PARQUET = JobInput(name="data.parquet", media_type="application/vnd.apache.parquet", content="UEFSMQ==")


async def answered(*inputs: JobInput, **arguments: object) -> ToolAnswer:
    return await call({"read_input": READ_INPUT}, "read_input", arguments, ToolContext(inputs, "call-1"))


async def test_the_list_names_every_input_with_its_size() -> None:
    answer = await answered(NOTES, PARQUET, action="list")

    assert answer.text.splitlines() == [
        "- notes.txt (text/plain, 23 characters, 3 lines)",
        "- data.parquet (application/vnd.apache.parquet, binary: use query_data)",
    ]


async def test_a_job_without_inputs_says_so() -> None:
    assert (await answered(action="list")).text == "The job has no inputs."


async def test_lines_are_read_with_their_numbers() -> None:
    answer = await answered(NOTES, action="read", name="notes.txt", first_line=2)

    assert answer.text == "notes.txt, lines 2 to 3 of 3\n\n2: beta\n3: Gamma beta"


async def test_reading_in_parts_reaches_every_line() -> None:
    first = await answered(LONG, action="read", name="long.txt", line_count=500)
    last = await answered(LONG, action="read", name="long.txt", first_line=2_999)

    assert "lines 1 to 500 of 3000; continue with first_line=501" in first.text
    assert first.text.endswith("500: line 500")
    assert last.text.endswith("2999: line 2999\n3000: line 3000")


async def test_a_line_too_long_to_show_is_read_as_several() -> None:
    one_line = JobInput(name="one.json", content="a" * 5_000 + "END")

    answer = await answered(one_line, action="read", name="one.json", first_line=3)

    assert answer.text.endswith(f"3: {'a' * 1_000}END")


async def test_no_part_of_what_is_read_is_cut_out_of_the_middle() -> None:
    wide = JobInput(name="wide.txt", content="\n".join(["x" * 1_900] * 100))

    answer = await answered(wide, action="read", name="wide.txt", line_count=100)

    assert answer.omitted == 0
    assert "continue with first_line=10" in answer.text


async def test_search_finds_lines_of_all_inputs_whatever_their_case() -> None:
    answer = await answered(NOTES, JobInput(name="b.txt", content="BETA"), PARQUET, action="search", text="Beta")

    assert answer.text.splitlines()[2:] == ["notes.txt:2: beta", "notes.txt:3: Gamma beta", "b.txt:1: BETA"]


async def test_search_takes_the_text_literally() -> None:
    evil = JobInput(name="evil.txt", content="a" * 100_000 + "\n(a+)+$ here")

    answer = await answered(evil, action="search", name="evil.txt", text="(a+)+$")

    assert answer.text.count("evil.txt:") == 1


async def test_search_shows_a_bounded_number_of_matches_and_counts_all() -> None:
    answer = await answered(LONG, action="search", text="line")

    assert "3000, of which the first 50 are shown" in answer.text
    assert answer.text.count("long.txt:") == 50


async def test_a_match_far_into_a_line_is_shown() -> None:
    answer = await answered(
        JobInput(name="a", content="x" * 1_500 + "needle" + "y" * 400), action="search", text="needle"
    )

    assert "xneedley" in answer.text
    assert len(answer.text) < 500


@pytest.mark.parametrize(
    "name", ["../notes.txt", "/etc/passwd", "%2e%2e/notes.txt", "notes.txt\x00", "Notes.txt", "", "."]
)
async def test_only_exact_names_of_inputs_are_known(name: str) -> None:
    answer = await answered(NOTES, action="read", name=name)

    assert answer.error_code == "input_unknown"
    assert "'notes.txt'" in answer.text
    assert "Alpha" not in answer.text


async def test_a_name_of_5000_characters_is_an_error() -> None:
    answer = await answered(NOTES, action="read", name="x" * 5_000)

    assert answer.error_code == "tool_call_invalid"
    assert "name" in answer.text


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"action": "read"}, "argument_missing"),
        ({"action": "search"}, "argument_missing"),
        ({"action": "read", "name": "notes.txt", "first_line": 4}, "line_unknown"),
        ({"action": "read", "name": "data.parquet"}, "input_binary"),
        ({"action": "search", "name": "nope", "text": "x"}, "input_unknown"),
        ({"action": "delete"}, "tool_call_invalid"),
        ({"action": "read", "name": "notes.txt", "first_line": 0}, "tool_call_invalid"),
        ({"action": "search", "text": ""}, "tool_call_invalid"),
    ],
)
async def test_calls_that_ask_for_nothing_possible_are_errors(arguments: dict[str, object], code: str) -> None:
    assert (await answered(NOTES, PARQUET, **arguments)).error_code == code


async def test_a_name_that_reads_the_same_finds_its_input() -> None:
    decomposed = JobInput(name="U\u0308bersicht.txt", content="x")

    assert (await answered(decomposed, action="read", name="Übersicht.txt")).text.endswith("1: x")


async def test_of_two_names_that_read_the_same_each_finds_its_own() -> None:
    twins = (JobInput(name="\u00e4.txt", content="composed"), JobInput(name="a\u0308.txt", content="decomposed"))

    for item in twins:
        assert (await answered(*twins, action="read", name=item.name)).text.endswith(f"1: {item.content}")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("30 days", "within 30\u00a0days of notice"),
        ("tenant's", "the tenant\u2019s duty"),
        ('"net" price', "the \u201cnet\u201d price"),
        ("10-year", "a 10\u2011year lease"),
        ("1 200 EUR", "rent of 1\u202f200 EUR"),
        ("termination", "the termi\u00adnation"),
        ("office", "the o\ufb03ce"),
        ("caf\u00e9", "the cafe\u0301"),
        ("cafe\u0301", "the caf\u00e9"),
        ("HAUPTSTRASSE", "in der Hauptstra\u00dfe 5"),
        ("hauptstra\u00dfe", "HAUPTSTRASSE 5"),
        ("two spaces", "two  spaces"),
        ("two  spaces", "two spaces"),
        ("over lines", "over\tlines"),
        ("full", "\uff46\uff55\uff4c\uff4c"),
    ],
)
async def test_typography_does_not_hide_a_line(text: str, line: str) -> None:
    answer = await answered(JobInput(name="a", content=f"first\n{line}\nlast"), action="search", text=text)

    assert answer.text.splitlines()[2:] == [f"a:2: {line}"]


@pytest.mark.parametrize("text", ["30day", "hauptstrase", "10+year"])
async def test_what_reads_differently_is_not_found(text: str) -> None:
    item = JobInput(name="a", content="30 days\nHauptstra\u00dfe\n10-year")

    assert (await answered(item, action="search", text=text)).text.startswith("No line contains")


async def test_a_text_that_shows_nothing_cannot_be_searched_for() -> None:
    assert (await answered(NOTES, action="search", text="\u00ad")).error_code == "argument_missing"


async def test_a_match_across_parts_of_a_long_line_is_found_once() -> None:
    item = JobInput(name="a", content="\u00e9" * 1_995 + "the needle" + "y" * 3_000)

    answer = await answered(item, action="search", text="The Needle")

    assert answer.text.startswith("Lines that contain 'The Needle': 1\n")
    assert "a:1: " in answer.text
    assert "the needle" in answer.text


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
async def test_line_ends_of_every_kind_end_lines(end: str) -> None:
    item = JobInput(name="a", content=end.join(["one", "two", "", "four", ""]))

    assert "4 lines" in (await answered(item, action="list")).text
    assert (await answered(item, action="read", name="a")).text.endswith("1: one\n2: two\n3: \n4: four")
    assert "a:4: four" in (await answered(item, action="search", text="FOUR")).text


@pytest.mark.parametrize(
    "lines",
    [
        ["x" * 2_000] * 40, ["x" * 2_001] * 40, ["x" * 1_999, ""] * 40, ["", "y" * 70_000, "z"], [""] * 70_000,
        ["a", "x" * 4_000, "b"] * 20, ["x" * 31_999, "x"], [str(number) for number in range(50_000)],
    ],
)  # fmt: skip
def test_lines_are_those_of_the_text_however_it_is_cut_into_blocks(lines: list[str]) -> None:
    parts = [line[at : at + 2_000] for line in lines for at in range(0, max(len(line), 1), 2_000)]
    found = lines_of("\n".join([*lines, ""]))

    assert found.count == len(parts)
    for first in {1, 2, len(parts) // 2 + 1, len(parts)}:
        assert list(found.from_line(first)) == parts[first - 1 :]


@pytest.mark.parametrize(
    "item",
    [
        JobInput(name="t.parquet", media_type="application/octet-stream", content="UEFSMQ=="),
        JobInput(name="t", media_type="application/vnd.apache.parquet; version=1", content="UEFSMQ=="),
    ],
)
async def test_parquet_is_known_by_its_name_or_its_type(item: JobInput) -> None:
    assert "binary: use query_data" in (await answered(item, action="list")).text
    assert (await answered(item, action="read", name=item.name)).error_code == "input_binary"


@pytest.mark.parametrize(
    "content", ["\n" * 16_000_000, "\r" * 16_000_000, "a\n" * 8_000_000, "a" * 16_000_000, "é\n" * 4_000_000]
)
async def test_large_texts_take_bounded_work(content: str) -> None:
    item = JobInput(name="a", content=content)
    before = time.process_time()

    for arguments in ({"action": "list"}, {"action": "read", "name": "a"}, {"action": "search", "text": "a"}):
        assert (await answered(item, **arguments)).error_code is None

    assert time.process_time() - before < 8
