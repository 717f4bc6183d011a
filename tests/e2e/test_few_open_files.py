"""A server at its limit of open files reports this, loses no data, and works again after some files are closed."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.framed_client import SERVE, ResponseError, is_event
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.served import Served, served

pytestmark = [
    pytest.mark.req("R5"),
    pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit"),
]

LIMIT = "limit of open files"
MOST = 200


def limited(count: int) -> tuple[str, ...]:
    return ("sh", "-c", f'ulimit -n {count}; exec "$@"', "sh", *SERVE)


def work(body: Mapping[str, Any]) -> Any:
    """Answer as a model that runs the last line of the user's message as a command; `sleep` in the background."""
    last = body["messages"][-1]
    if "tool_result" in str(last):
        return "Done."
    words = last["content"] if isinstance(last["content"], str) else last["content"][-1]["text"]
    command = words.strip().splitlines()[-1]
    is_background = command.startswith("sleep")
    return [ToolCall("shell", {"command": command, "background": is_background})]


async def said(found: Served, session_id: str, text: str) -> list[str]:
    """Return the outputs of the calls of one turn, which must end as completed or refused."""
    start = len(found.client.received)
    await found.editor.submit(session_id, text)
    ended = await found.client.wait_for(
        lambda m: is_event("processing_end")(m) and m["params"]["sessionId"] == session_id, after=start
    )
    assert ended["params"]["data"]["reason"] in ("completed", "refused")
    messages = found.client.received[start:]
    return [m["params"]["data"]["output"] for m in messages if is_event("tool_call_end")(m)]


async def sessions_until_refused(found: Served) -> tuple[list[str], ResponseError]:
    ids: list[str] = []
    for _ in range(MOST):
        try:
            ids.append(await found.editor.new_session(provider="anthropic", mode="full"))
        except ResponseError as error:
            return ids, error
    raise AssertionError("no session was refused")


def numbers(found: Served, session_id: str) -> list[int]:
    lines = (found.folder(session_id) / "log.jsonl").read_text().splitlines()
    return [record["event"]["seq"] for line in lines if "event" in (record := json.loads(line))]


async def test_new_sessions_beyond_the_open_file_limit_are_refused_and_open_sessions_continue(
    tmp_path: Path,
) -> None:
    with AnthropicServer(work) as provider:
        async with served(tmp_path, provider=provider, command=limited(48)) as found:
            ids, error = await sessions_until_refused(found)
            assert ids and LIMIT in error.message and "ulimit -n" in error.data["hint"]
            for session_id in ids:
                (output,) = await said(found, session_id, f"echo {session_id}")
                assert session_id in output and LIMIT not in output
            assert len((await found.client.request("agent/sessions"))["sessions"]) == len(ids)
            for session_id in ids[1:]:
                await found.change("closeSession", session_id)
            again = await found.editor.new_session(provider="anthropic", mode="full")
            (output,) = await said(found, again, "echo again")
            assert "again" in output
            for session_id in (*ids, again):
                found_numbers = numbers(found, session_id)
                assert found_numbers == list(range(1, len(found_numbers) + 1))


async def test_commands_beyond_the_open_file_limit_are_refused_until_other_sessions_are_closed(
    tmp_path: Path,
) -> None:
    with AnthropicServer(work) as provider:
        async with served(tmp_path, provider=provider, command=limited(48)) as found:
            ids, _ = await sessions_until_refused(found)
            outputs: list[str] = []
            for n in range(MOST):
                outputs += await said(found, ids[n % len(ids)], "sleep 600")
                if LIMIT in outputs[-1]:
                    break
            assert LIMIT in outputs[-1] and len(outputs) > 1
            refused = await said(found, ids[0], "touch made")
            assert LIMIT in refused[0] and not (found.project / "made").exists()
            for session_id in ids[1:]:
                await found.change("closeSession", session_id)
            (output,) = await said(found, ids[0], "touch made")
            assert LIMIT not in output and (found.project / "made").exists()
            found_numbers = numbers(found, ids[0])
            assert found_numbers == list(range(1, len(found_numbers) + 1))


@pytest.mark.parametrize("count", [16, 24, 32])
async def test_a_server_at_its_open_file_limit_reports_it_for_a_new_session(
    tmp_path: Path, count: int
) -> None:
    async with served(tmp_path, command=limited(count)) as found:
        with pytest.raises(ResponseError, match=LIMIT):
            await found.editor.new_session()
        assert (await found.client.request("agent/sessions"))["sessions"] == []
        await found.client.shut_down()
        assert await found.server.exit_code() == 0
