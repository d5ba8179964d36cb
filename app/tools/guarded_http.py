"""HTTP over guarded connections."""

import httpcore2
import httpx2

from app.tools.network_guard import NetworkGuard


class GuardedTransport(httpx2.AsyncHTTPTransport):
    """httpx2's own transport over a guarded pool: it has no parameter for the network layer."""

    def __init__(self, guard: NetworkGuard) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx2.create_ssl_context(trust_env=False),
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=5,
            network_backend=guard,
        )
