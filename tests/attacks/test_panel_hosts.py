"""Requests to the panel under foreign names: only a name that every browser resolves to this machine is accepted."""

from __future__ import annotations

import ipaddress
import random

import pytest

from agent_ls.panel.access import is_loopback_host
from tests.attacks import IS_WHOLE, seeded

pytestmark = pytest.mark.req("H29")
TRIES = 20_000 if IS_WHOLE else 500
PARTS = [
    "localhost", "127.0.0.1", "[::1]", "evil.com", "@", ":", "80", "/", "\\", "?", "#", ".", "%00", "[", "]", " ", "\t",
    "LOCALHOST", "0", "-", "::1", "127.1", "x", ",", ";", "é", "%2e", "[::ffff:127.0.0.1]",
]  # fmt: skip


def means_this_machine(host: str) -> bool:
    """Return whether the text is one of few exact forms: a name or address of this machine, and a port of digits."""
    name, colon, port = host, "", ""
    if not host.endswith("]") and ":" in host:
        name, colon, port = host.rpartition(":")
    if colon and not (port.isascii() and port.isdigit()):
        return False
    if name.lower() == "localhost":
        return True
    is_bracketed = name.startswith("[") and name.endswith("]")
    try:
        address = ipaddress.ip_address(name[1:-1] if is_bracketed else name)
    except ValueError:
        return False
    return address.is_loopback and is_bracketed == (address.version == 6)


def test_no_foreign_host_is_taken_for_this_machine() -> None:
    choices = random.Random(seeded(40))
    accepted = 0
    for _ in range(TRIES):
        host = "".join(choices.choices(PARTS, k=choices.randint(1, 4)))
        if is_loopback_host(host):
            accepted += 1
            assert means_this_machine(host), host
    assert accepted
