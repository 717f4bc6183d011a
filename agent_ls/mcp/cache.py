"""Cache the tools, prompts and resources of servers, so that the first request of a session need not wait for
the servers.

ROOT/mcp-cache/DIGEST.json, one file for each server configuration.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agent_ls.mcp.descriptions import (
    PromptArgument,
    ServerDescription,
    ServerPrompt,
    ServerResource,
    tool_from_json,
)
from agent_ls.store.log import make_private_folder

MAX_BYTES = 4 * 1024 * 1024


class DescriptionCache:
    """Reads and writes the cached descriptions of MCP servers. Both methods block."""

    def __init__(self, root: Path) -> None:
        self._folder = root / "mcp-cache"

    def read(self, digest: str) -> ServerDescription | None:
        """Return the cached description; None if there is none or it cannot be read."""
        try:
            path = self._folder / f"{digest}.json"
            if path.stat().st_size > MAX_BYTES:
                return None
            return _description_from_json(json.loads(path.read_text("utf-8")))
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def write(self, digest: str, description: ServerDescription) -> None:
        """Store the description. Ignores errors, because the cache only saves time."""
        with suppress(OSError, TypeError, ValueError):
            make_private_folder(self._folder)
            path = self._folder / f"{digest}.json"
            text = json.dumps(asdict(description), ensure_ascii=False)
            new = path.with_suffix(f".{os.getpid()}")
            new.write_text(text, "utf-8", errors="surrogateescape")
            os.replace(new, path)


def _description_from_json(raw: dict[str, Any]) -> ServerDescription:
    tools = [tool_from_json(it) for it in raw.pop("tools")]
    prompts = [
        ServerPrompt(it["name"], it["description"], tuple(PromptArgument(**each) for each in it["arguments"]))
        for it in raw.pop("prompts")
    ]
    resources = [ServerResource(**it) for it in raw.pop("resources")]
    templates = [ServerResource(**it) for it in raw.pop("templates", ())]
    invalid = tuple(raw.pop("invalid"))
    return ServerDescription(
        **raw,
        tools=tuple(tool for tool in tools if tool),
        prompts=tuple(prompts),
        resources=tuple(resources),
        templates=tuple(templates),
        invalid=invalid,
    )
