"""What comes between two steps of opening a session: a change of hands, typing, a setting, a request taken back."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from agent_ls.app.reading_along import ReadAlong
from agent_ls.environments.base import Attribution, ExecutionEnvironment
from agent_ls.environments.editor_host import OpenDocument
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.llm.credentials import Credentials
from agent_ls.loop.events import HunkStateChanged
from agent_ls.store.layout import lock_path, log_path
from agent_ls.store.locks import recorded_owner
from agent_ls.store.sessions import SessionStore
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.workbench import DEADLINE_S, Bench, Talk, running


async def stored(bench: Bench) -> Talk:
    """A session that nobody has open any more."""
    talk = await bench.talk()
    await bench.workbench.close_session(talk.session_id)
    return talk


async def reached(pipe: Path) -> int:
    """Once somebody opens this pipe to read. Nobody hears of what he found there before the next await."""
    with anyio.fail_after(DEADLINE_S):
        while True:
            try:
                descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                await anyio.lowlevel.checkpoint()
                continue
            os.unlink(pipe)
            return descriptor


class Held:
    """The log of a session that nobody has open: who reads it waits until it is given."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._data = path.read_bytes()
        path.unlink()
        os.mkfifo(path)

    def give(self, reading: int) -> None:
        self.path.write_bytes(self._data)
        os.write(reading, self._data)
        os.close(reading)


