"""Races while a session is being opened: a change of owner, typing, a changed setting, a cancelled request."""

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

from agent_ls.environments.base import Attribution, ExecutionEnvironment
from agent_ls.environments.editor_host import OpenDocument
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.llm.credentials import Credentials
from agent_ls.loop.events.types import HunkStateChanged
from agent_ls.sessions.ownership.follower import SessionFollower
from agent_ls.store.layout import lock_path, log_path
from agent_ls.store.locks import recorded_owner
from agent_ls.store.sessions import SessionStore
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.session_rig import DEADLINE_S, SessionRig, Talk, running


async def stored(rig: SessionRig) -> Talk:
    """Return a session that no process has open."""
    talk = await rig.talk()
    await rig.manager.close_session(talk.session_id)
    return talk


async def reached(pipe: Path) -> int:
    """Wait until another thread opens this pipe for reading; remove the pipe and return its descriptor for writing.

    No other task runs between the opening and the caller's next await.
    """
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
    """The log of a session that no process has open; reading it blocks until the test allows it."""

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
async def test_no_follower_is_created_if_the_process_opens_the_session_at_the_same_time(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as rig:
        talk = await stored(rig)
        owners, found = rig.manager.owners, list[SessionFollower | None]()

        async def open_follower() -> None:
            found.append(await owners.open_follower(talk.session_id))

        lock = lock_path(talk.live.folder)
        lock.unlink()
        os.mkfifo(lock)
        with anyio.fail_after(DEADLINE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(open_follower)
                reading = await reached(lock)
                group.start_soon(owners.report_open, talk.live)
                os.close(reading)
        assert (found, owners.find_follower(talk.session_id)) == ([None], None)


@pytest.mark.req("R4")
async def test_a_new_follower_can_be_opened_after_the_last_subscriber_leaves_during_a_join(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as rig:
        talk = await stored(rig)
        owners, found = rig.manager.owners, list[SessionFollower | None]()
        first = await owners.open_follower(talk.session_id)
        assert first
        listening = first.subscribe()

        async def open_follower() -> None:
            found.append(await owners.open_follower(talk.session_id))

        lock = lock_path(talk.live.folder)
        lock.unlink()
        os.mkfifo(lock)
        with anyio.fail_after(DEADLINE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(open_follower)
                await anyio.lowlevel.checkpoint()
                reading = await reached(lock)
                listening.close()
                os.close(reading)
        assert found == [None]
        again = await owners.open_follower(talk.session_id)
        assert again and again is not first and owners.find_follower(talk.session_id) is again
        again.subscribe().close()


@pytest.mark.req("R4")
async def test_subscribing_to_an_ended_follower_ends_at_once_without_events(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        talk = await stored(rig)
        session = await rig.manager.owners.open_follower(talk.session_id)
        assert session
        session.subscribe().close()
        with anyio.fail_after(DEADLINE_S):
            assert [item async for item in session.subscribe()] == []


@pytest.mark.req("H2", "R7")
async def test_a_session_can_be_opened_after_a_cancelled_opening(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as rig:
        talk = await stored(rig)
        log = Held(log_path(talk.live.folder))
        request = asyncio.ensure_future(rig.manager.open_session(talk.session_id))
        reading = await reached(log.path)
        request.cancel()  # as the cancellation of a client's request does
        with pytest.raises(asyncio.CancelledError):
            await request
        log.give(reading)
        with anyio.fail_after(DEADLINE_S):
            live = await rig.manager.open_session(talk.session_id)
        assert live is rig.manager.find_live(talk.session_id)


class Slow(Credentials):
    """Credentials that block the thread that writes the log until the test lets them return."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked, self.may_answer = threading.Event(), threading.Event()

    def known_secrets(self) -> frozenset[str]:
        if threading.current_thread() is not threading.main_thread():
            self.is_asked.set()
            assert self.may_answer.wait(DEADLINE_S)
        return super().known_secrets()


@pytest.mark.req("H2", "R7")
async def test_a_session_can_be_opened_after_a_cancelled_creation(
    tmp_path: Path,
) -> None:
    credentials = Slow()
    async with running(tmp_path, credentials=credentials) as rig:
        request = asyncio.ensure_future(rig.talk())
        with anyio.fail_after(DEADLINE_S):
            while not credentials.is_asked.is_set():
                await anyio.lowlevel.checkpoint()
        request.cancel()  # as the cancellation of a client's request does
        with pytest.raises(asyncio.CancelledError):
            await request
        credentials.may_answer.set()
        (made,) = (rig.state / "workspaces").glob("*/sessions/*")
        with anyio.fail_after(DEADLINE_S):
            live = await rig.manager.open_session(made.name)
        assert live is rig.manager.find_live(made.name)


@pytest.mark.req("H2", "R7")
async def test_a_close_request_during_the_opening_of_a_session_takes_effect_after_the_opening(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as rig:
        talk = await stored(rig)
        log = Held(log_path(talk.live.folder))
        with anyio.fail_after(DEADLINE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(rig.manager.open_session, talk.session_id)
                reading = await reached(log.path)
                group.start_soon(rig.manager.close_session, talk.session_id)
                await anyio.wait_all_tasks_blocked()
                log.give(reading)
        assert rig.manager.find_live(talk.session_id) is None


async def with_a_hunk(tmp_path: Path, file: Path, before: str) -> Talk:
    """Return a stored session that has a pending hunk: it replaced "one" by "ONE" in this file."""
    file.parent.mkdir()
    await anyio.Path(file).write_text(before)
    arguments = {"file_path": file.name, "old_string": "one", "new_string": "ONE"}
    script: Sequence[Piece | Sequence[Piece]] = [
        [tool_call("read_file", json.dumps({"file_path": file.name}), id="c-read")],
        [tool_call("edit_file", json.dumps(arguments), id="c-edit")],
        [text("done")],
    ]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("edits", say="go")
    return talk


class LivelyHost(FakeEditorHost):
    """Calls `then` right after the document was read for the first time."""

    def __init__(self, path: str, text: str, then: Callable[[], None]) -> None:
        super().__init__({path: text})
        self.then = [then]

    def open_document(self, path: str) -> OpenDocument | None:
        found = super().open_document(path)
        if self.then:
            self.then.pop()()
        return found


@pytest.mark.req("H6", "H2")
async def test_typing_and_a_setting_change_while_a_session_opens_are_not_lost(
    tmp_path: Path,
) -> None:
    file = tmp_path / "project/a.txt"
    talk = await with_a_hunk(tmp_path, file, "one\nkeep\n")

    def user_does() -> None:
        host.type(str(file), "mine\n\nONE\nkeep\n")
        rig.manager.review.user_edit(str(file), host.text(str(file)))  # as the editor's host reports it
        assert rig.manager.change_settings({"maxTurns": 7}) == []

    host = LivelyHost(str(file), "ONE\nkeep\n", user_does)
    async with running(tmp_path, host=host) as rig:
        live = await rig.manager.open_session(talk.session_id)
        assert not host.then
        ((hunk,),) = rig.manager.review.open_hunks().values()
        assert (hunk.start, hunk.end, hunk.state) == (2, 3, "pending")
        assert live.session.config.max_turns == 7


@pytest.mark.req("H6")
async def test_an_edit_by_another_session_during_the_opening_of_a_session_is_a_pending_hunk(
    tmp_path: Path,
) -> None:
    file = tmp_path / "project/a.txt"
    talk = await with_a_hunk(tmp_path, file, "one\nkeep\nlast\n")

    def agent_does() -> None:
        before, after = "ONE\nkeep\nlast\n", "ONE\nkeep\nLAST\n"
        host.type(str(file), after)
        who = Attribution(other.session_id, "t-1", "c-1")
        rig.manager.review.agent_edit(str(file), before, after, who)  # as the editor's host reports it

    host = LivelyHost(str(file), "ONE\nkeep\nlast\n", agent_does)
    async with running(tmp_path, host=host) as rig:
        other = await rig.talk("edits")
        await rig.manager.open_session(talk.session_id)
        assert not host.then
        (hunks,) = rig.manager.review.open_hunks().values()
        assert [(hunk.session_id, hunk.lines, hunk.state) for hunk in hunks] == [
            (talk.session_id, ("ONE\n",), "pending"),
            (other.session_id, ("LAST\n",), "pending"),
        ]
        assert not [
            hunk for event in other.of(HunkStateChanged) for hunk in event.hunks if hunk.state == "gone"
        ]


class TakenAtTheEnd(ForwardingEnvironment):
    """Calls `then` at the end of cleanup: all processes have ended, but the log does not have its last lines yet."""

    def __init__(self, inner: ExecutionEnvironment, then: Callable[[], None]) -> None:
        super().__init__(inner)
        self._then = then

    async def cleanup(self) -> None:
        await self.inner.cleanup()
        self._then()


@pytest.mark.req("R4", "R5")
async def test_closing_a_session_completes_despite_a_forced_take_over_during_the_last_log_write(
    tmp_path: Path,
) -> None:
    change = tool_call("shell", json.dumps({"command": "sed -i s/five/FIVE/ a.txt"}))
    async with running(tmp_path, [change, text("Done.")]) as rig:
        path = rig.folder / "a.txt"
        path.write_text("one\ntwo\nthree\nfour\nfive\n")
        talk, other = await rig.talk(mode="full"), await rig.talk()
        await talk.say("Change it.")
        rig.manager.review.user_edit(str(path), "mine\n" + path.read_text())  # its hunk moves
        live = talk.live
        store = SessionStore(rig.state, on_failure=lambda session_id, error: None)
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
            await rig.manager.close_session(live.id)
        assert log.is_ours == looks and not live.is_ours
        assert rig.manager.find_live(live.id) is None
        assert rig.manager.find_live(other.session_id) is other.live
        assert not rig.manager.review.open_hunks(session_id=live.id)
