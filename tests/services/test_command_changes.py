"""File changes by a command are recorded like edits: reviewed, undone, and merged into unsaved documents."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import pytest

from agent_ls.environments.base import FileState
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.loop.events.types import FileChange, ToolCallEnd, Warning
from agent_ls.services.changes.beside_text import Links
from agent_ls.services.changes.snapshot import KEPT_BYTES, ChangeFinder, FoundChanges, Stamps
from agent_ls.services.review.decision_request import Selection
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.session_rig import DEADLINE_S, SessionRig, Talk, running

OLD = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"


def shell(command: str) -> list[Piece | Sequence[Piece]]:
    """Return a script in which the model runs this command and ends."""
    return [tool_call("shell", f'{{"command": "{command}", "description": "x"}}'), text("Done.")]


async def ran(rig: SessionRig) -> Talk:
    (rig.folder / "a.txt").write_text(OLD)
    (rig.folder / "gone.txt").write_text("soon gone\n")
    talk = await rig.talk(mode="full", say="Do it.")
    return talk


def changed(talk: Talk) -> list[tuple[str, str, int]]:
    return [(Path(it.path).name, it.action, len(it.hunks)) for it in talk.of(FileChange)]


@pytest.mark.req("H6", "H4")
async def test_files_changed_by_a_command_are_hunks_of_its_call_and_can_be_undone(tmp_path: Path) -> None:
    command = "sed -i s/two/TWO/ a.txt; echo new > b.txt; rm gone.txt"
    async with running(tmp_path, shell(command)) as rig:
        talk = await ran(rig)
        assert changed(talk) == [("a.txt", "modify", 1), ("b.txt", "create", 1), ("gone.txt", "delete", 1)]
        (end,) = talk.of(ToolCallEnd)
        assert ": a.txt, b.txt (new), gone.txt (deleted)." in end.output
        assert "to review" in str(rig.results()[0].content)
        _, refused = await rig.manager.review.review("undo", Selection(session_id=talk.session_id))
        assert not refused
        assert (rig.folder / "a.txt").read_text() == OLD
        assert not (rig.folder / "b.txt").exists()
        assert (rig.folder / "gone.txt").read_text() == "soon gone\n"


@pytest.mark.req("H6")
async def test_a_command_without_changes_reports_no_files(tmp_path: Path) -> None:
    async with running(tmp_path, shell("touch a.txt; cat a.txt")) as rig:
        talk = await ran(rig)
        assert changed(talk) == []
        assert "Changed by" not in talk.of(ToolCallEnd)[0].output


@pytest.mark.req("H4", "H6")
async def test_a_command_change_is_merged_into_an_unsaved_document_and_can_be_undone(tmp_path: Path) -> None:
    path = str(tmp_path / "project" / "a.txt")
    typed = OLD.replace("seven", "SEVEN, typed and not saved")
    host = FakeEditorHost({path: typed})
    async with running(tmp_path, shell("sed -i s/two/TWO/ a.txt"), host=host) as rig:
        talk = await ran(rig)
        assert host.text(path) == typed.replace("two", "TWO")
        assert changed(talk) == [("a.txt", "modify", 1)]
        assert "a.txt (merged into" in talk.of(ToolCallEnd)[0].output
        assert [warning.code for warning in talk.of(Warning)] == ["merged_change"]
        await rig.manager.review.review("undo", Selection(session_id=talk.session_id))
        assert host.text(path) == typed


@pytest.mark.req("H4", "H6")
async def test_a_conflicting_command_change_does_not_alter_unsaved_text_and_is_reported(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "project" / "a.txt")
    typed = OLD.replace("two", "my two")
    host = FakeEditorHost({path: typed})
    async with running(tmp_path, shell("sed -i s/two/TWO/ a.txt"), host=host) as rig:
        talk = await ran(rig)
        assert host.text(path) == typed
        assert (rig.folder / "a.txt").read_text() == OLD.replace("two", "TWO")
        assert "which were kept: a.txt" in talk.of(ToolCallEnd)[0].output
        (warning,) = talk.of(Warning)
        assert warning.code == "disk_conflict" and "a.txt was changed" in warning.message


@pytest.mark.req("H4", "H6")
async def test_deleting_a_file_with_unsaved_text_is_a_conflict(tmp_path: Path) -> None:
    path = str(tmp_path / "project" / "a.txt")
    host = FakeEditorHost({path: OLD + "typed\n"})
    async with running(tmp_path, shell("rm a.txt"), host=host) as rig:
        talk = await ran(rig)
        assert host.text(path) == OLD + "typed\n"
        assert [warning.code for warning in talk.of(Warning)] == ["disk_conflict"]


@pytest.mark.req("H4", "H6")
async def test_a_command_change_that_the_editor_already_reloaded_is_recorded_as_a_hunk(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "project" / "a.txt")
    both = OLD.replace("two", "TWO").replace("seven", "SEVEN, typed after it")
    host = FakeEditorHost({path: both})
    async with running(tmp_path, shell("sed -i s/two/TWO/ a.txt"), host=host) as rig:
        talk = await ran(rig)
        assert changed(talk) == [("a.txt", "modify", 1)]
        await rig.manager.review.review("undo", Selection(session_id=talk.session_id))
        assert host.text(path) == both.replace("TWO", "two")


@pytest.mark.req("H4", "H6")
async def test_a_file_saved_by_the_user_during_a_command_is_a_user_change(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told")
    os.mkfifo(tmp_path / "go")
    command = "sed -i s/two/TWO/ a.txt; echo > ../told; cat ../go; sed -i s/one/ONE/ mine.txt"
    async with running(tmp_path, shell(command)) as rig:
        talks: list[Talk] = []

        async def save_meanwhile() -> None:
            await anyio.Path(tmp_path / "told").read_text()
            for name, saved in (("mine.txt", "one\nsaved\n"), ("his.txt", "saved\n")):
                await anyio.Path(rig.folder / name).write_text(saved)
                rig.manager.review.document_saved(str(rig.folder / name), saved)
            await anyio.Path(tmp_path / "go").write_text("")

        with anyio.fail_after(DEADLINE_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(save_meanwhile)
                talks.append(await ran(rig))
        (talk,) = talks
        assert changed(talk) == [("a.txt", "modify", 1), ("mine.txt", "modify", 1)]
        await rig.manager.review.review("undo", Selection(session_id=talk.session_id))
        assert (rig.folder / "mine.txt").read_text() == "one\nsaved\n"


@pytest.mark.req("H6")
async def test_ignored_files_are_not_reported_and_a_new_binary_one_only_as_a_whole(tmp_path: Path) -> None:
    command = "echo x > skipped.log; echo | gzip > packed; echo y > b.txt"
    async with running(tmp_path, shell(command)) as rig:
        (rig.folder / ".ignore").write_text("*.log\n")
        talk = await ran(rig)
        assert changed(talk) == [("b.txt", "create", 1), ("packed", "create", 0)]
        assert not rig.manager.review.open_hunks(path=str(rig.folder / "packed"))


async def test_a_changed_file_too_large_to_snapshot_is_reported_as_changed_without_old_text(
    tmp_path: Path,
) -> None:
    large = tmp_path / "large.txt"
    large.write_text("x")
    os.truncate(large, KEPT_BYTES + 1)

    async def listed(limit: int) -> Sequence[str]:
        return ["large.txt"] if large.exists() else []

    changes = ChangeFinder(str(tmp_path), listed)
    before = await changes.take_snapshot()
    large.write_text("y")
    found = await changes.changes(before)
    assert (found.states, found.unknown) == ((), (str(large),))
    os.unlink(large)
    assert (await changes.changes(before)).unknown == (str(large),)


async def test_files_of_a_folder_opened_during_the_command_do_not_count_as_new(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("x")
    folders: list[str] = []

    async def listed(limit: int) -> Sequence[str]:
        return ["old.txt"] if folders else []

    changes = ChangeFinder(str(tmp_path), listed, lambda: tuple(folders))
    before = await changes.take_snapshot()
    folders.append("beside")
    found, now = await changes.find_changes(before)
    assert found.states == ()
    (tmp_path / "old.txt").write_text("changed")
    assert [state.before for state in (await changes.changes(now)).states] == [b"x"]


async def test_changes_by_a_command_are_not_searched_with_too_many_files_and_a_note_reports_this(
    tmp_path: Path,
) -> None:
    async def listed(limit: int) -> Sequence[str]:
        return [str(number) for number in range(limit)]

    changes = ChangeFinder(str(tmp_path), listed)
    assert "too many" in (await changes.changes(await changes.take_snapshot())).note


async def test_a_command_that_removes_its_working_folder_is_reported_as_such(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()

    async def listed(limit: int) -> Sequence[str]:
        if not folder.exists():
            raise PathNotFoundError(str(folder))
        return []

    changes = ChangeFinder(str(folder), listed)
    before = await changes.take_snapshot()
    folder.rmdir()
    assert "no longer exists" in (await changes.changes(before)).note


class Passing(ChangeFinder):
    """Calls `then` after each file listing, so that a listed file can change before it is read."""

    then: Callable[[], object] = staticmethod(lambda: None)

    def _stamped(self, listed: Sequence[str]) -> tuple[Stamps, Links]:
        found = super()._stamped(listed)
        self.then()
        return found


@pytest.mark.req("H6")
async def test_a_file_that_changes_during_change_detection_is_reported_with_its_newest_content(
    tmp_path: Path,
) -> None:
    async def listed(limit: int) -> Sequence[str]:
        return sorted(os.listdir(tmp_path))

    def passing(name: str) -> Path:
        (tmp_path / name).write_text("in the making\n")
        changes.then = (tmp_path / name).unlink
        return tmp_path / name

    changes = Passing(str(tmp_path), listed)
    (tmp_path / "a.txt").write_text(OLD)
    passing("before")
    looked = await changes.take_snapshot()
    passing("meanwhile")
    first, looked = await changes.find_changes(looked)
    changes.then = lambda: (tmp_path / "a.txt").write_text("two\n")
    (tmp_path / "a.txt").write_text("one\n")
    second, looked = await changes.find_changes(looked)
    changes.then = (tmp_path / "a.txt").unlink
    (tmp_path / "a.txt").write_text("three\n")
    third, looked = await changes.find_changes(looked)
    changes.then = lambda: None
    last, _ = await changes.find_changes(looked)

    a, old = str(tmp_path / "a.txt"), OLD.encode()
    assert (first, last) == (FoundChanges(), FoundChanges())
    assert second == FoundChanges((FileState(a, old, b"two\n"),))
    assert third == FoundChanges((FileState(a, b"two\n", None),))
