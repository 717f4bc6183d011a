"""A program reads and decides about changes of files that a person or a command has changed on disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls.library.hunks import CHANGED, WHOLE
from agent_ls.services.review.decisions import GONE, NO_FILE
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

pytestmark = pytest.mark.req("X10")
BEGIN = "one\ntwo\nthree\n"


def reasons(said: list[str]) -> list[str]:
    """Return the reasons without the place and the id before each."""
    return [reason.partition("): ")[2] for reason in said]


async def opened(tmp_path: Path, *calls: Any) -> tuple[agent_ls.AgentSession, Path]:
    """Return a session of which one turn has made these calls, and its file."""
    path = tmp_path / "project" / "a.txt"
    path.parent.mkdir()
    path.write_text(BEGIN)
    model = FakeProvider([call("read_file", file_path="a.txt"), *calls, text("Done.")])
    session = await agent_ls.open_session(**options(tmp_path, model, mode="full", trusted=True))
    await session.ask("go")
    return session, path


EDIT = call("edit_file", file_path="a.txt", old_string="two\n", new_string="A\nB\n")


async def test_hunks_are_those_of_the_text_on_disk(tmp_path: Path) -> None:
    session, path = await opened(tmp_path, EDIT)
    async with session:
        assert [(it.state, it.start) for it in session.hunks()[str(path)]] == [("pending", 1)]
        path.write_text("top\none\nA\nmine\nthree\n")
        (hunk,) = session.hunks()[str(path)]
        assert (hunk.state, hunk.start, hunk.lines) == ("edited", 2, ("A\n", "mine\n"))
        path.unlink()
        assert session.hunks() == {}
        assert path.write_text(BEGIN) and session.hunks() == {}


async def test_a_change_of_the_same_size_in_an_old_file_is_seen(tmp_path: Path) -> None:
    session, path = await opened(tmp_path, EDIT)
    async with session:
        os.utime(path, (1_000_000_000, 1_000_000_000))
        assert session.hunks()[str(path)][0].lines == ("A\n", "B\n")
        path.write_text("one\nA\nM\nthree\n")
        os.utime(path, (1_000_000_000, 1_000_000_000))
        assert session.hunks()[str(path)][0].lines == ("A\n", "M\n")


async def test_a_hunk_is_not_kept_with_a_text_that_the_program_has_not_read(tmp_path: Path) -> None:
    session, path = await opened(tmp_path, EDIT)
    async with session:
        (hunk,) = session.hunks()[str(path)]
        path.write_text("top\none\nA\nmine\nthree\n")
        assert reasons(await session.review("keep", [hunk.id])) == [CHANGED]
        assert reasons(await session.review("undo", [hunk.id], confirm=True)) == [CHANGED]
        assert [it.state for it in session.hunks()[str(path)]] == ["edited"]
        path.write_text("top\nand more\none\nA\nmine\nthree\n")  # the hunk itself is as it was read
        assert await session.review("keep", [hunk.id]) == []
        assert session.hunks() == {}


async def test_the_reason_about_a_change_of_a_deleted_file_says_that_the_file_is_gone(tmp_path: Path) -> None:
    session, path = await opened(tmp_path, EDIT)
    async with session:
        (hunk,) = session.hunks()[str(path)]
        path.unlink()
        assert reasons(await session.review("undo", [hunk.id])) == [NO_FILE]


async def test_the_reason_about_a_change_that_a_person_took_back_says_so(tmp_path: Path) -> None:
    session, path = await opened(tmp_path, EDIT)
    async with session:
        (hunk,) = session.hunks()[str(path)]
        path.write_text(BEGIN)
        assert reasons(await session.review("undo", [hunk.id])) == [GONE]


async def test_undo_names_files_that_come_back_only_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text(BEGIN)
    (folder / "old.bin").write_bytes(b"\0old")
    command = r"printf '\0\1' > new.bin; printf '\0\2' > old.bin; echo b > a.txt"
    model = agent_ls.ScriptedModel(("shell", {"command": command}), "Done.")
    chosen: dict[str, Any] = {
        "provider": "test",
        "adapters": {"test": model},
        "state_dir": tmp_path / "state",
    }
    async with agent_ls.open_session(folder, mode="full", trusted=True, **chosen) as session:
        [turn_id] = [it.turn_id async for it in session.run("go") if it.kind == "user_input"]
        names = ("new.bin", "old.bin")
        patch = await session.patch()
        assert [name for name in names if f"Note: {name}: " in patch] == [*names]
        assert await session.review("undo") == [f"{name}: {WHOLE}" for name in names]
        assert (folder / "a.txt").read_text() == BEGIN
        await session.roll_back(turn_id)
        assert sorted(it.name for it in folder.iterdir()) == ["a.txt", "old.bin"]
        assert await session.review("undo") == []
