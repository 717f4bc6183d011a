"""Capabilities that an ACP client announced in `initialize`, and known habits of clients that are not
announced.

This module imports nothing large, because `initialize` is answered before anything else is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

META = "agent-ls"
"""The key of agent-ls' own fields in `_meta`."""

READS_DISK = ("acpx", "codecompanion", "toad")
"""Clients whose `fs/read_text_file` returns the text on disk, not the unsaved text. agent-ls does not call
the method of these clients. codecompanion's `fs/write_text_file` also replaces the whole buffer, unsaved
typing included.
"""

SHOWS_EVERY_OPTION = ("zed", "jetbrains", "intellij", "pycharm", "webstorm", "goland", "agent-shell", "acpx")
"""Clients that show each option of a permission request under its own name. Others map option kinds to keys."""


@dataclass(frozen=True, slots=True)
class ClientFacts:
    """Capabilities of the client. `settings` are those of `_meta["agent-ls"]`, not validated yet.

    `reads_files` and `writes_files`: agent-ls can read and write the text of open files in the client.
    `shows_terminals`: the client displays the output of commands that agent-ls runs. `asks_forms`: the client
    can display a form for a question. `keeps_plans`, `shows_compactions` and `shows_notices`: the client knows the
    updates `plan_update`, `compaction_update` and `notice`, of which the first is a draft of the protocol.
    `follows_subagents`: the client displays a subagent as a session.
    """

    name: str = ""
    reads_files: bool = False
    writes_files: bool = False
    shows_terminals: bool = False
    asks_forms: bool = False
    opens_terminals: bool = False
    shows_every_option: bool = False
    keeps_plans: bool = False
    shows_compactions: bool = False
    shows_notices: bool = False
    follows_subagents: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The client's display name."""
        return self.name or "an ACP client"


def client_facts(params: Mapping[str, Any]) -> ClientFacts:
    """Read the parameters of `initialize`. A capability that is missing or malformed counts as not announced."""
    capabilities = _table(params, "clientCapabilities")
    files, meta = _table(capabilities, "fs"), _table(capabilities, "_meta")
    name = _table(params, "clientInfo").get("name")
    name = name if isinstance(name, str) else ""
    has_buffers = not _is_among(name, READS_DISK)
    return ClientFacts(
        name=name,
        reads_files=has_buffers and files.get("readTextFile") is True,
        writes_files=has_buffers and files.get("writeTextFile") is True,
        shows_terminals=meta.get("terminal_output") is True,
        asks_forms=isinstance(_table(capabilities, "elicitation").get("form"), Mapping),
        opens_terminals=_table(capabilities, "auth").get("terminal") is True,
        keeps_plans=isinstance(capabilities.get("plan"), Mapping),
        shows_compactions=isinstance(_table(capabilities, "session").get("compaction"), Mapping),
        shows_notices=isinstance(_table(capabilities, "session").get("notices"), Mapping),
        follows_subagents=isinstance(capabilities.get("subagents"), Mapping),
        shows_every_option=_is_among(name, SHOWS_EVERY_OPTION),
        settings=_table(params, "_meta", META),
    )


def _is_among(name: str, known: tuple[str, ...]) -> bool:
    return name.lower().startswith(known)


def _table(value: Mapping[str, Any], *steps: str) -> Mapping[str, Any]:
    """Return the nested object that the keys `steps` lead to; empty if there is none."""
    for step in steps:
        found = value.get(step)
        if not isinstance(found, Mapping):
            return {}
        value = found
    return value
