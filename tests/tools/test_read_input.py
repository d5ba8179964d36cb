import pytest

from app.domain.job import JobInput
from app.tools.read_input import READ_INPUT
from app.tools.tool import ToolAnswer, ToolContext, call

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
