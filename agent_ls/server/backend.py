"""What stands behind the `agent/*` messages: made while the editor is still busy starting, asked when it is there.

The imports behind it take longer than an editor should wait for its first answer, so they happen in a thread
after `initialize`; messages that come before wait for them in their order.
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

from agent_ls.server.errors import StartError

if TYPE_CHECKING:
    from agent_ls.server.assembly import OpenBench
    from agent_ls.server.rpc import Router
    from agent_ls.server.server import AgentServer

log = logging.getLogger(__name__)

WARM_UP_AFTER_S = 0.3
"""An editor that asks for something at once is served first: what it needs is loaded on the way."""


class AgentBackend:
    """`open_bench` None: the real workbench (app/)."""

    def __init__(self, open_bench: OpenBench | None = None) -> None:
        self._open_bench = open_bench
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
            bench, router = assemble(server, _starter(tasks), self._open_bench or _real())
            await tasks.start(bench.run)
            self._router = router
            self._is_ready.set()
            await anyio.sleep(WARM_UP_AFTER_S)
            await bench.warm_up()
            # What is loaded by now stays; the collector, off since the start, need never look at it.
            gc.freeze()
            gc.enable()

    def _load(self) -> None:
        importlib.import_module("agent_ls.server.assembly")
        if self._open_bench is None:
            _real()

    async def call(self, method: str, params: Any) -> Any:
        """
        Raises:
            StartError: the workbench could not be made; the log says why.
        """
        await self._is_ready.wait()
        if self._router is None:
            raise StartError
        return await self._router.call(method, params)


def _real() -> OpenBench:
    from agent_ls.server.workbench import open_workbench

    return open_workbench


def _starter(tasks: anyio.abc.TaskGroup) -> Callable[[Callable[[], Awaitable[None]]], None]:
    """Starts work in the group; what fails is logged and does not take the others with it."""

    async def guarded(work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception:  # the edge: a task of the server's own has nobody to tell
            log.exception("a task of the server failed")

    def start(work: Callable[[], Awaitable[None]]) -> None:
        tasks.start_soon(guarded, work)

    return start
