"""A model provider on localhost that speaks the Messages API, does as it was told, and remembers every request.

    async with StubProvider() as stub:
        stub.on("plan", reply=as_json({"tasks": […]}))
        stub.on("work:researcher", call=1, reply=overloaded())
        stub.on("work", reply=lambda seen: text(f"call {seen.call}"))
        … ANTHROPIC_BASE_URL=stub.url …
        await stub.seen(2, role="work:researcher")

A role is `plan`, `refine`, `synthesize` or `work:NAME`; `work` stands for all workers, `*` for everybody. The most
particular rule wins: a numbered call of the role, then its queue of replies, then its standing reply. Without a rule
the answer is the smallest that fits the request's schema. As a process of its own (`python -m
tests.support.stub_provider --port 0 --script module:function --log FILE`) it is steered over HTTP: `GET /_log`,
`GET /_seen`, `POST /_script`, `POST /_release`.
"""

import argparse
import asyncio
import hashlib
import importlib
import inspect
import json
import socket
import struct
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from tests.support import stub_rules, stub_wire
from tests.support.stub_answers import Answer, as_json, fault, smallest, text
from tests.support.stub_script import Rules, Script, SeenRequest, names_of, role_of

_HEADERS_KEPT = ("authorization", "x-api-key", "anthropic-version", "content-type", "idempotency-key", "traceparent")


