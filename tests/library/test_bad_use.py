"""Programs that misuse a session: one clear exception that says what to do next, and nothing is left running."""

from __future__ import annotations

import asyncio
import copy
import inspect
import os
import signal
import subprocess
import sys
import textwrap
import threading
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest

import agent_ls
from agent_ls.library.blocking_session import BlockingSession
from agent_ls.loop.errors import SessionBusyError, SessionClosedError
from tests.docs.pages import ROOT
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, Gate, text
from tests.support.processes import is_running

pytestmark = pytest.mark.req("H13", "R5")

DEADLINE_S = 120
Session: TypeAlias = agent_ls.AgentSession
Use: TypeAlias = Callable[[Any], Awaitable[object]]


async def closed_run(session: Session) -> None:
    await session.close()
    session.run("again")


async def closed_block(session: Session) -> None:
    async with session:
        assert await session.ask("go")
    await session.ask("again")


async def closed_events(session: Session) -> None:
    await session.close()
    session.events()


def closed(name: str, *values: Any) -> Use:
    async def use(session: Any) -> None:
        await session.close()
        answer = getattr(session, name)(*values)
        assert await answer if asyncio.iscoroutine(answer) else answer

    return use


async def read_twice(session: Session) -> None:
    events = session.run("go")
    assert [event async for event in events]
    assert [event async for event in events]


async def two_readers(session: Session) -> None:
    events = session.events()

    async def read() -> None:
        async for _ in events:
            pass

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(read())
        tasks.create_task(read())


async def two_turns(session: Session) -> None:
    session.run("go")
    session.run("go")


async def half_read(session: Session) -> None:
    async for _ in session.run("go"):
        break
    session.run("more")


async def another_loop(session: Session) -> None:
    await asyncio.to_thread(asyncio.run, session.ask("go"))


async def no_loop(session: Session) -> None:
    await anyio.to_thread.run_sync(session.ask("go").send, None)


def given(name: str, *values: Any, **named: Any) -> Use:
    """Return a use of a session with values of the wrong type."""

    async def use(session: Any) -> object:
        answer = getattr(session, name)(*values, **named)
        return await answer if asyncio.iscoroutine(answer) else answer

    return use


TABLE: list[tuple[str, Use, type[BaseException], str]] = [
    ("closed: run", closed_run, SessionClosedError, "Open the session again"),
    ("closed: its own block", closed_block, SessionClosedError, "Open the session again"),
    ("closed: events", closed_events, SessionClosedError, "Open the session again"),
    ("closed: hunks", closed("hunks"), SessionClosedError, "Open the session again"),
    ("closed: review", closed("review", "keep", ["h-1"]), SessionClosedError, "Open the session again"),
    ("closed: roll_back", closed("roll_back", "t-1"), SessionClosedError, "Open the session again"),
    ("events read twice", read_twice, RuntimeError, "session.events()"),
    ("two readers", two_readers, BaseExceptionGroup, "session.events()"),
    ("two turns", two_turns, SessionBusyError, "queue the message"),
    ("events half read", half_read, SessionBusyError, "interrupt"),
    ("another loop", another_loop, RuntimeError, "run_coroutine_threadsafe"),
    ("another thread", no_loop, RuntimeError, "open_session_sync"),
    ("text: number", given("run", 7), agent_ls.AppError, "str"),
    ("text: none", given("ask", None), agent_ls.AppError, "str"),
    ("text: empty", given("ask", " "), agent_ls.AppError, "text"),
    ("steer: number", given("steer", 7), agent_ls.AppError, "str"),
    ("follow_up: list", given("follow_up", ["go"]), agent_ls.AppError, "str"),
    ("output: of another event", given("output", "text"), agent_ls.AppError, "ToolCallEnd"),
    ("patch: unknown turn", given("patch", "t-1"), agent_ls.AppError, "t-1"),
    ("approve: unknown", given("approve", "a-1", True), agent_ls.UnknownApprovalError, "pending"),
    ("approve: text", given("approve", "a-1", "yes"), agent_ls.AppError, "bool"),
    ("reply: unknown", given("reply", "q-1", "x"), agent_ls.UnknownQuestionError, "open"),
    ("reply: number", given("reply", "q-1", 7), agent_ls.AppError, "str"),
    ("roll_back: unknown", given("roll_back", "t-1"), agent_ls.AppError, "id of a turn"),
    ("roll_back: empty", given("roll_back", ""), agent_ls.AppError, "UserInput"),
    ("review: unknown", given("review", "drop"), agent_ls.AppError, "keep"),
    ("steer: empty", given("steer", " "), agent_ls.AppError, "text"),
    ("roll_back: wrong files", given("roll_back", "t-1", files="drop"), agent_ls.AppError, "preview"),
    ("compact: number", given("compact", 7), agent_ls.AppError, "str"),
    ("configure: number", given("configure", model=7), agent_ls.AppError, "str"),
    ("configure: limit", given("configure", limits={"turns": 7}), agent_ls.AppError, ""),
    ("review: number", given("review", "keep", 7), agent_ls.AppError, "list"),
    ("images: path", given("run", "go", images=["a.png"]), agent_ls.AppError, "ImagePart"),
    (
        "images: no file",
        given("ask", "go", images=[agent_ls.ImagePart(url="/nope.png")]),
        agent_ls.AppError,
        "nope",
    ),
    ("edit_queued: number", given("edit_queued", "q-1", 7), agent_ls.AppError, "str"),
]


