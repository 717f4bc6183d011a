"""Runs shell commands on this machine, waits for them or keeps them in the background, and ends what they started.

REQUIREMENTS T5, L16; 000 sections 4.2 and 5.4. Processes are started on the event loop's thread: a child that is
to die with its parent dies with the thread that started it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import anyio
from anyio import to_thread
from anyio.abc import Process

from agent_ls.environments.base import CommandOptions, ExecResult, OutputSink, ProcessInfo, Stream
from agent_ls.environments.errors import (
    InputRefusedError,
    NotAFolderError,
    PathNotFoundError,
    ProcessStartError,
    UnsupportedError,
)
from agent_ls.environments.local import process_tree
from agent_ls.environments.local.environ import EnvPolicy, EnvRules, child_environ
from agent_ls.environments.local.output import BackgroundOutput, CommandOutput
from agent_ls.environments.local.pipes import InputPipe, Pipe, Readers, drain, new_pipe
from agent_ls.environments.local.process_tree import MARK_VARIABLE, Root
from agent_ls.environments.local.relay_link import Launch, RelayedProcess, RelayLink
from agent_ls.environments.local.relays import Relays
from agent_ls.environments.local.shown import (
    CLOSED_NOTE,
    TERMINAL_VARIABLES,
    TerminalInput,
    on_waiting,
    waited_for,
)

TERMINATE_GRACE_MS = 2_000  # 000 section 5.4

DRAIN_SECONDS = 0.3
"""How long after its end a command's output is waited for when something else still holds it open."""

INPUT_SECONDS = 10
"""How long a background process may take to read what it is given; a pipe holds 64 KiB of it meanwhile."""

_STREAMS: tuple[Stream, Stream] = ("stdout", "stderr")


@dataclass(frozen=True, eq=False, slots=True)
class _Child:
    """A shell that we or a relay started, in a session of its own."""

    process: Process | RelayedProcess
    mark: str

    @property
    def is_running(self) -> bool:
        return self.process.returncode is None

    @property
    def root(self) -> Root:
        """Once it is reaped its pid may be another's: then only the mark tells."""
        return Root(frozenset({self.process.pid}) if self.is_running else frozenset(), self.mark)


@dataclass(frozen=True, slots=True)
class _Background:
    id: str
    command: str
    child: _Child
    input: InputPipe | TerminalInput
    output: BackgroundOutput
    reader: threading.Thread | None
    started_ms: int

    def info(self) -> ProcessInfo:
        return ProcessInfo(
            self.id, self.command, self.child.process.pid, self.child.process.returncode, self.started_ms
        )


