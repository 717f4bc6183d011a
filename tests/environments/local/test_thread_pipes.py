"""Pipes with a thread each, which Windows needs. They also work on other systems, so the tests run everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import anyio
import pytest

from agent_ls.environments.local.processes.output import CommandOutput
from agent_ls.environments.local.processes.pipes import Pipe, new_pipe
from agent_ls.environments.local.processes.thread_pipes import ThreadInputPipe, ThreadReaders

pytestmark = pytest.mark.req("H19", "T5")

DEADLINE_SECONDS = 240


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    with new_pipe() as pipe:
        yield pipe


async def test_pipe_output_is_passed_to_the_sink_on_the_event_loop_until_end_of_file(pipe: Pipe) -> None:
    heard: list[str] = []
    readers = ThreadReaders(CommandOutput(), lambda stream, text: heard.append(f"{stream} {text}"))
    with anyio.fail_after(DEADLINE_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(readers.read, pipe, "stdout")
            os.write(pipe.writing, "grü".encode())
            pipe.close_writing()
    assert "".join(heard).replace("stdout ", "") == "grü"
    assert readers.output.text("stdout") == "grü"


async def test_a_pipe_whose_reader_was_cancelled_is_drained_and_its_output_discarded(pipe: Pipe) -> None:
    readers = ThreadReaders(CommandOutput(), None)
    with anyio.fail_after(DEADLINE_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(readers.read, pipe, "stdout")
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        readers.discard_output(pipe)
        for _ in range(64):  # more than a pipe can hold
            await anyio.to_thread.run_sync(os.write, pipe.writing, b"x" * 65_536)
    assert readers.output.text("stdout") == ""


def reading() -> subprocess.Popen[bytes]:
    program = "import sys; print(len(sys.stdin.buffer.read()))"
    return subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


async def test_written_data_arrives_completely_and_in_order_before_the_close() -> None:
    with reading() as process:
        assert process.stdin and process.stdout
        given = ThreadInputPipe(os.dup(process.stdin.fileno()))
        process.stdin.close()
        with anyio.fail_after(DEADLINE_SECONDS):
            await given.write(b"x" * 300_000, close=False)
            await given.write(b"y", close=True)
            assert await anyio.to_thread.run_sync(process.stdout.read) == b"300001\n"
        with pytest.raises(BrokenPipeError):
            await given.write(b"z", close=False)


async def test_a_write_to_a_pipe_without_a_reader_raises_broken_pipe_error(pipe: Pipe) -> None:
    given = ThreadInputPipe(pipe.give_writing())
    pipe.close_reading()
    with anyio.fail_after(DEADLINE_SECONDS), pytest.raises(BrokenPipeError):
        await given.write(b"x", close=False)
    assert not given.is_open
    given.close()


async def test_a_cancelled_write_to_a_full_pipe_is_completed_in_its_thread(pipe: Pipe) -> None:
    given = ThreadInputPipe(pipe.give_writing())
    with anyio.move_on_after(0.05) as patience:
        await given.write(b"x" * 1_000_000, close=False)
    assert patience.cancelled_caught
    given.close()
    read = 0
    with anyio.fail_after(DEADLINE_SECONDS):
        while part := await anyio.to_thread.run_sync(os.read, pipe.reading, 65_536):
            read += len(part)
    assert read == 1_000_000
