"""Commands in terminals over real stdio: opened by the client, typed into, never left over (H5)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.environments.terminal_host import NewTerminal
from tests.support.editor import Editor
from tests.support.framed_client import CAPABILITIES, RICH, is_event, server_process
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.processes import LIMIT_SECONDS, eventually, new_token, processes_with
from tests.support.served import Served
from tests.support.terminal_host import ShownTerminal

pytestmark = pytest.mark.req("H5", "H8", "H17", "X5")

ASKS = "read -rp 'Go on? ' word; echo \"[$word]\""


class Terminals:
    """The client's side of terminal requests: opens a terminal for each request, as an editor does."""

    def __init__(self, editor: Editor, refuses: bool) -> None:
        self.editor = editor
        self.refuses = refuses
        self.shown: dict[str, ShownTerminal] = {}
        self.calls: dict[str, str] = {}

    async def serve(self) -> None:
        async def do(event: dict[str, Any]) -> None:
            asked = event["params"]["data"]
            answer = {"sessionId": event["params"]["sessionId"], "requestId": asked["requestId"]}
            await self.editor.client.request("agent/clientAnswer", answer | self._answer(asked))

        await self.editor.client.with_each(is_event("client_request"), do)

    def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        params = asked["params"]
        if self.refuses and asked["what"] == "terminalOpen":
            return {"error": "no terminal today"}
        if asked["what"] == "terminalOpen":
            terminal = NewTerminal(params["terminalId"], params["argv"], params["cwd"], params["title"])
            self.shown[terminal.id] = ShownTerminal(terminal)
        elif asked["what"] == "terminalRuns":
            self.calls[params["callId"]] = params["terminalId"]
        return {"result": {}}

    def of(self, call_id: str) -> ShownTerminal:
        return self.shown[self.calls[call_id]]


@asynccontextmanager
async def commanding(
    tmp_path: Path, script: Sequence[Any] | Callable[[Any], Any], *, refuses: bool = False, **settings: Any
) -> AsyncIterator[tuple[Served, str, Terminals]]:
    project = tmp_path / "project"
    project.mkdir()
    abilities = {**CAPABILITIES["vscode"], "experimental": {"agentLs": {**RICH, "terminal": True}}}
    with AnthropicServer(script) as provider:
        env = {
            "AGENT_LS_STATE_DIR": str(tmp_path / "state"),
            "ANTHROPIC_API_KEY": "sk-test-loopback",
            "ANTHROPIC_BASE_URL": provider.base_url,
        }
        async with server_process(env=env) as server:
            editor = Editor(server.client)
            answered = await server.client.initialize(
                folder=project,
                capabilities=abilities,
                initializationOptions={"agentLs": {"mode": "full", **settings}},
            )
            assert answered["capabilities"]["experimental"]["agentLs"]["terminal"] is True
            found, terminals = Served(editor, server, project, tmp_path / "state"), Terminals(editor, refuses)
            async with anyio.create_task_group() as group:
                group.start_soon(terminals.serve)
                session_id = await editor.new_session(provider="anthropic")
                await editor.submit(session_id, "go")
                yield found, session_id, terminals
                group.cancel_scope.cancel()
            for terminal in terminals.shown.values():
                terminal.end()


def shell(command: str, **arguments: Any) -> list[ToolCall]:
    return [ToolCall("shell", {"command": command, "timeout_ms": 60_000, **arguments})]


async def test_the_user_can_type_input_for_a_waiting_command_in_the_clients_terminal(tmp_path: Path) -> None:
    async with commanding(tmp_path, [shell(ASKS), "Done."]) as (found, session_id, terminals):
        waits = (await found.client.event("terminal_waiting", waiting=True))["data"]
        (listed,) = (await found.ask("terminals", session_id))["terminals"]
        assert waits["terminalId"] == waits["callId"] == listed["terminalId"] and listed["waiting"]
        await eventually(lambda: waits["callId"] in terminals.calls)
        shown = terminals.of(waits["callId"])
        await shown.until("Go on? ")
        shown.type("yes\r")

        await found.client.event("terminal_waiting", waiting=False)
        ended = (await found.client.event("tool_call_end"))["data"]
        assert (ended["output"].startswith("Go on? yes\n[yes]\n"), ended["exitCode"]) == (True, 0)
        await found.client.event("processing_end", reason="completed")
        await found.change("closeSession", session_id)
        assert shown.process.wait(LIMIT_SECONDS) == 0