class StubProvider:
    """The provider. `log` holds every request in the order of arrival."""

    def __init__(self, classify: Callable[[dict[str, Any]], str] = role_of, log_file: Path | None = None) -> None:
        self.log: list[SeenRequest] = []
        self.url = ""
        self.in_flight = 0
        self.most_in_flight = 0
        self._classify = classify
        self._log_file = log_file
        self._rules: defaultdict[str, Rules] = defaultdict(Rules)
        self._calls: Counter[str] = Counter()
        self._latches: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._news = asyncio.Condition()
        self._runner = web.ServerRunner(web.Server(self._serve, handler_cancellation=True), shutdown_timeout=0)

    async def start(self, port: int = 0) -> Self:
        """Listen on 127.0.0.1; port 0 takes a free one."""
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port).start()
        self.url = "http://{}:{}".format(*self._runner.addresses[0])
        return self

    async def close(self) -> None:
        """Stop, and drop the connections that are still open."""
        for latch in self._latches.values():
            latch.set()
        await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def on(
        self, role: str, reply: Script | None = None, *, call: int | None = None, replies: Sequence[Script] = ()
    ) -> None:
        """Script a role: one numbered call, the next calls in turn (`replies`), or all that have no other rule."""
        rules = self._rules[role]
        rules.queue.extend(replies)
        if reply is not None and call is not None:
            rules.numbered[call] = reply
        elif reply is not None:
            rules.standing = reply

    def release(self, latch: str = "held") -> None:
        """Let the answers go that are held back by this latch, now and later."""
        self._latches[latch].set()

    def of(self, role: str) -> list[SeenRequest]:
        """The requests of a role so far; `work` means every worker, `*` everybody."""
        return [seen for seen in self.log if role in names_of(seen.role)]

    async def seen(self, count: int, *, role: str = "*", timeout_s: float = 10) -> SeenRequest:
        """Wait for the request number `count` of a role."""
        await self.until(lambda: len(self.of(role)) >= count, timeout_s=timeout_s)
        return self.of(role)[count - 1]

    async def ended(self, seen: SeenRequest, *, timeout_s: float = 10) -> str:
        """Wait for a request to end, and return its outcome."""
        await self.until(lambda: seen.outcome != "open", timeout_s=timeout_s)
        return seen.outcome

    async def until(self, holds: Callable[[], bool], *, timeout_s: float = 10) -> None:
        """Wait until something holds that the log tells. Raises `TimeoutError`."""
        async with asyncio.timeout(timeout_s), self._news:
            await self._news.wait_for(holds)

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path != "/v1/messages":
            return await self._control(request)
        seen = await self._note(await request.content.read(), request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._answer(seen, request)
        except (asyncio.CancelledError, ConnectionError):
            seen.outcome = "client_disconnected" if seen.outcome == "open" else seen.outcome
            raise
        finally:
            self.in_flight -= 1
            seen.ended_at = time.monotonic()
            await self._tell(seen)

    async def _note(self, raw: bytes, request: web.BaseRequest) -> SeenRequest:
        body = json.loads(raw)
        role = self._classify(body)
        for name in names_of(role):
            self._calls[name] += 1
        headers = {name: request.headers[name] for name in _HEADERS_KEPT if name in request.headers}
        digest = hashlib.sha256(raw).hexdigest()
        assert request.transport is not None
        peer = request.transport.get_extra_info("peername")[1]
        seen = SeenRequest(len(self.log) + 1, role, self._calls[role], time.monotonic(), body, digest, headers, peer)
        self.log.append(seen)
        await self._tell(seen)
        return seen

    async def _tell(self, seen: SeenRequest) -> None:
        if self._log_file is not None:
            with self._log_file.open("a") as file:
                file.write(json.dumps(asdict(seen)) + "\n")
        async with self._news:
            self._news.notify_all()

    async def _answer(self, seen: SeenRequest, request: web.BaseRequest) -> web.StreamResponse:
        answer = await self._scripted(seen)
        if answer.latch is not None and answer.stall_after_events is None:
            await self._latches[answer.latch].wait()
        if answer.delay_s:
            await asyncio.sleep(answer.delay_s)  # an answer that is scripted to be late
        if answer.reset:
            seen.outcome = "reset"
            _reset(request)
            return web.Response()
        headers = {"request-id": f"req_{seen.number:06}", **answer.headers}
        streams = seen.streamed and answer.raw_body is None if answer.streams is None else answer.streams
        if streams and answer.status == 200:
            return await self._stream(answer, seen, request, headers)
        return await self._send_whole(answer, seen, request, headers)

    async def _scripted(self, seen: SeenRequest) -> Answer:
        if not (seen.headers.get("authorization") or seen.headers.get("x-api-key")):
            return self._reject(seen, fault(401, "authentication_error", "no key was sent"))
        if "anthropic-version" not in seen.headers:
            return self._reject(seen, fault(400, "invalid_request_error", "anthropic-version: header is required"))
        if reason := stub_rules.refusal_of(seen.body):
            return self._reject(seen, fault(400, "invalid_request_error", reason))
        for name in names_of(seen.role):
            script = self._rules[name].pick(self._calls[name])
            if isinstance(script, Answer):
                return script
            if script is not None:
                answer = script(seen)
                return await answer if inspect.isawaitable(answer) else answer
        schema = (seen.body.get("output_config") or {}).get("format", {}).get("schema")
        return as_json(smallest(schema)) if schema else text("ok")

    def _reject(self, seen: SeenRequest, answer: Answer) -> Answer:
        seen.outcome = "rejected"
        return answer

    async def _stream(
        self, answer: Answer, seen: SeenRequest, request: web.BaseRequest, headers: dict[str, str]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream; charset=utf-8", **headers})
        await response.prepare(request)
        events = list(stub_wire.events(answer, seen.body, seen.number, headers["request-id"]))
        if answer.raw_stream is not None:
            events = [answer.raw_stream.encode()]
        if answer.stall_after_events is not None:
            await response.write(b"".join(events[: answer.stall_after_events]))
            await self._latches[answer.latch or "held"].wait()
            events = events[answer.stall_after_events :]
        payload = b"".join(events[: answer.cut_after_events])[: answer.cut_after_bytes]
        await response.write(payload)
        return await self._finish(answer, seen, request, response)

    async def _send_whole(
        self, answer: Answer, seen: SeenRequest, request: web.BaseRequest, headers: dict[str, str]
    ) -> web.StreamResponse:
        status = answer.status
        if answer.error is not None:
            own = status == 200 and answer.streams is None
            status = stub_wire.status_of(answer.error["type"]) if own else status
            content = stub_wire.error_body(answer.error, headers["request-id"])
        else:
            content = stub_wire.message(answer, seen.body, seen.number)
        payload = json.dumps(content).encode() if answer.raw_body is None else answer.raw_body.encode()
        if seen.outcome == "open" and status != 200:
            seen.outcome = f"status {status}"
        headers = {"content-type": "application/json", **headers}
        if not _is_cut(answer):
            seen.outcome = "answered" if seen.outcome == "open" else seen.outcome
            return web.Response(status=status, body=payload, headers=headers)
        response = web.StreamResponse(status=status, headers={**headers, "content-length": str(len(payload))})
        await response.prepare(request)
        await response.write(payload[: answer.cut_after_bytes or len(payload) // 2])
        return await self._finish(answer, seen, request, response)

    async def _finish(
        self, answer: Answer, seen: SeenRequest, request: web.BaseRequest, response: web.StreamResponse
    ) -> web.StreamResponse:
        if _is_cut(answer):
            seen.outcome = "cut"
            if not (answer.cut_cleanly and seen.streamed):
                assert request.transport is not None
                request.transport.close()
                return response
        if seen.outcome == "open":
            seen.outcome = "error event" if answer.error is not None else "answered"
        await response.write_eof()
        return response

    async def _control(self, request: web.BaseRequest) -> web.StreamResponse:
        match request.method, request.path:
            case "GET", "/_log":
                return web.json_response([asdict(seen) for seen in self.log])
            case "GET", "/_seen":
                wanted = request.query
                role, timeout_s = wanted.get("role", "*"), float(wanted.get("timeout_s", 10))
                return web.json_response(asdict(await self.seen(int(wanted["n"]), role=role, timeout_s=timeout_s)))
            case "POST", "/_script":
                rule = await request.json()
                replies = [Answer(**reply) for reply in rule.get("replies", ())]
                reply = Answer(**rule["reply"]) if "reply" in rule else None
                self.on(rule["role"], reply, call=rule.get("call"), replies=replies)
            case "POST", "/_release":
                self.release((await request.json()).get("latch", "held"))
            case _:
                return web.json_response({"error": "no such route"}, status=404)
        return web.json_response({})


def _is_cut(answer: Answer) -> bool:
    return answer.cut_after_bytes is not None or answer.cut_after_events is not None


def _reset(request: web.BaseRequest) -> None:
    """Close with RST: the peer sees a reset connection, not an end of file."""
    assert request.transport is not None
    connection = request.transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    request.transport.abort()


async def _run(arguments: argparse.Namespace) -> None:
    stub = await StubProvider(log_file=arguments.log).start(arguments.port)
    if arguments.script:
        module, _, function = arguments.script.partition(":")
        getattr(importlib.import_module(module), function)(stub)
    print(stub.url, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Serve scripted model replies on 127.0.0.1.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", help="module:function, called with the StubProvider")
    parser.add_argument("--log", type=Path, help="file that every request is appended to, as JSON lines")
    asyncio.run(_run(parser.parse_args()))
