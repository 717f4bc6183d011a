"""Commands over real stdio: each has one id, streamed output, can be ended alone, and its end is reported (H2, T5,
L16).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_owners import taken
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.processes import new_token, processes_with
from tests.support.served import Served, served, served_session

BACKGROUND = {"command": "touch made; echo ready; exec sleep 1000", "background": True}


@asynccontextmanager
async def commanding(tmp_path: Path, script: Sequence[Any]) -> AsyncIterator[tuple[Served, str]]:
    """Run a session whose model has started the script; its command is allowed."""
    with AnthropicServer(script) as provider:
        async with served_session(tmp_path, provider, say="go") as (found, session_id):
            await found.editor.approve(await found.client.event("approval_requested"))
            yield found, session_id


async def read_until(found: Served, session_id: str, terminal_id: str, wanted: str) -> dict[str, Any]:
    """Return the output of a running command once it contains `wanted`; each request continues where the last
    answer ended.
    """
    text, offset = "", 0
    while True:
        read = await found.ask("terminalOutput", session_id, terminalId=terminal_id, offset=offset)
        text, offset = text + read["text"], read["nextOffset"]
        if wanted in text:
            return {**read, "text": text}


@pytest.mark.req("H2", "T5")
async def test_a_running_foreground_command_is_listed_and_readable_and_can_be_stopped_alone(
    tmp_path: Path,
) -> None:
    call = ToolCall("shell", {"command": "touch made; echo begun; exec sleep 1000", "timeout_ms": 600000})
    async with commanding(tmp_path, [[call], "I see."]) as (found, session_id):
        opened = (await found.client.event("terminal_open"))["data"]
        terminal_id = opened["terminalId"]
        assert (opened["callId"], opened["background"]) == (terminal_id, False)
        (listed,) = (await found.ask("terminals", session_id))["terminals"]
        assert (listed["terminalId"], listed["callId"], listed["background"]) == (
            terminal_id,
            terminal_id,
            False,
        )
        assert "exitCode" not in listed and listed["startedMs"] > 1_700_000_000_000
        read = await read_until(found, session_id, terminal_id, "begun\n")
        assert read["running"]

        assert await found.change("terminalKill", session_id, terminalId=terminal_id) == {}
        ended = (await found.client.event("tool_call_end", callId=terminal_id))["data"]
        assert (ended["isError"], ended["errorKind"]) == (True, "stopped")
        assert ended["output"].startswith("begun\n") and "stopped this command" in ended["output"]
        assert (await found.client.event("terminal_exit"))["data"]["terminalId"] == terminal_id
        await found.client.event("assistant_text_end", text="I see.")
        await found.client.event("processing_end", reason="completed")
        assert (await found.ask("terminals", session_id))["terminals"] == []
        for method in ("terminalKill", "terminalOutput"):
            error = await found.refused(method, session_id, terminalId=terminal_id)
            assert error.data["kind"] == "unknown_terminal"


@pytest.mark.req("H2", "T5")
async def test_a_background_command_reports_its_end_after_its_turn_under_the_same_terminal_id(
    tmp_path: Path,
) -> None:
    async with commanding(tmp_path, [[ToolCall("shell", BACKGROUND)], "Started."]) as (found, session_id):
        await found.client.event("processing_end", reason="completed")
        opened = (await found.client.event("terminal_open"))["data"]
        terminal_id = opened["terminalId"]
        assert (opened["callId"], opened["background"]) == (terminal_id, True)
        (listed,) = (await found.ask("terminals", session_id))["terminals"]
        assert (listed["terminalId"], listed["background"], listed["pid"] > 0) == (terminal_id, True, True)
        read = await read_until(found, session_id, terminal_id, "ready\n")
        assert (read["text"], read["running"], read["nextOffset"]) == ("ready\n", True, 6)
        (tool,) = (
            item for item in (await found.ask("history", session_id))["items"] if item["kind"] == "tool"
        )
        assert (tool["terminalId"], tool["background"]) == (terminal_id, True)

        await found.change("terminalKill", session_id, terminalId=terminal_id)
        ended = await found.client.event("terminal_exit", terminalId=terminal_id)
        assert ended["data"]["exitCode"] == -15 and "turnId" not in ended
        (listed,) = (await found.ask("terminals", session_id))["terminals"]
        assert listed["exitCode"] == -15
        read = await found.ask("terminalOutput", session_id, terminalId=terminal_id, offset=2)
        assert read == {"text": "ady\n", "nextOffset": 6, "running": False, "exitCode": -15}


@pytest.mark.req("R3", "L16")
@pytest.mark.parametrize("is_killed", [True, False])
async def test_a_background_command_that_ends_with_the_server_process_is_reported_as_ended(
    tmp_path: Path, is_killed: bool
) -> None:
    async with commanding(tmp_path, [[ToolCall("shell", BACKGROUND)], "Started."]) as (found, session_id):
        await found.client.event("processing_end", reason="completed")
        if is_killed:
            found.server.process.kill()
        else:
            await found.client.shut_down()
        await found.server.exit_code()
    async with served(tmp_path) as found:
        for _ in range(2):
            events = (await found.editor.subscribe(session_id))["events"]
            exits = [event["data"] for event in events if event["kind"] == "terminal_exit"]
            assert [(end["terminalId"], end["exitCode"]) for end in exits] == [(events_id(events), None)]
        assert (await found.ask("terminals", session_id))["terminals"] == []


@pytest.mark.req("R4", "T5")
@pytest.mark.parametrize("how", ["left", "taken over"])
async def test_background_commands_end_when_their_session_owner_changes_and_the_model_is_informed_once(
    how: str, tmp_path: Path
) -> None:
    token = new_token()
    call = ToolCall("shell", {**BACKGROUND, "env_vars": {"TOKEN": token}})
    with AnthropicServer([[call], "Started.", "I see.", "Once."]) as provider:
        async with served_session(tmp_path, provider, say="go", mode="full") as (first, session_id):
            await first.client.event("processing_end", reason="completed")
            assert processes_with(token)
            async with served(tmp_path, provider=provider) as second:
                if how == "left":
                    await first.client.shut_down()
                    await first.server.exit_code()
                    await second.editor.subscribe(session_id)
                else:
                    await second.editor.subscribe(session_id)
                    await taken(second, session_id)
                assert processes_with(token) == {}
                for number, said in enumerate(("I see.", "Once."), 2):
                    await second.editor.submit(session_id, "And now?")
                    await second.client.event("assistant_text_end", text=said)
                    messages = str(provider.requests[number].body["messages"])
                    assert messages.count("Your background processes have ended: touch made") == 1
                assert (await second.ask("terminals", session_id))["terminals"] == []


def events_id(events: list[dict[str, Any]]) -> str:
    (opened,) = (event["data"]["terminalId"] for event in events if event["kind"] == "terminal_open")
    return str(opened)


@pytest.mark.req("H2", "T5")
@pytest.mark.parametrize("keep", [None, True, False])
async def test_an_interrupt_keeps_or_ends_background_commands_as_requested(
    keep: bool | None, tmp_path: Path
) -> None:
    asking = ToolCall("shell", {"command": "touch more"})
    script = [[ToolCall("shell", BACKGROUND)], [asking], "Then that."]
    async with commanding(tmp_path, script) as (found, session_id):
        terminal_id = (await found.client.event("terminal_open", background=True))["data"]["terminalId"]
        await found.client.event("approval_requested", summary="touch more")
        more = {} if keep is None else {"keepProcesses": keep}
        then = [{"type": "text", "text": "Do that."}]
        await found.change("interrupt", session_id, thenSubmit=then, **more)
        await found.client.event("processing_end", reason="interrupted")
        await found.client.event("user_input", text="Do that.")
        await found.client.event("assistant_text_end", text="Then that.")
        if keep is False:
            ended = await found.client.event("terminal_exit", terminalId=terminal_id)
            assert ended["data"]["exitCode"] == -15
        (listed,) = (await found.ask("terminals", session_id))["terminals"]
        assert ("exitCode" in listed) == (keep is False)


@pytest.mark.req("L6")
async def test_an_interrupt_ends_the_running_foreground_command(tmp_path: Path) -> None:
    call = ToolCall("shell", {"command": "touch made; exec sleep 1000", "timeout_ms": 600000})
    async with commanding(tmp_path, [[call]]) as (found, session_id):
        await found.client.event("terminal_open")
        await found.change("interrupt", session_id)
        ended = await found.client.event("tool_call_end")
        assert ended["data"]["errorKind"] == "interrupted"
        await found.client.event("processing_end", reason="interrupted")
