"""Problem documents: how every error reaches a client (RFC 9457)."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from app.api.field_errors import field_errors_of
from app.domain.errors import IntakePaused, JobRefused, LimitReached
from app.domain.text import clean
from app.store.database import OUTAGE

log = structlog.get_logger(__name__)

INTAKE_RETRY_S = "30"
"""Seconds after which it makes sense to send a job again that was not taken in."""

FieldError = Mapping[str, str]
"""`detail` and where it applies: `pointer` into the body, or `parameter`."""

_CODES = {
    400: "request_malformed",
    404: "not_found",
    405: "method_not_allowed",
    413: "body_too_large",
    415: "media_type_unsupported",
}
"""Codes of the errors that the framework raises by itself."""


def run_unreadable() -> "Refusal":
    """The answer about a run that a process of this release cannot read."""
    detail = "This process cannot read the run; one of another release can."
    return Refusal(503, "run_unreadable", detail, headers={"Retry-After": "2"})


def database_unavailable() -> "Refusal":
    """The answer while the database is away."""
    detail = "The database does not answer; try again in a moment."
    return Refusal(503, "database_unavailable", detail, headers={"Retry-After": "2"})


def key_invalid() -> "Refusal":
    """The answer to a key that opens nothing, or nothing any more. Which of these it is, is not told."""
    headers = {"WWW-Authenticate": 'Bearer realm="chargehand", error="invalid_token"'}
    return Refusal(401, "key_invalid", "The key is unknown, revoked or expired.", headers=headers)


LIMIT_NOTES = "limit_notes"
"""Where a request keeps what its answer is to say of limits, if there are any."""


def limit_reached(error: LimitReached) -> "Refusal":
    """The answer to what goes beyond a limit of its tenant or key."""
    return Refusal(429, error.code, error.detail, headers={"Retry-After": str(error.retry_after_s)})


def intake_paused() -> "Refusal":
    """The answer to a job while none are taken in."""
    detail = "No new jobs are taken in for now; runs under way go on. Send it again later."
    return Refusal(503, "intake_paused", detail, headers={"Retry-After": INTAKE_RETRY_S})


class Refusal(HTTPException):
    """A request that gets an error for an answer."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        errors: Sequence[FieldError] = (),
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail, headers)
        self.code = code
        self.errors = errors


class RunNotFound(Refusal):
    """The tenant has no such run; whether another has is not told."""

    def __init__(self) -> None:
        super().__init__(404, "run_not_found", "There is no such run.")


class ProblemResponse(JSONResponse):
    """An error as `application/problem+json`."""

    media_type = "application/problem+json"


def problem(
    request_id: str, status: int, code: str, detail: str, *, errors: Sequence[FieldError] = (),
    headers: Mapping[str, str] | None = None,
) -> ProblemResponse:  # fmt: skip
    """The problem document of one error."""
    content: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
    }
    if errors:
        content["errors"] = list(errors)
    # Pointers and details may repeat what was sent, and a key may hold what no answer can.
    return ProblemResponse(clean(content | {"request_id": request_id}), status, headers)


def install_error_handlers(app: FastAPI) -> None:
    """Make every error of the application a problem document."""
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(JobRefused, _job_refused)
    app.add_exception_handler(LimitReached, _limit_reached)
    app.add_exception_handler(IntakePaused, _intake_paused)
    app.add_exception_handler(ClientDisconnect, _client_gone)
    for outage in OUTAGE:
        app.add_exception_handler(outage, _database_gone)
    app.add_exception_handler(Exception, _internal)


async def _refused(request: Request, error: Any) -> Response:
    code = error.code if isinstance(error, Refusal) else _CODES.get(error.status_code, "refused")
    errors = error.errors if isinstance(error, Refusal) else ()
    detail = error.detail if isinstance(error, Refusal) else _sentence(error.status_code)
    return problem(request.state.request_id, error.status_code, code, detail, errors=errors, headers=error.headers)


def _sentence(status: int) -> str:
    """What the framework's own refusals mean, without a word of the request."""
    return {
        404: "There is nothing at this path.",
        405: "This path does not take this method.",
    }.get(status, f"{HTTPStatus(status).phrase}.")


async def _invalid(request: Request, error: Any) -> Response:
    detail = "The request does not fit the description of this endpoint."
    errors = field_errors_of(error.errors(), error.body)
    return problem(request.state.request_id, 422, "request_invalid", detail, errors=errors)


async def _job_refused(request: Request, error: Any) -> Response:
    errors = [{"pointer": pointer, "detail": detail} for pointer, detail in error.errors]
    return problem(request.state.request_id, 422, error.code, error.detail, errors=errors)


async def _limit_reached(request: Request, error: Any) -> Response:
    request.app.state.runtime.database.witness.heard_limit(error.limit)
    log.info("run refused", limit=error.limit, code=error.code)
    getattr(request.state, LIMIT_NOTES, []).extend(error.notes)
    return await _refused(request, limit_reached(error))


async def _intake_paused(request: Request, _: Exception) -> Response:
    return await _refused(request, intake_paused())


async def _client_gone(_: Request, __: Exception) -> Response:
    """Nobody is there to answer; the line of the request says so with the status that proxies have made customary."""
    return Response(status_code=499)


async def _database_gone(request: Request, error: Any) -> Response:
    log.warning("database unavailable", error=type(error).__name__, exc_info=error)
    return await _refused(request, database_unavailable())


async def _internal(request: Request, _: Exception) -> Response:
    """Answer a fault of ours; the server behind us logs it with its traceback."""
    request_id = request.state.request_id
    detail = "Something went wrong on our side; the request id finds it in the log."
    # The server ends the connection after a fault; a client that is not told sends its next request into that.
    headers = {"X-Request-Id": request_id, "Connection": "close"}
    return problem(request_id, 500, "internal_error", detail, headers=headers)
