"""Add a session's tools to the profiles of its models: the user's own, pack, notebook, language, skill tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from agent_ls.features.tools.notebooks import with_notebooks
from agent_ls.features.tools.yaml_tools import with_cli_tools
from agent_ls.sessions.optional_tools import OptionalTools

if TYPE_CHECKING:
    from agent_ls.environments.language_host import LanguageHost
    from agent_ls.features.skills.service import SessionSkills
    from agent_ls.loop.calls.redaction import Known
    from agent_ls.profiles.base import ProviderProfile
    from agent_ls.services.models.service import ModelService
    from agent_ls.services.settings.model import Settings
    from agent_ls.sessions.build.parts import RecordedParts
    from agent_ls.tools.web_fetch import WebFetcher

Profiles: TypeAlias = "Callable[[str, str], ProviderProfile]"
"""Returns the profile for a provider and a model."""


def with_session_tools(
    profiles: Profiles,
    tools: OptionalTools,
    models: ModelService,
    skills: SessionSkills,
    language: LanguageHost | None,
    hide: Callable[[Sequence[str]], None],
    *,
    native_names: bool,
) -> Profiles:
    """Return profiles that also have the session's own tools. `hide` gets the values of variables that tools use.

    `native_names`: use the tool names of the model vendor's own agent, such as `Bash`.
    """
    profiles = with_cli_tools(profiles, tools.own.tools, models.child_environ, hide)
    # The modules below are imported only if needed: few sessions have these tools.
    if tools.packs:
        from agent_ls.features.packs.load import with_packs

        profiles = with_packs(
            profiles,
            tools.packs,
            models.child_environ,
            native_names=native_names,
            without=models.removed_tools,
        )
    if tools.notebooks:
        profiles = with_notebooks(profiles, native_names=native_names)
    if language:
        from agent_ls.features.tools.language_tools import with_language_tools

        profiles = with_language_tools(profiles, language, native_names=native_names)
    if tools.skills:
        from agent_ls.features.skills.tool import with_use_skill

        profiles = with_use_skill(profiles, skills.use)
    if tools.agents:
        from agent_ls.features.skills.agent_tool import with_agent_kinds

        profiles = with_agent_kinds(profiles, skills.agents, models.has_model)
    return profiles


def web_profiles(
    models: ModelService,
    settings: Callable[[], Settings],
    parts: RecordedParts,
    fetcher: WebFetcher | None,
    secrets: Known,
) -> Profiles:
    """Return profiles with the web tools that the settings allow. `fetcher` None: pages are fetched by HTTP.

    A web tool is left out if the profile already has a tool with the same name.
    """
    pages: WebFetcher | None = None

    def profile(provider: str, model: str) -> ProviderProfile:
        nonlocal pages
        now, found = settings(), models.profile(provider, model)
        if not (now.web_fetch or now.web_search):
            return found
        from agent_ls.features.web.tools import with_web_tools  # rarely used, and imports an HTTP library

        if now.web_fetch and not pages:
            pages = parts.record_pages(fetcher or http_pages(secrets))
        return with_web_tools(found, now, parts.client, pages if now.web_fetch else None)

    return profile


def http_pages(secrets: Known) -> WebFetcher:
    from agent_ls.features.web.pages import HttpPages

    return HttpPages(secrets)
