from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_ls.environments.base import (
    Attribution,
    CommandOptions,
    ExecutionEnvironment,
    FileWrite,
    GrepOptions,
)
from agent_ls.environments.editor import EditorEnvironment
from agent_ls.environments.effects import PlannedWrite, ReadEffect, WriteEffect
from agent_ls.environments.errors import AccessDeniedError, OutsideBoundsError, PathNotFoundError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.notebooks import NotebookEnvironment
from agent_ls.environments.wrappers.bounded import BoundedEnvironment
from agent_ls.services.permissions.paths import PathBounds, places_of, read_effect_facts
from tests.environments.test_notebooks import TEXT as NOTEBOOK, FakeNotebookHost
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.sandboxes import needs_bubblewrap

pytestmark = pytest.mark.req("X6")

MOVED = "resolved to another file"
CALL = Attribution("s", "t", "call")


class Guarded:
    """A workspace, a folder `outside` next to it, and a home folder with keys."""

    def __init__(self, folder: Path, *, opens_here: bool) -> None:
        self.opens_here = opens_here
        self.outside = folder / "outside"
        self.root = folder / "work"
        for made in (self.outside, self.root):
            made.mkdir()
        (self.outside / "secret.txt").write_text("secret\n")
        (self.root / "a.txt").write_text("mine\n")
        self.keys = Path.home() / ".ssh"
        self.keys.mkdir()
        (self.keys / "id").write_text("key\n")
        self.bounds = PathBounds(places_of(str(self.root)))
        self.environment = self.bounded(LocalEnvironment(str(self.root)))

    def bounded(self, inner: ExecutionEnvironment) -> BoundedEnvironment:
        return BoundedEnvironment(inner, self.bounds, opens_here=self.opens_here)

    def allow_write(self, *names: str, call_id: str = "call") -> None:
        paths = [str(self.root / name) for name in names]
        effect = WriteEffect(tuple(PlannedWrite(path, "modify", "", "") for path in paths))
        self.bounds.register_allowed(
            effect, read_effect_facts(effect, self.bounds.places).resolved, call_id=call_id, turn_id="t"
        )

    def allow_read(self, path: Path) -> None:
        effect = ReadEffect((str(path),))
        self.bounds.register_allowed(
            effect, read_effect_facts(effect, self.bounds.places).resolved, call_id="call", turn_id="t"
        )

    async def write(self, name: str, content: str, base: str | None, who: Attribution = CALL) -> None:
        before = base.encode() if base is not None else None
        await self.environment.commit([FileWrite(str(self.root / name), content.encode(), before)], who)


@pytest.fixture(params=[False, True], ids=["checked before", "checked when opened"])
async def guarded(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Guarded]:
    made = Guarded(tmp_path, opens_here=request.param)
    await made.environment.initialize()
    yield made
    await made.environment.cleanup()


async def test_a_read_below_the_root_is_allowed(guarded: Guarded) -> None:
    assert await guarded.environment.read_bytes("a.txt") == b"mine\n"
    assert await guarded.environment.read_bytes(str(guarded.root / "a.txt")) == b"mine\n"


async def test_an_open_document_outside_the_workspace_is_not_read_without_approval(guarded: Guarded) -> None:
    outside = guarded.outside / "secret.txt"
    host = FakeEditorHost({str(outside): "typed\n", str(guarded.root / "a.txt"): "typed here\n"})
    guarded.environment = guarded.bounded(EditorEnvironment(LocalEnvironment(str(guarded.root)), host))
    assert await guarded.environment.read_bytes("a.txt") == b"typed here\n"
    with pytest.raises(OutsideBoundsError):
        await guarded.environment.read_bytes(str(outside))
    guarded.allow_read(outside)
    assert await guarded.environment.read_bytes(str(outside)) == b"typed\n"


async def test_read_errors_do_not_reveal_whether_an_outside_path_is_a_folder(guarded: Guarded) -> None:
    for path in (guarded.outside, guarded.keys):
        with pytest.raises((OutsideBoundsError, AccessDeniedError)) as refused:
            await guarded.environment.read_bytes(str(path))
        assert "directory" not in str(refused.value)
    with pytest.raises(OutsideBoundsError):
        await guarded.environment.list_directory(str(guarded.outside / "secret.txt"))


OUTSIDE = ["../outside/secret.txt", "link.txt", "folder/secret.txt"]