class LocalProcesses:
    """The commands of one environment."""

    def __init__(
        self,
        environ: Mapping[str, str],
        env_policy: EnvRules | EnvPolicy | Callable[[], EnvRules],
        terminate_grace_ms: int,
        relays: Relays | None = None,
    ) -> None:
        self._environ = environ
        self._env_policy: EnvRules | EnvPolicy | Callable[[], EnvRules] = env_policy
        self._grace_seconds = terminate_grace_ms / 1000
        self._id = uuid.uuid4().hex
        self._started = 0
        self._running: set[_Child] = set()
        self._backgrounds: dict[str, _Background] = {}
        self._orphans: set[process_tree.Row] = set()
        self._orphans_lock = threading.Lock()
        self._adopts_orphans = False
        self._launcher: tuple[str, ...] = ()
        self._relays = relays

    def _rules(self) -> EnvRules | EnvPolicy:
        return self._env_policy() if callable(self._env_policy) else self._env_policy

    async def initialize(self) -> None:
        if os.name == "nt":
            return
        self._adopts_orphans = process_tree.adopt_orphans()
        self._launcher = await _death_signal_launcher()

    async def cleanup(self) -> None:
        """Ends everything that was ever started here and still runs, also what a command left behind."""
        if not self._started:
            return
        with anyio.CancelScope(shield=True):
            await self._end_all()
            if self._relays:
                await self._relays.close()

    async def _end_all(self) -> None:
        sessions = frozenset(child.process.pid for child in self._running if child.is_running)
        await process_tree.end(Root(sessions, f"{self._id}."), self._grace_seconds)
        for background in self._backgrounds.values():
            await _settled(background)
        self._running.clear()

    # --- commands

    async def run(
        self, command: str, folder: str, options: CommandOptions, on_output: OutputSink | None
    ) -> ExecResult:
        begun = anyio.current_time()
        launch = await self._prepared(command, folder, options)
        if link := await self._terminal(options):
            return await self._run_shown(link, launch, options, on_output)
        readers = Readers(CommandOutput(), on_output)
        with new_pipe() as stdout, new_pipe() as stderr:
            child = await self._by_pipes(launch, stdout, stderr)
            try:
                timed_out, notes = await self._attend(child, readers, (stdout, stderr), options.timeout_ms)
            except BaseException:  # mostly: cancelled
                with anyio.CancelScope(shield=True):
                    await self._end(child)
                raise
            finally:
                self._running.discard(child)
        return _result(child, readers.output, timed_out=timed_out, notes=notes, begun=begun)

    async def _terminal(self, options: CommandOptions) -> RelayLink | None:
        call_id = options.attribution.call_id
        return await self._relays.take(call_id) if self._relays and call_id else None

    async def _run_shown(
        self, link: RelayLink, launch: Launch, options: CommandOptions, on_output: OutputSink | None
    ) -> ExecResult:
        begun = anyio.current_time()
        output = CommandOutput()

        def take(text: str) -> None:
            output.add("stdout", text)
            if on_output:
                on_output("stdout", text)

        child, process = await self._in_terminal(link, launch, options, take)
        try:
            timed_out, notes = await self._attend_shown(child, process, options.timeout_ms)
        except BaseException:  # mostly: cancelled
            with anyio.CancelScope(shield=True):
                await self._end(child)
            raise
        finally:
            self._running.discard(child)
        return _result(child, output, timed_out=timed_out, notes=notes, begun=begun)

    async def _attend_shown(
        self, child: _Child, process: RelayedProcess, timeout_ms: int
    ) -> tuple[bool, list[str]]:
        """As `_attend`; the relay reads the output, and says of its end what else there is to know."""
        notes: list[str] = []
        timed_out = not await waited_for(process, timeout_ms)
        if timed_out or process.is_closed or process.is_lost:
            with anyio.CancelScope(shield=True):
                notes += await self._end(child)
        if process.is_closed or process.is_lost:
            notes.append(CLOSED_NOTE)
        left = await self._left_behind(child) if process.is_held or self._adopts_orphans else []
        if process.is_held and not timed_out:
            notes.append(_held_open(left))
        return timed_out, notes

    async def _attend(
        self, child: _Child, readers: Readers, pipes: tuple[Pipe, Pipe], timeout_ms: int
    ) -> tuple[bool, list[str]]:
        """Until the shell has ended and its output is read. True when we ended it at the limit; the notes."""
        notes: list[str] = []
        async with anyio.create_task_group() as group:
            for pipe, stream in zip(pipes, _STREAMS, strict=True):
                group.start_soon(readers.read, pipe.reading, stream)
            with anyio.move_on_after(timeout_ms / 1000) as limit:
                await child.process.wait()
            if limit.cancelled_caught:
                with anyio.CancelScope(shield=True):
                    notes += await self._end(child)
            with anyio.move_on_after(DRAIN_SECONDS) as patience:
                await readers.all_done()
            group.cancel_scope.cancel()
        is_held = patience.cancelled_caught and not limit.cancelled_caught
        left = await self._left_behind(child) if is_held or self._adopts_orphans else []
        if is_held:
            notes.append(_held_open(left))
            for pipe in pipes:
                drain(pipe.give_reading(), _discard)
        return limit.cancelled_caught, notes

    async def _end(self, child: _Child) -> list[str]:
        """Ends all that the child started; a sentence when something stays."""
        stayed = await process_tree.end(child.root, self._grace_seconds)
        if stayed:
            return [f"These processes could not be ended: {_numbers(stayed)}."]
        with anyio.move_on_after(process_tree.KILL_WAIT_SECONDS) as patience:
            await child.process.wait()
        if patience.cancelled_caught and isinstance(child.process, RelayedProcess):
            child.process.link.close()  # it does not say how its command ended, and never will
        return []

    async def _left_behind(self, child: _Child) -> list[int]:
        """What the command left running on purpose; takes leave of orphans that ended."""
        return await to_thread.run_sync(self._count_orphans, child.root, limiter=anyio.CapacityLimiter(1))

    def _count_orphans(self, root: Root) -> list[int]:
        left = process_tree.members(root)
        with self._orphans_lock:
            self._orphans = process_tree.reap_orphans(self._orphans | left)
        return sorted(row.pid for row in left)

    # --- background processes

    async def start(self, command: str, folder: str, options: CommandOptions) -> ProcessInfo:
        launch = await self._prepared(command, folder, options)
        output, reader = BackgroundOutput(), None
        given: InputPipe | TerminalInput
        if link := await self._terminal(options):
            child, process = await self._in_terminal(link, launch, options, output.add)
            given = TerminalInput(process)
        else:
            with new_pipe() as pipe, new_pipe() as stdin:
                child = await self._by_pipes(launch, pipe, pipe, stdin)
                reader = drain(pipe.give_reading(), output.add)
                given = InputPipe(stdin.give_writing())
        background = _Background(
            f"p{len(self._backgrounds) + 1}", command, child, given, output, reader, round(time.time() * 1000)
        )
        self._backgrounds[background.id] = background
        return background.info()

    def infos(self) -> Sequence[ProcessInfo]:
        return [background.info() for background in self._backgrounds.values()]

    def read(self, process_id: str, offset: int) -> tuple[str, int]:
        return self._background(process_id).output.read(offset)

    async def wait(self, process_id: str) -> ProcessInfo:
        background = self._background(process_id)
        await background.child.process.wait()
        background.input.close()
        return background.info()

    async def write(self, process_id: str, text: str, *, close: bool) -> ProcessInfo:
        background = self._background(process_id)
        code = background.child.process.returncode
        if code is not None:
            raise InputRefusedError(process_id, f"it has ended with exit code {code}")
        if not background.input.is_open:
            raise InputRefusedError(process_id, "its input was closed")
        try:
            with anyio.fail_after(INPUT_SECONDS):
                await background.input.write(text.encode("utf-8", "replace"), close=close)
        except BrokenPipeError:
            raise InputRefusedError(process_id, "it does not read any more") from None
        except TimeoutError:
            reason = f"it has not read all that was written within {INPUT_SECONDS} s"
            raise InputRefusedError(process_id, reason) from None
        return background.info()

    async def kill(self, process_id: str) -> ProcessInfo:
        background = self._background(process_id)
        with anyio.CancelScope(shield=True):
            await process_tree.end(background.child.root, self._grace_seconds)
            await _settled(background)
        self._running.discard(background.child)
        return background.info()

    def _background(self, process_id: str) -> _Background:
        if process_id not in self._backgrounds:
            raise PathNotFoundError(process_id)
        return self._backgrounds[process_id]

    # --- starting

    async def _prepared(self, command: str, folder: str, options: CommandOptions) -> Launch:
        """What is started, with which variables: the same by pipes and in a terminal."""
        await to_thread.run_sync(_demand_folder, folder, options.working_dir, abandon_on_cancel=True)
        self._started += 1
        mark = f"{self._id}.{self._started};"
        environ = child_environ(self._environ, options.inherit or self._rules(), options.env_vars)
        if options.argv:
            _demand_program(options.argv[0], folder, environ.get("PATH"))
        environ[MARK_VARIABLE] = self._environ.get(MARK_VARIABLE, "") + mark
        argv = (*self._launcher, *(options.argv or (*_shell(), command)))
        return Launch(options.shown or command, argv, folder, environ, mark)

    async def _by_pipes(
        self, launch: Launch, stdout: Pipe, stderr: Pipe, stdin: Pipe | None = None
    ) -> _Child:
        """Starts a shell that writes to the pipes and may read from `stdin`; its ends are then its own alone."""
        try:
            with anyio.CancelScope(shield=True):  # a cancelled start would leave a process that nobody knows
                process = await anyio.open_process(
                    launch.argv,
                    stdin=stdin.reading if stdin else subprocess.DEVNULL,
                    stdout=stdout.writing,
                    stderr=stderr.writing,
                    cwd=launch.folder,
                    env=launch.environ,
                    start_new_session=True,
                )
        except (OSError, ValueError) as error:
            raise ProcessStartError(f"The command could not be started: {_reason(error)}.") from error
        stdout.close_writing()
        stderr.close_writing()
        if stdin:
            stdin.close_reading()
        child = _Child(process, launch.mark)
        self._running.add(child)
        return child

    async def _in_terminal(
        self, link: RelayLink, launch: Launch, options: CommandOptions, take: Callable[[str], None]
    ) -> tuple[_Child, RelayedProcess]:
        environ = {**launch.environ, **TERMINAL_VARIABLES, **options.env_vars}
        process = await link.start(replace(launch, environ=environ), take, on_waiting(options.terminal))
        if options.terminal:
            options.terminal.opened(process)
        child = _Child(process, launch.mark)
        self._running.add(child)
        return child, process


