"""The official conformance kit tests our client: each scenario passes, or its failure is explained here.

A run takes a share of the scenarios; `make test-mcp` and the sweep take all of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.mcp.peers import KIT, NODE, needs_peers

pytestmark = [pytest.mark.req("T11"), needs_peers, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parents[2]
SHARE = ("initialize", "auth/metadata-var1", "auth/cross-app-access-complete-flow")
"""The scenarios of a normal run: each starts Node and an interpreter."""

EXPLAINED = {
    # Machine-to-machine logins are extensions of the protocol; agent-ls only supports logins by a person.
    "auth/client-credentials-jwt": "Expected grant_type=client_credentials, got authorization_code",
    "auth/client-credentials-basic": "Expected grant_type=client_credentials, got authorization_code",
    "auth/cross-app-access-complete-flow": "Auth server only supports jwt-bearer grant",
    # RFC 8414 section 3.3: metadata of another issuer than the requested one must not be used.
    "auth/2025-03-26-oauth-metadata-backcompat": "Authorization server metadata issuer mismatch",
}
"""The scenarios that fail, each with a part of its output. `docs/mcp.md` gives the reasons."""


def scenarios() -> Sequence[str]:
    """Return the scenarios of the kit for clients. A normal run does not ask the kit: each worker would start Node."""
    if os.environ.get("AGENT_LS_SWEEPS") != "whole" or not KIT.exists() or not NODE.exists():
        return SHARE
    listed = subprocess.run([NODE, KIT, "list"], capture_output=True, text=True, check=True).stdout
    names = [
        line.split()[1]
        for line in listed.split("Client scenarios")[1].splitlines()
        if line.startswith("  - ")
    ]
    assert len(names) == 26 and set(names) >= {*EXPLAINED, *SHARE}
    return names


@pytest.mark.sweep
@pytest.mark.parametrize("scenario", scenarios())
def test_the_mcp_client_passes_each_conformance_scenario_except_explained_failures(
    scenario: str, tmp_path: Path
) -> None:
    command = f"{sys.executable} -m tests.mcp.conformance_client"
    words = [str(NODE), str(KIT), "client", "--command", command, "--scenario", scenario]
    words += ["--timeout", "120000", "-o", str(tmp_path)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    # The kit writes its result to standard error.
    done = subprocess.run(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env=environ,
        check=False,
    )

    expected = EXPLAINED.get(scenario, "OVERALL: PASSED")
    assert expected in done.stdout, done.stdout[-2000:]
    assert ("OVERALL: PASSED" in done.stdout) is (scenario not in EXPLAINED)


def test_docs_name_each_failing_scenario() -> None:
    text = (ROOT / "docs" / "mcp.md").read_text("utf-8")
    assert f"{26 - len(EXPLAINED)} of the kit's 26 client scenarios" in " ".join(text.split())
    assert not [name for name in EXPLAINED if name not in text]
