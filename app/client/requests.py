"""Requests as the API takes them: what is read, what begins a run, and what is decided about one."""

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import quote as quoted
from uuid import uuid4

from app.client.connection import Asked, Connection
from app.client.errors import Refused, Unreachable, Unsendable
from app.client.run_shapes import Run


class Requests:
    """Sends them over a connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    async def get(
        self, path: str, params: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        """A resource."""
        return await self.ask(Asked("GET", path, params or {}, headers or {}))

    async def listed(self, path: str, params: Mapping[str, Any] | None = None) -> list[Any]:
        """What a page lists."""
        return cast("list[Any]", (await self.page(path, params))["data"])

    async def page(self, path: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A page of a list."""
        found = await self.get(path, params)
        if not isinstance(found.get("data"), list):
            raise self._foreign(200)
        return cast("dict[str, Any]", found)

    async def post(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Any:
        """What becomes of something. Fields that are None are left out."""
        told = {name: value for name, value in body.items() if value is not None}
        return await self.ask(Asked("POST", path, {}, headers or {}, {"json": told}))

    async def begin(
        self,
        path: str,
        content: Mapping[str, Any],
        key: str | None,
        params: Mapping[str, str] | None = None,
        wait_s: int | None = None,
    ) -> Any:
        """What begins a run, under a key by which a repetition begins no other."""
        headers = {"Idempotency-Key": key or uuid4().hex}
        if wait_s is not None:
            headers["Prefer"] = f"wait={wait_s}"
        return await self.ask(Asked("POST", path, params or {}, headers, content))

    async def decided(
        self, run_id: str, what: str, done: str, revision: int | None, body: Mapping[str, Any] | None = None
    ) -> Run:
        """A decision on a plan. `done` is the code of the refusal when it has been made already."""
        headers = {} if revision is None else {"If-Match": f'"{revision}"'}
        try:
            return cast(Run, await self.post(f"{path_of(run_id)}/{what}", body or {}, headers))
        except Refused as refused:
            if refused.is_repeated and refused.code == done:
                return cast(Run, await self.get(path_of(run_id)))
            raise

    async def ask(self, asked: Asked) -> Any:
        """The JSON of the answer. Raises `Refused` and `Unreachable`."""
        answer = await self.connection.send(asked)
        try:
            document = answer.json()
        except ValueError:
            document = None
        if not isinstance(document, dict) or not document:
            raise self._foreign(answer.status_code)
        return document

    def _foreign(self, status: int) -> Unreachable:
        return Unreachable(self.connection.url, f"HTTP {status}: no answer of this API")


def path_of(run_id: str) -> str:
    """The path of a run."""
    return f"/v1/runs/{part(run_id)}"


def part(name: str) -> str:
    """A name as a part of a path."""
    try:
        return quoted(name, safe="@")
    except UnicodeEncodeError as error:
        raise Unsendable(str(error)) from None
