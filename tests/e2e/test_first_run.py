"""First messages in an editor that cannot begin, and how the same session goes on once the cause is mended.

The rows of tests/support/first_runs.py, in a chat document, with the messages of the rich clients, and in the chat of
VS Code without its editor. tests/neovim/test_first_run.py has them in Neovim.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests.e2e.stock import StockEditor
from tests.e2e.test_keys import RIGHT, editing, give
from tests.support.editor import Editor
from tests.support.first_runs import LAST, MADE, STATES, Blocked, blocked
from tests.support.framed_client import server_process
from tests.support.loopback import OpenAIResponsesServer
from tests.support.vscode_chat import build, vscode_chat

pytestmark = pytest.mark.req("H16", "U8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def variables_of(state: Blocked, project: Path) -> dict[str, str]:
    home = project.parent / "home"
    return {
        "AGENT_LS_STATE_DIR": str(home / "state"), "HOME": str(home), TRUST_VARIABLE: os.sep, **state.variables
    }  # fmt: skip


def check_words(state: Blocked, words: list[str]) -> None:
    """Check that the line which names the reason comes before the line which says what to do."""
    lines = [line.lower() for line in words]
    (first, *_) = [number for number, line in enumerate(lines) if state.reason in line] or [len(lines)]
    assert any(state.step in line for line in lines[first:]), words


@pytest.mark.parametrize("name", STATES)
async def test_a_chat_document_says_what_blocks_the_first_message_and_goes_on_when_it_is_mended(
    name: str, project: Path
) -> None:
    with blocked(name, project) as state:
        async with server_process(env=variables_of(state, project)) as server:
            editor = StockEditor(server.client, "neovim")
            editor.on_prompt = lambda titles: "Do not trust it" if "Do not trust it" in titles else None
            settings: dict[str, Any] = {"mode": "edits", **state.choice}
            await editor.start(project, **settings)
            await editor.open(project / "chat.agent.md", "")
            await editor.say("Make it.")
            text = await editor.chat_until("## you", after="## agent")
            check_words(state, [line for line in text.splitlines() if line.startswith("> ")])
            assert (project / MADE).exists() == state.goes_on
            if not state.goes_on:
                await anyio.to_thread.run_sync(state.mend)
                await editor.say("And now?")
                text = await editor.chat_until(LAST, after="And now?")
            assert (project / MADE).exists()
            assert (
                len({line.split()[3] for line in text.splitlines() if line.startswith("## agent <!-- s-")})
                == 1
            )


@pytest.mark.parametrize("name", STATES)
async def test_a_blocked_first_message_says_why_and_the_same_session_goes_on_when_it_is_mended(
    name: str, project: Path
) -> None:
    with blocked(name, project) as state:
        async with (
            server_process(env=variables_of(state, project)) as server,
            anyio.create_task_group() as tasks,
        ):
            editor = Editor(server.client)
            await editor.start(project)
            session_id = await editor.new_session(**{"provider": None, "mode": "edits", **state.choice})
            tasks.start_soon(refuse_trust, editor)
            ended = await editor.say(session_id, "Make it.")
            assert ended == {"untrusted folder": "refused", "no tools": "completed"}.get(name, "error")
            shown = [event["data"] for event in editor.client.events if event["kind"] in ("error", "warning")]
            check_words(state, [words for data in shown for words in (data["message"], data.get("hint", ""))])
            assert (project / MADE).exists() == state.goes_on
            if not state.goes_on:
                await anyio.to_thread.run_sync(state.mend)
                if name == "wrong key":  # the refusal has closed the session, so the editor opens it again
                    await editor.subscribe(session_id)
                assert await editor.say(session_id, "And now?") == "completed"
            assert (project / MADE).exists()
            tasks.cancel_scope.cancel()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("vscode"))


BUTTONS = {"agent-ls keys set": "set api key"}
"""What the chat of VS Code offers as a button in place of a sentence."""


@pytest.mark.req("H9")
@pytest.mark.parametrize("name", STATES)
async def test_the_chat_of_vscode_says_what_blocks_the_first_message_and_goes_on_when_it_is_mended(
    name: str, project: Path, program: Path
) -> None:
    with blocked(name, project) as state:
        choice = {"mode": "edits", **state.choice}
        async with vscode_chat(program, project, variables_of(state, project), choice) as chat:
            await chat.say("Make it.")
            if name == "untrusted folder":
                await chat.until(lambda now: "Do Not Trust It" in now.buttons)
                await chat.press("Do Not Trust It")
            before = await chat.until(lambda now: now.is_idle and bool(now.lines))
            named = replace(state, step=BUTTONS.get(state.step, state.step))
            check_words(named, [*before.lines, *before.buttons])
            assert (project / MADE).exists() == state.goes_on
            if not state.goes_on:
                await anyio.to_thread.run_sync(state.mend)
                await chat.say("And now?")
            after = await chat.until(lambda now: now.is_idle and LAST in now.lines)
            assert (project / MADE).exists() and after.session == before.session


async def refuse_trust(editor: Editor) -> None:
    await editor.approve(await editor.client.event("approval_requested", tool="trust"), "deny")


async def test_a_session_without_a_chosen_model_uses_the_provider_whose_key_the_user_enters(
    project: Path,
) -> None:
    with OpenAIResponsesServer(["Hello."], key=RIGHT) as provider:
        variables = {"OPENAI_BASE_URL": provider.base_url}
        async with editing(project, "http://127.0.0.1:9", **variables) as (editor, _):
            session_id = await editor.new_session(provider=None)
            assert await editor.say(session_id, "Hello?") == "error"
            await give(editor, RIGHT, "openai")
            assert await editor.say(session_id, "And now?") == "completed"
