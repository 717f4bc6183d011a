"""Choose a session's language tools: the tools that the client supports when the session is opened.

The list does not change while the session is open, because it is the start of the prompt that the provider
caches. If the client later cannot answer the query of a language tool, the tool call returns an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from agent_ls.environments.language_host import LanguageHost, LanguageQuery
from agent_ls.features.base import SessionFeature
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.create import family_tools
from agent_ls.tools.base import Tool
from agent_ls.tools.call_hierarchy import call_hierarchy
from agent_ls.tools.code_actions import apply_code_action, code_actions
from agent_ls.tools.definition import definition
from agent_ls.tools.diagnostics import diagnostics
from agent_ls.tools.hover import hover
from agent_ls.tools.implementations import implementations
from agent_ls.tools.references import references
from agent_ls.tools.rename_symbol import rename_symbol
from agent_ls.tools.symbols import symbols

_TOOLS: Mapping[LanguageQuery, tuple[Callable[[LanguageHost], Tool[Any]], ...]] = MappingProxyType(
    {
        "definition": (definition,),
        "references": (references,),
        "symbols": (symbols,),
        "rename": (rename_symbol,),
        "diagnostics": (diagnostics,),
        "hover": (hover,),
        "implementations": (implementations,),
        "calls": (call_hierarchy,),
        "actions": (code_actions, apply_code_action),
    }
)


SMALL_WINDOW_TOKENS = 32_000
"""Models with a smaller context window get only the basic tools, because each description is part of each request."""
_BASIC: frozenset[LanguageQuery] = frozenset(("definition", "references", "symbols", "rename", "diagnostics"))


class LanguageTools(SessionFeature):
    """Adds language tools to profiles: the tools whose queries `host` can answer.

    They never replace a tool with the same name.
    """

    def __init__(self, host: LanguageHost, *, native_names: bool) -> None:
        answers = host.supported_queries()
        self._made = [
            (query, make(host)) for query, tools in _TOOLS.items() if query in answers for make in tools
        ]
        self._native_names = native_names

    def add_tools(self, profile: ProviderProfile) -> None:
        has_small_window = profile.context_window_tokens < SMALL_WINDOW_TOKENS
        for query, tool in self._made:
            if has_small_window and query not in _BASIC:
                continue
            if profile.registry.lookup(tool.name) is None:
                for shaped in family_tools(tool, profile.id, native_names=self._native_names):
                    profile.registry.register(shaped)
