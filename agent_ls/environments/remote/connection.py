"""The near end of one connection: a client program, and threads that read its output and write its input.

The near end uses threads instead of tasks for two reasons. The path policy calls the remote end from worker
threads, and an environment has no task group of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from io import BufferedReader
from typing import IO, Any, BinaryIO, TypeAlias, TypeVar, cast

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

from agent_ls.environments.base import OutputSink
from agent_ls.environments.errors import EnvError, EnvironmentLostError
from agent_ls.environments.opened import Check
from agent_ls.environments.remote.boot import GREETING, PROGRAM
from agent_ls.environments.remote.bundle import make_bundle
from agent_ls.environments.remote.facts import Facts
from agent_ls.environments.remote.failures import (
    missing_program,
    reported_problem,
    silent_start,
    start_failure,
)
from agent_ls.environments.remote.frames import RemoteFrameError, RemoteMessage, RemoteOutbox, read_messages
from agent_ls.environments.remote.place import Place
from agent_ls.environments.remote.values import ValueFault, pack, pack_error, unpack, unpack_error
from agent_ls.program_lookup import require_program

START_SECONDS = 60.0
PING_SECONDS = 15.0
LOST_SECONDS = 45.0
CLOSE_SECONDS = 10.0
MAX_LINE_BYTES = 64 * 1024
"""Maximum length of a line that the client program prints before the remote end is ready."""
_KEPT_ERROR_CHARS = 4_000

T = TypeVar("T")
OpenedFiles: TypeAlias = Sequence[Facts]


class RemoteCancelledError(Exception):
    """The remote end has cancelled a call at the request of the near end."""


@dataclass(eq=False, slots=True)
class RemoteCall:
    """A call in progress. The result of `future` is the value as JSON, and the bytes that the JSON refers to."""

    number: int
    future: Future[tuple[Any, bytes]] = field(default_factory=Future)
    on_output: Callable[[str, str], object] | None = None
    check: Check | None = None
    expected: Any = None


class RemoteConnection:
    """A connection to one remote end, the agent-ls process on the other machine.

    `loss` is the error if the connection was lost unexpectedly, else None.
    """

    def __init__(self, place: Place, argv: Sequence[str], environ: Mapping[str, str]) -> None:
        self.place = place
        self.name = ""
        self.pid = 0
        self.version = ""
        self._argv = argv
        self._environ = environ
        self._process: subprocess.Popen[bytes]
        self._outbox: RemoteOutbox
        self._errors = ""
        self._calls: dict[int, RemoteCall] = {}
        self._number = 0
        self._lock = threading.Lock()
        self._lost: EnvironmentLostError | None = None
        self._is_closing = False
        self._heard = time.monotonic()
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def client_pid(self) -> int:
        """Process id of the client program on this machine."""
        return self._process.pid

    @property
    def loss(self) -> EnvironmentLostError | None:
        return self._lost

    # --- start and end

    def start(self, wait_seconds: float = START_SECONDS) -> None:
        """Start the client program and wait until the remote end is ready. Blocks.

        Raises:
            EnvironmentLostError: the connection cannot be made. The client program no longer runs then.
        """
        try:
            name, *arguments = self._argv
            started = name if os.path.dirname(name) else require_program(name, self._environ.get("PATH"))
            self._process = subprocess.Popen(
                [started, *arguments],
                env=dict(self._environ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # an interrupt from the keyboard must reach only this process, not the client program
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise missing_program(self.place, self._argv[0]) from error
        except OSError as error:
            raise start_failure(self.place, None, error.strerror or str(error), "") from error
        self._start_thread(self._read_errors)
        noise = _Noise()
        limit = threading.Timer(wait_seconds, self._give_up, (noise,))
        limit.daemon = True
        limit.start()
        try:
            self._shake_hands(noise)
        except (OSError, ValueError) as error:
            code = self._end_client()
            if noise.is_given_up:
                raise silent_start(self.place, wait_seconds, noise.text + self._errors) from error
            raise start_failure(self.place, code, self._errors, noise.text) from error
        except EnvironmentLostError:
            self._end_client()
            raise
        finally:
            limit.cancel()
        stdin = self._stdin()
        self._outbox = RemoteOutbox(lambda data: _write_all(stdin, data), self._lose)
        self._start_thread(self._read)
        self._start_thread(self._ping)

    def _start_thread(self, run: Callable[[], None]) -> None:
        thread = threading.Thread(target=run, daemon=True, name=f"agent-ls-remote{run.__name__}")
        self._threads.append(thread)
        thread.start()

    def _give_up(self, noise: _Noise) -> None:
        noise.is_given_up = True
        self._process.kill()

    def _shake_hands(self, noise: _Noise) -> None:
        bundle, program = make_bundle(), PROGRAM.encode("ascii")
        header = json.dumps({"sha": bundle.sha, "size": len(bundle.data)}).encode("ascii")
        stdin = self._stdin()
        with suppress(OSError):  # the program has ended already; its output has the reason
            _write_all(stdin, b"%d\n%s%s\n" % (len(program), program, header))
        while True:
            said = self._read_report(noise)
            if "problem" in said:
                raise reported_problem(self.place, said)
            if said.get("have") is False:
                with suppress(OSError):
                    _write_all(stdin, bundle.data)
            elif said.get("ready") is True:
                break
        self.name, self.version = str(said.get("name", "")), str(said.get("version", ""))
        pid = said.get("pid")
        self.pid = pid if isinstance(pid, int) else 0

    def _read_report(self, noise: _Noise) -> Mapping[str, Any]:
        """Return the next report of the remote end.

        Store other output of the client program (such as ssh) in `noise`, for error messages.
        """
        stdout = self._process.stdout
        assert stdout is not None
        while line := stdout.readline(MAX_LINE_BYTES + 1):
            if len(line) > MAX_LINE_BYTES:
                noise.add(line)
                raise OSError(f"a line of more than {MAX_LINE_BYTES // 1024} KiB")
            before, greeting, said = line.partition(GREETING)
            noise.add(before)
            if greeting:
                try:
                    found = json.loads(said)
                except RecursionError as error:
                    raise ValueError("a report that is nested too deeply") from error
                if isinstance(found, dict):
                    return found
        raise OSError("the connection ended")

    def close(self) -> None:
        """Stop the remote end, all processes that it started, and the client program. Blocks for some seconds
        at most.
        """
        self._is_closing = True
        self._stopped.set()
        if hasattr(self, "_outbox"):
            self._outbox.close(1.0)
            with suppress(OSError, ValueError):
                self._stdin().close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(CLOSE_SECONDS)
            self._end_client()
        self._fail(EnvironmentLostError(f"The connection to {self.place.machine} was closed."))

    def _end_client(self) -> int | None:
        """End the client program. Return its exit code if it had exited by itself, else None."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)
        code = self._process.poll()
        if code is None:
            self._process.kill()
            self._process.wait()
        for thread in self._threads:  # the threads read until the pipes end
            thread.join(1.0)
        for file in (self._process.stdin, self._process.stdout, self._process.stderr):
            if file:
                with suppress(OSError, ValueError):
                    file.close()
        return code

    def _stdin(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    def _lose(self, reason: str) -> None:
        if self._is_closing or self._lost:
            return
        with suppress(OSError):
            self._process.kill()
            self._process.wait()
        with suppress(OSError, ValueError):
            self._stdin().close()
        said = self._errors.strip().splitlines()
        words = f"{reason}: {said[-1]}" if said else reason
        lost = f"The connection to {self.place.machine} was lost ({words})."
        self._fail(EnvironmentLostError(lost, "The next action connects again."))

    def _fail(self, error: EnvironmentLostError) -> None:
        with self._lock:
            if self._lost:
                return
            self._lost = error
            calls, self._calls = self._calls, {}
        self._stopped.set()
        for call in calls.values():
            call.future.set_exception(EnvironmentLostError(error.sentence, error.hint))

    # --- threads

    def _read_errors(self) -> None:
        stderr = cast("BufferedReader", self._process.stderr)
        with suppress(OSError, ValueError):
            while chunk := stderr.read1(4096):
                self._errors = (self._errors + chunk.decode("utf-8", "replace"))[-_KEPT_ERROR_CHARS:]
            stderr.close()

    def _read(self) -> None:
        stdout, reason = self._process.stdout, "the other machine closed the connection"
        assert stdout is not None
        try:
            for message in read_messages(cast("BinaryIO", stdout)):
                self._heard = time.monotonic()
                self._receive(message)
        except (RemoteFrameError, OSError, ValueError, ValueFault) as error:
            reason = str(error)
        with suppress(OSError, ValueError):
            stdout.close()
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(1.0)
            reason = f"{self._argv[0]} ended with exit code {code}"
        self._lose(reason)

    def _ping(self) -> None:
        while not self._stopped.wait(PING_SECONDS):
            if time.monotonic() - self._heard > LOST_SECONDS:
                self._lose(f"no answer for {LOST_SECONDS:.0f} s")
                return
            self._outbox.send(RemoteMessage({"kind": "ping"}))

    def _receive(self, message: RemoteMessage) -> None:
        if message.kind == "check":
            # Run the check in a new thread: it may call the remote end, and this thread reads the response.
            threading.Thread(target=self._check, args=(message,), daemon=True).start()
            return
        number = message.header.get("id")
        if message.kind == "output":
            call = self._calls.get(number) if isinstance(number, int) else None
            if call and call.on_output:
                stream = str(message.header.get("stream"))
                call.on_output(stream, message.body.decode("utf-8", "replace"))
            return
        with self._lock:
            call = self._calls.pop(number, None) if isinstance(number, int) else None
        if call is None:
            return
        value = message.header.get("value")
        match message.kind:
            case "result":
                call.future.set_result((value, message.body))
            case "error":
                call.future.set_exception(unpack_error(message.header.get("error")))
            case "cancelled":
                call.future.set_exception(RemoteCancelledError())
            case _:
                call.future.set_exception(EnvError("the other machine sent an unknown answer"))

    def _check(self, message: RemoteMessage) -> None:
        number, call = message.header.get("id"), self._calls.get(message.header.get("call", 0))
        answer: dict[str, Any] = {"kind": "checked", "id": number}
        try:
            facts = unpack(message.header.get("value"), message.body, Facts)
            if call is None or call.check is None:
                raise EnvError("the change was cancelled before anything was written")
            call.check(facts.real, facts.result())
        except EnvError as error:
            answer["error"] = pack_error(error)
        except Exception as error:
            answer["error"] = pack_error(EnvError(f"the change could not be checked: {error}"))
        self._outbox.send(RemoteMessage(answer))

    # --- calls

    def call(
        self,
        method: str,
        *arguments: Any,
        environment: int = 0,
        on_output: Callable[[str, str], object] | None = None,
        check: Check | None = None,
    ) -> RemoteCall:
        """Send a call of `method` to the remote end.

        The `future` of the result fails with EnvError, EnvironmentLostError or RemoteCancelledError.
        `environment` is the number of an environment at the remote end, 0 if the method needs none. `check` is
        run for each file that the remote end opened for writing.
        """
        packed, body = pack(arguments)
        with self._lock:
            self._number += 1
            call = RemoteCall(self._number, on_output=on_output, check=check)
            if self._lost:
                call.future.set_exception(EnvironmentLostError(self._lost.sentence, self._lost.hint))
                return call
            self._calls[call.number] = call
        header = {
            "kind": "call",
            "id": call.number,
            "method": method,
            "arguments": packed,
            "environment": environment,
            "isChecked": check is not None,
        }
        self._outbox.send(RemoteMessage(header, body))
        return call

    def cancel(self, call: RemoteCall) -> None:
        self._outbox.send(RemoteMessage({"kind": "cancel", "id": call.number}))


def value_of(raw: tuple[Any, bytes], expected: type[T]) -> tuple[T, OpenedFiles]:
    """Return the value of a call, and the metadata of files that the remote end opened for the call.

    `raw` is the result of `await_call`. `expected` is the type of the value.

    Raises:
        EnvError: the other machine sent a value of another type.
    """
    value, body = raw
    try:
        if not isinstance(value, dict):
            raise ValueFault("no value")
        return unpack(value.get("value"), body, expected), unpack(value.get("opened"), body, Sequence[Facts])
    except ValueFault as error:
        raise EnvError(f"the other machine sent a malformed answer: {error}") from error


async def await_call(call: RemoteCall) -> tuple[Any, bytes]:
    """Wait for a call on the event loop; return its raw value, or raise its error."""
    done, token = anyio.Event(), anyio.lowlevel.current_token()

    def wake(future: Future[tuple[Any, bytes]]) -> None:
        with suppress(RuntimeError):  # the event loop has ended: nobody waits
            anyio.from_thread.run_sync(done.set, token=token)

    if not call.future.done():
        call.future.add_done_callback(_in_any_thread(wake, done, threading.get_ident()))
    else:
        done.set()
    await done.wait()
    return call.future.result()


def _in_any_thread(
    wake: Callable[[Future[tuple[Any, bytes]]], None], done: anyio.Event, loop_thread: int
) -> Callable[[Future[tuple[Any, bytes]]], None]:
    """Return a callback for a future that sets `done`, whichever thread calls the callback.

    The thread of the event loop calls the callback if the future is already finished. The callback then sets
    `done` directly. In any other thread, the callback calls `wake`.
    """

    def call(future: Future[tuple[Any, bytes]]) -> None:
        if threading.get_ident() == loop_thread:
            done.set()
        else:
            wake(future)

    return call


def on_loop(sink: OutputSink) -> Callable[[str, str], object]:
    """Return a function that passes output to `sink` on this event loop; any thread may call it."""
    token = anyio.lowlevel.current_token()

    def show(stream: str, text: str) -> None:
        with suppress(RuntimeError):
            anyio.from_thread.run_sync(sink, "stderr" if stream == "stderr" else "stdout", text, token=token)

    return show


class _Noise:
    """Collects output that the client program prints before the remote end is ready.

    `is_given_up`: the remote end was not ready in time, so the client program was killed.
    """

    def __init__(self) -> None:
        self._data = b""
        self.is_given_up = False

    def add(self, data: bytes) -> None:
        self._data = (self._data + data)[-_KEPT_ERROR_CHARS:]

    @property
    def text(self) -> str:
        return self._data.decode("utf-8", "replace")


def _write_all(file: IO[bytes], data: bytes) -> None:
    file.write(data)
    file.flush()
