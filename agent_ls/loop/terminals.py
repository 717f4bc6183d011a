"""The commands of a session: those that their call waits for, and those that go on behind it.

Each has one id everywhere, which is that of its call. A command can be ended alone: its call then has a result that
says so, and the turn goes on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

import anyio
from anyio.abc import TaskGroup

from agent_ls.environments.base import CommandTerminal, ExecutionEnvironment, ProcessInfo
from agent_ls.environments.effects import CommandEffect
from agent_ls.environments.errors import EnvError
from agent_ls.loop.emission import Voice, output_part
from agent_ls.loop.errors import NoInputError, UnknownTerminalError
from agent_ls.loop.events import TerminalExit, TerminalOpen, TerminalWaiting
from agent_ls.loop.redaction import Known, none_known, redacted
from agent_ls.loop.seams import Clock
from agent_ls.text import back_on_screen
from agent_ls.tools.base import ToolOutput

STOPPED = "The user stopped this command. It may have had part of its effect: look before you rely on it."


@dataclass(frozen=True, slots=True)
class Terminal:
    """`pid` None: not known, as of a command that its call waits for. `exit_code` None: it runs.

    `started_ms` is Unix time. `waiting`: for its user to type something.
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
    """Output from an offset on, and the offset to go on from (code points)."""

    text: str
    next_offset: int
    running: bool
    exit_code: int | None = None


