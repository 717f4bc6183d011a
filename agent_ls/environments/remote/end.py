"""The remote end: serves `LocalEnvironment` over its input and output until its input ends.

The program in boot.py starts this module. When the input ends, or the near end has sent nothing for
SILENCE_SECONDS, the remote end ends all processes that it started. The remote end makes no decisions: the near end
applies the policy, asks the user, and sends only allowed operations. Before a commit writes to an opened
file, the remote end asks the near end whether that file may be changed.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from typing import Any, BinaryIO, get_type_hints

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
from anyio.abc import TaskGroup

from agent_ls.environments.base import (
    CommandOptions,
    ExecResult,
    Stream,
)
from agent_ls.environments.errors import EnvError, NotAFolderError, PathNotFoundError
from agent_ls.environments.instruction_files import (
    InstructionText,
    Listing,
    ReadBudget,
    UnreadableFileError,
    list_instructions,
    read_text,
    walk_files,
)
from agent_ls.environments.local import LocalEnvironment, LocalLimits
from agent_ls.environments.local.commit import sweep
from agent_ls.environments.local.files import read_file
from agent_ls.environments.opened import opening_check
from agent_ls.environments.remote import leftovers
from agent_ls.environments.remote.facts import (
    EndConfig,
    Facts,
    RemoteEnvironmentFacts,
    facts_of,
    opened_facts,
)
from agent_ls.environments.remote.frames import RemoteFrameError, RemoteMessage, RemoteOutbox, read_messages
from agent_ls.environments.remote.values import ValueFault, pack, pack_error, unpack, unpack_error
from agent_ls.program_lookup import find_on

SILENCE_SECONDS = 60.0
"""After this time without a message, the connection counts as lost. The near end pings every 15 s."""

OUTPUT_WAITING_BYTES = 8 * 1024 * 1024
"""Live output is skipped while this many bytes wait to be sent; the result of the command has all output."""

CHECK_SECONDS = 60.0
IGNORE_BYTES = 256 * 1024
MAX_NAMES = 5_000
SSH_VARIABLES = ("SSH_CLIENT", "SSH2_CLIENT")
"""Variables that commands do not get, because Bash reads ~/.bashrc for each command if one of them is set.

This is not needed, because the shell that started this process has read ~/.bashrc already.
"""
_SKIPPED = "\n[some output is not displayed: the connection is slow]\n"


def main(source: BinaryIO, descriptor: int, temporary: str) -> None:
    """Serve the near end until the input ends. Then exit at once, because a thread may still wait for input.

    `source` is the input, `descriptor` the output. `temporary` is a folder to remove at the end, "" for none.
    """
    for name in SSH_VARIABLES:
        os.environ.pop(name, None)
    inherited = dict(os.environ)
    # A worker process (timed_search.py) needs this variable to find agent_ls, which is not installed on this
    # machine. Commands do not get the variable.
    bundle = sys.path[0]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (bundle, inherited.get("PYTHONPATH"))))
    anyio.run(_serve, source, descriptor, inherited)
    if temporary:
        shutil.rmtree(temporary, ignore_errors=True)
    os._exit(0)


async def _serve(source: BinaryIO, descriptor: int, inherited: Mapping[str, str]) -> None:
    end = _FarEnd(descriptor, inherited)
    try:
        async with anyio.create_task_group() as group:
            end.group = group
            group.start_soon(_stop_on_signal, group.cancel_scope.cancel)
            group.start_soon(end.watch)
            _start_reader(source, end)
            await end.ended.wait()
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await end.cleanup()


async def _stop_on_signal(stop: Callable[[], object]) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP, signal.SIGINT) as signals:
        async for _ in signals:
            stop()


def _start_reader(source: BinaryIO, end: _FarEnd) -> None:
    token = anyio.lowlevel.current_token()

    def read() -> None:
        try:
            for message in read_messages(source):
                if message.kind == "checked":
                    end.answer_check(message)
                else:
                    anyio.from_thread.run_sync(end.receive, message, token=token)
        except (RemoteFrameError, OSError, ValueError) as error:
            sys.stderr.write(f"agent-ls: {error}\n")
        finally:
            with suppress(RuntimeError):  # the event loop has ended
                anyio.from_thread.run_sync(end.ended.set, token=token)

    threading.Thread(target=read, daemon=True, name="agent-ls-remote-reader").start()


class _FarEnd:
    def __init__(self, descriptor: int, inherited: Mapping[str, str]) -> None:
        """Create the remote end. It sends messages to `descriptor`. Commands inherit the variables `inherited`."""
        self.group: TaskGroup
        self._inherited = inherited
        self.ended = anyio.Event()
        self._heard = anyio.current_time()
        self._outbox = RemoteOutbox(lambda data: _write_all(descriptor, data), self._set_ended)
        self._token = anyio.lowlevel.current_token()
        self._environments: dict[int, LocalEnvironment] = {}
        self._opened = 0
        self._calls: dict[int, anyio.CancelScope] = {}
        self._checks: dict[int, tuple[threading.Event, list[EnvError | None]]] = {}
        self._check_number = 0
        self._lock = threading.Lock()
        self._is_skipping: set[int] = set()

    def _set_ended(self, reason: str) -> None:
        with suppress(RuntimeError):
            anyio.from_thread.run_sync(self.ended.set, token=self._token)

    async def watch(self) -> None:
        """End this process when the near end has sent nothing for SILENCE_SECONDS.

        A broken connection may not close the input, for example when the machine of the near end loses power.
        """
        while anyio.current_time() - self._heard < SILENCE_SECONDS:  # noqa: ASYNC110  # silence sets no event
            await anyio.sleep(SILENCE_SECONDS / 4)
        self.ended.set()

    async def cleanup(self) -> None:
        # The near end will answer no more checks, so wake the commits that wait for an answer.
        with self._lock:
            checks, self._checks = self._checks, {}
        for answered, _ in checks.values():
            answered.set()
        for environment in self._environments.values():
            await environment.cleanup()
        self._outbox.close(1.0)

    # --- messages

    def receive(self, message: RemoteMessage) -> None:
        self._heard = anyio.current_time()
        number = message.header.get("id")
        match message.kind:
            case "call" if isinstance(number, int):
                self.group.start_soon(self._call, number, message)
            case "cancel" if isinstance(number, int) and (scope := self._calls.get(number)):
                scope.cancel()
            case "ping":
                self._outbox.send(RemoteMessage({"kind": "pong"}))

    async def _call(self, number: int, message: RemoteMessage) -> None:
        answer: RemoteMessage | None = None
        opened: list[Facts] = []
        with anyio.CancelScope() as scope:
            self._calls[number] = scope
            try:
                value = await self._run_method(number, message, opened)
                packed, body = pack({"value": value, "opened": opened})
                answer = RemoteMessage({"kind": "result", "id": number, "value": packed}, body)
            except EnvError as error:
                packed, body = pack({"opened": opened})
                failed = {"kind": "error", "id": number, "error": pack_error(error), "value": packed}
                answer = RemoteMessage(failed, body)
            except Exception as error:  # the near end must not wait for ever
                words = f"the program of agent-ls on that machine failed: {type(error).__name__}: {error}"
                answer = RemoteMessage({"kind": "error", "id": number, "error": pack_error(EnvError(words))})
        self._calls.pop(number, None)
        self._outbox.send(answer or RemoteMessage({"kind": "cancelled", "id": number}))

    async def _run_method(self, number: int, message: RemoteMessage, opened: list[Facts]) -> Any:
        header = message.header
        method, raw = str(header.get("method")), header.get("arguments")
        if blocking := _BLOCKING.get(method):
            arguments = _arguments(raw, message.body, _types_of(blocking))
            return await anyio.to_thread.run_sync(blocking, *arguments)
        general: Mapping[str, Callable[..., Awaitable[Any]]] = {
            "open": self.open, "close": self.close, "end_previous": leftovers.end_previous,
        }  # fmt: skip
        if run := general.get(method):
            return await run(*_arguments(raw, message.body, _types_of(run)))
        environment = self._environments.get(int(header.get("environment", 0)))
        if environment is None:
            raise EnvError("the environment of this request was closed")
        if method == "exec_command":
            command, options = _arguments(raw, message.body, (str, CommandOptions))
            return await self._exec(environment, number, command, options)
        call = _METHODS[method]
        arguments = _arguments(raw, message.body, _types_of(call))

        def note(real: str, facts: os.stat_result) -> None:
            opened.append(opened_facts(real, facts))

        check = partial(self._ask, number) if header.get("isChecked") else note
        with opening_check(check):
            return await call(environment, *arguments)

    async def _exec(
        self, environment: LocalEnvironment, number: int, command: str, options: CommandOptions
    ) -> ExecResult:
        def show(stream: Stream, text: str) -> None:
            if self._outbox.waiting_bytes > OUTPUT_WAITING_BYTES:
                self._is_skipping.add(number)
                return
            if number in self._is_skipping:
                self._is_skipping.discard(number)
                text = _SKIPPED + text
            body = text.encode("utf-8", "surrogatepass")
            self._outbox.send(RemoteMessage({"kind": "output", "id": number, "stream": stream}, body))

        try:
            return await environment.exec_command(command, _add_marker(options), show)
        finally:
            self._is_skipping.discard(number)

    # --- asking the near end

    def _ask(self, call: int, real: str, facts: os.stat_result) -> None:
        """Ask the near end whether the opened file `real` may be changed. Blocks the thread of the commit."""
        answered, found = threading.Event(), list[EnvError | None]()
        with self._lock:
            self._check_number += 1
            number = self._check_number
            self._checks[number] = (answered, found)
        packed, body = pack(opened_facts(real, facts))
        self._outbox.send(RemoteMessage({"kind": "check", "id": number, "call": call, "value": packed}, body))
        answered.wait(CHECK_SECONDS)
        with self._lock:
            self._checks.pop(number, None)
        if not found:
            raise EnvError("the connection was lost before this change could be checked")
        if found[0]:
            raise found[0]

    def answer_check(self, message: RemoteMessage) -> None:
        """Pass the near end's answer to the waiting commit. Called in the reader's thread."""
        with self._lock:
            waiting = self._checks.get(int(message.header.get("id", 0)))
        if waiting:
            raw = message.header.get("error")
            waiting[1].append(unpack_error(raw) if raw else None)
            waiting[0].set()

    # --- environments

    async def open(self, config: EndConfig) -> RemoteEnvironmentFacts:
        root, home, state = await anyio.to_thread.run_sync(_folders, config.folder)
        environment = LocalEnvironment(
            root,
            environ=self._inherited,
            env_policy=config.environment,
            limits=LocalLimits(
                terminate_grace_ms=config.grace_ms,
                max_background=lambda: config.max_background,
                read_limit_bytes=lambda: config.read_limit_bytes,
                processes_before=config.processes_before,
            ),
        )
        await environment.initialize()
        self._opened += 1
        self._environments[self._opened] = environment
        return RemoteEnvironmentFacts(
            self._opened,
            environment.working_directory(),
            home,
            state,
            environment.platform(),
            environment.os_version(),
            environment.mark,
        )

    async def close(self, number: int) -> None:
        if environment := self._environments.pop(number, None):
            await environment.cleanup()


def _folders(wanted: str) -> tuple[str, str, str]:
    """Return the folder to work in (`wanted`), the home folder, and the folder where agent-ls stores its state.

    Raises:
        PathNotFoundError, NotAFolderError: the folder does not exist.
    """
    home = os.path.expanduser("~")
    root = os.path.normpath(os.path.join(home, os.path.expanduser(wanted or home)))
    if not os.path.isdir(root):
        raise (NotAFolderError if os.path.exists(root) else PathNotFoundError)(root)
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state")
    return root, os.path.realpath(home), os.path.realpath(os.path.join(state, "agent-ls"))


def _add_marker(options: CommandOptions) -> CommandOptions:
    return replace(options, env_vars={**options.env_vars, leftovers.VARIABLE: leftovers.own_name()})


async def _start_process(environment: LocalEnvironment, command: str, options: CommandOptions) -> Any:
    return await environment.start_process(command, _add_marker(options))


async def _write_process(environment: LocalEnvironment, process_id: str, text: str, close: bool) -> Any:
    return await environment.write_process(process_id, text, close=close)


def _look(paths: Sequence[str]) -> Sequence[Facts]:
    return [facts_of(path) for path in paths]


def _ignore_text(path: str) -> str:
    try:
        return read_file(path, path, IGNORE_BYTES).decode("utf-8", "replace")
    except EnvError:
        return "*"


def _instructions(workspace: str, folders: Sequence[Sequence[str]]) -> Listing:
    return list_instructions(workspace, [(folder, suffix) for folder, suffix in folders])


def _walk(base: str, folders: int, files: int) -> Sequence[str]:
    return list(walk_files(base, "", ReadBudget(folders=folders, files=files), lambda path: False))


def _instruction_texts(files: Sequence[Sequence[str]]) -> Sequence[InstructionText]:
    def read(path: str, base: str) -> InstructionText:
        try:
            text, signature = read_text(path, base)
        except UnreadableFileError as error:
            return InstructionText("", str(error))
        return InstructionText(text, "", signature)

    return [read(path, base) for path, base in files]


def _names(folder: str) -> Sequence[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry, _ in zip(entries, range(MAX_NAMES), strict=False))
    except OSError:
        return []


def _programs(wanted: Sequence[str]) -> Sequence[str]:
    return [name for name in wanted if find_on(name)]


def _sweep(folders: Sequence[str], pid: int) -> None:
    # Process `pid` has been ended already, so `is_put_out` is safe. `sweep` alone would see the pid as alive
    # until the parent has collected the exit status.
    sweep(folders, pid, is_put_out=True)


_BLOCKING: Mapping[str, Callable[..., Any]] = {
    "look": _look,
    "linked": leftovers.linked_files,
    "ignore_text": _ignore_text,
    "instructions": _instructions,
    "walk": _walk,
    "instruction_texts": _instruction_texts,
    "names": _names,
    "programs": _programs,
    "sweep": _sweep,
}
"""Calls that are run in a thread, and need no environment."""

_METHODS: Mapping[str, Callable[..., Awaitable[Any]]] = {
    "read_bytes": LocalEnvironment.read_bytes,
    "file_exists": LocalEnvironment.file_exists,
    "list_directory": LocalEnvironment.list_directory,
    "commit": LocalEnvironment.commit,
    "start_process": _start_process,
    "list_processes": LocalEnvironment.list_processes,
    "read_process": LocalEnvironment.read_process,
    "wait_process": LocalEnvironment.wait_process,
    "write_process": _write_process,
    "kill_process": LocalEnvironment.kill_process,
    "grep": LocalEnvironment.grep,
    "glob": LocalEnvironment.glob,
}
"""Calls of an environment."""


@cache
def _types_of(function: Callable[..., Any]) -> Sequence[Any]:
    """Return the types of the arguments that the near end sends for this function."""
    hints = get_type_hints(function)
    return [hint for name, hint in hints.items() if name not in ("environment", "return")]


def _arguments(raw: Any, body: bytes, types: Sequence[Any]) -> Sequence[Any]:
    if not isinstance(raw, list) or len(raw) != len(types):
        raise ValueFault("the request has the wrong number of arguments")
    return [unpack(value, body, expected) for value, expected in zip(raw, types, strict=True)]


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
