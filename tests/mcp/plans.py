"""Plans for raw_server.py, and the files that configure such servers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

RAW = Path(__file__).with_name("raw_server.py")


def tool(name: str, description: str = "", **more: Any) -> dict[str, Any]:
    schema = more.pop("schema", {"type": "object", "properties": {"text": {"type": "string"}}})
    return {"name": name, "description": description or f"Does {name}.", "inputSchema": schema, **more}


def raw_server(folder: Path, name: str, **plan: Any) -> dict[str, Any]:
    """Write a plan to `folder`, and return the configuration entry of a server that follows it."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    change_plan(path, {"tools": [tool("echo")], **plan})
    return {"command": sys.executable, "args": ["-S", str(RAW), str(path)]}


def change_plan(path: Path, plan: dict[str, Any]) -> None:
    new = path.with_suffix(".new")
    new.write_text(json.dumps(plan), "utf-8")
    new.replace(path)


def user_file(state: Path, **servers: Any) -> None:
    """Write the user's own file of servers."""
    state.mkdir(exist_ok=True, mode=0o700)
    (state / "mcp.json").write_text(json.dumps({"mcpServers": servers}), "utf-8")


def project_file(folder: Path, **servers: Any) -> None:
    folder.mkdir(exist_ok=True)
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}), "utf-8")


def sent(log: Path) -> list[dict[str, Any]]:
    """Return the messages that a server with this log received."""
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []
