"""What may go wrong with a request, drawn once.

ServiceError     nothing came of it; the message is one line
  Refused        the service has answered, and says no
  Unreachable    nobody answers, or nobody who speaks this API
  Unsendable     it cannot be put into a request
  NothingBehind  a run has ended before the event behind which it was asked for
"""

from collections.abc import Sequence
from typing import Any

import httpx2


class ServiceError(Exception):
    """Nothing came of a request."""


class Unreachable(ServiceError):
    """The service cannot be reached, or what answers is something else."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)
        self.url = url
        self.reason = reason

    def __str__(self) -> str:
        return f"cannot reach the service at {self.url}: {self.reason}"


class Unsendable(ServiceError, ValueError):
    """What is asked cannot be put into a request: half of a character, or a header that is not plain."""

    def __str__(self) -> str:
        return f"this cannot be sent: {self.args[0]}"


class NothingBehind(ServiceError):
    """Events were asked for behind one that a run, which has ended, never had."""


class Refused(ServiceError):
    """The service answered with a problem (RFC 9457)."""

    def __init__(self, answer: httpx2.Response, problem: dict[str, Any], *, is_repeated: bool = False) -> None:
        super().__init__(problem)
        self.status: int = answer.status_code
        self.code: str = problem["code"]
        """What is wrong, for programs."""
        self.detail: str = problem.get("detail", "")
        """The same for people."""
        self.errors: Sequence[dict[str, str]] = problem.get("errors", ())
        """What is wrong with each field: `detail`, and `pointer` or `parameter`."""
        self.request_id: str | None = problem.get("request_id")
        """By which the service's own log has the request."""
        self.retry_after_s: float | None = _seconds(answer.headers.get("retry-after"))
        """When it makes sense to ask again; None when the service does not say."""
        self.location: str | None = answer.headers.get("location")
        """The run in which it went wrong, where there is one: that of a dry run without a plan."""
        self.is_repeated = is_repeated
        """Whether an earlier try of this request may have been carried out before."""

    def __str__(self) -> str:
        places = [
            f"{each.get('pointer') or each.get('parameter', '')}: {each.get('detail', '')}" for each in self.errors
        ]
        return " ".join("; ".join([f"{self.code}: {self.detail}", *places]).split())


def refusal(answer: httpx2.Response, url: str, *, is_repeated: bool = False) -> ServiceError:
    """Why there is nothing in an answer that has been read."""
    try:
        problem = answer.json()
    except ValueError:
        problem = None
    if _is_problem(problem):
        return Refused(answer, problem, is_repeated=is_repeated)
    return Unreachable(url, f"HTTP {answer.status_code}: no answer of this API")


def _is_problem(said: Any) -> bool:
    if not isinstance(said, dict) or not isinstance(said.get("code"), str):
        return False
    errors = said.get("errors", [])
    return isinstance(errors, list) and all(isinstance(each, dict) for each in errors)


def _seconds(written: str | None) -> float | None:
    return float(written) if written is not None and written.isascii() and written.isdecimal() else None
