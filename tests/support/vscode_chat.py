"""The chat of VS Code without its editor: the extension's own sessions, inbox and page, on the real server.

`vscode-extension/src/test/programs/chat.ts` is the program. What only the editor can do is tested in tests/editors.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream

from tests.support import REPOSITORY
from tests.support.commands import command

EXTENSION = REPOSITORY / "vscode-extension"
NODE = REPOSITORY / ".tools" / "node" / "bin" / "node"
DEADLINE_S = 240


@dataclass(frozen=True)
class Displayed:
    """The texts of the transcript, the labels of its buttons, and the id of the session."""

    lines: tuple[str, ...]
    buttons: tuple[str, ...]
    session: str
    is_idle: bool


class VsCodeChat:
    def __init__(self, process: Process) -> None:
        assert process.stdin and process.stdout
        self._stdin = process.stdin
        self._lines = TextReceiveStream(process.stdout)
        self._rest = ""
        self.displayed = Displayed((), (), "", True)

    async def say(self, text: str) -> None:
        await self._send({"say": text})

    async def press(self, label: str) -> None:
        """Click the button with this label."""
        await self._send({"press": label})

    async def open(self, session: str) -> None:
        """Show a stored session, as after a reload of the window."""
        await self._send({"open": session})

    async def _send(self, order: Mapping[str, str]) -> None:
        await self._stdin.send(f"{json.dumps(order)}\n".encode())

    async def until(self, condition: Callable[[Displayed], bool]) -> Displayed:
        """Return what the page displays as soon as it meets the condition."""
        try:
            with anyio.fail_after(DEADLINE_S):
                while not condition(self.displayed):
                    await self._read()
        except TimeoutError:
            raise AssertionError(f"the page stayed at {self.displayed}") from None
        return self.displayed

    async def _read(self) -> None:
        while "\n" not in self._rest:
            self._rest += await self._lines.receive()
        line, _, self._rest = self._rest.partition("\n")
        state = json.loads(line)
        self.displayed = Displayed(
            tuple(state["lines"]), tuple(state["buttons"]), state["session"], state["isIdle"]
        )


def build(folder: Path) -> Path:
    """Build the program into `folder`; return its path. It takes a second."""
    subprocess.run(
        [str(NODE), "esbuild.mjs", "--programs", str(folder)],
        cwd=EXTENSION, check=True, capture_output=True, timeout=DEADLINE_S,
    )  # fmt: skip
    return folder / "chat.cjs"


@asynccontextmanager
async def vscode_chat(
    program: Path, project: Path, env: Mapping[str, str], choice: Mapping[str, str]
) -> AsyncIterator[VsCodeChat]:
    """Run the chat on `project`. `choice` is the configuration of its sessions, `env` the server's environment."""
    page = program.parent / "webview" / "main.js"
    found = {
        "NODE_PATH": str(EXTENSION / "node_modules"), "AGENT_LS_PAGE_SCRIPT": str(page), "PYTHONPATH": str(REPOSITORY)
    }  # fmt: skip
    arguments = [
        str(NODE),
        str(program),
        str(project),
        json.dumps(dict(choice)),
        *command("serve", "--stdio"),
    ]
    process = await anyio.open_process(
        arguments, cwd=project, env={**os.environ, **found, **env}, stderr=None
    )
    async with process:
        yield VsCodeChat(process)
        assert process.stdin
        await process.stdin.aclose()
        with anyio.fail_after(DEADLINE_S):
            assert await process.wait() == 0
