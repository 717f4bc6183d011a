"""A `commit` of a program's environment that raises after it has written: the files decide what is recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
from agent_ls.environments.base import Attribution, FileState, FileWrite
from agent_ls.environments.errors import StaleFileError, UnsupportedError
from agent_ls.services.review.restore import UNSETTLED

pytestmark = pytest.mark.req("H13", "X1")

READ = ("read_file", {"file_path": "a.py"})
EDIT = ("edit_file", {"file_path": "a.py", "old_string": "l2", "new_string": "L2"})
CREATE = ("write_file", {"file_path": "new.py", "content": "x"})


class Failing(agent_ls.ForwardingEnvironment):
    """Writes the files, calls `after`, and raises what `fail` returns."""

    def __init__(self, folder: Path, fail: Callable[[], Exception], after: Callable[[], object]) -> None:
        super().__init__(agent_ls.LocalEnvironment(folder))
        self.fail, self.after = fail, after
        self.is_failing = True

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        states = await super().commit(writes, attribution)
        self.after()
        if self.is_failing:
            raise self.fail()
        return states


def locked() -> Exception:
    return RuntimeError("database is locked")


def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_bytes(b"l1\nl2\n")
    return folder


def opening(
    tmp_path: Path, environment: agent_ls.ExecutionEnvironment, *steps: Any, **more: Any
) -> agent_ls.SessionOpening:
    return agent_ls.open_session(
        environment=environment,
        provider="test",
        adapters={"test": agent_ls.ScriptedModel(*steps, "Done.")},
        state_dir=tmp_path / "state",
        trusted=True,
        mode="full",
        **more,
    )


def warnings(events: Sequence[Any]) -> list[str]:
    return [event.code for event in events if isinstance(event, agent_ls.Warning)]


@pytest.mark.parametrize("fail", [locked, lambda: UnsupportedError("no copy")], ids=["own", "known"])
async def test_a_written_change_is_recorded_though_the_commit_raised(
    fail: Callable[[], Exception], tmp_path: Path
) -> None:
    folder = project(tmp_path)
    environment = Failing(folder, fail, lambda: None)
    async with opening(tmp_path, environment, READ, EDIT, CREATE) as session:
        events = [event async for event in session.run("go")]
        assert [call.success for call in await session.calls()] == [True, False, False]
        assert warnings(events) == []
        assert [[hunk.what for hunk in hunks] for hunks in session.hunks().values()] == [
            ["content"],
            ["create"],
        ]
        assert "+L2" in await session.patch()
        environment.is_failing = False
        await session.review("undo")
    assert (folder / "a.py").read_bytes() == b"l1\nl2\n" and not (folder / "new.py").exists()


async def test_a_written_change_is_rolled_back_though_the_commit_raised(tmp_path: Path) -> None:
    folder = project(tmp_path)
    environment = Failing(folder, locked, lambda: None)
    async with opening(tmp_path, environment, READ, EDIT) as session:
        events = [event async for event in session.run("go")]
        environment.is_failing = False
        await session.roll_back(events[1].turn_id)
    assert (folder / "a.py").read_bytes() == b"l1\nl2\n"


async def test_a_file_with_other_content_after_a_failed_commit_is_warned_of(tmp_path: Path) -> None:
    folder = project(tmp_path)
    environment = Failing(folder, locked, lambda: (folder / "a.py").write_bytes(b"other\n"))
    async with opening(tmp_path, environment, READ, EDIT) as session:
        events = [event async for event in session.run("go")]
        assert warnings(events) == [UNSETTLED] and not session.hunks()


async def test_a_refused_commit_leaves_a_change_of_somebody_else_alone(tmp_path: Path) -> None:
    folder = project(tmp_path)

    class Refusing(Failing):
        async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
            (folder / "a.py").write_bytes(b"l1\nL2\n")
            raise StaleFileError("a.py")

    async with opening(tmp_path, Refusing(folder, locked, lambda: None), READ, EDIT) as session:
        events = [event async for event in session.run("go")]
        assert not warnings(events) and not session.hunks()


async def test_a_written_change_is_recorded_though_the_commit_was_cancelled(tmp_path: Path) -> None:
    folder, written = project(tmp_path), anyio.Event()

    class Hanging(Failing):
        async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
            await self.inner.commit(writes, attribution)
            written.set()
            await anyio.sleep_forever()
            raise AssertionError

    async with opening(tmp_path, Hanging(folder, locked, lambda: None), READ, EDIT) as session:
        async with anyio.create_task_group() as tasks:

            async def interrupt() -> None:
                await written.wait()
                session.interrupt()

            tasks.start_soon(interrupt)
            assert [event async for event in session.run("go")]
        assert [len(hunks) for hunks in session.hunks().values()] == [1]


async def test_a_commit_with_too_few_results_is_an_error_that_names_it(tmp_path: Path) -> None:
    class Short(agent_ls.ForwardingEnvironment):
        async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
            await super().commit(writes, attribution)
            return []

    folder = project(tmp_path)
    async with opening(tmp_path, Short(agent_ls.LocalEnvironment(folder)), READ, EDIT) as session:
        await session.ask("go")
        call = (await session.calls())[-1]
        assert call.error and "Short.commit: the result" in call.error.message
        assert [len(hunks) for hunks in session.hunks().values()] == [1]


async def test_an_accepted_change_is_decided_though_its_commit_raised(tmp_path: Path) -> None:
    folder = project(tmp_path)
    environment = Failing(folder, locked, lambda: None)
    review = {"review": "before", "review_changes": lambda hunks: True}
    with anyio.fail_after(30):
        async with opening(tmp_path, environment, READ, EDIT, **review) as session:
            events = [event async for event in session.run("go")]
            assert "+L2" in await session.patch()
            environment.is_failing = False
            await session.roll_back(events[1].turn_id)
    assert (folder / "a.py").read_bytes() == b"l1\nl2\n"


async def test_a_roll_back_whose_commit_raised_reports_the_files_and_can_be_rolled_back(
    tmp_path: Path,
) -> None:
    folder = project(tmp_path)
    environment = Failing(folder, locked, lambda: None)
    environment.is_failing = False
    async with opening(tmp_path, environment, READ, EDIT, CREATE) as session:
        events = [event async for event in session.run("go")]
        environment.is_failing = True
        done = await session.roll_back(events[1].turn_id)
        assert [(file.action, file.state) for file in done.files] == [
            ("modify", "restored"),
            ("delete", "restored"),
        ]
        assert not session.hunks()
        back = await session.roll_back(done.revert_id)
        assert [file.state for file in back.files] == ["restored", "restored"]
    assert (folder / "a.py").read_bytes() == b"l1\nL2\n" and (folder / "new.py").exists()


async def test_a_roll_back_that_wrote_one_of_two_files_reports_each(tmp_path: Path) -> None:
    folder = project(tmp_path)

    class Partial(Failing):
        async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
            states = await self.inner.commit(writes[:1], attribution)
            if self.is_failing:
                raise self.fail()
            return [*states, *(await self.inner.commit(writes[1:], attribution))]

    environment = Partial(folder, locked, lambda: None)
    environment.is_failing = False
    async with opening(tmp_path, environment, READ, EDIT, CREATE) as session:
        events = [event async for event in session.run("go")]
        environment.is_failing = True
        done = await session.roll_back(events[1].turn_id)
        assert [file.state for file in done.files] == ["restored", "conflict"]
        assert [hunk.what for hunks in session.hunks().values() for hunk in hunks] == ["create"]


async def test_an_undo_is_decided_though_its_commit_raised(tmp_path: Path) -> None:
    folder = project(tmp_path)
    environment = Failing(folder, locked, lambda: None)
    environment.is_failing = False
    async with opening(tmp_path, environment, READ, EDIT, CREATE) as session:
        await session.ask("go")
        environment.is_failing = True
        assert await session.review("undo") == []
        assert not session.hunks() and await session.patch() == ""


async def test_an_undo_that_wrote_nothing_leaves_its_change_pending(tmp_path: Path) -> None:
    folder = project(tmp_path)

    class Refusing(Failing):
        async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
            if self.is_failing:
                raise self.fail()
            return await super().commit(writes, attribution)

    environment = Refusing(folder, locked, lambda: None)
    environment.is_failing = False
    async with opening(tmp_path, environment, READ, EDIT) as session:
        await session.ask("go")
        environment.is_failing = True
        assert len(await session.review("undo")) == 1
        assert [hunk.state for hunks in session.hunks().values() for hunk in hunks] == ["pending"]


class Hanging(Failing):
    """Writes the first file, and never returns."""

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        states = await self.inner.commit(writes[:1] if self.is_failing else writes, attribution)
        if self.is_failing:
            self.after()
            await anyio.sleep_forever()
        return states


@pytest.mark.parametrize("end", ["interrupt", "close"])
async def test_a_roll_back_that_hangs_is_ended_and_what_it_wrote_is_recorded(
    end: str, tmp_path: Path
) -> None:
    folder, written = project(tmp_path), anyio.Event()
    environment = Hanging(folder, locked, written.set)
    environment.is_failing = False
    raised: list[Exception] = []
    async with opening(tmp_path, environment, READ, EDIT, CREATE) as session:
        events = [event async for event in session.run("go")]
        environment.is_failing = True

        async def roll_back() -> None:
            with pytest.raises(agent_ls.SessionError) as error:
                await session.roll_back(events[1].turn_id)
            raised.append(error.value)

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(roll_back)
                await written.wait()
                assert session.is_busy
                with pytest.raises(agent_ls.SessionBusyError):
                    await session.ask("go on")
                if end == "interrupt":
                    session.interrupt()
                else:
                    await session.close()
        if end == "interrupt":
            assert not session.is_busy
            assert [hunk.what for hunks in session.hunks().values() for hunk in hunks] == ["create"]
        session_id = session.id
    wanted = agent_ls.RollBackStoppedError if end == "interrupt" else agent_ls.SessionClosedError
    assert [type(error) for error in raised] == [wanted]
    stored = await agent_ls.read_session(session_id, state_dir=tmp_path / "state")
    reverted = [event for event in stored.events if isinstance(event, agent_ls.Reverted)]
    assert [(event.conversation, len(event.files)) for event in reverted] == [(False, 1)]
