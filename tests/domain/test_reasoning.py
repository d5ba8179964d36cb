import pytest

from app.domain.reasoning import Aloud, without_reasoning

SPOKEN = {
    "<think>Draft: maybe 12 %? No.</think>\n\nThe margin is 14 %.": "The margin is 14 %.",
    "Draft: maybe 12 %? No.</think>\n\nThe margin is 14 %.": "The margin is 14 %.",
    "\n<THINKING>\nhm\n</THINKING>\n{}": "{}",
    '<think>{"a": 1} or {"a": 2}?</think>{"a": 3}': '{"a": 3}',
    "hm\n</think> It is so.": "It is so.",
    "<think>never closed": "",
    "<think></think>": "",
    "The margin is 14 %.": "The margin is 14 %.",
    '{"text": "a </think> closes it"}': '{"text": "a </think> closes it"}',
    "Close it with `</think>` and go on.": "Close it with `</think>` and go on.",
    "<thing>Not a thought.</thing>": "<thing>Not a thought.</thing>",
    "": "",
}


@pytest.mark.parametrize("text", SPOKEN)
def test_what_stands_before_the_end_of_the_reasoning_is_no_part_of_the_text(text: str) -> None:
    assert without_reasoning(text) == SPOKEN[text]


@pytest.mark.parametrize("size", [1, 2, 5, 1_000])
@pytest.mark.parametrize("text", [text for text in SPOKEN if text.lstrip().startswith("<") or "think>" not in text])
def test_a_text_in_pieces_is_passed_on_without_it_too(text: str, size: int) -> None:
    heard: list[str] = []
    aloud = Aloud(heard.append, expected=False)
    for at in range(0, len(text), size):
        aloud.feed(text[at : at + size])
    aloud.finish()
    assert "".join(heard) == SPOKEN[text]


@pytest.mark.parametrize("size", [1, 7, 1_000])
@pytest.mark.parametrize("text", ["hm, <b>?</think>\n\nIt is 14 %.", "It is 14 %."])
def test_a_model_that_thinks_aloud_is_heard_once_it_has_done_so_or_is_done(text: str, size: int) -> None:
    heard: list[str] = []
    aloud = Aloud(heard.append, expected=True)
    for at in range(0, len(text), size):
        aloud.feed(text[at : at + size])
    aloud.finish()
    assert "".join(heard) == "It is 14 %."
