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
