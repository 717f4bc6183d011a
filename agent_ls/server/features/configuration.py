"""Settings while the server runs: asked for where the client can be asked, else taken as it sends them.

They stand over those of `initialize`, name by name. What a client answers may have been mixed with what the workspace's
own files say: until the workspace is trusted it can make nothing looser (app/held_settings.py).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

import anyio
import anyio.to_thread
from lsprotocol import types as lsp

from agent_ls.server.hello import ClientAbilities
from agent_ls.server.seams import Bench

log = logging.getLogger(__name__)

SECTION = "agentLs"
ANSWER_S = 10.0
"""A client that has not answered by then has said nothing."""

SETTLED_S = 2.0
"""So long a new session waits for what the client may have to say of it."""

Ask: TypeAlias = Callable[[str, Any], Awaitable[Any]]
Start: TypeAlias = Callable[[Callable[[], Awaitable[None]]], None]


def section_of(options: Any) -> dict[str, Any] | None:
    """The settings of ours in what was sent: null is not set, and the token is none (listen.py)."""
    section = options.get(SECTION) if isinstance(options, dict) else None
    return _set(section) if isinstance(section, dict) else None


def _set(section: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in section.items() if value is not None and name != "token"}


class Configuration:
    """`first` are the settings of `initialize`, of which `told` has been shown; `folders` those that are open now."""

    def __init__(
        self,
        bench: Bench,
        client: ClientAbilities,
        *,
        first: Mapping[str, Any],
        told: Sequence[str],
        tell: Callable[[Sequence[str]], None],
        folders: Callable[[], Sequence[str]],
        ask: Ask,
        start: Start,
    ) -> None:
        self._bench = bench
        self._client = client
        self._first = first
        self._now: Mapping[str, Any] | None = None
        self._told = frozenset(told)
        self._tell = tell
        self._folders = folders
        self._ask = ask
        self._start = start
        self._order = anyio.Lock()
        self._holding = anyio.Lock()
        self._unheard = 0
        self._is_settled = anyio.Event()
        self._is_there = False
        if client.configuration:
            self._await_one()  # it is asked once it says that it is there
        else:
            self._is_settled.set()
        bench.trust.on_change = lambda: start(self._hold)

    async def settled(self) -> None:
        """Once what the client has sent holds, and what it was asked is answered, or has had its time."""
        with anyio.move_on_after(SETTLED_S):
            await self._is_settled.wait()

    async def initialized(self, params: Any) -> None:
        """The client may be asked from now on."""
        if self._client.configuration:
            self._ask_for_them()
            if not self._is_there:
                self._is_there = True
                self._heard_one()
        if self._client.configuration_registration:
            self._start(self._register)

    async def changed(self, params: Any) -> None:
        """Sent with the new settings, with those of other servers, or with none: then they are asked for."""
        pushed = section_of(params.get("settings") if isinstance(params, dict) else None)
        if pushed is not None:
            self._await_one()
            try:
                await self._take(pushed)
            finally:
                self._heard_one()
        elif self._client.configuration:
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
            self._is_settled = anyio.Event()
        self._unheard += 1

    def _heard_one(self) -> None:
        self._unheard -= 1
        if not self._unheard:
            self._is_settled.set()

    async def _register(self) -> None:
        # With a section named, clients send that section; without, they say that something has changed.
        options = None if self._client.configuration else {"section": SECTION}
        method = lsp.WORKSPACE_DID_CHANGE_CONFIGURATION
        registration = lsp.Registration(id="agentLs.configuration", method=method, register_options=options)
        await self._asked(lsp.CLIENT_REGISTER_CAPABILITY, lsp.RegistrationParams([registration]))

    async def _pull(self) -> None:
        items = [lsp.ConfigurationItem(section=SECTION)]
        async with self._order:  # an earlier question's answer must not stand over a later one's
            answer = await self._asked(lsp.WORKSPACE_CONFIGURATION, lsp.ConfigurationParams(items))
            if isinstance(answer, list) and len(answer) == 1 and isinstance(answer[0], dict):
                await self._take(_set(answer[0]))

    async def _asked(self, method: str, params: Any) -> Any:
        """None for whatever a client answers instead."""
        try:
            with anyio.move_on_after(ANSWER_S):
                return await self._ask(method, params)
        except Exception as error:  # the edge: a client that cannot do what it announced
            log.info("%s was not answered: %s", method, error)
        return None

    async def _take(self, options: Mapping[str, Any]) -> None:
        if options or self._now is not None:
            self._now = options
            await self._hold()

    async def _hold(self) -> None:
        """Puts into force what may be, and tells what is wrong with it, but for what stands told already."""
        async with self._holding:  # what was sent last is put into force last, however long the look takes
            if self._now is None:
                return
            options = {**self._first, **self._now}
            is_trusted = await anyio.to_thread.run_sync(self._is_trusted)
            problems = self._bench.change_settings(options, is_trusted=is_trusted)
            self._tell([problem for problem in problems if problem not in self._told])
            self._told = frozenset(problems)

    def _is_trusted(self) -> bool:
        """Of each folder: the settings hold for all of them. Blocks."""
        return all(self._bench.trust.standing(folder) == "trusted" for folder in self._folders())
