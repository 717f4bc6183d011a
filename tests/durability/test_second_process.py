"""Each session has one owner. Another process gets an error that names the owner, and can open the session after its
end.
"""

from __future__ import annotations

import json
import signal
from pathlib import Path

import anyio.to_thread
import pytest

from tests.durability.story import environment
from tests.support.commands import environment as bare_environment, provider_variables, run
from tests.support.editor import Editor
from tests.support.framed_client import ResponseError, ServerProcess, server_process
from tests.support.loopback import AnthropicServer

pytestmark = pytest.mark.req("R7", "H2")


async def test_a_session_of_another_process_is_read_only_and_can_be_opened_after_that_process_ends(
    tmp_path: Path,
) -> None:
    with AnthropicServer(["One.", "Two.", "Three."]) as provider:
        env = environment(provider, tmp_path / "state")
        async with server_process(env=env) as owner, server_process(env=env) as other:
            first, second = await _editor(owner, tmp_path), await _editor(other, tmp_path)
            session_id = await first.new_session(provider="anthropic")
            read = (await second.subscribe(session_id))["session"]
            assert (read["access"], read["owner"]["pid"]) == ("readOnly", owner.process.pid)
            with pytest.raises(ResponseError) as busy:
                await second.submit(session_id, "Mine?")
            assert (busy.value.code, busy.value.data["kind"]) == (1002, "session_busy")
            assert busy.value.data["hint"]
            (listed,) = (await second.client.request("agent/sessions", {}))["sessions"]
            assert (listed["id"], listed["live"]) == (session_id, False)

            environ = bare_environment(tmp_path, **provider_variables(provider))
            found = await anyio.to_thread.run_sync(
                lambda: run("sessions", "show", session_id, "--json", cwd=tmp_path, environ=environ)
            )
            named = f"Visual Studio Code, process {owner.process.pid} on "
            assert json.loads(found.out)["owner"].startswith(named)
            table = await anyio.to_thread.run_sync(lambda: run("sessions", cwd=tmp_path, environ=environ))
            assert f"[open in {named}" in table.out
            resume = ("exec", "--resume", session_id, "Go on.")
            refused = await anyio.to_thread.run_sync(lambda: run(*resume, cwd=tmp_path, environ=environ))
            assert refused.code == 1
            assert f"process {owner.process.pid}" in refused.err
            assert "Traceback" not in refused.err

            await first.submit(session_id, "Still mine?")
            await first.client.event("assistant_text_end", text="One.")
            owner.process.send_signal(signal.SIGKILL)
            await owner.exit_code()
            resumed = await second.subscribe(session_id)
            assert any(event["kind"] == "assistant_text_end" for event in resumed["events"])
            await second.submit(session_id, "Mine now?")
            await second.client.event("assistant_text_end", text="Two.")

            await second.client.request("agent/abort", {"sessionId": session_id})
            await second.client.event("session_end")
            done = await anyio.to_thread.run_sync(lambda: run(*resume, cwd=tmp_path, environ=environ))
            assert (done.code, "Three." in done.out) == (0, True), done


async def _editor(server: ServerProcess, root: Path) -> Editor:
    editor = Editor(server.client)
    await editor.start(root)
    return editor
