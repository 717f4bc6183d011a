"""The tools that not every session has: whether each is offered is decided when the session opens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from agent_ls.environments.instruction_files import LOCAL_FILES, InstructionFiles
from agent_ls.features.skills.loader import has_skills
from agent_ls.features.skills.places import has_agent_kinds
from agent_ls.features.tools.notebooks import has_notebooks
from agent_ls.features.tools.yaml_tools import YamlTools, load_cli_tools
from agent_ls.services.settings.model import ToolPackSettings

if TYPE_CHECKING:
    from agent_ls.features.packs.load import SessionPacks
    from agent_ls.sessions.services import SharedServices


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


async def find_optional_tools(
    services: SharedServices, folder: str, stored_place: object = None
) -> OptionalTools:
    """Return the optional tools for a session in `folder`, such as the user's own tools and tool packs.

    A file of these tools that changes later affects only sessions that are opened after the change.
    `stored_place` is the machine that the log of a resumed session names.

    Raises:
        BadChoiceError: the folder does not exist, or the settings name another machine than the log.
        PlaceError: the machine cannot be used.
    """
    await services.sites.prepare(folder)
    services.sites.check_same(folder, stored_place)
    found = await anyio.to_thread.run_sync(_load, services, folder)
    is_there = services.client.notebooks
    if is_there is None:
        looked_at = services.local(folder)
        is_there = await has_notebooks(looked_at)
        if services.sites.site(folder) and looked_at is not services.program.environment:
            await looked_at.cleanup()
    return replace(found, notebooks=is_there)


def _load(services: SharedServices, folder: str) -> OptionalTools:
    """Return the optional tools except notebooks. Blocks."""
    site = services.sites.site(folder)
    location = None if services.program.environment else site.root if site else folder
    workspace = Path(location) if location else None
    files: InstructionFiles = site.instructions if site else LOCAL_FILES
    is_trusted = workspace is not None and services.trust.get_trust(folder) == "trusted"
    # Skills of an untrusted folder are searched too: the user may trust the folder at the first message.
    chosen, state = services.now().skills, str(services.account or "")
    return OptionalTools(
        load_cli_tools(services.account, workspace, trusted=is_trusted, files=files),
        packs=_load_packs(services, folder),
        skills=has_skills(chosen, state, location, files=files),
        agents=has_agent_kinds(chosen, state, location, files),
    )


def _load_packs(services: SharedServices, folder: str) -> SessionPacks | None:
    """Load the tool packs that the settings choose, for the machine where the session's commands run. Return None
    if no packs are chosen. Blocks.
    """
    settings = services.now()
    chosen = settings.tool_packs
    if chosen == ToolPackSettings():
        return None
    from agent_ls.features.packs.load import PackChoice, load_packs, permissions_of  # few users choose packs
    from agent_ls.features.packs.validator import Permissions

    choice = PackChoice(chosen.preset, tuple(chosen.packs), chosen.detect)
    is_restricted = services.trust.get_trust(folder) == "restricted"
    if site := services.sites.site(folder):
        permissions = Permissions(is_restricted)
        return load_packs(choice, site.facts.root, path=None, permissions=permissions, there=site.host)
    return load_packs(
        choice,
        folder,
        path=services.models.child_environ.get("PATH"),
        permissions=permissions_of(
            folder,
            is_restricted=is_restricted,
            has_network=not settings.sandbox.enabled or settings.sandbox.network,
        ),
        is_local=services.program.environment is None,
    )
