"""Store the user's decisions about MCP servers in one readable file, with the tools that each server had at the
time of the decision.

ROOT/mcp-servers.json     {"version": 1, "mcp-servers": [{"digest", "name", "decision", "decided", "shown", …}]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from agent_ls.store.json_list import JsonList
from agent_ls.store.layout import Layout

Decision: TypeAlias = Literal["allowed", "denied", ""]


@dataclass(frozen=True, slots=True)
class ApprovedServer:
    """A stored decision about a server.

    `decision` "": the user has not decided, for example because a server in their own configuration needs no
    approval. `tools` maps tool names to the definitions with which later versions are compared. `folder` is the
    only folder for which the decision is valid, "" for all. `decided` is the time. `is_off`: the user switched
    the server off. `shown` is the text that was displayed; `digest` is the digest of the server's configuration.
    """

    digest: str
    name: str
    decision: Decision = ""
    folder: str = ""
    decided: str = ""
    is_off: bool = False
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    shown: str = ""


class ApprovalStore:
    """Reads and writes the file of decisions. An unreadable entry counts as no decision. All methods block."""

    def __init__(self, root: Path | None = None) -> None:
        self._list = JsonList(Layout(root).root, "mcp-servers")

    def find_known(self, digest: str, folder: str) -> ApprovedServer | None:
        return next((it for it in self.all() if (it.digest, it.folder) == (digest, folder)), None)

    def all(self) -> Sequence[ApprovedServer]:
        return [server for entry in self._list.read() if (server := _server(entry))]

    def decide(self, server: ApprovedServer) -> None:
        """Store a decision, replacing an older one about the same server.

        Raises:
            OSError: the file cannot be written.
        """

        def change(entries: Sequence[Any]) -> list[Any]:
            kept = [it for it in entries if not _is_same(it, server)]
            return [*kept, asdict(server)]

        self._list.change(change)

    def delete_decisions(self, name: str) -> bool:
        """Remove all decisions about servers of this name. Returns whether there were any.

        Raises:
            OSError: the file cannot be written.
        """
        was_known = any(it.name == name for it in self.all())
        if was_known:
            self._list.change(
                lambda entries: [
                    it for it in entries if not (isinstance(it, dict) and it.get("name") == name)
                ]
            )
        return was_known


def _is_same(entry: Any, server: ApprovedServer) -> bool:
    known = _server(entry)
    return known is not None and (known.digest, known.folder) == (server.digest, server.folder)


def _server(entry: Any) -> ApprovedServer | None:
    """Parse an entry; None if it is invalid."""
    if not isinstance(entry, dict):
        return None
    texts = {name: entry.get(name, "") for name in ("digest", "name", "folder", "decided", "shown")}
    decision, tools = entry.get("decision", ""), entry.get("tools", {})
    if not all(isinstance(value, str) for value in texts.values()) or not texts["digest"]:
        return None
    if decision not in ("allowed", "denied", "") or not isinstance(tools, dict):
        return None
    return ApprovedServer(
        **texts,
        decision=decision,
        is_off=entry.get("is_off") is True,
        tools={name: tool for name, tool in tools.items() if isinstance(tool, dict)},
    )
