"""Pure: distinguish public internet addresses from addresses in private networks, such as the user's router."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

_TRANSLATED = IPv6Network("64:ff9b::/96")  # IPv6 addresses that contain an IPv4 address (NAT64)


def is_public(address: str) -> bool:
    """Return whether `address` is a public IP address. Returns False for text that is no IP address."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, IPv6Address) and (inner := _find_embedded(found)):
        found = inner
    return found.is_global and not found.is_multicast


def literal_address(host: str) -> str:
    """Return `host`, the host of a URL, if it is an IP address; 127.0.0.1 for localhost, and "" for other
    names.

    `host` has no brackets around an IPv6 address.
    """
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return "127.0.0.1"
    try:
        return str(ip_address(name.partition("%")[0]))
    except ValueError:
        return ""


def _find_embedded(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address contains, or None."""
    if address.ipv4_mapped:
        return address.ipv4_mapped
    if address.sixtofour:
        return address.sixtofour
    if address.teredo:
        return address.teredo[1]
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None
