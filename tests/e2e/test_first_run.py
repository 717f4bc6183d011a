"""First messages in an editor that cannot begin, and how the same session goes on once the cause is mended."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.test_keys import RIGHT, editing, give, say
from tests.support.editor import Editor
from tests.support.first_runs import STATES, blocked
from tests.support.framed_client import server_process
from tests.support.loopback import OpenAIResponsesServer

pytestmark = pytest.mark.req("H16", "U8")


@pytest.mark.parametrize("name", STATES)
async def test_a_blocked_first_message_says_why_and_the_same_session_goes_on_when_it_is_mended(
    name: str, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    state_folder = tmp_path / "home" / "state"
    with blocked(name, project, ["Hello."]) as state:
        env = {"AGENT_LS_STATE_DIR": str(state_folder), "HOME": str(tmp_path / "home"), **state.variables}
        async with server_process(env=env) as server:
            editor = Editor(server.client)
            await editor.start(project)
            session_id = await editor.new_session(**{"provider": None, **state.choice})
            assert await say(editor, session_id, "Hello?") == "error"
            (error,) = [event["data"] for event in editor.client.events if event["kind"] == "error"]
            assert state.reason in error["message"].lower(), error
            assert state.step in error["hint"].lower(), error
            state.mend()
            if name == "wrong key":  # the refusal has closed the session, so the editor opens it again
                await editor.subscribe(session_id)
            assert await say(editor, session_id, "And now?") == "completed"


async def test_a_session_without_a_chosen_model_uses_the_provider_whose_key_the_user_enters(
    tmp_path: Path,
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with OpenAIResponsesServer(["Hello."], key=RIGHT) as provider:
        variables = {"OPENAI_BASE_URL": provider.base_url}
        async with editing(project, "http://127.0.0.1:9", **variables) as (editor, _):
            session_id = await editor.new_session(provider=None)
            assert await say(editor, session_id, "Hello?") == "error"
            await give(editor, RIGHT, "openai")
            assert await say(editor, session_id, "And now?") == "completed"
