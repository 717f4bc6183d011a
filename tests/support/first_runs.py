"""States of a machine in which a first run is blocked, and how the user mends each of them."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.commands import command, environment
from tests.support.loopback import AnthropicServer, ChatServer, LoopbackProvider

RIGHT, WRONG = "sk-right-0123456789-abcdef", "sk-wrong-9876543210-fedcba"


@dataclass(frozen=True)
class Blocked:
    """A machine on which a run cannot begin. `reason` is a word of the first line, `step` one of the second.

    `choice` is the provider and the model that the user chose, empty for the defaults.
    """

    variables: dict[str, str]
    mend: Callable[[], None]
    reason: str
    step: str
    choice: dict[str, str] = field(default_factory=dict)


STATES = ("no key", "wrong key", "no network", "no model server")


@contextmanager
def blocked(name: str, project: Path, answers: list[str]) -> Iterator[Blocked]:
    """Yield a machine in this state. After `mend`, the provider answers with `answers`."""
    home = project.parent / "home"
    with ExitStack() as stack:
        if name in ("no network", "no model server"):
            # The socket keeps the port for the server that `mend` starts; it refuses connections until then.
            held = stack.enter_context(socket.socket())
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            held.bind(("127.0.0.1", 0))
            port = held.getsockname()[1]
            server: LoopbackProvider
            if name == "no network":
                server = AnthropicServer(answers, port=port)
                variables = {"ANTHROPIC_API_KEY": RIGHT, "ANTHROPIC_BASE_URL": server.base_url}
                choice = {"provider": "anthropic"}
            else:
                server = ChatServer(answers, port=port)
                variables = {"LMSTUDIO_BASE_URL": server.base_url}
                choice = {"provider": "lmstudio", "model": "m"}

            def start() -> None:
                stack.enter_context(server)

            yield Blocked(variables, start, "connection", "network", choice)
            return
        server = stack.enter_context(AnthropicServer(answers, key=RIGHT))
        variables = {"ANTHROPIC_BASE_URL": server.base_url}
        if name == "wrong key":
            store_key(home, project, WRONG)
        yield Blocked(variables, lambda: store_key(home, project, RIGHT), "key", "key")


def store_key(home: Path, project: Path, secret: str) -> None:
    """Store the key as a user does in another terminal."""
    subprocess.run(
        command("keys", "set", "anthropic"), cwd=project, env=environment(home), input=f"{secret}\n", text=True,
        capture_output=True, timeout=240, check=True,
    )  # fmt: skip
