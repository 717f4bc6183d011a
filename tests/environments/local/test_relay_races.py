"""While a terminal opens: it is slow or closed, the call is cancelled, or two writes happen at once."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from agent_ls.environments.base import Attribution, CommandOptions
from agent_ls.environments.errors import ProcessStartError
from agent_ls.environments.local import LocalEnvironment, LocalLimits
from agent_ls.environments.local.terminals.relay_link import CommandLaunch, RelayedProcess, RelayLink
from agent_ls.environments.terminal_host import NewTerminal
from agent_ls.relay.frames import HELLO, INPUT, RUN, STARTED, FrameDecoder, encode_words
from tests.support.environments import SHORT_GRACE_MS
from tests.support.processes import LIMIT_SECONDS, eventually
from tests.support.terminal_host import FakeTerminalHost

pytestmark = pytest.mark.req("H5", "T5")

CALL = CommandOptions(60_000, attribution=Attribution("s", "t", "c1"))
LAUNCH = CommandLaunch("true", ("true",), "/", {}, "mark")


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "agent-ls-relay"]


class Closing(FakeTerminalHost):
    """A host whose terminals close as soon as they have connected, before the editor answers."""

    async def open_terminal(self, terminal: NewTerminal) -> bool:
        self.asked.append(terminal)
        address, token = (await anyio.Path(terminal.argv[-1]).read_text()).split("\n")
        with socket.socket(socket.AF_UNIX) as caller:
            await anyio.to_thread.run_sync(caller.connect, address)
            caller.sendall(encode_words(HELLO, token, os.getpid()))
            await eventually(lambda: bool(readers()))
        await eventually(lambda: not readers())
        return True


async def test_a_command_uses_pipes_if_its_terminal_is_closed_right_after_opening(tmp_path: Path) -> None:
    host = Closing()
    local = LocalEnvironment(str(tmp_path), terminals=host)
    result = await local.exec_command("test -t 1 || echo pipes", CALL)
    await local.cleanup()

    assert result.output == "pipes\n" and len(host.asked) == 1 and not host.runs


class Slow(FakeTerminalHost):
    """A host that opens terminals after ten seconds, by the clock of the event loop."""

    async def open_terminal(self, terminal: NewTerminal) -> bool:
        loop = asyncio.get_running_loop()
        setattr(loop, "time", lambda: time.monotonic() + 10)  # noqa: B010, mypy refuses an assignment to a method
        await anyio.lowlevel.checkpoint()
        return await super().open_terminal(terminal)


@pytest.mark.report("cline/cline#1059")
async def test_a_command_waits_for_a_terminal_that_opens_late(tmp_path: Path) -> None:
    host = Slow()
    local = LocalEnvironment(str(tmp_path), terminals=host)
    result = await local.exec_command("test -t 1 && echo terminal", CALL)
    await local.cleanup()
    host.end()

    assert result.output == "terminal\n"


class Unanswering(FakeTerminalHost):
    """A terminal host that opens terminals, but whose `open_terminal` never returns."""

    def __init__(self) -> None:
        super().__init__()
        self.has_met = anyio.Event()

    async def open_terminal(self, terminal: NewTerminal) -> bool:
        await super().open_terminal(terminal)
        await eventually(lambda: bool(readers()))
        self.has_met.set()
        await anyio.sleep_forever()
        return True


async def test_a_terminal_opened_for_a_cancelled_call_is_used_by_the_next_call_and_ended_at_cleanup(
    tmp_path: Path,
) -> None:
    host = Unanswering()
    local = LocalEnvironment(
        str(tmp_path), terminals=host, limits=LocalLimits(terminate_grace_ms=SHORT_GRACE_MS)
    )
    try:
        with anyio.fail_after(LIMIT_SECONDS):
            async with anyio.create_task_group() as group:
                group.start_soon(local.exec_command, "echo one", CALL)
                await host.has_met.wait()
                group.cancel_scope.cancel()
        assert (await local.exec_command("echo two", CALL)).output == "two\n"
        await local.cleanup()

        assert [terminal.process.wait(LIMIT_SECONDS) for terminal in host.terminals] == [0]
    finally:
        host.end()


@pytest.fixture
async def link() -> AsyncIterator[tuple[RelayLink, socket.socket]]:
    """Return a link, and the relay's end of its socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    link = RelayLink(ours, FrameDecoder(), "t-1")
    with theirs:
        yield link, theirs
        await link.close_and_wait()


async def started(link: RelayLink, relay: socket.socket) -> RelayedProcess:
    relay.sendall(encode_words(STARTED, 77))
    return await link.start(LAUNCH, lambda text: None, lambda waits: None)


def received(relay: socket.socket, count: int) -> list[tuple[bytes, bytes]]:
    relay.settimeout(LIMIT_SECONDS)
    frames, found = FrameDecoder(), list[tuple[bytes, bytes]]()
    while len(found) < count:
        found += frames.feed(relay.recv(65536))
    return found


async def test_a_command_cannot_start_in_a_closed_terminal(link: tuple[RelayLink, socket.socket]) -> None:
    ours, relay = link
    relay.close()
    await eventually(lambda: ours.is_gone)

    with pytest.raises(ProcessStartError, match="the terminal of the command was closed"):
        await ours.start(LAUNCH, lambda text: None, lambda waits: None)


async def test_input_typed_while_the_terminal_is_full_arrives_complete_and_in_order(
    link: tuple[RelayLink, socket.socket],
) -> None:
    ours, relay = link
    async with anyio.create_task_group() as group:
        group.start_soon(received_run, relay)
        process = await started(ours, relay)
    typed = ["a" * 2_000_000, *map(str, range(20))]
    with anyio.fail_after(LIMIT_SECONDS):
        async with anyio.create_task_group() as group:
            for words in typed:
                group.start_soon(process.write, words)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()  # the caller no longer waits, but the text was typed
        found = await anyio.to_thread.run_sync(received, relay, len(typed))

    assert [(kind, payload.decode()) for kind, payload in found] == [(INPUT, words) for words in typed]


async def received_run(relay: socket.socket) -> None:
    ((kind, _),) = await anyio.to_thread.run_sync(received, relay, 1)
    assert kind == RUN
