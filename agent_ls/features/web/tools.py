"""Select the web tools of a session: those that the settings allow and the provider supports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_ls.features.web.searches import BUILT_IN, ProviderSearches
from agent_ls.loop.seams import ModelClient
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.create import family_tools
from agent_ls.services.settings.model import Settings
from agent_ls.tools.base import Tool
from agent_ls.tools.web_fetch import WebFetcher, web_fetch
from agent_ls.tools.web_search import web_search


def web_tools(
    profile: ProviderProfile, settings: Settings, client: ModelClient, pages: WebFetcher | None
) -> Iterator[Tool[Any]]:
    """Yield the web tools for a profile. A tool is left out if the profile has one with the same name."""
    known = profile.registry.names()
    for tool in _web_tools(profile, settings, client, pages):
        for named in family_tools(tool, profile.id, native_names=settings.native_tool_names):
            if named.name not in known:
                yield named


def _web_tools(
    profile: ProviderProfile, settings: Settings, client: ModelClient, pages: WebFetcher | None
) -> Iterator[Tool[Any]]:
    if settings.web_fetch and pages:
        yield web_fetch(pages)
    if settings.web_search and profile.id in BUILT_IN:
        yield web_search(ProviderSearches(client, profile))
