"""Which language tools a session gets: those that the client can answer when the session is opened here (T14).

The list stays as it is for as long as the session is open in this process: a provider's cache of the prompt begins with
it. What the client cannot answer later on is an error of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from agent_ls.app.cli_tools import ProfileFor
from agent_ls.environments.language_host import LanguageHost, LanguageQuery
from agent_ls.profiles.base import ProviderProfile
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
    """Profiles that offer these tools too. None takes the place of one that is there already, by whatever name."""
    answers = host.answers()
    made = [make(host) for query, make in _TOOLS.items() if query in answers]
    if not made:
        return profiles

    def profile(provider: str, model: str) -> ProviderProfile:
        found = profiles(provider, model)
        for tool in made:
            if found.registry.lookup(tool.name) is None:
                found.registry.register(_named(tool, found.id) if native_names else tool)
        return found

    return profile


def _named(tool: Tool[Any], family: str) -> Tool[Any]:
    from agent_ls.profiles.native import native_tool  # seldom wanted

    return native_tool(tool, family)
