"""Code of a program that catches each cancellation: a session that closes leaves it, and names it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
from agent_ls import own_code
from agent_ls.environments.wrappers import own
from agent_ls.llm import Request, StreamEvent
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

pytestmark = pytest.mark.req("H13", "R5")


class Stubborn:
    """Counts how often it began, and never ends."""

    def __init__(self) -> None:
        self.has_begun = anyio.Event()

    async def go_on(self) -> Any:
        self.has_begun.set()
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                continue


class Provider:
    name = "mine"

    def __init__(self, stubborn: Stubborn) -> None:
        self._stubborn = stubborn

    async def complete(self, request: Request) -> Any:
        raise NotImplementedError

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        yield await self._stubborn.go_on()

    async def close(self) -> None:
        """Has nothing to close."""


class Place(agent_ls.MemoryEnvironment):
    stubborn: Stubborn

    async def read_bytes(self, *args: Any, **kwargs: Any) -> Any:
        return await self.stubborn.go_on()


def programs(stubborn: Stubborn) -> dict[str, tuple[dict[str, Any], Any, str]]:
    """Return by place: options of the session, the call of the model, and the name in the log."""

    @agent_ls.tool
    async def endless() -> str:
        """Never end."""
        return str(await stubborn.go_on())

    async def approve(request: object) -> bool:
        return bool(await stubborn.go_on())

    place = Place({"a.txt": "hello\n"})
    place.stubborn = stubborn
    return {
        "provider": ({"adapters": {"anthropic": Provider(stubborn)}}, text("Done."), "Provider.stream"),
        "tool": ({"tools": [endless]}, call("endless"), "endless"),
        "environment": ({"environment": place}, call("read_file", file_path="a.txt"), "Place.read_bytes"),
        "callback": ({"approve": approve}, call("shell", command="touch x"), "approve"),
    }


@pytest.mark.parametrize("place", ["provider", "tool", "environment", "callback"])
async def test_close_leaves_code_that_catches_each_cancellation(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(own_code, "CANCEL_S", 0.05)
    monkeypatch.setattr(own_code, "_left", set())
    stubborn = Stubborn()
    more, wanted, name = programs(stubborn)[place]
    session = await agent_ls.open_session(
        **options(tmp_path, FakeProvider([wanted, text("Done.")]), trusted=True) | more
    )
    session.send("go")
    await stubborn.has_begun.wait()
    with anyio.fail_after(120):
        await session.close()
    (logged,) = [it for it in caplog.records if it.levelno == logging.WARNING]
    assert name in logged.getMessage()


async def test_close_leaves_an_environment_whose_cleanup_does_not_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(agent_ls.MemoryEnvironment):
        async def cleanup(self) -> None:
            await anyio.sleep_forever()

    monkeypatch.setattr(own, "CLEANUP_S", 0.05)
    session = await agent_ls.open_session(**options(tmp_path, FakeProvider([]), environment=Slow()))
    with anyio.fail_after(120), pytest.raises(Exception, match=r"Slow\.cleanup"):
        await session.close()


async def test_code_that_handles_a_time_limit_of_its_own_is_not_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Such a limit cancels the task too, here more often than a session would allow."""

    @agent_ls.tool
    async def patient() -> str:
        """Wait three times."""
        for _ in range(3):
            try:
                async with asyncio.timeout(0.01):
                    await anyio.sleep_forever()
            except TimeoutError:
                continue
        return "It is done."

    monkeypatch.setattr(own_code, "CANCEL_S", 0.0)
    model = FakeProvider([call("patient"), text("Done.")])
    async with agent_ls.open_session(**options(tmp_path, model, tools=[patient])) as session:
        await session.ask("go")
        (record,) = await session.calls()
    assert record.output == "It is done."
    assert not [it for it in caplog.records if it.levelno >= logging.WARNING]


class Hanging(agent_ls.BasicEnvironment):
    """Its method `hangs` hangs, once it is set."""

    def __init__(self) -> None:
        super().__init__("/place")
        self.contents: dict[str, bytes] = {}
        self.hangs = ""
        self.has_begun = anyio.Event()

    async def _hang(self, method: str) -> None:
        if self.hangs == method:
            self.has_begun.set()
            await anyio.sleep_forever()

    async def files(self) -> dict[str, bytes]:
        await self._hang("files")
        return self.contents

    async def save(self, changes: Mapping[str, bytes | None]) -> None:
        await self._hang("save")
        self.contents |= {path: content for path, content in changes.items() if content is not None}


@pytest.mark.parametrize("method", ["files", "save"])
@pytest.mark.parametrize("how", ["interrupt", "abort", "close"])
async def test_an_undo_in_an_environment_that_hangs_can_be_ended(
    tmp_path: Path, how: str, method: str
) -> None:
    place = Hanging()
    model = FakeProvider([call("write_file", file_path="a.txt", content="x\n"), text("Done.")])
    given = options(tmp_path, model, environment=place, mode="edits", trusted=True)
    session = await agent_ls.open_session(**given)
    await session.ask("go")
    place.hangs = method
    undo = asyncio.create_task(session.review("undo"))
    await place.has_begun.wait()
    if how == "close":
        await session.close()
    else:
        getattr(session, how)()
    with anyio.fail_after(120):
        if how == "interrupt":
            (reason,) = await undo
            assert "a.txt" in reason
        else:
            with pytest.raises(agent_ls.SessionClosedError):
                await undo
    assert place.contents == {"a.txt": b"x\n"}
    await session.close()