@pytest.mark.parametrize(("use", "error", "hint"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
async def test_a_misused_session_raises_one_error_with_the_next_step(
    tmp_path: Path, use: Use, error: type[BaseException], hint: str
) -> None:
    before = asyncio.all_tasks()
    model = FakeProvider([text(str(number)) for number in range(9)])
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, model)) as session:
            with pytest.raises(error) as caught:
                await use(session)
            seen: Any = caught.value
            found = seen.exceptions[0] if isinstance(seen, BaseExceptionGroup) else seen
            assert hint in "".join(traceback.format_exception_only(found))
            if session.state != "CLOSED" and not session.is_busy:
                assert (await session.ask("still there?")).isdecimal()
    assert asyncio.all_tasks() == before


def test_a_session_needs_an_event_loop_of_asyncio(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"asyncio\.run, or open_session_sync"):
        agent_ls.open_session(**options(tmp_path, FakeProvider([]))).open().send(None)


@agent_ls.tool
def known() -> str:
    """Does nothing."""
    return ""


OPENINGS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"without_tools": ["shel"]}, agent_ls.AppError, "did you mean shell"),
    ({"adapters": {"anthropic": FakeProvider}}, agent_ls.AppError, "pass FakeProvider(...)"),
    ({"environment": agent_ls.MemoryEnvironment}, agent_ls.AppError, "pass MemoryEnvironment(...)"),
    ({"folder": __file__}, agent_ls.AppError, "is a file"),
    ({"beside": ["/no/such/folder"]}, agent_ls.AppError, "pass folders that exist"),
    ({"state_dir": __file__}, agent_ls.AppError, "pass a folder"),
    ({"tools": known}, agent_ls.AppError, "tools"),
]


@pytest.mark.parametrize(("given", "error", "words"), OPENINGS, ids=[str(row[2]) for row in OPENINGS])
async def test_a_session_is_not_opened_with_what_it_cannot_use(
    tmp_path: Path, given: dict[str, Any], error: type[Exception], words: str
) -> None:
    before = asyncio.all_tasks()
    with pytest.raises(error) as caught:
        await agent_ls.open_session(**options(tmp_path, FakeProvider([])) | given)
    assert words in "".join(traceback.format_exception_only(caught.value))
    assert asyncio.all_tasks() == before


async def test_a_session_that_is_open_is_not_opened_again(tmp_path: Path) -> None:
    opening = agent_ls.open_session(**options(tmp_path, FakeProvider([])))
    async with opening as session:
        with pytest.raises(RuntimeError, match="call open_session again"):
            await opening
        with pytest.raises(agent_ls.AppError, match="in this program already"):
            await agent_ls.open_session(**options(tmp_path, FakeProvider([])), resume=session.id)
        with pytest.raises(TypeError, match="pass its id"):
            copy.deepcopy(session)


@pytest.mark.parametrize("kind", [agent_ls.tool, agent_ls.tool(category="admin")])
def test_a_tool_that_yields_is_refused(kind: Callable[..., Any]) -> None:
    async def parts() -> AsyncIterator[str]:
        """Yields parts."""
        yield "part"

    with pytest.raises(TypeError, match="return it"):
        kind(parts)


