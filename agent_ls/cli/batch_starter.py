"""A program that starts the attempts of `agent-ls batch`, each in a process of its own (Linux).

The process of an attempt is a fork of this one, which has imported the modules of `agent-ls exec`, and does nothing
else. So an attempt need not import them. What an attempt has imported or built in addition is imported and built here
before the next one: modules, methods of dataclasses, and validators of events. The runner (batch/starting.py) is at the
other end of the socket whose descriptor is the only argument. If the runner ends, this program ends too.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Self

from agent_ls import lean_dataclasses
from agent_ls.cli import batch_child
from agent_ls.lean_imports import make_lean
from agent_ls.system import forbid_process_inspection, quick_exit

OWN = "agent_ls."
CODEC = "agent_ls.loop.events.codec"


@dataclass(frozen=True, slots=True)
class Warmth:
    """The imports and builds of a process, which forks of another process need not repeat: our modules, the numbers of
    generated methods (lean_dataclasses.py), and the kinds of events whose validators were built.
    """

    modules: Sequence[str] = ()
    methods: Sequence[int] = ()
    kinds: Sequence[str] = ()

    @classmethod
    def now(cls) -> Self:
        """Return what this process has imported and built."""
        codec = sys.modules.get(CODEC)
        return cls(
            [name for name in sys.modules if name.startswith(OWN)],
            lean_dataclasses.built(),
            codec.built_kinds() if codec else (),
        )

    def more_than(self, other: Self) -> Warmth:
        modules, methods, kinds = {*other.modules}, {*other.methods}, {*other.kinds}
        return Warmth(
            [name for name in self.modules if name not in modules],
            [number for number in self.methods if number not in methods],
            [kind for kind in self.kinds if kind not in kinds],
        )

    def encode(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Return the value that `encode` has encoded.

        Raises:
            ValueError: the data is damaged.
        """
        try:
            return cls(**json.loads(data))
        except TypeError as error:
            raise ValueError(str(error)) from error

    def take_over(self) -> None:
        """Import and build all of it in this process."""
        for name in self.modules:
            if name.startswith(OWN) and name not in sys.modules:
                with suppress(ImportError):
                    importlib.import_module(name)
        lean_dataclasses.build(self.methods)
        if self.kinds:
            importlib.import_module(CODEC).build(self.kinds)
        gc.freeze()  # otherwise the first collection of each attempt copies the memory of all this


MAX_WARMTH_BYTES = 65_536  # the capacity of a pipe
STANDARD = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A running attempt. `news` is the socket to the runner. From `warmth`, its Warmth is read."""

    pid: int
    news: socket.socket
    warmth: int


class Starter:
    def __init__(self, runner: socket.socket) -> None:
        self._runner = runner
        self._attempts: dict[int, _Attempt] = {}
        self._poll = select.poll()
        self._poll.register(runner.fileno(), select.POLLIN)

    def run(self) -> int:
        """Start attempts until the runner ends. Returns the exit code of this process, which may be an attempt."""
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor in self._attempts:
                    self._end(descriptor)
                    continue
                _, given, _, _ = socket.recv_fds(self._runner, 1, 5)
                if not given:
                    return 0
                code = self._fork(given)
                if code is not None:
                    return code

    def _fork(self, given: list[int]) -> int | None:
        """Start an attempt. Returns its exit code in the process of the attempt, None in this one.

        `given` are the standard input, output and error output of the attempt, the descriptor of its task's lock, and
        the socket for news about the attempt.
        """
        warmth, warmth_out = os.pipe()
        pid = os.fork()
        if pid == 0:
            return self._run_attempt(given, warmth_out)
        news = socket.socket(fileno=given[-1])
        for descriptor in (*given[:-1], warmth_out):
            os.close(descriptor)
        watched = os.pidfd_open(pid)
        self._attempts[watched] = _Attempt(pid, news, warmth)
        self._poll.register(watched, select.POLLIN)
        with suppress(OSError):  # the runner has ended; the attempt notices it too
            socket.send_fds(news, [b"started"], [watched])
        return None

    def _run_attempt(self, given: list[int], warmth_out: int) -> int:
        # The descriptor of the lock stays open until the attempt has ended.
        for number, descriptor in zip(STANDARD, given, strict=False):
            os.dup2(descriptor, number)
            os.close(descriptor)
        self._runner.close()
        os.close(given[-1])
        for watched, attempt in self._attempts.items():
            os.close(watched)
            os.close(attempt.warmth)
            attempt.news.close()
        before = Warmth.now()
        try:
            return batch_child.run()
        finally:
            if len(data := Warmth.now().more_than(before).encode()) <= MAX_WARMTH_BYTES:
                with suppress(OSError):
                    os.write(warmth_out, data)

    def _end(self, watched: int) -> None:
        attempt = self._attempts.pop(watched)
        self._poll.unregister(watched)
        os.close(watched)
        _, status = os.waitpid(attempt.pid, 0)
        with suppress(OSError):
            attempt.news.send(b"%d" % os.waitstatus_to_exitcode(status))
        attempt.news.close()
        with suppress(ValueError):  # a killed attempt has written nothing
            Warmth.decode(os.read(attempt.warmth, MAX_WARMTH_BYTES)).take_over()
        os.close(attempt.warmth)


def main() -> int:
    end = quick_exit()
    # Ctrl-C on the terminal must reach only the runner, which decides when the attempts end
    os.setpgid(0, 0)
    runner = socket.socket(fileno=int(sys.argv[1]))
    make_lean(speaks_lsp=False, forks=True)
    gc.disable()  # until the session of an attempt is open
    importlib.import_module("asyncio")
    importlib.import_module("anyio._backends._asyncio")
    Warmth(["agent_ls.cli.exec", "agent_ls.cli.output", "agent_ls.headless.exec"]).take_over()
    from agent_ls.environments.local.ripgrep import candidates, find_working  # after make_lean
    from agent_ls.environments.local.trees.session_trees import try_launcher
    from agent_ls.services.models.warm_up import FOR_EDITS

    Warmth(FOR_EDITS).take_over()
    find_working(candidates())  # otherwise each attempt asks ripgrep for its version
    try_launcher()
    forbid_process_inspection()  # the environment contains API keys
    return end(Starter(runner).run())


if __name__ == "__main__":
    sys.exit(main())
