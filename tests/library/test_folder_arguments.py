"""Folders that a program names: relative ones, those of a deleted current folder, and impossible names."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.services.errors import BadChoiceError
from tests.library.sessions import options

pytestmark = pytest.mark.req("H13", "R5")


def opening(folder: str | Path, *answers: Any, **options: Any) -> agent_ls.SessionOpening:
    model = agent_ls.ScriptedModel(*answers)
    given: dict[str, Any] = {
        "provider": "test",
        "adapters": {"test": model},
        "trusted": True,
        "stored": False,
    }
    return agent_ls.open_session(folder, **given | options)


async def test_relative_folders_stay_the_same_after_the_program_changes_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("project", "other"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    wanted = tmp_path / "other" / "made.txt"
    write = ("write_file", {"file_path": str(wanted), "content": "1"})
    options: dict[str, Any] = {"beside": ["other"], "mode": "edits", "state_dir": "state", "stored": True}
    async with opening("project", write, "Done.", **options) as session:
        monkeypatch.chdir("/")
        assert await session.ask("go") == "Done."
    assert wanted.read_text() == "1"
    assert sorted(os.listdir(tmp_path)) == ["other", "project", "state"]


@pytest.mark.parametrize(
    ("given", "relative"),
    [({}, "."), ({"state_dir": "s", "stored": True}, ""), ({"beside": ["."]}, "")],
    ids=["folder", "state_dir", "beside"],
)
async def test_a_relative_folder_in_a_deleted_current_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], relative: str
) -> None:
    monkeypatch.setenv("AGENT_LS_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    os.rmdir(tmp_path / "gone")
    with pytest.raises(PathNotFoundError):
        LocalEnvironment(".")
    with pytest.raises(agent_ls.AppError, match="which was deleted") as caught:
        await opening(relative or tmp_path, **given)
    assert "absolute path" in caught.value.hint
    with pytest.raises(agent_ls.AppError, match="which was deleted"):
        await agent_ls.list_sessions(".", state_dir=tmp_path / "state")


async def test_a_local_environment_takes_a_path(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    environment = LocalEnvironment(tmp_path)
    assert environment.working_directory() == str(tmp_path)
    assert await environment.read_bytes(str(tmp_path / "a")) == b"x"


@pytest.mark.parametrize("folder", ["a\0b", "a\ud800b", "x" * 5000], ids=["nul", "surrogate", "too long"])
async def test_a_folder_that_cannot_exist_is_refused_with_a_message_that_can_be_printed(folder: str) -> None:
    with pytest.raises(agent_ls.AppError) as caught:
        await opening(folder)
    assert str(caught.value).encode()
    assert caught.value.hint


@pytest.mark.req("X3")
@pytest.mark.skipif(sys.platform == "win32", reason="a place needs a POSIX system")
async def test_a_folder_may_be_on_another_machine(tmp_path: Path) -> None:
    write = ("write_file", {"file_path": "made.txt", "content": "1\n"})
    async with opening(f"command:{tmp_path}:{sys.executable}", write, "Done.", mode="edits") as session:
        assert await session.ask("go") == "Done."
        assert "+++ b/made.txt\n" in await session.patch()
    assert (tmp_path / "made.txt").read_text() == "1\n"


async def test_the_patch_of_a_copy_has_only_its_own_changes(tmp_path: Path) -> None:
    given: dict[str, Any] = {"stored": True, "state_dir": tmp_path / "state", "mode": "edits"}
    (tmp_path / "project").mkdir()
    first, second = (("write_file", {"file_path": name, "content": "1\n"}) for name in ("a.txt", "b.txt"))
    async with opening(tmp_path / "project", first, "Done.", **given) as session:
        await session.ask("go")
        copy = await session.fork()
    async with opening(tmp_path / "project", second, "Done.", **given, resume=copy) as session:
        await session.ask("go")
        patch = await session.patch()
    assert "b/b.txt" in patch and "a.txt" not in patch


async def test_resume_refuses_another_folder_and_a_deleted_one(tmp_path: Path) -> None:
    given = options(tmp_path, agent_ls.ScriptedModel("Hello."))
    async with agent_ls.open_session(**given) as session:
        await session.ask("go")
    (tmp_path / "other").mkdir()
    with pytest.raises(BadChoiceError):
        await agent_ls.open_session(**{**given, "folder": tmp_path / "other"}, resume=session.id)
    (tmp_path / "link").symlink_to(given["folder"])
    for same in (given["folder"], tmp_path / "link", "."):
        await (await agent_ls.open_session(**{**given, "folder": same}, resume=session.id)).close()
    given["folder"].rmdir()
    with pytest.raises(BadChoiceError):
        await agent_ls.open_session(**given, resume=session.id)


async def test_a_session_of_a_moved_folder_goes_on_after_the_command_that_the_error_names(
    tmp_path: Path,
) -> None:
    given = options(tmp_path, agent_ls.ScriptedModel("Hello.", "Again."))
    async with agent_ls.open_session(**given) as session:
        await session.ask("go")
    given["folder"] = given["folder"].rename(tmp_path / "the new place")
    with pytest.raises(BadChoiceError) as moved:
        await agent_ls.open_session(**given, resume=session.id)
    variable, program, *arguments = shlex.split(moved.value.hint.split("`")[1])
    assert program == "agent-ls"
    name, _, state = variable.partition("=")
    await anyio.run_process([sys.executable, "-m", "agent_ls", *arguments], env=os.environ | {name: state})
    async with agent_ls.open_session(**given, resume=session.id) as session:
        assert await session.ask("on") == "Again."
