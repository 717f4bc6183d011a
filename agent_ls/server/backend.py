"""Load the session manager after `initialize` and answer the `agent/*` messages with it.

The session manager's imports take longer than an editor should wait for its first answer, so they run in a
thread after `initialize`. Messages that arrive before the imports are done wait, in order.
"""

from __future__ import annotations

import gc
import importlib
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
import anyio.to_thread

from agent_ls.background import task_starter
from agent_ls.server.transport.errors import StartError

if TYPE_CHECKING:
    from agent_ls.server.assembly import CreateManager
    from agent_ls.server.rpc.router import Router
    from agent_ls.server.server import AgentServer

log = logging.getLogger(__name__)

WARM_UP_AFTER_S = 0.3
"""Delay before preloading and before the local channel starts, so that an editor's first requests are
answered first.
"""


class AgentBackend:
    """Answers the `agent/*` messages. `create_manager` creates the session manager. None selects
    create_session_manager (server/create_manager.py).
    """

    def __init__(self, create_manager: CreateManager | None = None) -> None:
        self._create_manager = create_manager
        self._router: Router | None = None
        self._is_ready = anyio.Event()

    async def run(self, server: AgentServer) -> None:
        try:
            await anyio.to_thread.run_sync(self._load)
            await server.initialized.wait()
            await self._run(server)
        finally:
            gc.enable()
            self._router = None
            self._is_ready.set()

    async def _run(self, server: AgentServer) -> None:
        from agent_ls.server.assembly import assemble

        async with anyio.create_task_group() as tasks:
            start = task_starter(tasks, "a task of the server failed")
            manager, router, channel = assemble(server, start, self._create_manager or _real())
            await tasks.start(manager.run)
            self._router = router
            self._is_ready.set()
            await anyio.sleep(WARM_UP_AFTER_S)
            await manager.warm_up()
            await _load_other_features(manager.quiet.wait)
            await manager.quiet.wait()
            # Start the channel last: it imports all message classes at once, and by now most of them are
            # imported, so that editor messages do not wait long.
            start(channel.run)
            # Loaded objects stay alive, so exclude them from garbage collection, which was off since the start.
            gc.freeze()
            gc.enable()
            start(manager.return_memory)

    def _load(self) -> None:
        importlib.import_module("agent_ls.server.assembly")
        if self._create_manager is None:
            _real()

    async def call(self, method: str, params: Any) -> Any:
        """Answer one message after the backend has been loaded.

        Raises:
            StartError: the session manager could not be created; the log has the reason.
        """
        await self._is_ready.wait()
        if self._router is None:
            raise StartError
        return await self._router.call(method, params)


async def _load_other_features(until_quiet: Callable[[], Awaitable[None]]) -> None:
    """Import the handler modules that no message has needed yet. Import one module at a time, so that messages
    are handled in between, and none while a turn runs.
    """
    from agent_ls.server.features.routes import METHODS, ROUTES

    for module in METHODS:
        await until_quiet()
        await anyio.to_thread.run_sync(ROUTES.load, module, abandon_on_cancel=True)


def _real() -> CreateManager:
    from agent_ls.server.create_manager import create_session_manager

    return create_session_manager