@pytest.mark.req("R4")
async def test_session_that_is_opened_while_its_log_is_read_along_is_ours_alone(tmp_path: Path) -> None:
    async with running(tmp_path) as bench:
        talk = await stored(bench)
        owners, found = bench.workbench.owners, list[ReadAlong | None]()

        async def read_along() -> None:
            found.append(await owners.read_along(talk.session_id))

        lock = lock_path(talk.live.folder)
        lock.unlink()
        os.mkfifo(lock)
        with anyio.fail_after(DEADLINE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(read_along)
                reading = await reached(lock)
                group.start_soon(owners.came, talk.live)
                os.close(reading)
        assert (found, owners.elsewhere(talk.session_id)) == ([None], None)


@pytest.mark.req("R4")
async def test_reading_along_that_everybody_left_while_somebody_came_is_begun_anew(tmp_path: Path) -> None:
    async with running(tmp_path) as bench:
        talk = await stored(bench)
        owners, found = bench.workbench.owners, list[ReadAlong | None]()
        first = await owners.read_along(talk.session_id)
        assert first
        listening = first.subscribe()

        async def read_along() -> None:
            found.append(await owners.read_along(talk.session_id))

        lock = lock_path(talk.live.folder)
        lock.unlink()
        os.mkfifo(lock)
        with anyio.fail_after(DEADLINE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(read_along)
                await anyio.lowlevel.checkpoint()
                reading = await reached(lock)
                listening.close()
                os.close(reading)
        assert found == [None]
        again = await owners.read_along(talk.session_id)
        assert again and again is not first and owners.elsewhere(talk.session_id) is again
        again.subscribe().close()


@pytest.mark.req("R4")
async def test_who_comes_to_a_reading_along_that_is_over_hears_that_it_is(tmp_path: Path) -> None:
    async with running(tmp_path) as bench:
        talk = await stored(bench)
        session = await bench.workbench.owners.read_along(talk.session_id)
        assert session
        session.subscribe().close()
        with anyio.fail_after(DEADLINE_S):
            assert [item async for item in session.subscribe()] == []


@pytest.mark.req("H2", "R7")
async def test_session_whose_opening_was_taken_back_half_way_can_be_opened_all_the_same(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as bench:
        talk = await stored(bench)
        log = Held(log_path(talk.live.folder))
        request = asyncio.ensure_future(bench.workbench.open_session(talk.session_id))
        reading = await reached(log.path)
        request.cancel()  # as a client's cancellation of its request arrives
        with pytest.raises(asyncio.CancelledError):
            await request
        log.give(reading)
        with anyio.fail_after(DEADLINE_S):
            live = await bench.workbench.open_session(talk.session_id)
        assert live is bench.workbench.live(talk.session_id)


class Slow(Credentials):
    """Whose keys are to be kept out of a log is not known before it is told, in a thread that writes one."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked, self.is_told = threading.Event(), threading.Event()

    def known_secrets(self) -> frozenset[str]:
        if threading.current_thread() is not threading.main_thread():
            self.is_asked.set()
            assert self.is_told.wait(DEADLINE_S)
        return super().known_secrets()


@pytest.mark.req("H2", "R7")
async def test_session_whose_making_was_taken_back_half_way_can_be_opened_all_the_same(
    tmp_path: Path,
) -> None:
    credentials = Slow()
    async with running(tmp_path, credentials=credentials) as bench:
        request = asyncio.ensure_future(bench.talk())
        with anyio.fail_after(DEADLINE_S):
            while not credentials.is_asked.is_set():
                await anyio.lowlevel.checkpoint()
        request.cancel()  # as a client's cancellation of its request arrives
        with pytest.raises(asyncio.CancelledError):
            await request
        credentials.is_told.set()
        (made,) = (bench.state / "workspaces").glob("*/sessions/*")
        with anyio.fail_after(DEADLINE_S):
            live = await bench.workbench.open_session(made.name)
        assert live is bench.workbench.live(made.name)


@pytest.mark.req("H2", "R7")
async def test_session_that_is_closed_while_it_is_opened_is_closed_then(tmp_path: Path) -> None:
    async with running(tmp_path) as bench:
        talk = await stored(bench)
        log = Held(log_path(talk.live.folder))
        with anyio.fail_after(DEADLINE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(bench.workbench.open_session, talk.session_id)
                reading = await reached(log.path)
                group.start_soon(bench.workbench.close_session, talk.session_id)
                await anyio.wait_all_tasks_blocked()
                log.give(reading)
        assert bench.workbench.live(talk.session_id) is None


async def with_a_hunk(tmp_path: Path, file: Path, before: str) -> Talk:
    """A session that nobody has open any more, and that has written "one" large in this file."""
    file.parent.mkdir()
    await anyio.Path(file).write_text(before)
    arguments = {"file_path": file.name, "old_string": "one", "new_string": "ONE"}
    script: Sequence[Piece | Sequence[Piece]] = [
        [tool_call("read_file", json.dumps({"file_path": file.name}), id="c-read")],
        [tool_call("edit_file", json.dumps(arguments), id="c-edit")],
        [text("done")],
    ]
    async with running(tmp_path, script) as bench:
        talk = await bench.talk("edits")
        await talk.say("go")
    return talk


class LivelyHost(FakeEditorHost):
    """`then` happens directly after the document was looked at for the first time."""

    def __init__(self, path: str, text: str, then: Callable[[], None]) -> None:
        super().__init__({path: text})
        self.then = [then]

    def open_document(self, path: str) -> OpenDocument | None:
        found = super().open_document(path)
        if self.then:
            self.then.pop()()
        return found


@pytest.mark.req("H6", "H2")
async def test_typing_and_a_setting_that_come_while_a_session_is_opened_count_from_its_beginning(
    tmp_path: Path,
) -> None:
    file = tmp_path / "project/a.txt"
    talk = await with_a_hunk(tmp_path, file, "one\nkeep\n")

    def user_does() -> None:
        host.type(str(file), "mine\n\nONE\nkeep\n")
        bench.workbench.review.user_edit(str(file), host.text(str(file)))  # as the editor's host tells
        assert bench.workbench.change_settings({"maxTurns": 7}) == []

    host = LivelyHost(str(file), "ONE\nkeep\n", user_does)
    async with running(tmp_path, host=host) as bench:
        live = await bench.workbench.open_session(talk.session_id)
        assert not host.then
        ((hunk,),) = bench.workbench.review.open_hunks().values()
        assert (hunk.start, hunk.end, hunk.state) == (2, 3, "pending")
        assert live.session.config.max_turns == 7


@pytest.mark.req("H6")
async def test_change_of_another_session_that_comes_while_a_session_is_opened_waits_for_a_verdict_too(
    tmp_path: Path,
) -> None:
    file = tmp_path / "project/a.txt"
    talk = await with_a_hunk(tmp_path, file, "one\nkeep\nlast\n")

    def agent_does() -> None:
        before, after = "ONE\nkeep\nlast\n", "ONE\nkeep\nLAST\n"
        host.type(str(file), after)
        who = Attribution(other.session_id, "t-1", "c-1")
        bench.workbench.review.agent_edit(str(file), before, after, who)  # as the editor's host tells

    host = LivelyHost(str(file), "ONE\nkeep\nlast\n", agent_does)
    async with running(tmp_path, host=host) as bench:
        other = await bench.talk("edits")
        await bench.workbench.open_session(talk.session_id)
        assert not host.then
        (hunks,) = bench.workbench.review.open_hunks().values()
        assert [(hunk.session_id, hunk.lines, hunk.state) for hunk in hunks] == [
            (talk.session_id, ("ONE\n",), "pending"),
            (other.session_id, ("LAST\n",), "pending"),
        ]
        assert not [
            hunk for told in other.of(HunkStateChanged) for hunk in told.hunks if hunk.state == "gone"
        ]


class TakenAtTheEnd(ForwardingEnvironment):
    """`then` happens when all that the session has started is ended, and its log still gets its last lines."""

    def __init__(self, inner: ExecutionEnvironment, then: Callable[[], None]) -> None:
        super().__init__(inner)
        self._then = then

    async def cleanup(self) -> None:
        await self.inner.cleanup()
        self._then()


@pytest.mark.req("R4", "R5")
async def test_session_that_is_taken_by_force_at_its_last_line_ends_alone(tmp_path: Path) -> None:
    change = tool_call("shell", json.dumps({"command": "sed -i s/five/FIVE/ a.txt"}))
    async with running(tmp_path, [change, text("Done.")]) as bench:
        path = bench.folder / "a.txt"
        path.write_text("one\ntwo\nthree\nfour\nfive\n")
        talk, other = await bench.talk(mode="full"), await bench.talk()
        await talk.say("Change it.")
        bench.workbench.review.user_edit(str(path), "mine\n" + path.read_text())  # its hunk moves
        live = talk.live
        store = SessionStore(bench.state, on_failure=lambda session_id, error: None)
        log = live.stored.opened.recorder._log
        looks = log.is_ours

        def taken() -> bool:
            log.is_ours = looks
            owner = recorded_owner(lock_path(live.folder))
            store.seize(live.id, owner).close()
            return looks()

        def take_at_next_line() -> None:
            log.is_ours = taken

        live.environment.inner = TakenAtTheEnd(live.environment.inner, take_at_next_line)
        with anyio.fail_after(DEADLINE_S):
            await bench.workbench.close_session(live.id)
        assert log.is_ours == looks and not live.is_ours
        assert bench.workbench.live(live.id) is None
        assert bench.workbench.live(other.session_id) is other.live
        assert not bench.workbench.review.open_hunks(session_id=live.id)