def _result(
    child: _Child, output: CommandOutput, *, timed_out: bool, notes: list[str], begun: float
) -> ExecResult:
    if dropped := output.dropped_chars:
        notes.append(f"{dropped} characters in the middle of the output were not kept.")
    code = child.process.returncode
    return ExecResult(
        stdout=output.text("stdout"),
        stderr=output.text("stderr"),
        output=output.text("stdout", "stderr"),
        exit_code=-signal.SIGKILL if code is None else code,
        timed_out=timed_out,
        duration_ms=round((anyio.current_time() - begun) * 1000),
        note=" ".join(notes),
    )


async def _settled(background: _Background) -> None:
    """Returns when the exit code is known and the output is complete, or nothing more can be done about it."""
    background.input.close()
    with anyio.move_on_after(process_tree.KILL_WAIT_SECONDS):
        await background.child.process.wait()
    if background.reader:
        await to_thread.run_sync(
            background.reader.join, process_tree.KILL_WAIT_SECONDS, limiter=anyio.CapacityLimiter(1)
        )


def _shell() -> tuple[str, str]:
    """The platform's default shell (000 section 4.2)."""
    if os.name == "nt":
        raise UnsupportedError("Commands are not supported on Windows yet. Run agent-ls inside WSL.")
    return default_shell(), "-c"


