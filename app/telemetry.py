"""Log lines: one JSON object each (or one readable line on a terminal), from our code and from libraries alike.

What an engine or a request binds (`run_id`, `task_id`, `attempt`) is on every line written under it. Tracebacks carry
no local variables, and whatever looks like a secret is masked in any value, wherever it came from.
"""

import logging
import re
import sys
from typing import Any, Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

MASK = "[redacted]"

_SECRET_NAME = re.compile(r"authorization|api_?key|password|secret|cookie", re.IGNORECASE)
_SECRETS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\bsk[-_][A-Za-z0-9_\-]{8,}"), MASK),
    (re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=\-]{4,}", re.IGNORECASE), rf"\1 {MASK}"),
    (re.compile(r"\b(AKIA|ASIA)[A-Z0-9]{16}\b"), MASK),
    (re.compile(r"\b(gh[opsur]|github_pat|xox[abprs])[-_][A-Za-z0-9_\-]{8,}"), MASK),
    (re.compile(r"\b(chk_[0-9a-z]{16}_|whsec_)[A-Za-z0-9+/=]{8,}"), MASK),
    (re.compile(r"(?<![\w\-])(?>[\w\-]*?eyJ[\w\-]{8,})\.[\w\-]+\.[\w\-]+"), MASK),
    (re.compile(r"(://[^\s:/@]*):[^\s/]+@"), rf"\1:{MASK}@"),
    (re.compile(r"\b(password|passwd|pwd)=\S+", re.IGNORECASE), rf"\1={MASK}"),
    # Not a secret but what a job is about: pydantic repeats the start and the end of a value that it refuses.
    (re.compile(r"\binput_value=.{1,60}, input_type=", re.DOTALL), f"input_value={MASK}, input_type="),
)
"""What must not be logged looks like inside a text, and what stands there instead.

Clients choose texts that are logged, so each takes time linear in the text: an attempt at a match never runs through
what an earlier one has run through in vain.
"""


def set_up_logging(
    *, level: str = "info", form: Literal["json", "console"] = "json", output: TextIO | None = None
) -> None:
    """Send all log lines to `output` (standard output by default): ours from `level` up, those of libraries from
    warnings up. Calling it again replaces what was set up before."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
    ]
    handler = logging.StreamHandler(output or sys.stdout)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_rendering(form)],
        )
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.captureWarnings(True)
    logging.getLogger("app").setLevel(level.upper())
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def redact(value: Any) -> Any:
    """`value` with everything that looks like a secret masked; containers are searched, other objects kept."""
    match value:
        case str():
            for pattern, instead in _SECRETS:
                value = pattern.sub(instead, value)
            return value
        case dict():
            return {name: _redact_named(name, item) for name, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [redact(item) for item in value]
        case None | bool() | int() | float():
            return value
        case _:
            return redact(repr(value))


def _redact_named(name: object, value: object) -> object:
    return MASK if isinstance(name, str) and isinstance(value, str) and _SECRET_NAME.search(name) else redact(value)


def _redact_line(_logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
    return {name: _redact_named(name, value) for name, value in line.items()}


def _rendering(form: Literal["json", "console"]) -> list[Processor]:
    if form == "console":
        plain = structlog.dev.plain_traceback
        renderer = structlog.dev.ConsoleRenderer(exception_formatter=plain, timestamp_key="at")
        return [structlog.processors.format_exc_info, _redact_line, renderer]
    tracebacks = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    return [
        structlog.processors.ExceptionRenderer(tracebacks),
        _redact_line,
        structlog.processors.JSONRenderer(ensure_ascii=False),
    ]
