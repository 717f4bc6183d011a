"""Open and close the local channel according to the setting `panel`. The channel's modules are imported when
the channel opens.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from agent_ls.server.channel.listener import LocalChannel


class ChannelSwitch:
    """Switches the channel on and off. `create` returns the channel. It is called only after the channel's
    modules were imported.
    """

    def __init__(self, create: Callable[[], LocalChannel], *, is_on: bool) -> None:
        self._create = create
        self._is_on = is_on
        self._changed = anyio.Event()

    def turn(self, *, on: bool) -> None:
        """Open or close the channel. Closing it disconnects its clients and deletes its socket."""
        if on != self._is_on:
            self._is_on = on
            self._changed.set()

    async def run(self) -> None:
        """Serve while the channel is on, until cancelled."""
        while True:
            changed = self._changed = anyio.Event()
            async with anyio.create_task_group() as tasks:
                if self._is_on:
                    await anyio.to_thread.run_sync(importlib.import_module, f"{__package__}.listener")
                    tasks.start_soon(self._create().run)
                await changed.wait()
                tasks.cancel_scope.cancel()