async def test_the_token_of_a_terminal_is_in_no_event_and_no_log(tmp_path: Path) -> None:
    async with commanding(tmp_path, [shell("echo on"), "Done."]) as (found, _, terminals):
        await found.client.event("processing_end", reason="completed")
        ((_, terminal),) = terminals.shown.items()
        place = str(Path(terminal.argv[-1]).parent)
        recorded = [str(event) for event in found.client.events if "seq" in event]
        files = [path.read_bytes() for path in found.state.rglob("*") if path.is_file()]

    assert not any(place in text for text in recorded)
    assert not any(place.encode() in data for data in files)


@pytest.mark.req("R6", "T5")
async def test_the_tool_result_contains_the_final_screen_and_no_api_key_split_by_escape_codes(
    tmp_path: Path,
) -> None:
    command = "printf '10%%\\r20%%\\rsk-test-\\033[0mloopback\\n'"
    contents: list[Any] = []

    def script(body: Any) -> Any:
        contents.append(body["messages"][-1]["content"])
        return shell(command) if len(contents) == 1 else "Done."

    async with commanding(tmp_path, script) as (found, _, _terminals):
        await found.client.event("processing_end", reason="completed")

    assert "10%" not in str(contents[1]) and "Exit code: 0" in str(contents[1])
    assert "sk-test-loopback" not in str(contents[1])


async def test_a_client_that_opens_no_terminal_still_gets_the_output(tmp_path: Path) -> None:
    async with commanding(tmp_path, [shell("test -t 1 || echo pipes"), "Done."], refuses=True) as (
        found,
        session_id,
        terminals,
    ):
        ended = (await found.client.event("tool_call_end"))["data"]
        assert ended["output"].startswith("pipes\n") and not terminals.shown
        error = await found.refused("terminalInput", session_id, terminalId="none", data="x")
        assert error.data["kind"] == "unknown_terminal"


async def test_a_server_side_terminal_accepts_input_and_resize_requests(tmp_path: Path) -> None:
    command = "printf 'Size? '; read -r word; stty size; echo \"[$word]\""
    async with commanding(tmp_path, [shell(command), "Done."], terminal="own") as (
        found,
        session_id,
        terminals,
    ):
        waits = (await found.client.event("terminal_waiting", waiting=True))["data"]
        named = {"terminalId": waits["terminalId"]}
        await found.change("terminalResize", session_id, **named, columns=101, rows=33)
        await found.change("terminalInput", session_id, **named, data="yes\r")

        ended = (await found.client.event("tool_call_end"))["data"]
        assert ended["output"].startswith("Size? yes\n33 101\n[yes]\n") and not terminals.shown


async def test_input_for_a_command_that_runs_with_pipes_is_refused_with_a_hint(tmp_path: Path) -> None:
    script = [shell("echo begun; exec sleep 600", background=True), "Done."]
    async with commanding(tmp_path, script, terminal="pipes") as (found, session_id, terminals):
        await found.client.event("processing_end", reason="completed")
        opened = (await found.client.event("terminal_open"))["data"]
        error = await found.refused("terminalInput", session_id, terminalId=opened["terminalId"], data="x")

        assert error.data["kind"] == "no_input" and "agentLs.terminal" in error.data["hint"]
        assert not terminals.shown


@pytest.mark.req("L16", "R3")
async def test_a_killed_server_leaves_no_relay_and_no_command(tmp_path: Path) -> None:
    token = new_token()
    async with commanding(tmp_path, [shell(f"echo begun; : {token}; sleep 600; echo never")]) as (
        found,
        _,
        terminals,
    ):
        opened = (await found.client.event("terminal_open"))["data"]
        await eventually(lambda: opened["callId"] in terminals.calls)
        shown = terminals.of(opened["callId"])
        await shown.until("\nbegun\n")
        found.server.process.kill()

        assert shown.process.wait(LIMIT_SECONDS) == 0
        await eventually(lambda: not processes_with(token))


@pytest.mark.req("X4")
async def test_a_confined_command_reads_input_in_its_terminal(tmp_path: Path) -> None:
    script = [shell(f"{ASKS}; stty size"), "Done."]
    async with commanding(tmp_path, script, sandbox={"enabled": True}) as (
        found,
        _,
        terminals,
    ):
        waits = (await found.client.event("terminal_waiting", waiting=True))["data"]
        await eventually(lambda: waits["callId"] in terminals.calls)
        shown = terminals.of(waits["callId"])
        await shown.until(f"$ {ASKS}; stty size")
        shown.type("yes\r")
        ended = (await found.client.event("tool_call_end"))["data"]

        assert ended["output"].startswith("Go on? yes\n[yes]\n24 80\n")
