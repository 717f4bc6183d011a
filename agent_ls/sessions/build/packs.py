"""Load the tool packs of a session, for the machine where its commands run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_ls.services.settings.model import ToolPackSettings

if TYPE_CHECKING:
    from agent_ls.features.packs.load import SessionPacks
    from agent_ls.sessions.services import SharedServices


def session_packs(folder: str, services: SharedServices) -> SessionPacks | None:
    """Load the tool packs that the settings choose. Return None if no packs are chosen. Blocks."""
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
