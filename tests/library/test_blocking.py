"""Programs without an event loop use the same sessions and models, without `await`."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

import agent_ls
from agent_ls.llm.generate import StreamResult, build_request, default_client, set_default_client
from agent_ls.loop.errors import SessionClosedError
from tests.docs.pages import ROOT
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text
from tests.support.loopback import AnthropicServer

pytestmark = pytest.mark.req("H13", "U1")

DEADLINE_S = 120


def test_session_is_used_without_await(tmp_path: Path) -> None:
    asked: list[str] = []

    def approve(request: agent_ls.ApprovalRequested) -> bool:
        asked.append(request.tool)
        return True

    model = FakeProvider([call("shell", command="touch made"), text("One."), text("Two.")])
    with agent_ls.open_session_sync(**options(tmp_path, model, approve=approve)) as session:
        kinds = [event.kind for event in session.run("go")]
        assert kinds[-1] == "processing_end" and asked == ["shell"]
        assert session.ask("again") == "Two."
        assert [record.name for record in session.calls()] == ["shell"]
        session.configure(mode="plan")
        assert session.queue == () and session.id.startswith("s-")
    assert (tmp_path / "project" / "made").exists()


def test_error_of_a_session_reaches_the_program(tmp_path: Path) -> None:
    with pytest.raises(agent_ls.AppError, match="oracle"):
        with agent_ls.open_session_sync(**options(tmp_path, FakeProvider()) | {"provider": "oracle"}):
            pass
    with pytest.raises(ZeroDivisionError):
        with agent_ls.open_session_sync(**options(tmp_path, FakeProvider())):
            raise ZeroDivisionError


@pytest.mark.report("pydantic/pydantic-ai#2077")
async def test_sync_functions_inside_a_running_loop_raise_an_error_that_says_await(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="await"):
        with agent_ls.open_session_sync(**options(tmp_path, FakeProvider())):
            pass


@pytest.mark.req("U9")
def test_models_can_be_called_repeatedly_without_await(monkeypatch: pytest.MonkeyPatch) -> None:
    with AnthropicServer(["One.", "Two.", '{"n": 3}']) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        set_default_client(None)
        try:
            request = build_request("claude-sonnet-4-5", "Say it.")
            assert agent_ls.run_sync(agent_ls.generate, request).text == "One."
            streamed: StreamResult = agent_ls.stream(request)
            assert list(agent_ls.iterate_sync(streamed)) and streamed.response().text == "Two."
            schema: dict[str, Any] = {
                "type": "object",
                "properties": {"n": {"type": "integer"}},
                "required": ["n"],
            }
            assert agent_ls.run_sync(agent_ls.generate_object, request, schema).output == {"n": 3}
            agent_ls.run_sync(default_client().close)
        finally:
            set_default_client(None)


def test_a_blocking_session_is_used_and_closed_by_other_threads(tmp_path: Path) -> None:
    model = FakeProvider([text("One."), text("Two.")])
    session = agent_ls.open_session_sync(**options(tmp_path, model))
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        assert first.submit(session.ask, "first").result() == "One."
        assert second.submit(session.ask, "second").result() == "Two."
        second.submit(session.close).result()
    assert session._session.state == "CLOSED"
    with pytest.raises(SessionClosedError):
        session.ask("third")


@pytest.mark.group("processes")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_forked_process_cannot_use_the_session(tmp_path: Path) -> None:
    program = """
import os, sys
import agent_ls
from tests.library.sessions import options
from tests.support.fake_provider import FakeProvider, text
from pathlib import Path

folder = Path(sys.argv[1])
with agent_ls.open_session_sync(**options(folder, FakeProvider([text("One.")]))) as session:
    if not os.fork():
        try:
            session.ask("go")
        except RuntimeError as error:
            print("child:", error, flush=True)
        session.close()
        os._exit(0)
    os.wait()
    print("parent:", session.ask("go"))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    child, parent = done.stdout.splitlines()
    assert child.startswith("child: this session was opened") and parent == "parent: One."


