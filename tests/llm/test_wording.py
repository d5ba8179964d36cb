"""How a refusal is told, to people and to the log."""

import time

import pytest
from structlog.testing import capture_logs

from app.llm.wording import presentable
from tests.support.model_calls import claude_at, failure_of, request, user
from tests.support.stub_answers import Answer, error_event, fault, low_credit, overloaded, rate_limited, text
from tests.support.stub_provider import StubProvider

FAULTS: dict[str, tuple[Answer, str, str | None]] = {
    "model": (fault(404, "not_found_error", "model: claude-haiku-5-5"), "warning", "CHARGEHAND_MODEL_FAST"),
    "model of others": (
        Answer(status=404, raw_body='{"error": "model \\"claude-haiku-5-5\\" not found, try pulling it first"}'),
        "warning",
        "CHARGEHAND_MODEL_FAST",
    ),
    "path": (Answer(status=404, raw_body="<html>Not Found</html>"), "warning", "ANTHROPIC_BASE_URL"),
    "path of a framework": (Answer(status=404, raw_body='{"detail": "Not Found"}'), "warning", "ANTHROPIC_BASE_URL"),
    "method": (Answer(status=405, raw_body=""), "warning", "ANTHROPIC_BASE_URL"),
    "key": (fault(401, "authentication_error", "invalid authentication"), "error", "ANTHROPIC_API_KEY"),
    "money": (low_credit(), "error", "ANTHROPIC_API_KEY"),
    "request": (fault(400, "invalid_request_error", "messages.0: no"), "warning", None),
    "overload": (overloaded(), "warning", None),
    "rate": (rate_limited("1"), "warning", None),
    "in a stream": (error_event("overloaded_error", after="x"), "warning", None),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_refusal_says_where_to_look_to_people_and_to_the_log(stub: StubProvider, name: str) -> None:
    answer, level, setting = FAULTS[name]
    stub.on("work", answer)
    claude = claude_at(stub.url)
    with capture_logs() as lines:
        failure = await failure_of(claude)
    await claude.close()
    [line] = [line for line in lines if line["event"] == "model call failed"]
    assert (line["log_level"], line["see"], line["code"]) == (level, setting, failure.code)
    assert (line["model"], line["host"], line["request_id"]) == ("claude-haiku-5-5", "127.0.0.1", "req_000001")
    assert line["status"] >= 200
    assert setting is None or setting in failure.message


async def test_a_model_that_is_no_tier_is_to_be_looked_for_in_the_team(stub: StubProvider) -> None:
    stub.on("work", fault(404, "not_found_error", "model: mine"))
    claude = claude_at(stub.url)
    failure = await failure_of(claude, model="mine")
    await claude.close()
    assert "does not offer the model mine; see `model` in the team." in failure.message


async def test_the_log_repeats_neither_the_key_nor_the_prompt(stub: StubProvider) -> None:
    secret = "The merger of Acme and Globex is to be announced on Friday."
    stub.on("work", fault(400, "invalid_request_error", f"messages.0.text: {secret[8:]} too odd, key sk-test-key"))
    claude = claude_at(stub.url)
    with capture_logs() as lines:
        failure = await failure_of(claude, messages=[user(f"Know: {secret}")])
    await claude.close()
    [line] = lines
    assert line["said"] == "messages.0.text: […] too odd, key [removed]"
    assert "sk-test" not in failure.message


async def test_what_a_server_does_not_take_is_logged_once(stub: StubProvider) -> None:
    stub.on("work", replies=[fault(400, "x", "max_tokens: 1000 > 512, the maximum")], reply=text("ok"))
    claude = claude_at(stub.url)
    with capture_logs() as lines:
        for _ in range(3):
            await claude.reply(request())
    await claude.close()
    assert [(line["log_level"], line["most_tokens"]) for line in lines] == [("warning", 512)]


HOSTILE = ["a.", "a-", "Bearer ", "sk-", "1.", "http://", "-" * 7 + "a", ":1", "localhost:", "key-a "]


@pytest.mark.parametrize("piece", HOSTILE)
def test_words_of_any_form_are_read_in_no_time(piece: str) -> None:
    began = time.thread_time()
    presentable(piece * 1_000_000)
    assert time.thread_time() - began < 0.05
