"""Permission bits of files that a command deleted, renamed or created."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

pytestmark = [
    pytest.mark.req("X4"),
    pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits"),
]
WAYS: dict[str, Any] = {
    "rm": call("shell", command="rm x.sh"),
    "mv": call("shell", command="mv x.sh y.sh"),
}


def script(tmp_path: Path) -> Path:
    path = tmp_path / "project" / "x.sh"
    path.parent.mkdir()
    path.write_text("echo x\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("way", WAYS)
async def test_a_rollback_in_another_process_restores_the_mode_of_a_file(tmp_path: Path, way: str) -> None:
    path = script(tmp_path)
    given = options(tmp_path, FakeProvider([WAYS[way], text("Done.")]), mode="full", approve=lambda _: True)
    async with agent_ls.open_session(**given) as session:
        events: list[Any] = [event async for event in session.run("go")]
        assert not path.exists()
    async with agent_ls.open_session(**given, resume=session.id) as again:
        result = await again.roll_back(events[-1].turn_id)
    assert {file.state for file in result.files} == {"restored"}
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("echo x\n", 0o755)


async def test_a_patch_has_the_modes_of_new_and_deleted_files(tmp_path: Path) -> None:
    script(tmp_path)
    command = "mv x.sh y.sh; echo 1 > plain.txt"
    model = FakeProvider([call("shell", command=command), text("Done.")])
    async with agent_ls.open_session(
        **options(tmp_path, model, mode="full", approve=lambda _: True)
    ) as session:
        await session.ask("go")
        lines = [line for line in (await session.patch()).splitlines() if " file mode " in line]
    assert lines == ["new file mode 100644", "deleted file mode 100755", "new file mode 100755"]


NAMED: dict[str, tuple[str, list[str]]] = {
    "executable": ("chmod 755 plain", ["plain: its mode changed from 100644 to 100755"]),
    "executable and changed": (
        "echo 2 >> plain; chmod 755 plain",
        ["plain: its mode changed from 100644 to 100755"],
    ),
    "there and back": ("chmod 755 plain", []),
    "new link": ("ln -s plain link", ["link: it is or was a symbolic link"]),
    "other link": ("ln -sfn elsewhere old", ["old: it is or was a symbolic link"]),
    "removed link": ("rm old", ["old: it is or was a symbolic link"]),
    "link for a file": (
        "rm plain; ln -s old plain",
        ["plain: it is or was a symbolic link"],
    ),
    "same link": ("ln -sfn target old", []),
}


@pytest.mark.parametrize("way", NAMED)
async def test_a_patch_names_changed_permission_bits_and_links(tmp_path: Path, way: str) -> None:
    command, named = NAMED[way]
    project = tmp_path / "project"
    project.mkdir()
    (project / "plain").write_text("1\n")
    (project / "plain").chmod(0o644)
    (project / "old").symlink_to("target")
    second = [call("shell", command="chmod 644 plain")] if way == "there and back" else []
    model = FakeProvider([call("shell", command=command), *second, text("Done.")])
    given = options(tmp_path, model, mode="full", approve=lambda _: True)
    async with agent_ls.open_session(**given) as session:
        events = [event async for event in session.run("go")]
        patch = await session.patch()
        assert await session.patch(events[-1].turn_id) == patch
    notes = [line for line in patch.splitlines() if line.startswith("Note: ")]
    assert [note.split(", which")[0].removeprefix("Note: ") for note in notes] == named
    assert await agent_ls.read_patch(session.id, state_dir=given["state_dir"]) == patch
    if named:
        assert "file_change" in {event.kind for event in events}


@pytest.mark.parametrize("command", ["chmod 755 x", "rm x; ln -s y x"])
async def test_what_is_in_no_text_is_named_by_an_undo_and_a_roll_back(tmp_path: Path, command: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "x").write_text("1\n")
    (project / "x").chmod(0o644)
    model = FakeProvider([call("shell", command=command), text("Done.")])
    given = options(tmp_path, model, mode="full", approve=lambda _: True)
    async with agent_ls.open_session(**given) as session:
        events = [event async for event in session.run("go")]
        (reason,) = await session.review("undo")
        assert reason.startswith("x: ")
        result = await session.roll_back(events[-1].turn_id)
    assert [(Path(file.path).name, file.state) for file in result.files] == [("x", "unknown")]
