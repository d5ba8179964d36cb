from ipaddress import ip_address

import pytest

from app.tools.network_guard import AddressBlocked, HostUnknown, NetworkGuard, is_public


@pytest.mark.parametrize("address", ["93.184.216.34", "1.1.1.1", "2606:4700:4700::1111", "::ffff:93.184.216.34"])
def test_addresses_of_the_public_internet_are_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "168.63.129.16", "169.254.169.254", "172.16.0.1",
        "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1",
        "255.255.255.255", "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1",
        "64:ff9b::808:808", "64:ff9b:1::1", "100::1", "2001:0:7f00:1::", "2001:db8::1", "2002:7f00:1::", "3fff::1",
        "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%1", "fec0::1", "ff02::1", "ff0e::1",
    ],
)  # fmt: skip
def test_no_other_address_is_public(address: str) -> None:
    assert not is_public(ip_address(address))


async def test_ports_of_other_services_are_blocked_before_anything_is_resolved() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        raise AssertionError("resolved")

    with pytest.raises(AddressBlocked, match="port 25"):
        await NetworkGuard(resolve=resolve).connect_tcp("public.example", 25)


async def test_socket_files_are_blocked() -> None:
    with pytest.raises(AddressBlocked):
        await NetworkGuard().connect_unix_socket("/run/postgresql/.s.PGSQL.5432")


async def test_a_name_without_addresses_is_unknown() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return []

    with pytest.raises(HostUnknown):
        await NetworkGuard(resolve=resolve).connect_tcp("public.example", 80)
