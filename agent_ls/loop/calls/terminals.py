"""The commands of a session: commands that a tool call waits for, and background commands.

The id of a command is always the id of its call. If the user kills a single command, the result of its call
reports this, and the turn continues.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

import anyio
from anyio.abc import TaskGroup

from agent_ls.environments.base import CommandTerminal, ExecutionEnvironment, ProcessInfo
from agent_ls.environments.effects import CommandEffect
from agent_ls.environments.errors import EnvError
from agent_ls.loop.calls.redaction import Known, none_known, redacted
from agent_ls.loop.emission import Emitter, output_part
from agent_ls.loop.errors import NoInputError, UnknownTerminalError
from agent_ls.loop.events.types import TerminalExit, TerminalOpen, TerminalWaiting
from agent_ls.loop.seams import Clock
from agent_ls.text import leave_alternate_screen
from agent_ls.tools.base import ProcessChange, ToolOutput
from agent_ls.tools.summary import one_line

STOPPED = (
    "The user stopped this command. The command may have had part of its effect: check before you rely on it."
)

ENDED = "[Background process {id} ({command}) has ended with exit code {code}.]"


@dataclass(frozen=True, slots=True)
class Terminal:
    """A command. `pid` is None if unknown, for example while a call waits for the command.

    `exit_code` is None while the command runs. `started_ms` is Unix time. `waiting` is True while the command
    waits for input.
    """

    id: str
    command: str
    background: bool
    started_ms: int
    pid: int | None = None
    exit_code: int | None = None
    waiting: bool = False


@dataclass(frozen=True, slots=True)
class TerminalText:
    """Output of a command from a requested offset on. `next_offset` is the offset for the next read, in code
    points.
    """

    text: str
    next_offset: int
    running: bool
    exit_code: int | None = None


@dataclass(eq=False, slots=True)
class _Command:
    """The state of one command. `process_id` is the environment's id, "" while a call waits for the command.

    `terminal` is None until the command's terminal opens, and stays None if the command has no terminal.
    """

    call_id: str
    turn_id: str
    effect: CommandEffect
    started_ms: int
    process_id: str = ""
    has_ended: bool = False
    terminal: CommandTerminal | None = None
    waiting: bool = False
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class SessionTerminals:
    """The commands of a session by id. Emits events when commands start, wait for input, and end."""

    def __init__(
        self, environment: ExecutionEnvironment, emitter: Emitter, clock: Clock, secrets: Known = none_known
    ) -> None:
        self._environment = environment
        self._secrets = secrets
        self._emitter = emitter
        self._clock = clock
        self._commands: dict[str, _Command] = {}
        self._stopped_turns: set[str] = set()
        self._ended: dict[str, str] = {}
        self._known_ends: set[str] = set()
        self._group: TaskGroup | None = None

    def use_task_group(self, group: TaskGroup) -> None:
        """Set the task group in which tasks wait until background commands have ended."""
        self._group = group

    async def run(
        self, call_id: str, effect: CommandEffect, work: Callable[[], Awaitable[ToolOutput]]
    ) -> ToolOutput:
        """Run `work`, which runs the command, and emit the start and end of the command."""
        command = _Command(call_id, self._emitter.turn_id, effect, _unix_ms(self._clock.now()))
        self._commands[call_id] = command
        self._emitter.emit(TerminalOpen(call_id, call_id, effect.command, effect.background))
        output: ToolOutput | None = None
        try:
            with command.scope:
                output = await work()
            output = output or self._make_stopped(command)
            return output
        finally:
            if output and effect.background and not output.is_error:
                self._continue_in_background(command, output.process_id)
            else:
                del self._commands[call_id]
                self._emitter.emit(TerminalExit(call_id, output.exit_code if output else None))

    def watcher(self, call_id: str) -> _Watcher:
        """Return the watcher for the command of this call. If the command runs in a terminal, the watcher
        receives the terminal.
        """
        return _Watcher(self, call_id)

    def in_terminal(self, call_id: str, terminal: CommandTerminal) -> None:
        if command := self._commands.get(call_id):
            command.terminal = terminal

    def set_waiting(self, call_id: str, waiting: bool) -> None:
        command = self._commands.get(call_id)
        if command and not command.has_ended and command.waiting != waiting:
            command.waiting = waiting
            self._emitter.emit(TerminalWaiting(call_id, call_id, waiting))

    async def type(self, terminal_id: str, text: str) -> None:
        """Write text to the terminal of a command.

        Raises:
            UnknownTerminalError, NoInputError.
        """
        await self._terminal(terminal_id).write(text)

    async def resize(self, terminal_id: str, columns: int, rows: int) -> None:
        """Set the size of a command's terminal.

        Raises:
            UnknownTerminalError, NoInputError.
        """
        await self._terminal(terminal_id).resize(columns, rows)

    async def list_terminals(self) -> list[Terminal]:
        """List running commands and all background commands, ended ones included, in order of start."""
        known = {process.id: process for process in await self._environment.list_processes()}
        return [_make_terminal(command, known.get(command.process_id)) for command in self._commands.values()]

    async def kill(self, terminal_id: str) -> None:
        """End a command.

        Raises:
            UnknownTerminalError, EnvError.
        """
        command = self._command(terminal_id)
        if command.process_id:
            await self._environment.kill_process(command.process_id)
        else:
            command.scope.cancel()

    async def read(self, terminal_id: str, offset: int) -> TerminalText:
        """Return the output of a command from `offset` on.

        Raises:
            UnknownTerminalError, EnvError.
        """
        command = self._command(terminal_id)
        if not command.process_id:
            text = self._emitter.text_of(output_part(command.call_id))
            return TerminalText(text[offset:], len(text), running=True)
        # Get the state before the output. A client stops reading when `running` is False, so the output read
        # after it must be complete.
        processes = await self._environment.list_processes()
        text, end = await self._environment.read_process(command.process_id, offset)
        text = redacted(text, self._secrets())
        process = next((process for process in processes if process.id == command.process_id), None)
        exit_code = process.exit_code if process else None
        return TerminalText(text, end, running=process is not None and exit_code is None, exit_code=exit_code)

    def end_turn(self, turn_id: str) -> None:
        """End the background commands of a turn, including commands that are just starting.

        Foreground commands end with their calls.
        """
        self._stopped_turns.add(turn_id)
        for command in self._commands.values():
            if command.turn_id == turn_id:
                self._end(command)

    def close(self) -> None:
        """Emit end events for all running commands because the session is about to end."""
        for command in self._commands.values():
            if not command.has_ended:
                command.has_ended = True
                self._emitter.emit(TerminalExit(command.call_id, None))

    def note_ends(self, changes: Sequence[ProcessChange]) -> None:
        """Remember which ends of background processes the model knows from the result of a call."""
        self._known_ends.update(it.process_id for it in changes if it.change == "ended")

    def take_ended(self) -> Sequence[str]:
        """Return a message for the model about each background process that has ended since the last call, unless
        the model knows it.
        """
        ended, self._ended = self._ended, {}
        return [text for process_id, text in ended.items() if process_id not in self._known_ends]

    def _terminal(self, terminal_id: str) -> CommandTerminal:
        if terminal := self._command(terminal_id).terminal:
            return terminal
        raise NoInputError(terminal_id)

    def _command(self, terminal_id: str) -> _Command:
        if command := self._commands.get(terminal_id):
            return command
        raise UnknownTerminalError(terminal_id)

    def _continue_in_background(self, command: _Command, process_id: str) -> None:
        command.process_id = process_id
        if process_id and self._group:
            self._group.start_soon(self._follow, command)
        # The turn was stopped while the command started. Starting cannot be interrupted, so end the command now.
        if command.turn_id in self._stopped_turns or command.scope.cancel_called:
            self._end(command)

    def _end(self, command: _Command) -> None:
        if command.process_id and not command.has_ended and self._group:
            self._group.start_soon(self._kill, command.process_id)

    async def _kill(self, process_id: str) -> None:
        with suppress(EnvError):  # the process or its environment has ended already
            await self._environment.kill_process(process_id)

    async def _follow(self, command: _Command) -> None:
        try:
            process = await self._environment.wait_process(command.process_id)
        except EnvError:
            # The environment no longer lists the process. `close` emits the end event at the end of the session.
            return
        command.has_ended = True
        shown = one_line(redacted(command.effect.command, self._secrets()))
        self._ended[process.id] = ENDED.format(id=process.id, command=shown, code=process.exit_code)
        self._emitter.emit(TerminalExit(command.call_id, process.exit_code))

    def _make_stopped(self, command: _Command) -> ToolOutput:
        so_far = self._emitter.text_of(output_part(command.call_id))
        text = f"{leave_alternate_screen(so_far)}\n\n{STOPPED}" if so_far else STOPPED
        return ToolOutput(text, is_error=True, error_kind="stopped", summary="stopped by the user")


@dataclass(frozen=True, slots=True)
class _Watcher:
    """Receives the terminal of one call's command, and whether the command waits for input. Implements
    TerminalWatcher.
    """

    terminals: SessionTerminals
    call_id: str

    def report_terminal(self, terminal: CommandTerminal) -> None:
        self.terminals.in_terminal(self.call_id, terminal)

    def report_waiting(self, waiting: bool) -> None:
        self.terminals.set_waiting(self.call_id, waiting)


def _make_terminal(command: _Command, process: ProcessInfo | None) -> Terminal:
    effect = command.effect
    terminal = Terminal(
        command.call_id, effect.command, effect.background, command.started_ms, waiting=command.waiting
    )
    if process is None:
        return terminal
    return replace(terminal, started_ms=process.started_ms, pid=process.pid, exit_code=process.exit_code)


def _unix_ms(timestamp: str) -> int:
    try:
        return round(datetime.fromisoformat(timestamp).timestamp() * 1000)
    except ValueError:  # the clock of a test may return text that is not a date
        return 0
