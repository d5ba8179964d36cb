"""Requests, sent again where that is safe: what cannot be reached may be back, and what is busy says when to come."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, field
from ipaddress import ip_address
from time import monotonic
from typing import Any

import httpx2

from app.client.errors import Refused, ServiceError, Unreachable, Unsendable, refusal

OnAway = Callable[[ServiceError | None], None]
"""Is told why the service is away, each time it is found to be, and None once it is back."""
LONGEST_PAUSE_S = 5.0
SILENCE_S = 90.0
"""How long an answer may be silent: longer than the service waits at most for a run (60 s)."""
MOST_PORT = 65_535
_TIMES = httpx2.Timeout(SILENCE_S, connect=10.0)
_BUSY = {429, 503}
_NOBODY_BEHIND = {502, 503, 504}
"""What a proxy says by itself while there is no service behind it."""
_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_NEVER_WILL = (httpx2.UnsupportedProtocol, httpx2.InvalidURL, httpx2.LocalProtocolError)
"""An address, or a key, that no request can have."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, which may be sent again though it may have been carried out."""

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: Mapping[str, Any] = field(default_factory=dict)
    """The body, in httpx's words: `json`, or `data` and `files`."""


class Patience:
    """How long something is tried: with pauses that grow, and for some time altogether."""

    def __init__(self, limit_s: float, first_pause_s: float) -> None:
        self._limit_s, self._first_pause_s = limit_s, first_pause_s
        self.restart()

    def restart(self) -> None:
        """Begin anew: it has worked."""
        self._until = monotonic() + self._limit_s
        self._pause_s = self._first_pause_s

    async def rest(self, problem: ServiceError) -> None:
        """Pause before the next try. Raises the problem when that would be too late."""
        asked_s = problem.retry_after_s if isinstance(problem, Refused) else None
        pause_s = max(self._pause_s, asked_s or 0)
        if monotonic() + pause_s > self._until:
            raise problem
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
        await asyncio.sleep(pause_s)


class Connection:
    """A service at an address."""

    def __init__(
        self,
        url: str,
        key: str | None,
        patience_s: float,
        pause_s: float,
        transport: httpx2.AsyncBaseTransport | None,
    ) -> None:
        self.url = url
        self._patience_s, self._pause_s = patience_s, pause_s
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._on_away: OnAway | None = None
        is_here = _is_here(url)
        is_plain = is_here and url.startswith("http:")  # The authorities' certificates are not loaded for nothing.
        try:
            self._http = httpx2.AsyncClient(
                base_url=url,
                headers=headers,
                timeout=_TIMES,
                transport=transport,
                trust_env=not is_here,
                verify=not is_plain,
            )
            if (self._http.base_url.port or 0) > MOST_PORT:
                raise httpx2.InvalidURL(f"a port is a number up to {MOST_PORT}")
        except (httpx2.InvalidURL, UnicodeEncodeError) as error:
            raise Unreachable(url, str(error)) from None

    def patient(self, patience_s: float, on_away: OnAway | None) -> "Connection":
        """The same, with another patience."""
        other = copy(self)
        other._patience_s, other._on_away = patience_s, on_away
        return other

    async def close(self) -> None:
        """Let go of what is open."""
        await self._http.aclose()

    def patience(self, limit_s: float | None = None) -> Patience:
        """How long a request is tried, or whatever else takes this connection."""
        return Patience(self._patience_s if limit_s is None else limit_s, self._pause_s)

    async def send(self, asked: Asked) -> httpx2.Response:
        """The answer, which is no refusal. Raises `Refused` or `Unreachable`."""
        patience, is_repeated, is_away = self.patience(), False, False
        while True:
            try:
                answer = await self._http.send(self._request(asked))
            except _NEVER_WILL as error:
                raise Unreachable(self.url, str(error)) from None
            except httpx2.RequestError as error:
                problem: ServiceError = self._away(error)
                is_repeated |= not isinstance(error, _NEVER_SENT)
            else:
                if answer.is_success:
                    if is_away and self._on_away is not None:
                        self._on_away(None)
                    return answer
                problem = refusal(answer, self.url, is_repeated=is_repeated)
                if not _is_passing(answer, problem):
                    raise problem
                is_repeated |= answer.status_code != httpx2.codes.TOO_MANY_REQUESTS
            is_away = True
            if self._on_away is not None:
                self._on_away(problem)
            await patience.rest(problem)

    def _request(self, asked: Asked) -> httpx2.Request:
        try:
            return self._http.build_request(
                asked.method, asked.path, params=asked.params, headers=asked.headers, **asked.content
            )
        except ValueError as error:  # Half characters, numbers that are none, headers that are not ASCII.
            raise Unsendable(str(error)) from None

    @asynccontextmanager
    async def streamed(self, asked: Asked, silence_s: float) -> AsyncIterator[httpx2.Response]:
        """The answer while it comes. Raises `Refused`, and `Unreachable` also when it breaks off."""
        times = httpx2.Timeout(silence_s, connect=10.0)
        try:
            async with self._http.stream(
                asked.method, asked.path, params=asked.params, headers=asked.headers, timeout=times
            ) as answer:
                if not answer.is_success:
                    await answer.aread()
                    raise refusal(answer, self.url)
                yield answer
        except _NEVER_WILL as error:
            raise Unreachable(self.url, str(error)) from None
        except httpx2.RequestError as error:
            raise self._away(error) from None

    def _away(self, error: httpx2.RequestError) -> Unreachable:
        return Unreachable(self.url, str(error) or type(error).__name__)


def _is_passing(answer: httpx2.Response, problem: ServiceError) -> bool:
    """Whether the same request may be granted in a while."""
    if isinstance(problem, Refused):
        return problem.status in _BUSY and problem.retry_after_s is not None
    return answer.status_code in _NOBODY_BEHIND


def _is_here(url: str) -> bool:
    """Whether it is on this machine: no proxy leads there, whatever the environment says."""
    try:
        host = httpx2.URL(url).host
        return host == "localhost" or ip_address(host).is_loopback
    except (httpx2.InvalidURL, ValueError):
        return False
