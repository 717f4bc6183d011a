"""The code of a program may raise anything, wherever a session calls it: the session names it, and goes on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest

import agent_ls
from agent_ls.environments.effects import CallEffect
from agent_ls.services.permissions.trust import TRUST_VARIABLE
from agent_ls.tools.base import Arguments, Prepared, ToolContext, ToolOutput
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, Gate, text

pytestmark = pytest.mark.req("H13", "R5", "X1")

DEADLINE_S = 120
Make: TypeAlias = Callable[[], BaseException]


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Outcome(BaseException):
    """As `pytest.fail` raises one."""


ERRORS: dict[str, Make] = {
    "OSError": lambda: OSError(5, "disk on fire"),
    "KeyError": lambda: KeyError("row 7"),
    "TimeoutError": TimeoutError,
    "ValueError": lambda: ExceptionGroup("many", [ValueError("inside")]),
    "CancelledError": asyncio.CancelledError,
    "StopIteration": StopIteration,
    "GeneratorExit": GeneratorExit,
    "SystemExit": lambda: SystemExit(3),
    "SystemExit: 4": lambda: BaseExceptionGroup("tasks", [SystemExit(4)]),
    "UnprintableError": UnprintableError,
    "Outcome": Outcome,
}


def each(name: str, places: Iterable[str]) -> pytest.MarkDecorator:
    """The first of the places with each error, the others with one."""
    first, *others = places
    cases = [(first, error) for error in ERRORS] + [(place, "OSError") for place in others]
    return pytest.mark.parametrize((name, "error"), cases)


def place_with(**methods: Callable[..., Any]) -> agent_ls.MemoryEnvironment:
    """Return an environment of a program with these methods of its own."""
    made: agent_ls.MemoryEnvironment = type("Place", (agent_ls.MemoryEnvironment,), methods)(
        {"a.txt": "hello\n"}
    )
    return made


def raising(method: str, make: Make) -> Callable[..., Any]:
    def plain(self: object, *args: object, **kwargs: object) -> Any:
        raise make()

    async def coroutine(self: object, *args: object, **kwargs: object) -> Any:
        raise make()

    is_async = asyncio.iscoroutinefunction(getattr(agent_ls.MemoryEnvironment, method))
    made = coroutine if is_async else plain
    made.__name__ = method
    return made


class Numbers(Arguments):
    x: int = 0


def tool_with(make: Make, step: str) -> agent_ls.Tool[Any]:
    async def prepare(arguments: Numbers, context: ToolContext) -> Prepared:
        async def run() -> ToolOutput:
            raise make()

        if step == "prepare":
            raise make()
        return Prepared(CallEffect("count", "{}", "write"), run)

    return agent_ls.Tool(
        name="count",
        description="Counts.",
        category="write",
        arguments=Numbers,
        prepare=prepare,
        summarize=lambda arguments: "",
    )


class Broken(FakeProvider):
    """A provider of a program that fails in one place, at its first request."""

    def __init__(self, make: Make, place: str) -> None:
        super().__init__([text("One."), text("Two.")])
        self.make, self.place = make, place

    async def stream(self, request: Any) -> AsyncGenerator[Any]:
        is_first = not self.requests
        async for event in super().stream(request):
            if is_first and self.place == "start":
                raise self.make()
            yield event
            if is_first and self.place == "middle" and type(event).__name__ == "TextDelta":
                raise self.make()

    async def close(self) -> None:
        if self.place == "close":
            raise self.make()


async def two_turns(given: dict[str, Any]) -> tuple[list[Any], str]:
    """Return the events of a first turn, and the answer of a second."""
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**given) as session:
            events: list[Any] = [event async for event in session.run("go")]
            return events, await session.ask("again")


METHODS: dict[str, Any] = {
    "read_bytes": call("read_file", file_path="a.txt"),
    "commit": call("write_file", file_path="new.txt", content="x"),
    "exec_command": call("shell", command="ls"),
    "start_process": call("shell", command="ls", run_in_background=True),
    "list_processes": call("processes", action="list"),
    "grep": call("grep", pattern="a"),
    "glob": call("glob", pattern="*"),
}


@each("method", METHODS)
async def test_an_error_of_an_own_environment_is_a_tool_error_that_names_it(
    tmp_path: Path, method: str, error: str, caplog: pytest.LogCaptureFixture
) -> None:
    place = place_with(**{method: raising(method, ERRORS[error])})
    model = FakeProvider([METHODS[method], text("One."), text("Two.")])
    with caplog.at_level(logging.ERROR, "agent_ls"):
        events, said = await two_turns(options(tmp_path, model, environment=place, mode="full", trusted=True))
    (end,) = (event for event in events if event.kind == "tool_call_end")
    assert end.is_error and end.error_kind == "internal"
    assert f"{method} raised" in end.output
    assert ("RuntimeError" if error == "StopIteration" else error) in end.output  # by Python, in a coroutine
    assert said == "Two."
    assert len([record for record in caplog.records if record.exc_info]) == 1


@each("method", ["list_directory", "file_exists"])
async def test_an_own_environment_whose_lists_fail_still_has_a_session(
    tmp_path: Path, method: str, error: str
) -> None:
    place = place_with(**{method: raising(method, ERRORS[error])})
    model = FakeProvider([call("write_file", file_path="new.txt", content="x"), text("One."), text("Two.")])
    events, said = await two_turns(options(tmp_path, model, environment=place, mode="full", trusted=True))
    assert said == "Two." and not [event for event in events if event.kind == "error"]


@each("method", ["initialize", "working_directory", "platform", "os_version"])
async def test_an_environment_that_cannot_be_started_opens_no_session(
    tmp_path: Path, method: str, error: str
) -> None:
    cleaned: list[bool] = []

    async def cleanup(self: object) -> None:
        cleaned.append(True)

    place = place_with(**{method: raising(method, ERRORS[error])}, cleanup=cleanup)
    with pytest.raises(agent_ls.AppError, match=f"{method} raised") as caught:
        await agent_ls.open_session(**options(tmp_path, FakeProvider(), environment=place))
    assert caught.value.hint and cleaned and not list((tmp_path / "state").rglob("log.jsonl"))


async def test_an_environment_is_started_before_anything_else_of_it_is_used(tmp_path: Path) -> None:
    class Connected(agent_ls.BasicEnvironment):
        stored: dict[str, bytes]

        async def initialize(self) -> None:
            self.stored = {"a.ipynb": b"{}"}  # such as a connection that has now been made

        async def files(self) -> dict[str, bytes]:
            return self.stored

    model = FakeProvider([text("One."), text("Two.")])
    await two_turns(options(tmp_path, model, environment=Connected()))


@each("case", ["async", "async failed", "blocking", "blocking failed"])
async def test_a_failed_cleanup_is_one_error_that_hides_no_other(
    tmp_path: Path, case: str, error: str
) -> None:
    place = place_with(cleanup=raising("cleanup", ERRORS[error]))
    given = options(tmp_path, FakeProvider([text("One.")]), environment=place)
    has_failed = "failed" in case

    def body() -> None:
        with agent_ls.open_session_sync(**given) as session:
            session.ask("go")
            if has_failed:
                raise LookupError("of the body")

    with pytest.raises(LookupError if has_failed else agent_ls.AppError) as caught:
        if "blocking" in case:
            await anyio.to_thread.run_sync(body)
        else:
            async with agent_ls.open_session(**given) as session:
                await session.ask("go")
                if has_failed:
                    raise LookupError("of the body")
    if not has_failed:
        assert isinstance(caught.value, agent_ls.AppError)
        assert "cleanup raised" in str(caught.value) and caught.value.hint


WRONG = {
    "read_bytes": "text",
    "commit": None,
    "exec_command": (0, "out"),
    "grep": [],
    "glob": ["a.txt", 7][1:],
    "list_processes": None,
}


@pytest.mark.parametrize("method", WRONG)
async def test_a_wrong_result_of_an_own_environment_is_a_tool_error_that_names_it(
    tmp_path: Path, method: str
) -> None:
    async def wrong(self: object, *args: object, **kwargs: object) -> Any:
        return WRONG[method]

    model = FakeProvider([METHODS[method], text("One."), text("Two.")])
    place = place_with(**{method: wrong})
    events, said = await two_turns(options(tmp_path, model, environment=place, mode="full", trusted=True))
    (end,) = (event for event in events if event.kind == "tool_call_end")
    assert end.is_error and f"Place.{method}: the result" in end.output
    assert said == "Two."


@pytest.mark.report("langchain-ai/langgraph#6726")
@each("step", ["run", "prepare"])
async def test_an_error_of_an_own_tool_is_a_tool_error(tmp_path: Path, step: str, error: str) -> None:
    model = FakeProvider([call("count"), text("One."), text("Two.")])
    given = options(tmp_path, model, tools=[tool_with(ERRORS[error], step)], mode="full", trusted=True)
    events, said = await two_turns(given)
    (end,) = (event for event in events if event.kind == "tool_call_end")
    assert (end.is_error, end.error_kind, said) == (True, "internal", "Two.")


@each("place", ["middle", "start", "close"])
async def test_an_error_of_an_own_provider_ends_the_turn_and_names_it(
    tmp_path: Path, place: str, error: str
) -> None:
    events, said = await two_turns(options(tmp_path, Broken(ERRORS[error], place)))
    failures = [event.message for event in events if event.kind == "error"]
    assert [message.startswith("Broken.stream raised") for message in failures] == [True] * (place != "close")
    assert said == ("One." if place == "start" else "Two.")


async def test_an_interrupt_stays_an_interrupt_when_the_provider_fails_at_it(tmp_path: Path) -> None:
    class Disconnecting(FakeProvider):
        async def stream(self, request: Any) -> AsyncGenerator[Any]:
            try:
                async for event in super().stream(request):
                    yield event
            finally:
                raise ConnectionError("already gone")

    gate = Gate()
    async with agent_ls.open_session(**options(tmp_path, Disconnecting([text("Half", gate)]))) as session:
        with anyio.fail_after(DEADLINE_S):
            events = session.run("go")
            await gate.reached.wait()
            session.interrupt()
            seen: list[Any] = [event async for event in events]
    assert seen[-1].reason == "interrupted" and not [event for event in seen if event.kind == "error"]


def no_generator(self: object, request: object) -> Any:
    return ["a list"]


async def no_events(self: object, request: object) -> AsyncGenerator[Any]:
    yield "a text"


@pytest.mark.parametrize("stream", [no_generator, no_events])
async def test_a_stream_of_an_own_provider_that_is_none_is_one_error(tmp_path: Path, stream: Any) -> None:
    model = type("Odd", (FakeProvider,), {"stream": stream})()
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        with pytest.raises(agent_ls.TurnFailedError, match=r"Odd\.stream"):
            await session.ask("go")


def fail(*args: object, **kwargs: object) -> Any:
    raise OSError(5, "disk on fire")


def profile(**more: Any) -> agent_ls.ProviderProfile:
    made: dict[str, Any] = {
        "id": "mine",
        "model": "m",
        "base_prompt": "You help.",
        "registry": agent_ls.ToolRegistry(),
        "context_window_tokens": 8_000,
    }
    return agent_ls.ProviderProfile(**made | more)


@pytest.mark.parametrize("made", [fail, lambda model: 7], ids=["raises", "wrong"])
async def test_a_function_that_makes_no_profile_opens_no_session(tmp_path: Path, made: Any) -> None:
    given = options(tmp_path, FakeProvider(), profiles={"anthropic": made})
    with pytest.raises(agent_ls.AppError, match=r"profiles\['anthropic'\]"):
        await agent_ls.open_session(**given)


async def test_a_price_that_cannot_be_computed_is_unknown(tmp_path: Path) -> None:
    given = options(tmp_path, FakeProvider([text("One.")]), profiles={"anthropic": profile(cost_usd=fail)})
    async with agent_ls.open_session(**given) as session:
        assert await session.ask("go") == "One."
        assert session.cost_usd is None


async def test_a_prompt_that_cannot_be_built_is_an_error_that_names_it(tmp_path: Path) -> None:
    given = options(
        tmp_path, FakeProvider(), profiles={"anthropic": lambda model: profile(prompt_builder=fail)}
    )
    async with agent_ls.open_session(**given) as session:
        with pytest.raises(agent_ls.TurnFailedError, match="prompt_builder raised"):
            await session.ask("go")
        assert session.state == "IDLE"


CALLBACKS: dict[str, tuple[Any, dict[str, Any]]] = {
    "approve": (call("shell", command="touch made"), {}),
    "answer": (call("ask_user", question="Which?"), {}),
    "review_changes": (
        call("write_file", file_path="made", content="x"),
        {"review": "before", "mode": "edits"},
    ),
    "extend_limit": (call("glob", pattern="*"), {"settings": {"limits": {"tokensPerInput": 1}}}),
}


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "plain"])
@each("callback", CALLBACKS)
async def test_an_error_of_a_callback_is_a_denial(
    tmp_path: Path, callback: str, error: str, is_async: bool
) -> None:
    def plain(subject: object) -> Any:
        raise ERRORS[error]()

    async def coroutine(subject: object) -> Any:
        raise ERRORS[error]()

    wanted, more = CALLBACKS[callback]
    given = options(tmp_path, FakeProvider([wanted, text("Done.")]), trusted=True, **more)
    given[callback] = coroutine if is_async else plain
    async with agent_ls.open_session(**given) as session:
        with anyio.fail_after(DEADLINE_S):
            events: list[Any] = [event async for event in session.run("go")]
        assert session.state == "IDLE"
    said = [event.message for event in events if isinstance(event, agent_ls.Warning)]
    said += [event.output for event in events if isinstance(event, agent_ls.ToolCallEnd)]
    name = "RuntimeError" if error == "StopIteration" and is_async else error  # by Python, in a coroutine
    assert any(f"the `{callback}` callback of the program raised {name}" in it for it in said)
    reasons = {"extend_limit": "limit", "answer": "completed"}
    assert events[-1].reason == reasons.get(callback, "refused")
    assert not (tmp_path / "project" / "made").exists()


@pytest.mark.parametrize("error", ["OSError", "SystemExit"])
async def test_a_failed_answer_about_trust_is_named_to_the_program_and_to_the_model(
    tmp_path: Path, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TRUST_VARIABLE)

    def fail_once(request: agent_ls.ApprovalRequested) -> bool:
        raise ERRORS[error]()

    model = FakeProvider([CALLBACKS["approve"][0], text("Done.")])
    async with agent_ls.open_session(**options(tmp_path, model, approve=fail_once)) as session:
        events: list[Any] = [event async for event in session.run("go")]
    (warning,) = [it.message for it in events if isinstance(it, agent_ls.Warning)]
    (end,) = [it for it in events if isinstance(it, agent_ls.ToolCallEnd)]
    raised = f"the `approve` callback of the program raised {error}"
    assert raised in warning and end.is_error and raised in end.output


@pytest.mark.parametrize(
    "error", [SystemExit(3), BaseExceptionGroup("two", [SystemExit(3)])], ids=["exit", "group"]
)
async def test_an_exit_in_an_async_callback_is_a_denial_and_its_traceback_is_logged(
    tmp_path: Path, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    async def leave(request: object) -> bool:
        raise error

    given = options(
        tmp_path, FakeProvider([CALLBACKS["approve"][0], text("Done.")]), trusted=True, approve=leave
    )
    async with agent_ls.open_session(**given) as session:
        assert await session.ask("go") == "Done."
    (logged,) = [it for it in caplog.records if it.levelname == "ERROR"]
    assert logged.name.startswith("agent_ls.") and logged.exc_info and "SystemExit: 3" in logged.message


def plain_files(self: object) -> Any:
    return {"a.txt": b"hello\n"}


async def files_of_text(self: object) -> Any:
    return {"a.txt": "hello\n"}


async def a_list(self: object) -> Any:
    return ["a.txt"]


async def files_of_bytes(self: object) -> Any:
    return {"a.txt": b"hello\n"}


class BrokenFiles:
    async def files(self) -> Any:
        raise KeyError("row 7")

    async def save(self, changes: object) -> Any:
        raise KeyError("row 7")


def plain_save(self: object, changes: Any) -> Any:
    return None


WRONG_FILES: dict[str, tuple[dict[str, Any], str]] = {
    "plain files": ({"files": plain_files}, "Place.files: it is no async function"),
    "text": ({"files": files_of_text}, "Place.files: the result['a.txt']: 'hello\\n' is not bytes"),
    "list": ({"files": a_list}, "Place.files: the result: a value of the type list"),
    "files raises": ({"files": BrokenFiles.files}, "BrokenFiles.files raised KeyError"),
    "save raises": ({"files": files_of_bytes, "save": BrokenFiles.save}, "BrokenFiles.save raised KeyError"),
    "plain save": ({"files": files_of_bytes, "save": plain_save}, "Place.save: it is no async function"),
}


@pytest.mark.parametrize(("methods", "words"), WRONG_FILES.values(), ids=WRONG_FILES)
async def test_a_wrong_method_of_a_basic_environment_is_named_itself(
    tmp_path: Path, methods: dict[str, Any], words: str
) -> None:
    """The methods that call it are not the program's."""
    place: Any = type("Place", (agent_ls.BasicEnvironment,), methods)("/place")
    wanted = call("write_file", file_path="b.txt", content="x")
    if "save" not in methods:
        wanted = call("grep", pattern="hello")
    given = options(tmp_path, FakeProvider([wanted, text("Done.")]), mode="full", trusted=True) | {
        "environment": place
    }
    del given["folder"]
    async with agent_ls.open_session(**given) as session:
        events: list[Any] = [event async for event in session.run("go")]
    [ended] = [event for event in events if isinstance(event, agent_ls.ToolCallEnd)]
    assert ended.is_error and words in ended.output
