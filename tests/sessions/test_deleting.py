"""Deleting a session removes all its stored data.

If the session's last turn changes a file during the deletion, the session stays unless the deletion is forced.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.environments.editor_host import AppliedEdit
from agent_ls.services.errors import SessionHasHunksError, UnknownSessionError
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.fake_provider import Piece, tool_call
from tests.support.session_rig import DEADLINE_S, running

pytestmark = pytest.mark.req("H2", "H6")


class SlowHost(FakeEditorHost):
    """An editor that applies an edit only when the test allows it, even if the request was cancelled."""

    def __init__(self, texts: dict[str, str]) -> None:
        super().__init__(texts)
        self.is_asked, self.may_apply = anyio.Event(), anyio.Event()

    async def apply_edit(self, *edit: Any) -> AppliedEdit:
        with anyio.CancelScope(shield=True):
            self.is_asked.set()
            await self.may_apply.wait()
            applied = await super().apply_edit(*edit)
        return applied


@pytest.mark.parametrize("force", [False, True])
async def test_a_session_whose_turn_creates_a_hunk_during_deletion_is_not_deleted_unless_forced(
    tmp_path: Path, force: bool
) -> None:
    work = tmp_path / "project"
    work.mkdir()
    (work / "a.txt").write_text("one\nkeep\n")
    arguments = {"file_path": "a.txt", "old_string": "one", "new_string": "ONE"}
    script: Sequence[Piece | Sequence[Piece]] = [
        [tool_call("read_file", json.dumps({"file_path": "a.txt"}), id="c-read")],
        [tool_call("edit_file", json.dumps(arguments), id="c-edit")],
    ]
    host = SlowHost({str(work / "a.txt"): "one\nkeep\n"})
    async with running(tmp_path, script, host=host) as rig:
        talk = await rig.talk("edits")
        refused: list[SessionHasHunksError] = []

        async def delete() -> None:
            try:
                await rig.manager.delete_session(talk.session_id, force=force)
            except SessionHasHunksError as error:
                refused.append(error)

        with anyio.fail_after(DEADLINE_S):
            async with anyio.create_task_group() as group:
                talk.live.session.submit("go")
                await host.is_asked.wait()
                group.start_soon(delete)
                await anyio.wait_all_tasks_blocked()
                host.may_apply.set()
        assert host.text(str(work / "a.txt")) == "ONE\nkeep\n"
        if force:
            assert not refused and not rig.manager.review.open_hunks()
            with pytest.raises(UnknownSessionError):
                await rig.manager.open_session(talk.session_id)
        else:
            assert len(refused) == 1
            await rig.manager.open_session(talk.session_id)
            ((hunk,),) = rig.manager.review.open_hunks().values()
            assert hunk.state == "pending"
