"""The server of the panel itself: it lists sessions, and owns the sessions that are opened or taken over in
the panel.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.abc
import anyio.to_thread

from agent_ls.environments.local.processes.ending import kill_and_wait
from agent_ls.panel.link import ABILITIES
from agent_ls.server.channel.paths import read_channel_token, socket_path
from agent_ls.server.transport.framing import frame
from agent_ls.services.settings.state_folder import state_folder
from agent_ls.store.locks import process_with_id

START_S = 120.0
"""Time limit for the start of a server. A start takes a second, or longer on a very busy machine.
"""

POLL_S = 0.05
SHUTDOWN_S = 8.0
"""Time limit for the exit of a server. A server that loses its client takes at most six seconds."""


class HomeStartError(Exception):
    """The server of the panel did not start."""


class HomeServer:
    """The panel's own server, which is a child process of the panel.

    The panel connects to the local channel of the server, as it does for servers that editors started.
    """

    def __init__(self, process: anyio.abc.Process, folder: str) -> None:
        """Wrap a started process. `folder` is the URI of the folder in which new sessions work."""
        self.folder = folder
        self._process = process
        self.socket = socket_path(process_with_id(process.pid))

    async def wait_until_ready(self) -> None:
        """Wait until the server accepts connections.

        Raises:
            HomeStartError.
        """
        with anyio.move_on_after(START_S):
            while not self.socket.exists():  # poll, because no event announces the socket
                if self._process.returncode is not None:
                    break
                await anyio.sleep(POLL_S)
        if not self.socket.exists():
            raise HomeStartError("the server of the panel did not start; `agent-ls doctor` may show why")

    async def discard_output(self) -> None:
        """Read and discard the server's messages to its client, until the output ends. No message needs an
        answer, because this client has announced no capabilities.
        """
        assert self._process.stdout
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for _ in self._process.stdout:
                pass

    async def end(self) -> None:
        """Close the server's input, so that it saves its state and ends; kill it after SHUTDOWN_S."""
        assert self._process.stdin
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._process.stdin.aclose()
        with anyio.move_on_after(SHUTDOWN_S):
            await self._process.wait()
        await kill_and_wait(self._process)


async def start_home(folder: Path) -> HomeServer:
    """Start the panel's own server. New sessions of the server work in `folder`.

    Raises:
        OSError: the server cannot be started.
    """
    state = state_folder()
    await anyio.to_thread.run_sync(lambda: state.mkdir(mode=0o700, parents=True, exist_ok=True))
    # A server that cannot write the token would run without a channel, and the panel would wait for it in vain.
    await anyio.to_thread.run_sync(read_channel_token)
    # Do not start in the user's folder, because Python would import a package `agent_ls` from there.
    process = await anyio.open_process(
        [sys.executable, "-P", "-m", "agent_ls", "serve", "--stdio"], cwd=state, stderr=None
    )
    uri = folder.as_uri()
    params = {
        "processId": os.getpid(),
        "clientInfo": {"name": "agent-ls panel"},
        "rootUri": uri,
        "workspaceFolders": [{"uri": uri, "name": folder.name}],
        "capabilities": {"experimental": {"agentLs": ABILITIES}},
        # Always enable the local channel here: the user's setting `panel` applies to servers of editors only.
        "initializationOptions": {"agentLs": {"panel": True}},
    }
    assert process.stdin
    with suppress(anyio.BrokenResourceError):  # it has already ended: `wait_until_ready` says so
        for message in (
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params},
            {"jsonrpc": "2.0", "method": "initialized", "params": {}},
        ):
            await process.stdin.send(frame(json.dumps(message).encode()))
    return HomeServer(process, uri)
