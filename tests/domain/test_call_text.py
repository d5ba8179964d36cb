import pytest

from app.domain.call_text import is_call_text

CALLS = [
    '<invoke name="look"><parameter name="q">x</parameter></invoke>',
    'I will look.\n\n<function_calls>\n<invoke name="look">\n</invoke>\n</function_calls>',
    '<tool_call>\n{"name": "look", "arguments": {"q": "x"}}\n</tool_call>',
    "<function=look><parameter=q>x</parameter></function>",
    '[TOOL_CALLS] [{"name": "look", "arguments": {}}]',
    "<\uff5ctool\u2581calls\u2581begin\uff5c>look<\uff5ctool\u2581calls\u2581end\uff5c>",
    '```tool_code\n<tool_code>\nlook("x")\n</tool_code>\n```',
    '{"name": "look", "arguments": {"q": "x"}}',
    '{"type": "function", "function": {"name": "look", "arguments": "{}"}}',
    '{"tool_calls": [{"id": "1", "function": {"name": "look", "arguments": "{}"}}]}',
    '[{"tool": "look", "input": {}}]',
]


@pytest.mark.parametrize("text", CALLS)
def test_a_call_written_as_text_is_told_from_a_result(text: str) -> None:
    assert is_call_text(f" {text}\n", ["look"])


RESULTS = [
    "It is 14 %.",
    '{"summary": "done", "text": "<invoke name=\\"look\\"></invoke>"}',
    '{"name": "Ada", "arguments": "for and against"}',
    '{"name": "look", "price": 3}',
    '{"tool_calls": 3}',
    "[]",
    "The tag <tool_call> opens a call, and </tool_call> ends it.",
    "Calls look so:\n<tool_call>\n…\n</tool_call>\nand are run by the server.",
    "{" * 100_000,
]


@pytest.mark.parametrize("text", RESULTS, ids=range(len(RESULTS)))
def test_a_result_that_speaks_of_calls_is_none(text: str) -> None:
    assert not is_call_text(text, ["look"])
