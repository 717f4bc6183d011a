"""Addresses that others write may be no addresses: no surface fails because of one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import agent_ls
from agent_ls.acp.prompts import read_prompt
from agent_ls.addresses import join_address, split_address
from agent_ls.cli.browser import open_browser

pytestmark = pytest.mark.req("X9", "R5")

PACKAGE = Path(agent_ls.__file__).parent
INVALID = (
    "http://[x",
    "//[",
    "zed://[/agent/x",
    "file://[::1",
    "http://x:99999/",
    "http://x:a/",
    "file://h:-1/a",
)
LONG = (
    "file:///a#L" + "9" * 5000,
    "file:///a:" + "9" * 5000,
    f"file:///a#L1-{'9' * 5000}",
    "zed:///agent/file?path=%zz",
)


@pytest.mark.parametrize("address", INVALID)
def test_an_address_that_is_not_valid_has_no_parts(address: str) -> None:
    assert split_address(address) == ("", "", "", "", "")
    assert join_address("http://host/", address).endswith(address)
    assert not open_browser(address)


def test_a_valid_address_keeps_its_parts() -> None:
    assert split_address("http://a:80/b?c#d") == ("http", "a:80", "/b", "c", "d")
    assert join_address("http://a/b/c", "../d") == "http://a/d"


@pytest.mark.parametrize("uri", [*INVALID, *LONG])
def test_a_prompt_of_an_editor_may_link_to_anything(uri: str) -> None:
    link = read_prompt([{"type": "resource_link", "uri": uri}])
    attached = read_prompt([{"type": "resource", "resource": {"uri": uri, "text": "its text"}}])

    assert link.text and "its text" in attached.text


def test_all_addresses_are_split_in_one_place() -> None:
    splitting = re.compile(r"\b(?:urlsplit|urlparse|urljoin)\(")
    files = [path for path in PACKAGE.rglob("*.py") if splitting.search(path.read_text(encoding="utf-8"))]

    assert files == [PACKAGE / "addresses.py"]