@dataclass(eq=False, slots=True)
class _Command:
    """`process_id` is what the environment calls it, "" while its call waits for it.

    `terminal` None: it runs without, or not yet.
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


class Terminals:
    def __init__(
        self, environment: ExecutionEnvironment, hub: Voice, clock: Clock, secrets: Known = none_known
    ) -> None:
        self._environment = environment
        self._secrets = secrets
        self._hub = hub
        self._clock = clock
        self._commands: dict[str, _Command] = {}
        self._given_up: set[str] = set()
        self._group: TaskGroup | None = None

    def attend(self, group: TaskGroup) -> None:
        """In `group` the ends of background commands are waited for."""
        self._group = group

    async def run(
        self, call_id: str, effect: CommandEffect, work: Callable[[], Awaitable[ToolOutput]]
    ) -> ToolOutput:
        """Does `work`, which runs the command; tells when it begins and ends."""
        command = _Command(call_id, self._hub.turn_id, effect, _unix_ms(self._clock.now()))
        self._commands[call_id] = command
        self._hub.emit(TerminalOpen(call_id, call_id, effect.command, effect.background))
        output: ToolOutput | None = None
        try:
            with command.scope:
                output = await work()
            output = output or self._stopped(command)
            return output
        finally:
            if output and effect.background and not output.is_error:
                self._goes_on(command, output.process_id)
            else:
                del self._commands[call_id]
                self._hub.emit(TerminalExit(call_id, output.exit_code if output else None))

    def watcher(self, call_id: str) -> _Watcher:
        """For the command of this call: it is told of the terminal, where there is one."""
        return _Watcher(self, call_id)

    def in_terminal(self, call_id: str, terminal: CommandTerminal) -> None:
        if command := self._commands.get(call_id):
            command.terminal = terminal

    def waits(self, call_id: str, waiting: bool) -> None:
        command = self._commands.get(call_id)
        if command and not command.has_ended and command.waiting != waiting:
            command.waiting = waiting
            self._hub.emit(TerminalWaiting(call_id, call_id, waiting))

    async def type(self, terminal_id: str, text: str) -> None:
        """
        Raises:
            UnknownTerminalError, NoInputError.
        """
        await self._terminal(terminal_id).write(text)

    async def resize(self, terminal_id: str, columns: int, rows: int) -> None:
        """
        Raises:
            UnknownTerminalError, NoInputError.
        """
        await self._terminal(terminal_id).resize(columns, rows)

    async def listed(self) -> list[Terminal]:
        """Those that run, and of those in the background also the ended ones; in the order of their starts."""
        known = {process.id: process for process in await self._environment.list_processes()}
        return [_told(command, known.get(command.process_id)) for command in self._commands.values()]

    async def kill(self, terminal_id: str) -> None:
        """
        Raises:
            UnknownTerminalError. EnvError.
        """
        command = self._command(terminal_id)
        if command.process_id:
            await self._environment.kill_process(command.process_id)
        else:
            command.scope.cancel()

    async def read(self, terminal_id: str, offset: int) -> TerminalText:
        """
        Raises:
            UnknownTerminalError. EnvError.
        """
        command = self._command(terminal_id)
        if not command.process_id:
            text = self._hub.text_of(output_part(command.call_id))
            return TerminalText(text[offset:], len(text), running=True)
        # Before its output: of one that has ended nobody reads on.
        processes = await self._environment.list_processes()
        text, end = await self._environment.read_process(command.process_id, offset)
        text = redacted(text, self._secrets())
        process = next((process for process in processes if process.id == command.process_id), None)
        exit_code = process.exit_code if process else None
        return TerminalText(text, end, running=process is not None and exit_code is None, exit_code=exit_code)

    def end_turn(self, turn_id: str) -> None:
        """What this turn has started in the background ends too, also what is just starting. What its calls wait for
        ends with them."""
        self._given_up.add(turn_id)
        for command in self._commands.values():
            if command.turn_id == turn_id:
                self._end(command)

    def close(self) -> None:
        """The session is about to end, and with it what still runs."""
        for command in self._commands.values():
            if not command.has_ended:
                command.has_ended = True
                self._hub.emit(TerminalExit(command.call_id, None))

    def _terminal(self, terminal_id: str) -> CommandTerminal:
        if terminal := self._command(terminal_id).terminal:
            return terminal
        raise NoInputError(terminal_id)

    def _command(self, terminal_id: str) -> _Command:
        if command := self._commands.get(terminal_id):
            return command
        raise UnknownTerminalError(terminal_id)

    def _goes_on(self, command: _Command, process_id: str) -> None:
        command.process_id = process_id
        if process_id and self._group:
            self._group.start_soon(self._follow, command)
        # It may have been stopped while it started, which goes on to its end.
        if command.turn_id in self._given_up or command.scope.cancel_called:
            self._end(command)

    def _end(self, command: _Command) -> None:
        if command.process_id and not command.has_ended and self._group:
            self._group.start_soon(self._kill, command.process_id)

    async def _kill(self, process_id: str) -> None:
        with suppress(
            EnvError
        ):  # it has ended by itself, or its environment has: then nothing is left to be done
            await self._environment.kill_process(process_id)

    async def _follow(self, command: _Command) -> None:
        try:
            process = await self._environment.wait_process(command.process_id)
        except (
            EnvError
        ):  # an environment that forgot its process, or cannot wait: then the session's end is its end
            return
        command.has_ended = True
        self._hub.emit(TerminalExit(command.call_id, process.exit_code))

    def _stopped(self, command: _Command) -> ToolOutput:
        so_far = self._hub.text_of(output_part(command.call_id))
        text = f"{back_on_screen(so_far)}\n\n{STOPPED}" if so_far else STOPPED
        return ToolOutput(text, is_error=True, error_kind="stopped", summary="stopped by the user")


@dataclass(frozen=True, slots=True)
class _Watcher:
    """TerminalWatcher of one call's command."""

    terminals: Terminals
    call_id: str

    def opened(self, terminal: CommandTerminal) -> None:
        self.terminals.in_terminal(self.call_id, terminal)

    def waits(self, waiting: bool) -> None:
        self.terminals.waits(self.call_id, waiting)


def _told(command: _Command, process: ProcessInfo | None) -> Terminal:
    effect = command.effect
    told = Terminal(
        command.call_id, effect.command, effect.background, command.started_ms, waiting=command.waiting
    )
    if process is None:
        return told
    return replace(told, started_ms=process.started_ms, pid=process.pid, exit_code=process.exit_code)


def _unix_ms(timestamp: str) -> int:
    try:
        return round(datetime.fromisoformat(timestamp).timestamp() * 1000)
    except ValueError:  # a clock of a test's own
        return 0
