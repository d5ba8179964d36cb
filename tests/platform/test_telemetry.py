import io
import json
import logging
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal

import pytest
import structlog

from app.telemetry import MASK, redact, set_up_logging

LogForm = Literal["json", "console"]
Lines = Callable[[], list[dict[str, Any]]]

SECRETS = [
    "sk-test-0000111122223333",
    "AKIAEXAMPLE000000000",
    "ghp_0123456789abcdef0123",
    "hunter2",
    f"chk_{'a1' * 8}_{'0f' * 32}",
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
]
TELLING = f"""{SECRETS[0]} and {SECRETS[1]}, {SECRETS[2]}; /v1/keys/{SECRETS[4]} {SECRETS[5]}
Authorization: Bearer {SECRETS[3]} postgresql://svc:{SECRETS[3]}@db/x password={SECRETS[3]}"""


@pytest.fixture
def output() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def lines(output: io.StringIO) -> Lines:
    set_up_logging(level="info", form="json", output=output)
    return lambda: [json.loads(line) for line in output.getvalue().splitlines()]


def test_a_line_is_one_json_object_with_what_is_bound_around_it(lines: Lines) -> None:
    with structlog.contextvars.bound_contextvars(run_id="run_1", task_id="a", attempt=2):
        structlog.get_logger("app.engine").info("task_started", worker="writer")

    (line,) = lines()
    assert datetime.fromisoformat(line.pop("at")).utcoffset() is not None
    assert line == {
        "event": "task_started",
        "level": "info",
        "logger": "app.engine",
        "worker": "writer",
        "run_id": "run_1",
        "task_id": "a",
        "attempt": 2,
    }


def test_libraries_are_heard_from_warnings_up(lines: Lines) -> None:
    logging.getLogger("uvicorn.error").info("Started server process")
    logging.getLogger("procrastinate.worker").warning("a job %s", "failed")

    (line,) = lines()
    assert (line["event"], line["logger"], line["level"]) == ("a job failed", "procrastinate.worker", "warning")


def test_our_lines_obey_the_level(output: io.StringIO) -> None:
    set_up_logging(level="error", output=output)
    structlog.get_logger("app.engine").warning("unheard")

    assert output.getvalue() == ""


def test_setting_up_twice_writes_each_line_once(output: io.StringIO, lines: Lines) -> None:
    set_up_logging(output=output)
    structlog.get_logger("app.engine").info("once")

    assert len(lines()) == 1


def test_a_traceback_has_frames_and_no_local_variables(lines: Lines) -> None:
    local = "the prompt of a client"
    try:
        raise ValueError(len(local))
    except ValueError:
        structlog.get_logger("app.engine").exception("run_failed")

    (line,) = lines()
    (problem,) = line["exception"]
    assert problem["exc_type"] == "ValueError"
    assert problem["frames"][-1]["name"] == "test_a_traceback_has_frames_and_no_local_variables"
    assert local not in json.dumps(line)


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_secret_reaches_the_output_by_any_way(form: LogForm, output: io.StringIO) -> None:
    set_up_logging(form=form, output=output)
    log = structlog.get_logger("app.tools")
    log.warning(TELLING, nested={"headers": [TELLING]}, error=ValueError(TELLING), api_key=SECRETS[3])
    logging.getLogger("httpx2").warning("sent %s", TELLING, extra={"more": TELLING})
    try:
        raise ConnectionError(TELLING)
    except ConnectionError:
        log.exception("failed")
        logging.getLogger("uvicorn.error").exception("failed")

    text = output.getvalue()
    assert [secret for secret in SECRETS if secret in text] == []
    assert "postgresql://svc:[redacted]@db/x" in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("token-eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln!", f"{MASK}!"),
        ("at eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", f"at {MASK}"),
        ("--postgresql+psycopg://svc:hunter2@db/x", f"--postgresql+psycopg://svc:{MASK}@db/x"),
        ("2HTTP://:hunter2@host", f"2HTTP://:{MASK}@host"),
    ],
)
def test_a_secret_is_masked_wherever_it_stands_in_a_text(text: str, shown: str) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize(
    "part",
    ["a-", "a.", "a+", "x:", "=", "-", " ", "://", "://a:", "a://b:c@", "eyJaaaaaaaa-", "-eyJaaaaaaaa.a!", "sk-",
     "sk-a ", "Bearer ", "AKIA", "ghp_", "ghp_a!", "pwd=", "input_value=", "input_value=, input_type"],
)  # fmt: skip
def test_no_text_of_a_client_holds_up_the_log(part: str) -> None:
    """Each repeats the beginning of a secret; where every one of them was followed to the end this took minutes."""
    text = part * (400_000 // len(part))

    start = time.process_time()
    redact(text)

    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    "text",
    ["a task-list of risk-assessments", "https://example.org/a:b@c", "the bearer of news", "2026-11-27T10:00:00", ""],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text) == text
