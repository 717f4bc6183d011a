"""What a command did to files is filed like any edit: reviewed, undone, merged into what the user has not saved."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import pytest

from agent_ls.app.command_changes import Changes, CommandChanges
from agent_ls.environments.base import FileState
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.loop.events import FileChange, ToolCallEnd, Warning
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.workbench import DEADLINE_S, Bench, Talk, running

OLD = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"


def shell(command: str) -> list[Piece | Sequence[Piece]]:
    """A model that runs this command, and says no more."""
    return [tool_call("shell", f'{{"command": "{command}", "description": "x"}}'), text("Done.")]


async def ran(bench: Bench) -> Talk:
    (bench.folder / "a.txt").write_text(OLD)
    (bench.folder / "gone.txt").write_text("soon gone\n")
    talk = await bench.talk(mode="full")
    await talk.say("Do it.")
    return talk


def changed(talk: Talk) -> list[tuple[str, str, int]]:
    return [(Path(it.path).name, it.action, len(it.hunks)) for it in talk.of(FileChange)]


@pytest.mark.req("H6", "H4")
async def test_files_that_a_command_changed_are_hunks_of_its_call_and_undone_like_any(tmp_path: Path) -> None:
    command = "sed -i s/two/TWO/ a.txt; echo new > b.txt; rm gone.txt"
    async with running(tmp_path, shell(command)) as bench:
        talk = await ran(bench)
        assert changed(talk) == [("a.txt", "modify", 1), ("b.txt", "create", 1), ("gone.txt", "delete", 1)]
        (end,) = talk.of(ToolCallEnd)
        assert "for the user to review: a.txt, b.txt (new), gone.txt (deleted)." in end.output
        assert "for the user to review" in str(bench.results()[0].content)
        _, refused = await bench.workbench.review.review(verdict="undo", session_id=talk.session_id)
        assert not refused
        assert (bench.folder / "a.txt").read_text() == OLD
        assert not (bench.folder / "b.txt").exists()
        assert (bench.folder / "gone.txt").read_text() == "soon gone\n"


@pytest.mark.req("H6")
async def test_a_command_that_changes_nothing_says_nothing_of_files(tmp_path: Path) -> None:
    async with running(tmp_path, shell("touch a.txt; cat a.txt")) as bench:
        talk = await ran(bench)
        assert changed(talk) == []
        assert "Changed by" not in talk.of(ToolCallEnd)[0].output


@pytest.mark.req("H4", "H6")
async def test_a_document_with_unsaved_typing_gets_the_change_merged_in(tmp_path: Path) -> None:
    path = str(tmp_path / "project" / "a.txt")
    typed = OLD.replace("seven", "SEVEN, typed and not saved")
    host = FakeEditorHost({path: typed})
    async with running(tmp_path, shell("sed -i s/two/TWO/ a.txt"), host=host) as bench:
        talk = await ran(bench)
        assert host.text(path) == typed.replace("two", "TWO")
        assert changed(talk) == [("a.txt", "modify", 1)]
        assert "a.txt (merged into the user's unsaved changes)" in talk.of(ToolCallEnd)[0].output
        assert [warning.code for warning in talk.of(Warning)] == ["merged_change"]
        await bench.workbench.review.review(verdict="undo", session_id=talk.session_id)
        assert host.text(path) == typed


@pytest.mark.req("H4", "H6")
async def test_where_the_user_types_in_the_same_lines_his_text_stays_and_both_are_told(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "project" / "a.txt")
    typed = OLD.replace("two", "my two")
    host = FakeEditorHost({path: typed})
    async with running(tmp_path, shell("sed -i s/two/TWO/ a.txt"), host=host) as bench:
        talk = await ran(bench)
        assert host.text(path) == typed
        assert (bench.folder / "a.txt").read_text() == OLD.replace("two", "TWO")
        assert "left as they are: a.txt" in talk.of(ToolCallEnd)[0].output
        (warning,) = talk.of(Warning)
        assert warning.code == "disk_conflict" and "a.txt was changed on disk" in warning.message


@pytest.mark.req("H4", "H6")
async def test_a_file_that_a_command_deleted_under_unsaved_typing_is_a_conflict(tmp_path: Path) -> None:
    path = str(tmp_path / "project" / "a.txt")
    host = FakeEditorHost({path: OLD + "typed\n"})
    async with running(tmp_path, shell("rm a.txt"), host=host) as bench:
        talk = await ran(bench)
        assert host.text(path) == OLD + "typed\n"
        assert [warning.code for warning in talk.of(Warning)] == ["disk_conflict"]


@pytest.mark.req("H4", "H6")
async def test_a_document_that_its_editor_showed_anew_before_the_end_of_the_command_has_its_hunk(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "project" / "a.txt")
    both = OLD.replace("two", "TWO").replace("seven", "SEVEN, typed after it")
    host = FakeEditorHost({path: both})
    async with running(tmp_path, shell("sed -i s/two/TWO/ a.txt"), host=host) as bench:
        talk = await ran(bench)
        assert changed(talk) == [("a.txt", "modify", 1)]
        await bench.workbench.review.review(verdict="undo", session_id=talk.session_id)
        assert host.text(path) == both.replace("TWO", "two")


@pytest.mark.req("H4", "H6")
async def test_what_the_user_saves_while_a_command_runs_is_his(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told")
    os.mkfifo(tmp_path / "go")
    command = "sed -i s/two/TWO/ a.txt; echo > ../told; cat ../go; sed -i s/one/ONE/ mine.txt"
    async with running(tmp_path, shell(command)) as bench:
        talks: list[Talk] = []

        async def save_meanwhile() -> None:
            await anyio.Path(tmp_path / "told").read_text()
            for name, saved in (("mine.txt", "one\nsaved\n"), ("his.txt", "saved\n")):
                await anyio.Path(bench.folder / name).write_text(saved)
                bench.workbench.review.document_saved(str(bench.folder / name), saved)
            await anyio.Path(tmp_path / "go").write_text("")

        with anyio.fail_after(DEADLINE_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(save_meanwhile)
                talks.append(await ran(bench))
        (talk,) = talks
        assert changed(talk) == [("a.txt", "modify", 1), ("mine.txt", "modify", 1)]
        await bench.workbench.review.review(verdict="undo", session_id=talk.session_id)
        assert (bench.folder / "mine.txt").read_text() == "one\nsaved\n"


@pytest.mark.req("H6")
async def test_what_is_ignored_or_no_text_is_not_told(tmp_path: Path) -> None:
    command = "echo x > skipped.log; head -c 10 /dev/zero > zeros; echo y > b.txt"
    async with running(tmp_path, shell(command)) as bench:
        (bench.folder / ".ignore").write_text("*.log\n")
        talk = await ran(bench)
        assert changed(talk) == [("b.txt", "create", 1)]


async def test_a_file_whose_text_was_not_kept_is_told_without_an_invented_hunk(tmp_path: Path) -> None:
    large = tmp_path / "large.txt"
    large.write_text("x" * (2 * 1024 * 1024))

    async def listed(limit: int) -> Sequence[str]:
        return ["large.txt"] if large.exists() else []

    changes = CommandChanges(str(tmp_path), listed)
    before = await changes.look()
    large.write_text("y")
    found = await changes.changes(before)
    assert (found.states, found.unknown) == ((), (str(large),))
    os.unlink(large)
    assert (await changes.changes(before)).unknown == (str(large),)


async def test_files_of_a_folder_that_was_opened_meanwhile_are_not_new(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("x")
    folders: list[str] = []

    async def listed(limit: int) -> Sequence[str]:
        return ["old.txt"] if folders else []

    changes = CommandChanges(str(tmp_path), listed, lambda: tuple(folders))
    before = await changes.look()
    folders.append("beside")
    found, now = await changes.advance(before)
    assert found.states == ()
    (tmp_path / "old.txt").write_text("changed")
    assert [state.before for state in (await changes.changes(now)).states] == [b"x"]


async def test_too_many_files_are_not_looked_at_and_that_is_said(tmp_path: Path) -> None:
    async def listed(limit: int) -> Sequence[str]:
        return [str(number) for number in range(limit)]

    changes = CommandChanges(str(tmp_path), listed)
    assert "too many" in (await changes.changes(await changes.look())).note


async def test_a_command_that_removes_the_folder_that_it_works_in_is_told_as_that(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()

    async def listed(limit: int) -> Sequence[str]:
        if not folder.exists():
            raise PathNotFoundError(str(folder))
        return []

    changes = CommandChanges(str(folder), listed)
    before = await changes.look()
    folder.rmdir()
    assert "their folder is gone" in (await changes.changes(before)).note


class Passing(CommandChanges):
    """After each listing it does `then`: what was listed may be gone, or another, by the time it is read."""

    then: Callable[[], object] = staticmethod(lambda: None)

    def _stamped(self, listed: Sequence[str]) -> dict[str, tuple[int, int, int, int]]:
        found = super()._stamped(listed)
        self.then()
        return found


@pytest.mark.req("H6")
async def test_a_file_that_is_there_for_a_moment_while_it_is_looked_is_told_as_what_it_was(
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
    looked = await changes.look()
    passing("meanwhile")
    first, looked = await changes.advance(looked)
    changes.then = lambda: (tmp_path / "a.txt").write_text("two\n")
    (tmp_path / "a.txt").write_text("one\n")
    second, looked = await changes.advance(looked)
    changes.then = (tmp_path / "a.txt").unlink
    (tmp_path / "a.txt").write_text("three\n")
    third, looked = await changes.advance(looked)
    changes.then = lambda: None
    last, _ = await changes.advance(looked)

    a, old = str(tmp_path / "a.txt"), OLD.encode()
    assert (first, last) == (Changes(), Changes())
    assert second == Changes((FileState(a, old, b"two\n"),))
    assert third == Changes((FileState(a, b"two\n", None),))
