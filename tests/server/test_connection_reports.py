"""Public reports of commands, settings and the end of the connection that broke other servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.server.transport.framing import frame
from tests.server.test_client_reports import hello, lives, serving
from tests.support.framed_client import ResponseError
from tests.support.reports import reported

pytestmark = pytest.mark.req("H8", "R5")


URI = "file:///nowhere/a.py"

COMMANDS = [
    reported("rubocop/rubocop#15569", {"command": "agentLs.noSuchCommand"}, id="no arguments"),
    reported(
        "EffortlessMetrics/perl-lsp#9855", {"command": "agentLs.ask", "arguments": None}, id="null arguments"
    ),
    reported(
        "emacs-lsp/lsp-mode#395", {"command": "agentLs.ask", "arguments": {"file:///a": ["b"]}}, id="object"
    ),
]


@pytest.mark.parametrize("params", COMMANDS)
async def test_a_command_with_odd_arguments_is_answered_with_a_sentence(
    tmp_path: Path, params: dict[str, Any]
) -> None:
    async with serving(tmp_path) as server:
        await server.client.initialize("minimal", folder=tmp_path / "project")
        try:
            await server.client.request("workspace/executeCommand", params)
        except ResponseError as error:
            assert error.message and "Traceback" not in error.message
        await lives(server)


@pytest.mark.report("bash-lsp/bash-language-server#644")
async def test_no_settings_for_the_section_are_no_error(tmp_path: Path) -> None:
    async def nothing(params: Any) -> Any:
        return [None for _ in params["items"]]

    async with serving(tmp_path) as server:
        server.client.handlers["workspace/configuration"] = nothing
        await server.client.initialize("vscode", folder=tmp_path / "project")
        await lives(server)
        shown = [it for it in server.client.received if it.get("method") == "window/showMessage"]
        assert not [it for it in shown if it["params"]["type"] < 3]


@pytest.mark.report(
    "openlawlibrary/pygls#605",
    "wgsl-analyzer/wgsl-analyzer#96",
    "natebosch/vim-lsc#127",
    "erlang-ls/erlang_ls#19",
)
async def test_after_shutdown_requests_are_refused_until_exit(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.client.initialize("vscode", folder=tmp_path / "project")
        assert await server.client.request("shutdown") is None
        with pytest.raises(ResponseError) as refused:
            await server.client.request("textDocument/codeAction", {"textDocument": {"uri": URI}})
        assert refused.value.code == -32600
        await server.client.send({"jsonrpc": "2.0", "id": 99, "result": None})
        assert server.process.returncode is None
        await server.client.notify("exit")
        assert await server.exit_code() == 0


HELLO: Any = {"id": 901, "method": "initialize", "params": hello()}
SHUTDOWN: Any = {"id": 902, "method": "shutdown"}
ORDERS: list[Any] = [
    reported("sublimelsp/LSP#668", [HELLO, SHUTDOWN], 0, id="shutdown before initialized"),
    reported("microsoft/language-server-protocol#195", [], 1, id="exit first"),
    reported("julia-vscode/LanguageServer.jl#110", [HELLO, {"method": "initialized"}, SHUTDOWN], 0, id="no parameters"),
    pytest.param([HELLO, {"method": "initialized", "params": None}, SHUTDOWN], 0, id="null parameters"),
]  # fmt: skip


@pytest.mark.parametrize(("messages", "code"), ORDERS)
async def test_the_process_ends_with_exit(tmp_path: Path, messages: list[Any], code: int) -> None:
    async with serving(tmp_path) as server:
        for message in messages:
            await server.client.send({"jsonrpc": "2.0", **message})
            assert "id" not in message or (await server.client.result(message["id"]) is None) == (
                message is SHUTDOWN
            )
        await server.client.send({"jsonrpc": "2.0", "method": "exit"})
        assert await server.exit_code() == code


@pytest.mark.report("microsoft/language-server-protocol#1786")
async def test_lengths_count_bytes_also_with_letters_that_are_not_ascii(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        body = json.dumps(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "initialize",
                "params": hello(clientInfo={"name": "Éditeur 😋"}),
            },
            ensure_ascii=False,
        ).encode()
        await server.client.send_raw(frame(body))
        assert "capabilities" in await server.client.result(1)
