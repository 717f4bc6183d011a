"""Handle settings that change while the server runs: request the settings if the client supports requests,
otherwise use the settings that the client pushes.

A changed setting overrides the setting of the same name from `initialize`. A client's answer may include
settings from files of the workspace. So until the workspace is trusted, the answer cannot make any setting less
strict (services/settings/untrusted.py).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
import anyio.to_thread
from lsprotocol import types as lsp

from agent_ls.background import TaskStarter
from agent_ls.server.lsp.capabilities import ClientAbilities

if TYPE_CHECKING:
    from agent_ls.sessions.manager import SessionManager

log = logging.getLogger(__name__)

SECTION = "agentLs"
ANSWER_S = 10.0
"""Time limit for the client's answer; a missing answer counts as empty."""

SETTINGS_WAIT_S = 2.0
"""Longest time that a new session waits for pending settings."""

Ask: TypeAlias = Callable[[str, Any], Awaitable[Any]]


def section_of(options: Any) -> dict[str, Any] | None:
    """Return agent-ls's settings from a message. A null value means "not set". The connection token is left
    out, because it is not a setting (transport/tcp.py).
    """
    section = options.get(SECTION) if isinstance(options, dict) else None
    return _set(section) if isinstance(section, dict) else None


def _set(section: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in section.items() if value is not None and name != "token"}


@dataclass(frozen=True, slots=True)
class SettingsClient:
    """The client, as the source of settings. `ask` sends a request to the client, `tell` shows problems to
    the user.
    """

    abilities: ClientAbilities
    ask: Ask
    tell: Callable[[Sequence[str]], None]


class Configuration:
    """Applies the client's settings whenever they change. `first` contains the settings from `initialize`;
    `displayed` are the problems that the user has seen. `folders` returns the open folders.
    """

    def __init__(
        self,
        manager: SessionManager,
        client: SettingsClient,
        *,
        first: Mapping[str, Any],
        displayed: Sequence[str],
        folders: Callable[[], Sequence[str]],
        start: TaskStarter,
    ) -> None:
        self._manager = manager
        self._client = client
        self._first = first
        self._now: Mapping[str, Any] | None = None
        self._displayed = frozenset(displayed)
        self._folders = folders
        self._start = start
        self._order = anyio.Lock()
        self._holding = anyio.Lock()
        self._unheard = 0
        self._are_applied = anyio.Event()
        self._is_there = False
        if client.abilities.configuration:
            self._await_one()  # the client is asked after `initialized`
        else:
            self._are_applied.set()

    async def trust_changed(self) -> None:
        """Apply the settings that need trust again, because the user has decided about a folder."""
        self._start(self._hold)

    async def wait_for_settings(self) -> None:
        """Wait until pending settings are applied and pending requests are answered, at most SETTINGS_WAIT_S."""
        with anyio.move_on_after(SETTINGS_WAIT_S):
            await self._are_applied.wait()

    async def initialized(self, params: Any) -> None:
        """Handle `initialized`: from now on, requests may be sent to the client."""
        if self._client.abilities.configuration:
            self._ask_for_them()
            if not self._is_there:
                self._is_there = True
                self._heard_one()
        if self._client.abilities.configuration_registration:
            self._start(self._register)

    async def handle_change(self, params: Any) -> None:
        """Handle `didChangeConfiguration`. The notification may contain settings of agent-ls, of other
        servers, or none. Request the settings of agent-ls if it has none.
        """
        pushed = section_of(params.get("settings") if isinstance(params, dict) else None)
        if pushed is not None:
            self._await_one()
            try:
                await self._take(pushed)
            finally:
                self._heard_one()
        elif self._client.abilities.configuration:
            self._ask_for_them()

    def _ask_for_them(self) -> None:
        self._await_one()

        async def pull() -> None:
            try:
                await self._pull()
            finally:
                self._heard_one()

        self._start(pull)

    def _await_one(self) -> None:
        if not self._unheard:
            self._are_applied = anyio.Event()
        self._unheard += 1

    def _heard_one(self) -> None:
        self._unheard -= 1
        if not self._unheard:
            self._are_applied.set()

    async def _register(self) -> None:
        # If a section is registered, clients send that section. Without a section they only report that
        # something changed.
        options = None if self._client.abilities.configuration else {"section": SECTION}
        method = lsp.WORKSPACE_DID_CHANGE_CONFIGURATION
        registration = lsp.Registration(id="agentLs.configuration", method=method, register_options=options)
        await self._request(lsp.CLIENT_REGISTER_CAPABILITY, lsp.RegistrationParams([registration]))

    async def _pull(self) -> None:
        items = [lsp.ConfigurationItem(section=SECTION)]
        # One request at a time, so that an earlier response does not replace a later one.
        async with self._order:
            answer = await self._request(lsp.WORKSPACE_CONFIGURATION, lsp.ConfigurationParams(items))
            if isinstance(answer, list) and len(answer) == 1 and isinstance(answer[0], dict):
                await self._take(_set(answer[0]))

    async def _request(self, method: str, params: Any) -> Any:
        """Send a request. Returns None if the client fails or does not answer in time."""
        try:
            with anyio.move_on_after(ANSWER_S):
                return await self._client.ask(method, params)
        except Exception as error:  # the client does not support the request that it announced
            log.info("%s was not answered: %s", method, error)
        return None

    async def _take(self, options: Mapping[str, Any]) -> None:
        if options or self._now is not None:
            self._now = options
            await self._hold()

    async def _hold(self) -> None:
        """Apply the settings that the trust of the workspace allows, and show the user the new problems."""
        # one at a time, so that the settings sent last are applied last, even if the trust check of earlier ones is
        # slow
        async with self._holding:
            if self._now is None:
                return
            options = {**self._first, **self._now}
            is_trusted = await anyio.to_thread.run_sync(self._is_trusted)
            problems = self._manager.change_settings(options, is_trusted=is_trusted)
            self._client.tell([problem for problem in problems if problem not in self._displayed])
            self._displayed = frozenset(problems)

    def _is_trusted(self) -> bool:
        """Return whether all open folders are trusted, because the settings apply to all of them. Blocks."""
        return all(self._manager.trust.get_trust(folder) == "trusted" for folder in self._folders())