@pytest.mark.parametrize("path", OUTSIDE)
async def test_a_read_outside_the_workspace_needs_approval(guarded: Guarded, path: str) -> None:
    (guarded.root / "link.txt").symlink_to(guarded.outside / "secret.txt")
    (guarded.root / "folder").symlink_to(guarded.outside)
    with pytest.raises(OutsideBoundsError) as refused:
        await guarded.environment.read_bytes(path)
    assert refused.value.real == str(guarded.outside / "secret.txt")
    guarded.allow_read(guarded.root / path)
    assert await guarded.environment.read_bytes(path) == b"secret\n"


async def test_a_read_approval_ends_when_the_link_points_elsewhere(
    guarded: Guarded,
) -> None:
    link = guarded.root / "link.txt"
    link.symlink_to(guarded.outside / "secret.txt")
    guarded.allow_read(link)
    (guarded.outside / "other.txt").write_text("other\n")
    link.unlink()
    link.symlink_to(guarded.outside / "other.txt")
    with pytest.raises(OutsideBoundsError):
        await guarded.environment.read_bytes("link.txt")


async def test_listing_searching_and_running_commands_outside_the_workspace_is_refused(
    guarded: Guarded,
) -> None:
    outside = str(guarded.outside)
    for look in (
        guarded.environment.list_directory(outside),
        guarded.environment.grep("secret", outside, GrepOptions()),
        guarded.environment.glob("*", outside),
        guarded.environment.exec_command("true", CommandOptions(working_dir=outside)),
        guarded.environment.start_process("true", CommandOptions(working_dir=outside)),
    ):
        with pytest.raises(OutsideBoundsError):
            await look


async def test_a_missing_file_outside_the_workspace_is_reported_as_not_found(
    guarded: Guarded,
) -> None:
    with pytest.raises(PathNotFoundError):
        await guarded.environment.read_bytes("../outside/new.txt")


@pytest.mark.parametrize("name", ["id", "../.ssh/id"])
async def test_credentials_are_never_read_even_with_approval(guarded: Guarded, name: str) -> None:
    path = guarded.keys / name
    guarded.allow_read(path)
    with pytest.raises(AccessDeniedError, match="credentials"):
        await guarded.environment.read_bytes(str(path))


async def test_a_search_skips_credentials_below_the_root(tmp_path: Path) -> None:
    made = Guarded(tmp_path, opens_here=True)
    (Path.home() / "notes.txt").write_text("a key\n")
    home = BoundedEnvironment(LocalEnvironment(str(Path.home())), PathBounds(places_of(str(Path.home()))))
    found = await home.grep("key", ".", GrepOptions())
    assert [line.path for line in found.lines] == ["notes.txt"]
    with pytest.raises(AccessDeniedError):
        await home.read_bytes(str(made.keys / "id"))


async def test_a_write_goes_to_the_path_that_the_policy_checked(guarded: Guarded) -> None:
    guarded.allow_write("a.txt")
    await guarded.write("a.txt", "new\n", "mine\n")
    assert (guarded.root / "a.txt").read_text() == "new\n"


async def test_a_write_without_a_policy_decision_is_refused(guarded: Guarded) -> None:
    guarded.allow_write("a.txt", call_id="another")
    with pytest.raises(AccessDeniedError, match="was not approved"):
        await guarded.write("a.txt", "new\n", "mine\n")
    assert (guarded.root / "a.txt").read_text() == "mine\n"


@pytest.mark.parametrize("content", [b"new\n", None], ids=["changed", "deleted"])
async def test_an_open_document_is_not_changed_without_approval(
    guarded: Guarded, content: bytes | None
) -> None:
    """A document is changed in the editor, so that no environment opens its file before the change."""
    path = guarded.root / "a.txt"
    (guarded.root / "b.txt").write_text("mine\n")
    host = FakeEditorHost({str(path): "mine\n"}, on_disk=True)
    guarded.environment = guarded.bounded(EditorEnvironment(LocalEnvironment(str(guarded.root)), host))
    writes = [FileWrite(name, content, b"mine\n") for name in ("a.txt", "b.txt")]
    guarded.allow_write("b.txt")
    for writes_of_call in (writes, writes[:1]):
        with pytest.raises(AccessDeniedError, match="was not approved"):
            await guarded.environment.commit(writes_of_call, CALL)
    assert host.text(str(path)) == path.read_text() == (guarded.root / "b.txt").read_text() == "mine\n"
    guarded.allow_write("a.txt", "b.txt")
    await guarded.environment.commit(writes, CALL)
    assert path.exists() == (content is not None)


