"""Ctrl+C in a program of its own code: one KeyboardInterrupt, as in any asyncio program, and sessions that ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import NoReturn

import pytest

import agent_ls
from tests.docs.pages import ROOT
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

pytestmark = pytest.mark.req("H13", "R5")

DEADLINE_S = 120
PROGRAM = """
import asyncio, sys, threading, time
from pathlib import Path
import anyio
import agent_ls
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

folder, kind, face = Path(sys.argv[1]), *sys.argv[2:]

@agent_ls.tool
async def awaits() -> str:
    "Wait."
    print("begun", flush=True)
    try:
        await asyncio.sleep(1000)
    finally:
        with anyio.CancelScope(shield=True):
            await asyncio.sleep(0.1)
    return ""

@agent_ls.tool
def in_thread() -> str:
    "Wait."
    print("begun", flush=True)
    threading.Event().wait()
    return ""

@agent_ls.tool
async def blocks() -> str:
    "Wait."
    print("begun", flush=True)
    if face == "run":  # the first Ctrl+C cancels the main task, which cannot run
        while not main_task.cancelling():
            time.sleep(0.01)
        print("cancelled", flush=True)
    threading.Event().wait()
    return ""

model = FakeProvider([call(kind), text("Done.")])
opened = options(folder, model, mode="full", trusted=True, tools=[awaits, in_thread, blocks])

async def main():
    global main_task
    main_task = asyncio.current_task()
    async with agent_ls.open_session(**opened) as session:
        await session.ask("go")

if face == "run":
    asyncio.run(main())
elif face == "loop":
    asyncio.new_event_loop().run_until_complete(main())
else:
    with agent_ls.open_session_sync(**opened) as session:
        try:
            session.ask("go")
        except KeyboardInterrupt:
            print(session.state, session.ask("again"), flush=True)
            raise
"""
CASES = [
    ("awaits", "run", 2),  # asyncio.run says itself that it cancelled the main task
    ("in_thread", "run", 2),
    ("blocks", "run", 1),
    ("awaits", "loop", 1),
    ("in_thread", "loop", 1),
    ("blocks", "loop", 1),
    ("awaits", "blocking", 1),
    ("in_thread", "blocking", 1),
]


@pytest.mark.group("signals")
@pytest.mark.parametrize(("kind", "face", "tracebacks"), CASES, ids=[f"{it[0]}-{it[1]}" for it in CASES])
def test_ctrl_c_in_an_own_tool_is_one_keyboard_interrupt_and_the_session_can_be_resumed(
    tmp_path: Path, kind: str, face: str, tracebacks: int
) -> None:
    running = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path), kind, face],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stdout and running.stdout.readline() == "begun\n"
        running.send_signal(signal.SIGINT)
        if (kind, face) == ("blocks", "run"):
            assert running.stdout.readline() == "cancelled\n"
            running.send_signal(signal.SIGINT)
        said, problems = running.communicate(timeout=DEADLINE_S)
    finally:
        running.kill()
    assert running.returncode == -signal.SIGINT, problems
    assert problems.count("Traceback (most recent call last)") == tracebacks, problems
    assert "Exception Group" not in problems and problems.endswith("KeyboardInterrupt\n")
    if kind == "blocks":  # raised in the tool: no frame of the session is in the way
        assert problems.count("agent_ls") == 1, problems
    assert said == ("IDLE Done.\n" if face == "blocking" else "")
    (log,) = (tmp_path / "state").rglob("log.jsonl")
    assert json.loads(log.read_text().splitlines()[-1])["event"]["kind"] == "session_end"
    given = options(tmp_path, FakeProvider([text("Resumed.")]), resume=log.parent.name)
    with agent_ls.open_session_sync(**given) as session:
        assert session.ask("go on") == "Resumed."


TERMINAL = """
import sys
from pathlib import Path
import agent_ls
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

def approve(request):
    print(request.effect["files"][0]["diff"], flush=True)
    return keys.readline() == b"y\\n"

model = FakeProvider([call("write_file", file_path="made", content="x"), text("Done.")])
opened = options(Path(sys.argv[1]), model, approve=approve, trusted=True)
with open(sys.argv[2], "rb", buffering=0) as keys:
    with agent_ls.open_session_sync(**opened) as session:
        print(session.ask("go"), flush=True)
"""


@pytest.mark.group("signals")
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo terminals")
@pytest.mark.parametrize("is_interrupted", [True, False], ids=["ctrl_c", "yes"])
def test_a_callback_that_waits_for_a_terminal_does_not_keep_the_program(
    tmp_path: Path, is_interrupted: bool
) -> None:
    keyboard, terminal = os.openpty()
    running = subprocess.Popen(
        [sys.executable, "-c", TERMINAL, str(tmp_path), os.ttyname(terminal)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stdout and running.stdout.readline() == "--- /dev/null\n"
        if is_interrupted:
            running.send_signal(signal.SIGINT)
        else:
            os.write(keyboard, b"y\n")
        said, problems = running.communicate(timeout=DEADLINE_S)
    finally:
        running.kill()
        os.close(keyboard)
        os.close(terminal)
    assert running.returncode == (-signal.SIGINT if is_interrupted else 0), problems
    assert said.endswith("Done.\n") is not is_interrupted
    assert (tmp_path / "project" / "made").exists() is not is_interrupted


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_exit_in_a_coroutine_of_the_program_reaches_its_caller_and_leaves_the_loop(
    error: type[BaseException],
) -> None:
    async def leave() -> NoReturn:
        raise error

    async def three() -> int:
        return 3

    with pytest.raises(error):
        agent_ls.run_sync(leave)
    assert agent_ls.run_sync(three) == 3


def test_a_keyboard_interrupt_of_another_thread_is_an_error_result_of_the_tool(tmp_path: Path) -> None:
    @agent_ls.tool
    async def interrupt() -> str:
        """Raise."""
        assert threading.current_thread() is not threading.main_thread()
        raise KeyboardInterrupt

    model = FakeProvider([call("interrupt"), text("Done.")])
    with agent_ls.open_session_sync(**options(tmp_path, model, tools=[interrupt])) as session:
        assert session.ask("go") == "Done."
        (record,) = session.calls()
    assert record.error and "KeyboardInterrupt" in record.error.message
