"""A program that starts the attempts of `agent-ls batch`, each in a process of its own (Linux).

The process of an attempt is a fork of this one, which has imported the modules of `agent-ls exec`, and does nothing
else. So an attempt need not import them. Modules that an attempt has imported in addition are imported here before the
next one. The runner (batch/starting.py) is at the other end of the socket whose descriptor is the only argument. If
the runner ends, this program ends too.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass

from agent_ls.cli import batch_child
from agent_ls.lean_imports import make_lean
from agent_ls.system import forbid_process_inspection, quick_exit

OWN = "agent_ls."
MAX_NAMES_BYTES = 65_536  # the capacity of a pipe
STANDARD = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A running attempt. `news` is the socket to the runner. From `names`, the modules of the attempt are read."""

    pid: int
    news: socket.socket
    names: int


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
        names, names_out = os.pipe()
        pid = os.fork()
        if pid == 0:
            return self._run_attempt(given, names_out)
        news = socket.socket(fileno=given[-1])
        for descriptor in (*given[:-1], names_out):
            os.close(descriptor)
        watched = os.pidfd_open(pid)
        self._attempts[watched] = _Attempt(pid, news, names)
        self._poll.register(watched, select.POLLIN)
        with suppress(OSError):  # the runner has ended; the attempt notices it too
            socket.send_fds(news, [b"started"], [watched])
        return None

    def _run_attempt(self, given: list[int], names_out: int) -> int:
        # The descriptor of the lock stays open until the attempt has ended.
        for number, descriptor in zip(STANDARD, given, strict=False):
            os.dup2(descriptor, number)
            os.close(descriptor)
        self._runner.close()
        os.close(given[-1])
        for watched, attempt in self._attempts.items():
            os.close(watched)
            os.close(attempt.names)
            attempt.news.close()
        known = {*sys.modules}
        try:
            return batch_child.run()
        finally:
            new = [name for name in sys.modules if name.startswith(OWN) and name not in known]
            with suppress(OSError):
                os.write(names_out, " ".join(new).encode()[:MAX_NAMES_BYTES])

    def _end(self, watched: int) -> None:
        attempt = self._attempts.pop(watched)
        self._poll.unregister(watched)
        os.close(watched)
        _, status = os.waitpid(attempt.pid, 0)
        with suppress(OSError):
            attempt.news.send(b"%d" % os.waitstatus_to_exitcode(status))
        attempt.news.close()
        _import_all(os.read(attempt.names, MAX_NAMES_BYTES).decode().split())
        os.close(attempt.names)


def _import_all(names: list[str]) -> None:
    for name in names:
        if name.startswith(OWN) and name not in sys.modules:
            with suppress(ImportError):
                importlib.import_module(name)
    gc.freeze()  # otherwise the first collection of each attempt copies the memory of these modules


def main() -> int:
    end = quick_exit()
    # Ctrl-C on the terminal must reach only the runner, which decides when the attempts end
    os.setpgid(0, 0)
    runner = socket.socket(fileno=int(sys.argv[1]))
    make_lean(speaks_lsp=False)
    gc.disable()  # until the session of an attempt is open
    importlib.import_module("asyncio")
    importlib.import_module("anyio._backends._asyncio")
    _import_all(["agent_ls.cli.exec", "agent_ls.cli.output", "agent_ls.headless.exec"])
    from agent_ls.environments.local.ripgrep import candidates, find_working  # after make_lean
    from agent_ls.services.models.warm_up import FOR_EDITS

    _import_all([*FOR_EDITS])
    find_working(candidates())  # otherwise each attempt asks ripgrep for its version
    forbid_process_inspection()  # the environment contains API keys
    return end(Starter(runner).run())


if __name__ == "__main__":
    sys.exit(main())
