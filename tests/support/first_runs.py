"""States of a machine in which a first run is blocked, and how the user mends each of them.

The face tests of each front end go through this table: what it says first names the reason, what follows the next
step, and the same session does the work once the state is mended.
"""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests.support.commands import command, environment
from tests.support.loopback import Answer, AnthropicServer, ChatServer, LoopbackProvider, ToolCall

RIGHT, WRONG = "sk-right-0123456789-abcdef", "sk-wrong-9876543210-fedcba"
MADE, LAST = "made.txt", "It is made."
"""The file that a mended run makes, and the last words of its answer."""

_WRITE = ToolCall("write_file", {"file_path": MADE, "content": "x"})
_WRITE_AS_TEXT = (
    f'<tool_call>{{"name": "write_file", "arguments": {{"file_path": "{MADE}", "content": "x"}}}}</tool_call>'
)
_NOT_LOOPBACK = "0.0.0.0"


@dataclass(frozen=True)
class Blocked:
    """A machine on which a run cannot begin. `reason` is a word of the first line, `step` one of what follows.

    `choice` is the provider and the model that the user chose, empty for the defaults. `goes_on`: the run is not
    stopped but goes on with less, so nothing has to be mended.
    """

    variables: dict[str, str]
    mend: Callable[[], None]
    reason: str
    step: str
    choice: dict[str, str] = field(default_factory=dict)
    goes_on: bool = False


STOPPED = ("no key", "wrong key", "no network", "no model server")
STATES = (*STOPPED, "untrusted folder", "no tools")


@contextmanager
def blocked(name: str, project: Path) -> Iterator[Blocked]:
    """Yield a machine in this state. After `mend`, the model makes the file MADE and ends with LAST."""
    home = project.parent / "home"
    done: list[Answer] = [[_WRITE], LAST]
    with ExitStack() as stack:
        match name:
            case "no network" | "no model server":
                yield _unreachable(name, done, stack)
            case "untrusted folder":
                server = stack.enter_context(AnthropicServer([[_WRITE], "It is refused.", *done]))
                variables = {"ANTHROPIC_BASE_URL": server.base_url, "ANTHROPIC_API_KEY": RIGHT}
                untrusted = {**variables, TRUST_VARIABLE: ""}
                yield Blocked(untrusted, lambda: trust(home, project), "not trusted", "trust add")
            case "no tools":
                local = stack.enter_context(ChatServer([_WRITE_AS_TEXT, LAST], tools=False))
                choice = {"provider": "lmstudio", "model": "m"}
                yield Blocked(
                    {"LMSTUDIO_BASE_URL": local.base_url}, lambda: None, "tools", "text", choice, goes_on=True
                )
            case _:
                server = stack.enter_context(AnthropicServer(done, key=RIGHT))
                if name == "wrong key":
                    store_key(home, project, WRONG)
                yield Blocked(
                    {"ANTHROPIC_BASE_URL": server.base_url},
                    lambda: store_key(home, project, RIGHT),
                    "key",
                    "agent-ls keys set",
                )


def _unreachable(name: str, answers: list[Answer], stack: ExitStack) -> Blocked:
    # The socket keeps the port for the server that `mend` starts; it refuses connections until then.
    held = stack.enter_context(socket.socket())
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    port = held.getsockname()[1]
    server: LoopbackProvider
    if name == "no network":
        server = AnthropicServer(answers, port=port)
        url = server.base_url.replace("127.0.0.1", _NOT_LOOPBACK)
        variables = {"ANTHROPIC_API_KEY": RIGHT, "ANTHROPIC_BASE_URL": url, "NO_PROXY": _NOT_LOOPBACK}
        step, choice = "network", {"provider": "anthropic"}
    else:
        server = ChatServer(answers, port=port)
        variables = {"LMSTUDIO_BASE_URL": server.base_url}
        step, choice = "start the server", {"provider": "lmstudio", "model": "m"}
    return Blocked(variables, lambda: _start(server, stack), "no connection", step, choice)


def _start(server: LoopbackProvider, stack: ExitStack) -> None:
    stack.enter_context(server)


def store_key(home: Path, project: Path, secret: str) -> None:
    """Store the key as a user does in another terminal."""
    _run(home, project, "keys", "set", "anthropic", typed=f"{secret}\n")


def trust(home: Path, project: Path) -> None:
    """Trust the folder as a user does in another terminal."""
    _run(home, project, "trust", "add")


def _run(home: Path, project: Path, *words: str, typed: str = "") -> None:
    environ = environment(home)
    environ.pop(TRUST_VARIABLE, None)
    subprocess.run(
        command(*words), cwd=project, env=environ, input=typed, text=True, capture_output=True, timeout=240, check=True
    )  # fmt: skip
