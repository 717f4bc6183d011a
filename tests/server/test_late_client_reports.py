"""Reports of editors: an edit that is confirmed and not made, and files that change below an open document."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.environments.editor_host import LineEdit
from agent_ls.environments.errors import EditRefusedError, StaleFileError
from tests.e2e.test_watching import OLD, READ, editing
from tests.server.test_editor_host import host_rig
from tests.support.lying_editor import Manners

pytestmark = pytest.mark.req("H4")


@pytest.mark.report("sublimelsp/LSP#2896")
async def test_an_edit_that_is_only_confirmed_is_no_success() -> None:
    async with host_rig(Manners(stale="lie")) as found:
        found.editor.on_request = lambda: found.editor.type(0, "X")
        with pytest.raises((EditRefusedError, StaleFileError)):
            await found.edit(LineEdit(1, 2, ""))
        assert found.editor.text == "Xone\ntwo\nthree\n"
        assert not [it for it in found.listener.reports if it[0] == "agent"]


@pytest.mark.report("eclipse-archived/xtext-core#888")  # fmt: skip
async def test_the_text_of_an_open_document_stays_when_its_file_changes(tmp_path: Path) -> None:
    async with editing(tmp_path, [[READ], "One.", [READ], "Two."], {"dynamicRegistration": True}) as (
        editor,
        file,
        provider,
    ):
        session = await editor.new_session(provider="anthropic", mode="full")
        await editor.open(file, OLD + "unsaved\n")
        await editor.say(session, "Read it.")
        file.write_text("other\n")
        await editor.client.notify(
            "workspace/didChangeWatchedFiles", {"changes": [{"uri": file.as_uri(), "type": 2}]}
        )
        await editor.say(session, "Read it again.")
        assert "unsaved" in str(provider.requests[-1].body["messages"][-1])
        assert "other" not in str(provider.requests[-1].body["messages"][-1])
