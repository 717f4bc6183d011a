"""The permission modes by name: one vocabulary for editors, ACP, the library, `exec` and batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from agent_ls.near_names import did_you_mean
from agent_ls.policy.situation import Mode

STILL_ASKED = "`agent-ls docs modes` lists what mode full still asks about"


@dataclass(frozen=True, slots=True)
class ModeWords:
    """A mode for display: its title, and what it allows without approval."""

    title: str
    meaning: str


MODES: Mapping[Mode, ModeWords] = MappingProxyType(
    {
        "plan": ModeWords("Plan", "Read and answer only; nothing is changed or run"),
        "ask": ModeWords("Ask", "Ask before the first edit and before commands"),
        "edits": ModeWords("Edits", "Make edits in the workspace; ask before commands"),
        "full": ModeWords("Full", "Make edits and run commands; ask only about dangerous ones"),
    }
)

OLD_NAMES: Mapping[str, Mode] = MappingProxyType({"never": "ask", "all": "full"})
"""Names that earlier versions of `exec` and batches used."""

_OTHER_NAMES: Mapping[str, Mode] = MappingProxyType(
    {
        "acceptedits": "edits",
        "auto_edit": "edits",
        "auto-edit": "edits",
        "workspace-write": "edits",
        "default": "ask",
        "suggest": "ask",
        "read-only": "plan",
        "bypasspermissions": "full",
        "danger-full-access": "full",
        "full-auto": "full",
        "yolo": "full",
    }
)
"""What other agents call a mode. These names are for hints only: what they allow is not quite the same."""


class UnknownModeError(Exception):
    """There is no mode of this name. The message lists the modes."""

    def __init__(self, name: str) -> None:
        words = (f"choose {', '.join(MODES)}", did_you_mean(name, MODES, _OTHER_NAMES))
        super().__init__(f"there is no mode {name!r}: {'; '.join(filter(None, words))}")
        self.name = name


def parse_mode(name: str) -> tuple[Mode, str]:
    """Return the mode of a name, and a hint if the name is an old one.

    Raises:
        UnknownModeError
    """
    for mode in MODES:
        if name == mode:
            return mode, ""
    if name in OLD_NAMES:
        return OLD_NAMES[name], f"the mode {name} is now called {OLD_NAMES[name]}"
    raise UnknownModeError(name)