async def test_an_open_notebook_is_not_changed_without_approval(guarded: Guarded) -> None:
    path = guarded.root / "a.ipynb"
    path.write_text(NOTEBOOK)
    host = FakeNotebookHost(path=str(path))
    local = LocalEnvironment(str(guarded.root))
    guarded.environment = guarded.bounded(NotebookEnvironment(local, host))
    new = NOTEBOOK.replace("print(1)", "print(2)")
    with pytest.raises(AccessDeniedError, match="was not approved"):
        await guarded.write("a.ipynb", new, NOTEBOOK)
    assert host.asked == []
    guarded.allow_write("a.ipynb")
    await guarded.write("a.ipynb", new, NOTEBOOK)
    assert len(host.asked) == 1


async def test_a_write_that_changes_nothing_needs_no_approval(guarded: Guarded) -> None:
    await guarded.write("a.txt", "mine\n", "mine\n")


async def test_a_write_is_refused_if_the_file_became_a_link_after_the_policy_check(guarded: Guarded) -> None:
    guarded.allow_write("a.txt")
    (guarded.root / "a.txt").unlink()
    (guarded.root / "a.txt").symlink_to(guarded.outside / "secret.txt")
    with pytest.raises(AccessDeniedError, match="resolves to"):
        await guarded.write("a.txt", "new\n", "secret\n")
    assert (guarded.outside / "secret.txt").read_text() == "secret\n"


async def test_a_write_is_refused_if_a_folder_became_a_link_after_the_policy_check(guarded: Guarded) -> None:
    (guarded.root / "sub").mkdir()
    guarded.allow_write("sub/new.txt")
    (guarded.root / "sub").rmdir()
    (guarded.root / "sub").symlink_to(guarded.outside)
    with pytest.raises(AccessDeniedError, match="resolves to"):
        await guarded.write("sub/new.txt", "new\n", None)
    assert not (guarded.outside / "new.txt").exists()


async def test_no_file_is_written_if_one_write_of_a_commit_resolves_to_an_unapproved_path(
    guarded: Guarded,
) -> None:
    guarded.allow_write("a.txt", "b.txt")
    (guarded.root / "b.txt").symlink_to(guarded.outside / "secret.txt")
    writes = [
        FileWrite(str(guarded.root / "a.txt"), b"new\n", b"mine\n"),
        FileWrite(str(guarded.root / "b.txt"), b"new\n", b"secret\n"),
    ]
    with pytest.raises(AccessDeniedError):
        await guarded.environment.commit(writes, CALL)
    assert (guarded.root / "a.txt").read_text() == "mine\n"


async def test_a_write_permission_ends_with_the_turn(guarded: Guarded) -> None:
    guarded.allow_write("a.txt")
    effect = ReadEffect((str(guarded.root),))
    guarded.bounds.register_allowed(
        effect, read_effect_facts(effect, guarded.bounds.places).resolved, call_id="later", turn_id="t2"
    )
    with pytest.raises(AccessDeniedError):
        await guarded.write("a.txt", "new\n", "mine\n")


async def test_paths_below_a_root_opened_through_a_symlink_are_inside_by_link_and_target_name(
    tmp_path: Path,
) -> None:
    made = Guarded(tmp_path, opens_here=True)
    link = tmp_path / "by-link"
    link.symlink_to(made.root)
    places = places_of(str(link))
    assert places.is_inside(str(link / "a.txt")) and places.is_inside(str(made.root / "a.txt"))
    assert not places.is_inside(str(tmp_path / "work-2"))


# -- between the check and the access


class Swapping(PathBounds):
    """A path policy that replaces the folder `sub` by a link to the outside right after each check."""

    def __init__(self, guarded: Guarded) -> None:
        super().__init__(guarded.bounds.places)
        self._guarded = guarded

    def check_readable(self, path: str) -> str:
        real = super().check_readable(path)
        self.swap()
        return real

    def check_writable(self, path: str, call_id: str) -> None:
        super().check_writable(path, call_id)
        self.swap()

    def swap(self) -> None:
        sub = self._guarded.root / "sub"
        if not sub.is_symlink():
            sub.rename(self._guarded.root / "moved")
            sub.symlink_to(self._guarded.outside)


