"""The patch of a session in a subfolder of a git repository is one that git applies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import agent_ls
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text
from tests.support.git import git

pytestmark = pytest.mark.req("H6", "H13")


async def patch_of(tmp_path: Path, folder: Path, **more: Any) -> str:
    """Return the patch of a session that edits a file in its folder, and writes one there and one beside it."""
    model = FakeProvider(
        [
            call("read_file", file_path="a.txt"),
            call("edit_file", file_path="a.txt", old_string="one", new_string="two"),
            call("write_file", file_path="new/b.txt", content="b\n"),
            call("write_file", file_path="../beside/c.txt", content="c\n"),
            text("Done."),
        ]
    )
    given = options(tmp_path, model, mode="full", trusted=True) | {"folder": folder}
    given["beside"] = [folder.parent / "beside"] * ("worktree" not in more)
    async with agent_ls.open_session(**given, **more) as session:
        await session.ask("go")
        return await session.patch()


@pytest.fixture
def sub(tmp_path: Path) -> Path:
    folder = tmp_path / "project" / "sub"
    (folder.parent / "beside").mkdir(parents=True)
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    (folder.parent / "beside" / "kept.txt").touch()
    return folder


def commit(top: Path) -> None:
    git(top, "init", "-q")
    git(top, "add", ".")
    git(top, "commit", "-qm", "first")


@pytest.mark.parametrize("where", [".", "sub"])
@pytest.mark.parametrize("worktree", [False, True], ids=["folder", "worktree"])
async def test_git_applies_the_patch_of_a_subfolder_at_the_root_and_in_the_subfolder(
    tmp_path: Path, sub: Path, where: str, worktree: bool
) -> None:
    top = sub.parent
    commit(top)
    patch = tmp_path / "session.patch"
    patch.write_text(await patch_of(tmp_path, sub, **{"worktree": "head"} if worktree else {}))
    git(top, "checkout", "-q", ".")
    git(top, "clean", "-fdq")

    git(top / where, "apply", str(patch))

    assert (sub / "a.txt").read_text() == "two\n"
    assert (sub / "new" / "b.txt").read_text() == "b\n"
    assert (top / "beside" / "c.txt").exists() == (where == "." and not worktree)


async def test_a_folder_that_is_named_by_a_link_has_the_same_patch(tmp_path: Path, sub: Path) -> None:
    commit(sub.parent)
    link = tmp_path / "link" / "sub"
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "beside").mkdir()
    link.symlink_to(sub)
    patch = await patch_of(tmp_path, link)
    assert "+++ b/sub/a.txt\n" in patch and "+++ b/sub/new/b.txt\n" in patch


async def test_without_a_repository_the_paths_are_relative_to_the_folder(tmp_path: Path, sub: Path) -> None:
    patch = await patch_of(tmp_path, sub)
    assert "+++ b/a.txt\n" in patch and "beside/c.txt" in patch.partition("---\n")[0]
