"""The tools that not every session has: whether each is offered is decided when the session opens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_ls.features.tools.yaml_tools import YamlTools

if TYPE_CHECKING:
    from agent_ls.features.packs.load import SessionPacks


@dataclass(frozen=True, slots=True)
class OptionalTools:
    """The user's own tools, and conditions that decide which other tools a session offers.

    `notebooks`: the session's folder contains notebooks, so the notebook tool is offered. `skills`: the user
    or the folder has skills, so use_skill is offered. `packs`: the tool packs that the settings choose, None
    if they choose none. `agents`: the user or the folder defines kinds of subagents.
    """

    own: YamlTools
    notebooks: bool = False
    skills: bool = False
    packs: SessionPacks | None = None
    agents: bool = False

    @property
    def warning(self) -> str:
        """Warning for the user of a session; "" if there is no problem."""
        return "\n".join(filter(None, (self.own.warning, self.packs.report.warning if self.packs else "")))

    @property
    def recorded(self) -> Mapping[str, object]:
        """Properties of the folder that determine the offered tools, for the header of a recording."""
        return {"notebooks": self.notebooks, "packs": list(self.packs.detected) if self.packs else []}
