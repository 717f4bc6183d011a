"""Third-party MCP servers, as `make .tools/mcp-peers/.ready` installs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

TOOLS = Path(__file__).resolve().parents[2] / ".tools" / "mcp-peers"
NODE = TOOLS / "python" / "bin" / "node"
MODULES = TOOLS / "node_modules" / "@modelcontextprotocol"
KIT = MODULES / "conformance" / "dist" / "index.js"

needs_peers = pytest.mark.skipif(
    not (KIT.exists() and NODE.exists()),
    reason="`make .tools/mcp-peers/.ready` fetches the servers of others",
)


def node(name: str, *arguments: str) -> dict[str, Any]:
    return {"command": str(NODE), "args": [str(MODULES / name / "dist" / "index.js"), *arguments]}


def python(name: str, *arguments: str) -> dict[str, Any]:
    return {"command": str(TOOLS / "python" / "bin" / name), "args": list(arguments)}