def default_shell() -> str:
    bash = "/bin/bash" if os.path.exists("/bin/bash") else shutil.which("bash")
    return bash or "/bin/sh"


async def _death_signal_launcher() -> tuple[str, ...]:
    """A prefix that makes a command die with us even if we are killed; empty where the system has none.

    It does not reach what the command itself started. Python's own way to set it runs code between fork and
    exec, which can deadlock in a process with threads.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return ()
    launcher = (setpriv, "--pdeathsig", "KILL")
    try:
        # It takes milliseconds; cut off while it starts, it would be left behind.
        with anyio.CancelScope(shield=True):
            trial = await anyio.run_process([*launcher, "true"], check=False)
    except OSError:
        return ()
    return launcher if trial.returncode == 0 else ()


def _demand_folder(folder: str, asked: str) -> None:
    with suppress(ValueError):
        if os.path.isdir(folder):
            return
        if os.path.exists(folder):
            raise NotAFolderError(asked)
    raise PathNotFoundError(asked or folder)


def _demand_program(name: str, folder: str, path: str | None) -> None:
    # The launcher would answer in its own words, as if the program had run.
    place = os.path.join(folder, name) if os.path.dirname(name) else name
    if shutil.which(place, path=path) is None:
        raise ProcessStartError(f"No program {name} is found that could be started. Is it installed?")


def _held_open(left: Sequence[int]) -> str:
    who = f"Left running in the background: {_numbers(left)}." if left else "Something was left running."
    return f"{who} It holds the command's output open; what it prints from now on is not shown."


def _numbers(pids: Sequence[int]) -> str:
    return f"pid {', '.join(map(str, pids))}"


def _reason(error: OSError | ValueError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _discard(text: str) -> None:
    """For output that nobody reads any more."""