async def test_a_tool_that_asks_its_own_session_gets_an_error(tmp_path: Path) -> None:
    @agent_ls.tool
    async def ask_again(text: str) -> str:
        """Asks the session that runs it."""
        return await session.ask(text)

    model = FakeProvider([call("ask_again", text="x"), text("Failed.")])
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, model, tools=[ask_again])) as session:
            assert await session.ask("go") == "Failed."
            (record,) = await session.calls()
    assert not record.success and record.error and "SessionBusyError" in str(record.error)


async def left_task(_: object) -> bool:
    task = asyncio.get_running_loop().create_task(asyncio.sleep(1000))
    task.cancel()
    await task
    return True


def exits(_: object) -> bool:
    sys.exit(3)


def stops(_: object) -> bool:
    raise StopIteration


async def group(_: object) -> bool:
    raise ExceptionGroup("several", [ValueError("one")])


@pytest.mark.parametrize("function", [left_task, exits, stops, group], ids=lambda it: str(it.__name__))
async def test_a_tool_that_raises_is_an_error_result(
    tmp_path: Path, function: Callable[[object], Any]
) -> None:
    async def wrapped() -> Any:
        """Runs."""
        return await function(None)

    def plain() -> Any:
        """Runs."""
        return function(None)

    made = agent_ls.tool(name="run_it")(wrapped if asyncio.iscoroutinefunction(function) else plain)
    model = FakeProvider([call("run_it"), text("Failed.")])
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, model, tools=[made])) as session:
            assert await session.ask("go") == "Failed."
            (record,) = await session.calls()
    assert not record.success and record.error and record.error.code == "INTERNAL"


@pytest.mark.report("google/adk-python#2425", "pydantic/pydantic-ai#3960")
@pytest.mark.parametrize("where", ["stream", "tool"])
async def test_a_cancelled_ask_interrupts_its_turn_and_leaves_the_session_idle(
    tmp_path: Path, where: str
) -> None:
    gate, begun = Gate(), anyio.Event()

    @agent_ls.tool
    async def hang() -> str:
        """Never returns."""
        begun.set()
        await anyio.sleep_forever()
        return "unreachable"

    first = text("Half ", gate) if where == "stream" else call("hang")
    model = FakeProvider([first, text("Next.")])
    async with agent_ls.open_session(**options(tmp_path, model, tools=[hang])) as session:
        task = asyncio.create_task(session.ask("go"))
        await (gate.reached if where == "stream" else begun).wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not session.is_busy and model.open_streams == 0
        assert await session.ask("next") == "Next."
        assert [record.success for record in await session.calls()] == ([] if where == "stream" else [False])


async def test_more_hanging_callbacks_than_worker_threads_do_not_stop_the_session(tmp_path: Path) -> None:
    never = threading.Event()
    asked = [anyio.Event() for _ in range(45)]
    loop = asyncio.get_running_loop()

    def hang(_: object) -> bool:
        loop.call_soon_threadsafe(next(it for it in waiting).set)
        return never.wait()

    waiting = iter(asked)
    model = FakeProvider([call("shell", command="touch made") for _ in asked] + [text("Read.")])
    try:
        with anyio.fail_after(DEADLINE_S):
            async with agent_ls.open_session(**options(tmp_path, model, approve=hang)) as session:
                for event in asked:
                    turn = asyncio.create_task(session.ask("go"))
                    await event.wait()
                    session.interrupt()
                    await turn
                assert await session.ask("read") == "Read."
    finally:
        never.set()


def test_each_method_of_a_blocking_session_is_that_of_a_session_with_types_and_words() -> None:
    for name, method in inspect.getmembers(agent_ls.AgentSession):
        if name.startswith("_"):
            continue
        here = vars(BlockingSession)[name]
        if isinstance(method, property):
            assert isinstance(here, property) and here.fget and method.fget, name
            assert here.fget.__annotations__ == method.fget.__annotations__, name
        else:
            ours, theirs = inspect.signature(here), inspect.signature(method)
            assert ours.parameters == theirs.parameters, name
            is_stream = theirs.return_annotation == "EventStream"
            assert ours.return_annotation == (
                "Iterator[SessionEvent]" if is_stream else theirs.return_annotation
            )
            assert inspect.getdoc(here) or not inspect.getdoc(method), name


