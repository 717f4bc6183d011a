"""docs/mcp.md names the protocol versions and the conformance kit that are really used."""

from __future__ import annotations

import json
import re

from mcp_types.version import SUPPORTED_PROTOCOL_VERSIONS

from tests.docs.pages import read, section

PAGE = read("docs/mcp.md")


def test_the_page_names_each_protocol_version_that_is_spoken() -> None:
    documented = re.findall(r"`(\d{4}-\d\d-\d\d)`", section(PAGE, "## Protocol versions"))
    assert documented == sorted(SUPPORTED_PROTOCOL_VERSIONS, reverse=True)


def test_the_page_names_the_version_of_the_kit_that_the_tests_install() -> None:
    package = "@modelcontextprotocol/conformance"
    wanted = json.loads(read(".ci/mcp-peers/package.json"))
    version = (wanted.get("dependencies", {}) | wanted.get("devDependencies", {}))[package]
    assert f"`{package}` {version}" in " ".join(PAGE.split())
