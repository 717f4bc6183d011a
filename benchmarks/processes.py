"""Start the processes of a benchmark, and exchange messages with them: the scripted model, and a server."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from agent_ls.server.transport.framing import FrameParser, frame
from benchmarks.scripted_model import Exchange

DEADLINE_S = 120.0
REPOSITORY = Path.cwd()

AGENT_LS = ("-m", "agent_ls", "serve", "--stdio")
BARE = ("-m", "benchmarks.bare_server")
PYGLS = ("-m", "benchmarks.pygls_server")


class Received(NamedTuple):
    """A received message. It is parsed later, so that parsing does not count in the measurement."""

    at_ns: int
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.body)
        return message


class Model(AbstractContextManager["Model"]):
    """The scripted model in a process of its own."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.scripted_model"],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.base_url = f"http://127.0.0.1:{self._line()}"

    def play(self, *answers: dict[str, Any]) -> None:
        self.take()
        self._ask({"play": answers})

    def take(self) -> list[Exchange]:
        """Return the times of the requests and answers since the last call."""
        exchanges: list[Exchange] = self._ask({"take": True})
        return exchanges

    def _ask(self, command: dict[str, Any]) -> Any:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        self._process.stdin.flush()
        return self._line()

    def _line(self) -> Any:
        assert self._process.stdout
        return json.loads(self._process.stdout.readline())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()


def environment(model: Model, state: Path) -> dict[str, str]:
    """Return the environment variables of a program that uses the scripted model."""
    return {
        **{name: value for name, value in os.environ.items() if not name.upper().endswith("_PROXY")},
        "ANTHROPIC_API_KEY": "no-real-key",
        "ANTHROPIC_BASE_URL": model.base_url,
        "AGENT_LS_STATE_DIR": str(state),
        "AGENT_LS_TRUSTED_FOLDERS": os.sep,
        "PYTHONPATH": str(REPOSITORY),
        # Use compiled modules, as an installed program does, whatever the user's shell has set.
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "agent-ls-bench-pyc"),
    }


class Server(AbstractContextManager["Server"]):
    """A server process, and a client for it. `spawned_ns` is the time at which the process was started.

    Only `wait` reads messages of the server, in the thread of the caller.
    """

    def __init__(self, arguments: Sequence[str], model: Model, state: Path) -> None:
        environ = environment(model, state)
        self.spawned_ns = time.monotonic_ns()
        self._process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=state,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._parser = FrameParser()
        self._unread: deque[Received] = deque()
        self._next_id = 0

    def send(self, method: str, params: Any, message_id: int | None = None) -> int:
        """Send a message. Returns the time at which it was sent."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if message_id is not None:
            message["id"] = message_id
        return self._write(message)

    def answer(self, request_id: Any, result: Any) -> None:
        """Answer a request of the server."""
        self._write({"jsonrpc": "2.0", "id": request_id, "result": result})

    def _write(self, message: dict[str, Any]) -> int:
        data = frame(json.dumps(message).encode())
        assert self._process.stdin
        sent_ns = time.monotonic_ns()
        self._process.stdin.write(data)
        self._process.stdin.flush()
        return sent_ns

    def request(self, method: str, params: Any) -> tuple[int, Received]:
        """Send a request. Returns the time at which it was sent, and the answer."""
        self._next_id += 1
        message_id = self._next_id
        sent_ns = self.send(method, params, message_id)
        head = (b'"id":%d,' % message_id, b'"id": %d,' % message_id)
        answer = self.wait(
            lambda body: b'"method"' not in body[:80] and any(mark in body[:80] for mark in head)
        )
        if "error" in answer.json:
            raise RuntimeError(f"{method}: {answer.json['error']}")
        return sent_ns, answer

    def event(self, kind: str) -> Received:
        return self.wait(lambda body: is_event(body, kind))

    def wait(self, fits: Callable[[bytes], bool], passed: list[Received] | None = None) -> Received:
        """Return the next message for which `fits` is true.

        The messages before it are added to `passed`, or dropped if `passed` is None.
        """
        deadline = time.monotonic() + DEADLINE_S
        while True:
            while self._unread:
                received = self._unread.popleft()
                if fits(received.body):
                    return received
                if passed is not None:
                    passed.append(received)
            self._read(deadline)

    def _read(self, deadline: float) -> None:
        assert self._process.stdout
        fd = self._process.stdout.fileno()
        if not select.select([fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise TimeoutError("the server does not answer")
        data = os.read(fd, 1 << 20)
        if not data:
            raise RuntimeError("the server has ended")
        at_ns = time.monotonic_ns()
        self._unread.extend(Received(at_ns, body) for body in self._parser.feed(data))

    def resident_mib(self) -> float:
        """Return the resident memory of the process; nan on other systems than Linux."""
        try:
            status = Path(f"/proc/{self._process.pid}/status").read_text()
        except OSError:
            return float("nan")
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()


def is_event(body: bytes, kind: str) -> bool:
    return b'"agent/event"' in body[:60] and f'"kind":"{kind}"'.encode() in body[:200]
