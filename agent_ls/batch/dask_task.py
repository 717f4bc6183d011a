"""Run one task of a batch on a worker of a Dask cluster.

The worker starts this module as a program, with the request as a line of standard input. The program runs the
task as the local runner does: under the task's lock, and only if it has no final result. The program ends when
its standard input is closed. So if the worker is killed, the task ends too; the next worker waits for the
task's lock before it begins.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import anyio

from agent_ls._version import __version__
from agent_ls.batch.manifest import Task
from agent_ls.services.errors import AppError
from agent_ls.system import use_pidfd_watcher
from agent_ls.text import join_sentences

POLL_SECONDS = 0.5
EXIT_REFUSED = 2


@dataclass(frozen=True, slots=True)
class DaskRequest:
    """A task with the options of its batch. The folders have the same paths on all machines.

    `stop` is the path of a file; if the file exists, the task must stop. `version` is the version of
    agent-ls, which must be the same on the workers.
    """

    task: Mapping[str, Any]
    out: str
    stop: str
    attempts: int
    is_trusted: bool
    requests_per_minute: int | None
    keeps_work: bool
    version: str = __version__


def run_task(text: str) -> str:
    """Run the task of a request in its own process. Returns the reason why the task could not be run, "" if
    it was run.

    Blocks. Called in a thread of a Dask worker.
    """
    request = json.loads(text)
    if request["version"] != __version__:
        return (
            f"a worker has agent-ls {__version__}, but this machine has {request['version']}: install the "
            "same version on both"
        )
    stop = Path(request["stop"])
    if stop.exists():
        return ""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stdin and process.stderr
    errors: list[str] = []
    reader = threading.Thread(target=lambda: errors.extend(process.stderr or ()), daemon=True)
    reader.start()
    process.stdin.write(text + "\n")
    process.stdin.flush()
    while process.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(POLL_SECONDS)
        if stop.exists() and not process.stdin.closed:
            process.stdin.close()
    process.stdin.close()
    reader.join()
    if process.returncode == 0 or stop.exists():
        return ""
    return (
        errors[-1].strip() if errors else ""
    ) or f"the process of the task ended with exit code {process.returncode}"


def main() -> int:
    """Read a request and run its task. Returns 0 even for a failed task, because the stored result describes
    the failure.
    """
    line = b""
    while not line.endswith(b"\n"):
        data = os.read(0, 1024 * 1024)
        if not data:
            return EXIT_REFUSED  # the worker was killed before it had sent the whole request
        line += data
    request = DaskRequest(**json.loads(line))
    descriptor = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)  # prevents commands from reading the worker's messages
    os.close(null)
    threading.Thread(target=_end_with, args=(descriptor,), name="worker", daemon=True).start()
    try:
        _run(request)
    except AppError as error:
        sys.stderr.write(f"{join_sentences(str(error), error.hint)}\n")
        return EXIT_REFUSED
    return 0


def _run(request: DaskRequest) -> None:
    from agent_ls.batch.attempt import make_launch
    from agent_ls.batch.folder import ResultFolder
    from agent_ls.batch.runner import BatchRunner

    task = task_of(request.task)
    out = ResultFolder(Path(request.out))
    trusted = frozenset((task.source,)) if request.is_trusted else frozenset()
    launch = make_launch(trusted, out, request.requests_per_minute, keeps_work=request.keeps_work)

    async def run() -> None:
        await BatchRunner(out, launch, lambda progress, sentence: None, attempts=request.attempts).run([task])

    use_pidfd_watcher()
    anyio.run(run)


def task_of(raw: Mapping[str, Any]) -> Task:
    """Return the task whose fields are in `raw`, a parsed JSON object."""
    return Task(**{**raw, "allow": tuple(raw["allow"])})


def _end_with(worker: int) -> None:
    while os.read(worker, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)  # the running attempt has a few seconds to end


def request_text(request: DaskRequest) -> str:
    """Return a request as the text that `run_task` accepts."""
    return json.dumps(asdict(request))


if __name__ == "__main__":
    sys.exit(main())
