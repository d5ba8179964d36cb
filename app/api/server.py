"""The server in front of the application: its sockets, its bounds, and how it ends."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn

from app.api.connections import BoundedConnection
from app.domain.errors import ChargehandError

SILENT_CLIENT_MS = 30_000
TICKS_A_SECOND = 10
"""How often uvicorn ticks."""


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; at `::` for IPv4 as well. Raises `OSError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    both = host == "::" and socket.has_dualstack_ipv6()
    listener = socket.create_server((host, port), family=family, dualstack_ipv6=both)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # A client that has gone without a word is dropped, and what its stream still holds with it.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENT_CLIENT_MS)
    return listener


def shown_address(listener: socket.socket) -> str:
    """Where a client on this machine finds the socket."""
    host, port = listener.getsockname()[:2]
    host = "localhost" if host in ("::", "0.0.0.0") else host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class ServerBroke(ChargehandError):
    """The server beside ended before its time; the log says why."""


@contextmanager
def serving_beside(application: Any, listener: socket.socket, *, leave: Callable[[], None]) -> Iterator[str]:
    """Serve in a thread for the length of the block; the address. Raises `ServerBroke` when that does not begin.

    At the end `leave` is called in the server's loop, so that whoever still waits for an answer gets it.
    """
    up, over = threading.Event(), threading.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    def begin() -> None:
        loops.append(asyncio.get_running_loop())
        up.set()

    def serve() -> None:
        try:
            with suppress(SystemExit):  # What uvicorn raises where the application cannot be started.
                server.run(sockets=[listener])
        finally:
            over.set()
            up.set()

    server = Server(application, up=begin)
    thread = threading.Thread(target=serve, name="server")
    thread.start()
    try:
        up.wait()
        if over.is_set():
            raise ServerBroke("the service could not be started; the log says why")
        yield shown_address(listener)
    finally:
        if loops and not over.is_set():
            loops[0].call_soon_threadsafe(leave)
        server.should_exit = True
        thread.join()


class Server(uvicorn.Server):
    """Serves `application`, says when it is up, and ends when `leaving` says so."""

    def __init__(
        self,
        application: Any,
        *,
        up: Callable[[], None],
        leaving: Callable[[], bool] = lambda: False,
        lifespan: bool = True,
        goodbye_s: int = 2,
    ) -> None:
        # Streams end when the process is told to stop; `goodbye_s` cuts off a client that does not take the end.
        config = uvicorn.Config(
            application,
            http=BoundedConnection,
            ws="none",
            lifespan="on" if lifespan else "off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=goodbye_s,
        )
        super().__init__(config)
        self._up = up
        self._leaving = leaving

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        if self.started:
            self._up()

    async def on_tick(self, counter: int) -> bool:
        """Close what is overdue; whether to end."""
        if counter % TICKS_A_SECOND == 0:
            self.close_overdue()
        return await super().on_tick(counter) or self._leaving()

    def close_overdue(self) -> None:
        """End the connections of clients that keep us waiting."""
        for connection in tuple(self.server_state.connections):
            if isinstance(connection, BoundedConnection):
                connection.close_if_overdue()