@pytest.fixture
async def swapped(guarded: Guarded) -> Guarded:
    (guarded.root / "sub").mkdir()
    (guarded.root / "sub" / "secret.txt").write_text("harmless\n")
    guarded.bounds = Swapping(guarded)
    guarded.environment = guarded.bounded(LocalEnvironment(str(guarded.root)))
    return guarded


async def test_a_folder_that_becomes_a_link_after_the_check_is_not_read(swapped: Guarded) -> None:
    with pytest.raises(AccessDeniedError, match=MOVED):
        await swapped.environment.read_bytes("sub/secret.txt")


async def test_a_folder_that_becomes_a_link_after_the_check_is_not_listed(swapped: Guarded) -> None:
    with pytest.raises(AccessDeniedError, match=MOVED):
        await swapped.environment.list_directory("sub")


async def test_a_folder_that_becomes_a_link_after_the_check_is_not_searched(swapped: Guarded) -> None:
    found = await swapped.environment.grep("secret|harmless", "sub", GrepOptions())
    assert found.lines == ()


@pytest.mark.parametrize("base", ["secret\n", None], ids=["changed", "made"])
async def test_a_folder_that_becomes_a_link_after_the_check_is_not_written(
    swapped: Guarded, base: str | None
) -> None:
    name = "sub/secret.txt" if base else "sub/new.txt"
    swapped.allow_write(name)
    with pytest.raises(AccessDeniedError, match=MOVED):
        await swapped.write(name, "x", base)
    assert [path.name for path in swapped.outside.iterdir()] == ["secret.txt"]
    assert (swapped.outside / "secret.txt").read_text() == "secret\n"


# -- other names, other disks


async def test_a_hard_link_to_a_credentials_file_is_not_read(guarded: Guarded) -> None:
    (guarded.root / "hard").hardlink_to(guarded.keys / "id")
    (guarded.root / "twin").hardlink_to(guarded.root / "a.txt")
    with pytest.raises(AccessDeniedError, match="a hard link to a file that contains credentials"):
        await guarded.environment.read_bytes("hard")
    assert await guarded.environment.read_bytes("twin") == b"mine\n"


@needs_bubblewrap
def test_a_mount_below_the_root_counts_as_inside(tmp_path: Path) -> None:
    """Only the owner of the machine can mount a file system; the model cannot."""
    root, outside = tmp_path / "work", tmp_path / "outside"
    (root / "mounted").mkdir(parents=True)
    outside.mkdir()
    (outside / "data.txt").write_text("data\n")
    mount = ["bwrap", "--dev-bind", "/", "/", "--bind", str(outside), str(root / "mounted")]
    done = subprocess.run(
        [*mount, sys.executable, "-c", READ_MOUNTED, str(root)], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "data\n", done.stderr


READ_MOUNTED = """
import sys, anyio
from agent_ls.services.permissions.paths import PathBounds, places_of
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.wrappers.bounded import BoundedEnvironment

async def main(root):
    place = BoundedEnvironment(LocalEnvironment(root), PathBounds(places_of(root)))
    print((await place.read_bytes("mounted/data.txt")).decode(), end="")

anyio.run(main, sys.argv[1])
"""


@pytest.mark.req("L5")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which disks are of this machine")
@pytest.mark.parametrize(
    "major, names, is_near",
    [
        pytest.param(8, ["a.txt"], True, id="the session has opened it"),
        pytest.param(8, ["b.txt", "new.txt"], True, id="others of the same folder"),
        pytest.param(8, ["link.txt"], False, id="a link may lead to another disk"),
        pytest.param(8, ["a.txt", "sub/c.txt"], False, id="the session has opened nothing in that folder"),
        pytest.param(8, [], False, id="no files"),
        pytest.param(0, ["a.txt"], False, id="a network"),
    ],
)
async def test_files_in_folders_that_the_session_has_used_on_a_disk_are_near(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch, major: int, names: list[str], is_near: bool
) -> None:
    monkeypatch.setattr(os, "major", lambda device: major)
    (guarded.root / "link.txt").symlink_to(guarded.outside / "secret.txt")
    await guarded.environment.read_bytes("a.txt")
    effect = ReadEffect(tuple(str(guarded.root / name) for name in names))
    assert guarded.bounds.are_near(effect) == is_near
