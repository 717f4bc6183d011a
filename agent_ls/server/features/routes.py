"""All `agent/*` messages, by the module that answers them.

A module and the classes of its messages are imported when its first message arrives, or in the background
after the start, because a first prompt needs only three of the thirteen modules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final

from agent_ls.server.features import prompts, review, sessions
from agent_ls.server.rpc.router import Route


def _agent(names: str) -> tuple[str, ...]:
    return tuple(f"agent/{name}" for name in names.split())


METHODS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "sessions": _agent(
            "newSession sessions bringChanges subscribe history draft unsubscribe configure acceptPlan abort answer"
        ),
        "archive": _agent("rename fork takeOver revert closeSession deleteSession export output"),
        "prompts": _agent("submit steer unsteer followUp interrupt queue compact"),
        "review": _agent("approve hunks looked review"),
        "rules": _agent("rules removeRule trust"),
        "contents": ("workspace/textDocumentContent",),
        "terminals": _agent("terminals terminalKill terminalInput terminalResize terminalOutput"),
        "editor": _agent("memory editorState diagnostics clientAnswer"),
        "models": _agent("setCredential models"),
        "servers": _agent("mcpServers mcpSwitch"),
        "completion": _agent("commands complete"),
        "commits": _agent("commitMessage"),
        "blame": _agent("blame"),
    }
)
"""The methods of each module of this package."""


class Routes(Mapping[str, Route]):
    """Maps each `agent/*` method to its route. Imports the module of a route when the route is first needed."""

    def __init__(self) -> None:
        self._modules = {method: module for module, methods in METHODS.items() for method in methods}
        loaded = (*sessions.ROUTES, *prompts.ROUTES, *review.ROUTES)
        self._loaded = {route.params.method: route for route in loaded}

    def __getitem__(self, method: str) -> Route:
        if method not in self._loaded:
            self.load(self._modules[method])
        return self._loaded[method]

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def load(self, module: str) -> None:
        """Import a module that METHODS lists. Safe in any thread."""
        routes = import_module(f"agent_ls.server.features.{module}").ROUTES
        self._loaded |= {route.params.method: route for route in routes}


ROUTES: Final = Routes()
