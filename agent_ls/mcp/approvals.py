"""Which MCP servers the user has approved, and the tools that each had then: one readable file in the user's folder.

ROOT/mcp-servers.json     {"version": 1, "mcp-servers": [{"digest", "name", "decision", "folder", "decided", "tools"}]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from agent_ls.store.kept_list import KeptList
from agent_ls.store.layout import Layout

Decision: TypeAlias = Literal["allowed", "denied", ""]


@dataclass(frozen=True, slots=True)
class ApprovedServer:
    """`decision` "": nobody was asked, because the server is the user's own. `tools` are definitions by tool name.

    `folder` is where a server of a project was decided about, "" for one that holds everywhere. `is_off`: the user
    switched it off.
    """

    digest: str
    name: str
    decision: Decision = ""
    folder: str = ""
    decided: str = ""
    is_off: bool = False
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class ApprovalStore:
    """What cannot be read was never decided. All of it blocks."""

    def __init__(self, root: Path | None = None) -> None:
        self._list = KeptList(Layout(root).root, "mcp-servers")

    def known(self, digest: str, folder: str) -> ApprovedServer | None:
        return next((it for it in self.all() if (it.digest, it.folder) == (digest, folder)), None)

    def all(self) -> Sequence[ApprovedServer]:
        return [server for entry in self._list.read() if (server := _server(entry))]

    def decide(self, server: ApprovedServer) -> None:
        """Keep the decision, in place of an older one about the same server.

        Raises:
            OSError: it cannot be written.
        """

        def change(entries: Sequence[Any]) -> list[Any]:
            kept = [it for it in entries if not _is_same(it, server)]
            return [*kept, asdict(server)]

        self._list.change(change)

    def keep_tools(self, server: ApprovedServer, tools: Mapping[str, Mapping[str, Any]]) -> None:
        """
        Raises:
            OSError: it cannot be written.
        """
        self.decide(replace(self.known(server.digest, server.folder) or server, tools=tools))

    def forget(self, name: str) -> bool:
        """Forget all that was decided about servers of this name; whether there was anything.

        Raises:
            OSError: it cannot be written.
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
    """None for an invalid entry: it approves nothing."""
    if not isinstance(entry, dict):
        return None
    texts = {name: entry.get(name, "") for name in ("digest", "name", "folder", "decided")}
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