PREFIX = """
import asyncio, os, sys
from pathlib import Path
import agent_ls
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

folder = Path(sys.argv[1])
command = "echo $$ > pid; echo begun; exec sleep 1000"
model = FakeProvider([call("shell", command=command, timeout_ms=600_000), text("Done.")])
opened = options(folder, model, mode="full", trusted=True)

def show(event):
    if event.kind == "tool_call_output_delta":
        print(event.text, flush=True)
"""
INTERRUPTED = {
    "blocking ask": """
        session = agent_ls.open_session_sync(**opened)
        import threading
        threading.Thread(target=lambda: [show(it) for it in session.events()], daemon=True).start()
        session.ask("go")
        """,
    "blocking run": """
        session = agent_ls.open_session_sync(**opened)
        for event in session.run("go"):
            show(event)
        """,
    "blocking with": """
        with agent_ls.open_session_sync(**opened) as session:
            for event in session.run("go"):
                show(event)
        """,
    "async with": """
        async def main():
            async with agent_ls.open_session(**opened) as session:
                async for event in session.run("go"):
                    show(event)
        asyncio.run(main())
        """,
    "async open": """
        async def main():
            session = await agent_ls.open_session(**opened)
            async for event in session.run("go"):
                show(event)
        asyncio.run(main())
        """,
    "tool that never returns": """
        @agent_ls.tool
        def hang() -> str:
            \"\"\"Never returns.\"\"\"
            print("begun", flush=True)
            while True:
                os.read(os.pipe()[0], 1)
        model = FakeProvider([call("hang"), text("Done.")])
        opened |= {"adapters": {"anthropic": model}, "tools": [hang]}
        async def main():
            async with agent_ls.open_session(**opened) as session:
                await session.ask("go")
        asyncio.run(main())
        """,
    "input in a callback": """
        def approve(request):
            print("begun", flush=True)
            os.read(blocked, 1)
        blocked, _ = os.pipe()
        opened |= {"mode": "ask", "approve": approve}
        async def main():
            async with agent_ls.open_session(**opened) as session:
                await session.ask("go")
        asyncio.run(main())
        """,
}


@pytest.mark.report("microsoft/autogen#3156", "strands-agents/harness-sdk#501", "nottelabs/notte#441")
@pytest.mark.group("signals")
@pytest.mark.parametrize("program", INTERRUPTED.values(), ids=INTERRUPTED)
def test_ctrl_c_ends_the_program_with_its_session_and_commands(tmp_path: Path, program: str) -> None:
    running = subprocess.Popen(
        [sys.executable, "-c", PREFIX + textwrap.dedent(program), str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stdout and "begun" in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        _, problems = running.communicate(timeout=DEADLINE_S)
    finally:
        running.kill()
    assert running.returncode != 0 and "KeyboardInterrupt" in problems
    assert "Exception ignored" not in problems and "never retrieved" not in problems
    (log,) = (tmp_path / "state").rglob("log.jsonl")
    assert '"kind":"session_end"' in log.read_text().replace(": ", ":")
    pid = tmp_path / "project" / "pid"
    assert not pid.exists() or not is_running(int(pid.read_text()))


FORKED = """
import os, sys
from pathlib import Path
import agent_ls
from tests.library.sessions import options
from tests.support.fake_provider import FakeProvider, text

folder = Path(sys.argv[1])
session = agent_ls.open_session_sync(**options(folder, FakeProvider([text("One.")])))
events = session.run("go")
next(events)
if not (child := os.fork()):
    uses = [lambda: session.ask("x"), lambda: session.state, lambda: list(events), lambda: list(session.events())]
    for use in uses:
        try:
            use()
        except RuntimeError as error:
            print("open it in the process" in str(error), flush=True)
    session.close()
    with agent_ls.open_session_sync(**options(folder, FakeProvider([text("Own.")]))) as own:
        print(own.ask("go"), flush=True)
    sys.exit(0)  # with all that Python does at the end, other than os._exit
_, status = os.waitpid(child, 0)  # the session starts processes too
print("status", status, len(list(events)) > 3, session.state)
"""


@pytest.mark.report("apache/airflow#70690")
@pytest.mark.group("processes")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_forked_process_gets_errors_opens_its_own_session_and_ends(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n") == [*["True"] * 4, "Own.", "status 0 True IDLE", ""]
