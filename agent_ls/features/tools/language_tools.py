"""Choose a session's language tools: the tools that the client supports when the session is opened.

The list does not change while the session is open, because it is the start of the prompt that the provider
caches. If the client later cannot answer the query of a language tool, the tool call returns an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from agent_ls.environments.language_host import LanguageHost, LanguageQuery
from agent_ls.features.tools.yaml_tools import ProfileFor
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.create import family_tools
from agent_ls.tools.base import Tool
from agent_ls.tools.definition import definition
from agent_ls.tools.diagnostics import diagnostics
from agent_ls.tools.references import references
from agent_ls.tools.rename_symbol import rename_symbol
from agent_ls.tools.symbols import symbols

_TOOLS: Mapping[LanguageQuery, Callable[[LanguageHost], Tool[Any]]] = MappingProxyType(
    {
        "definition": definition,
        "references": references,
        "symbols": symbols,
        "rename": rename_symbol,
        "diagnostics": diagnostics,
    }
)


def with_language_tools(profiles: ProfileFor, host: LanguageHost, *, native_names: bool) -> ProfileFor:
    """Add language tools to profiles: the tools whose queries `host` can answer.

    They never replace a tool with the same name.
    """
    answers = host.supported_queries()
    made = [make(host) for query, make in _TOOLS.items() if query in answers]
    if not made:
        return profiles

    def profile(provider: str, model: str) -> ProviderProfile:
        found = profiles(provider, model)
        for tool in made:
            if found.registry.lookup(tool.name) is None:
                for shaped in family_tools(tool, found.id, native_names=native_names):
                    found.registry.register(shaped)
        return found

    return profile
