"""In mode full, a call asks about each host that its arguments name, in whatever way a program reads them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from itertools import product
from typing import Any
from urllib.parse import urlsplit

import pytest

from agent_ls.addresses import split_address
from agent_ls.mcp.hosts import hosts_in

pytestmark = pytest.mark.req("T11")
ALLOWED = "good.example"
OTHER = "evil.example"

STARTS = (
    "https://",
    "HTTPS://",
    "https:",
    "https:/",
    "https:\\\\",
    "https:/\\",
    "https:///",
    "ht\ntps://",
    "wss://",
)
AUTHORITIES = (
    "A", "B", "A@B", "B@A", "A:80@B", "A\\@B", "B\\@A", "A'@B", 'A"@B', "A'.B", "A\t.B", "A\n.B", "A,@B", "A)@B",
    "A%2eB", "A\u3002B", "A:80\\@B", "x:y@B:80", "A#@B", "B#@A", "A?@B", "A.B", "B.", "b\u0131g.B", "A%40B",
    "A;@B", "A|.B", "[A]@B",
)  # fmt: skip
ENDS = ("", "/", "/x?q=1", "?q", "#f", "\\x")
ADDRESSES = [
    f"{start}{authority.replace('A', ALLOWED).replace('B', OTHER)}{end}"
    for start, authority, end in product(STARTS, AUTHORITIES, ENDS)
]
READ = """for (const it of JSON.parse(process.argv[1])) {
    try { console.log(new URL(it).hostname) } catch { console.log("") }
}"""


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
def test_an_address_that_node_reads_as_another_host_names_this_host() -> None:
    run = subprocess.run(
        ["node", "-e", READ, json.dumps(ADDRESSES)], check=True, capture_output=True, text=True
    )
    hosts = run.stdout.split("\n")[: len(ADDRESSES)]
    assert len(ADDRESSES) > 1_000 and OTHER in hosts
    unasked = [
        (address, host)
        for address, host in zip(ADDRESSES, hosts, strict=True)
        if host not in ("", ALLOWED) and set(hosts_in({"text": address})) <= {ALLOWED}
    ]
    assert unasked == []


def test_an_address_that_python_reads_as_another_host_names_this_host() -> None:
    addresses = [address for address in ADDRESSES if "[" not in address]  # python refuses them
    hosts = {address: urlsplit(address).hostname for address in addresses}
    assert OTHER in hosts.values()
    assert [
        address
        for address, host in hosts.items()
        if host not in (None, ALLOWED) and set(hosts_in({"text": address})) <= {ALLOWED}
    ] == []


@pytest.mark.parametrize(
    ("values", "hosts"),
    [
        ({"url": "evil.example/x?q=1"}, ["evil.example"]),
        ({"url": "//evil.example/x"}, ["evil.example"]),
        ({"url": "user@evil.example:80"}, ["evil.example"]),
        ({"options": {"host": "evil.example"}}, ["evil.example"]),
        ({"hosts": ["a.example", "b.example"]}, ["a.example", "b.example"]),
        ({"steps": [{"baseUrl": "evil.example/x"}]}, ["evil.example"]),
        ({"host": "[::1]:80"}, ["::1"]),
        ({"text": "<https://a.example>, 'https://b.example'."}, ["a.example", "b.example"]),
        ({"text": '{"u":"https://a.example","v":1}'}, ["a.example"]),
        ({"uri": "src/a.py", "text": "a.example", "url": "docs/page.html"}, []),
    ],
)
def test_hosts_are_found_in_keys_and_texts(values: Mapping[str, Any], hosts: list[str]) -> None:
    assert list(hosts_in(values)) == hosts


def test_an_address_that_is_too_long_to_be_read_is_no_allowed_host() -> None:
    (host,) = hosts_in({"url": f"https://{ALLOWED}:{'1' * 5_000}@{OTHER}/"})
    assert ALLOWED in host and host != ALLOWED


def test_an_address_that_programs_read_differently_has_no_host() -> None:
    assert not split_address("https://evil.example\\@good.example/").hostname