READER = """
import sys, threading
from pathlib import Path
import agent_ls
from tests.library.sessions import options
from tests.support.fake_provider import FakeProvider, text

session = agent_ls.open_session_sync(**options(Path(sys.argv[1]), FakeProvider([text("One.")])))
ended = threading.Event()

def read():
    for event in session.events():
        if event.kind == "processing_end":
            ended.set()

threading.Thread(target=read, daemon=True).start()
session.send("go")
ended.wait(100)
"""


def finish(program: str, folder: Path) -> tuple[int, str, str]:
    """Run a program to its end; return its exit code and what it wrote."""
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.group("processes")
@pytest.mark.parametrize("daemon", [True, False])
def test_a_thread_that_reads_events_does_not_disturb_the_end_of_the_program(
    tmp_path: Path, daemon: bool
) -> None:
    assert finish(READER.replace("daemon=True", f"{daemon=}"), tmp_path) == (0, "", "")


WORKER = """
import sys, threading
from pathlib import Path
import agent_ls
from tests.library.sessions import options
from tests.support.fake_provider import FakeProvider, text

model = FakeProvider([text("One."), text("Two.")])
session = agent_ls.open_session_sync(**options(Path(sys.argv[1]), model))

def work():
    threading.main_thread().join()
    print(session.ask("go"))
    for event in session.run("again"):
        if event.kind == "assistant_text_end":
            print("again", event.kind)
    session.close()

threading.Thread(target=work).start()
threading.Thread(target=lambda: list(session.events())).start()
"""


@pytest.mark.group("processes")
def test_a_thread_that_works_after_the_main_thread_keeps_its_session(tmp_path: Path) -> None:
    assert finish(WORKER, tmp_path) == (0, "One.\nagain assistant_text_end\n", "")


def test_a_second_reader_of_an_iterator_gets_the_error_of_the_async_face() -> None:
    begun, go_on = threading.Event(), threading.Event()

    async def items() -> AsyncIterator[int]:
        begun.set()
        await anyio.to_thread.run_sync(go_on.wait)
        yield 1

    iterator = agent_ls.iterate_sync(items())
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(next, iterator)
        assert begun.wait(DEADLINE_S)
        try:
            with pytest.raises(RuntimeError, match="already running"):
                next(iterator)
        finally:
            go_on.set()
        assert first.result() == 1
    assert list(iterator) == [] == list(iterator)


def test_events_that_were_read_are_refused_as_by_the_async_face(tmp_path: Path) -> None:
    with agent_ls.open_session_sync(**options(tmp_path, FakeProvider([text("One.")]))) as session:
        events = session.run("go")
        assert [*events][-1].kind == "processing_end"
        with pytest.raises(RuntimeError, match="read already"):
            list(events)


def test_run_sync_names_a_function_that_is_not_async() -> None:
    function: Any = time.sleep
    with pytest.raises(TypeError, match="sleep is no async function"):
        agent_ls.run_sync(function, 0)


TOGETHER = """
import sys, threading
from pathlib import Path
import agent_ls
from tests.library.sessions import options
from tests.support.fake_provider import FakeProvider, text

gate = threading.Barrier(4)
said = []

def work(folder):
    gate.wait()
    with agent_ls.open_session_sync(**options(folder, FakeProvider([text("One.")]))) as session:
        said.append(session.ask("go"))

folders = [Path(sys.argv[1], str(number)) for number in range(4)]
for folder in folders:
    folder.mkdir()
threads = [threading.Thread(target=work, args=(folder,)) for folder in folders]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
loops = [thread for thread in threading.enumerate() if thread.name == "agent-ls event loop"]
print(said, len(loops))
"""


@pytest.mark.report("googleapis/mcp-toolbox-sdk-python#468")
@pytest.mark.report("modal-labs/synchronicity#71")
@pytest.mark.report("Azure/azure-iot-sdk-python#1260")
@pytest.mark.req("H13")
def test_threads_that_open_the_first_sessions_at_once_share_one_event_loop(tmp_path: Path) -> None:
    assert finish(TOGETHER, tmp_path)[:2] == (0, "['One.', 'One.', 'One.', 'One.'] 1\n")
