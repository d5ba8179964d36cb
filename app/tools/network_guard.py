"""Keeps what others ask for on the public internet: the network layer of every fetch, and of webhooks.

A name is resolved once, all its addresses are checked, and the connection goes to a literal address that was checked.
Nothing is resolved again after the check, so a name server that changes its answer gains nothing; and because this
layer lies below HTTP, it holds for redirects and for every spelling of an address.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import NoReturn

import httpcore2

from app.domain.errors import ToolError
from app.domain.webhooks import Place

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Takes a host and a port; returns the addresses as text, or raises `OSError`."""

WEB_PORTS = frozenset({80, 443, 8080, 8443})

_GLOBAL_UNICAST = ip_network("2000::/3")
_NOT_PUBLIC = tuple(
    ip_network(network)
    for network in (
        "2001::/23",  # protocol assignments, among them Teredo, which carries an IPv4 address
        "2002::/16",  # 6to4: carries an IPv4 address
        "3fff::/20",  # documentation, which Python 3.11 does not know
        "192.0.0.0/24",  # protocol assignments, of which Python 3.11 knows a part
        "192.88.99.0/24",  # relays of 6to4
        "168.63.129.16/32",  # Azure's platform address: public in form, inside in fact
    )
)


class AddressBlocked(ToolError):
    """The model asked for a place that is not on the public web."""


class HostUnknown(ToolError):
    """The name has no address."""


def is_public(address: Address) -> bool:
    """Whether `address` is a unicast address of the public internet that embeds no other address.

    IPv4-mapped addresses count as the IPv4 address they stand for. NAT64, site-local and IPv4-compatible ones lie
    outside the one block of IPv6 that is in public use.
    """
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address not in _GLOBAL_UNICAST:
            return False
    return address.is_global and not address.is_multicast and not any(address in network for network in _NOT_PUBLIC)


async def resolve(host: str, port: int) -> Sequence[str]:
    """Ask the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class NetworkGuard(httpcore2.AnyIOBackend):
    """Opens connections to permitted addresses and ports alone."""

    def __init__(
        self,
        *,
        resolve: Resolve = resolve,
        permits: Callable[[Address], bool] = is_public,
        ports: Collection[int] = WEB_PORTS,
        named: Collection[Place] = (),
    ) -> None:
        """`named` are places that the operator has named: they are reached wherever they are."""
        self._resolve = resolve
        self._permits = permits
        self._ports = ports
        self._named = named

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 (the signature is httpcore2's)
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address of `host` that answers; raises `AddressBlocked` if any of them is forbidden."""
        failure: Exception = HostUnknown(f"the host {host!r} has no address", "host_unknown")
        for address in await self._checked_addresses(host, port):
            try:
                return await super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 (the signature is httpcore2's)
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> NoReturn:
        """A socket file is never on the public web."""
        raise AddressBlocked("local sockets cannot be reached", "blocked")

    async def _checked_addresses(self, host: str, port: int) -> list[str]:
        is_named = (host.lower(), port) in self._named
        if port not in self._ports and not is_named:
            allowed = ", ".join(map(str, sorted(self._ports)))
            raise AddressBlocked(f"port {port} cannot be reached; allowed are {allowed}", "blocked")
        try:
            addresses = list(dict.fromkeys(await self._resolve(host, port)))
        except (OSError, UnicodeError):
            raise HostUnknown(f"the host {host!r} cannot be resolved", "host_unknown") from None
        if not is_named and not all(self._permits(ip_address(address)) for address in addresses):
            # The address itself stays unsaid: it would map our network for whoever wrote the page.
            raise AddressBlocked(f"the host {host!r} is not on the public internet", "blocked")
        return addresses
