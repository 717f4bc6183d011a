"""Public reports of users of Helix, Kakoune, Emacs, Sublime, Zed, JetBrains and Vim: messages that broke servers."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.framed_client import ResponseError, ServerProcess, server_process
from tests.support.reports import reported

pytestmark = pytest.mark.req("H8", "R5")


@asynccontextmanager
async def serving(tmp_path: Path) -> AsyncIterator[ServerProcess]:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("é = 1\n")
    env = {"HOME": str(tmp_path / "home"), "AGENT_LS_STATE_DIR": str(tmp_path / "state")}
    async with server_process(env=env, cwd=project) as server:
        yield server


def hello(**more: Any) -> dict[str, Any]:
    return {"processId": os.getpid(), "rootUri": None, "capabilities": {}, **more}


async def lives(server: ServerProcess) -> None:
    with pytest.raises(ResponseError) as refused:
        await server.client.request("no/such/method", {})
    assert refused.value.code == -32601


SUBLIME: dict[str, Any] = {
    "workspace": {"applyEdit": True, "executeCommand": {}, "workspaceEdit": {"failureHandling": "abort"}},
    "textDocument": {
        "synchronization": {"willSaveWaitUntil": True},
        "hover": {"contentFormat": ["markdown"]},
    },
    "window": {"showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}}},
}
KATE: dict[str, Any] = {
    "textDocument": {
        "semanticTokens": {"formats": ["relative"], "requests": {"full": {"delta": True}, "range": True},
            "tokenModifiers": [], "tokenTypes": ["namespace"]},
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix"]}}},
    }
}  # fmt: skip
INITIALIZE = [
    reported(
        "freebroccolo/ocaml-language-server#96",
        {"initializationOptions": None, "rootUri": "file:///nowhere"},
        id="null options",
    ),
    reported(
        "julia-vscode/LanguageServer.jl#1310",
        {
            "capabilities": SUBLIME,
            "clientInfo": {"name": "Sublime Text LSP", "version": "2.1.0"},
            "rootUri": "file:///x",
            "rootPath": "/x",
            "workspaceFolders": [{"name": "x", "uri": "file:///x"}],
        },
        id="Sublime",
    ),
    reported(
        "effekt-lang/effekt#1041",
        {
            "capabilities": {"general": {"positionEncodings": ["utf-32", "utf-16"]}},
            "initializationOptions": None,
        },
        id="Emacs",
    ),
    reported(
        "nim-lang/langserver#175",
        {"rootUri": None},
        id="null root",
    ),
    reported(
        "withastro/language-tools#895",
        {"capabilities": SUBLIME, "initializationOptions": {"typescript": None}},
        id="null in the options",
    ),
    reported(
        "zubanls/zuban#104",
        {"capabilities": KATE, "rootPath": None, "workspaceFolders": None},
        id="Kate",
    ),
    reported(
        "SpyglassMC/Spyglass#885",
        {"capabilities": SUBLIME, "initializationOptions": {}},
        id="no client info",
    ),
    reported(
        "REditorSupport/languageserver#219",
        {"rootPath": None, "rootUri": None, "workspaceFolders": None},
        id="no folder",
    ),
    reported(
        "mathworks/MATLAB-language-server#70",
        {"capabilities": {"workspace": {"workspaceFolders": True}}, "rootUri": "file:///nowhere"},
        id="folders that cannot be asked for",
    ),
    reported(
        "fwcd/kotlin-language-server#277",
        {"workspaceFolders": None, "rootUri": "file:///nowhere/at/all"},
        id="null folders",
    ),
    reported(
        "microsoft/language-server-protocol#2154",
        {"workspaceFolders": [], "rootUri": None},
        id="empty folders",
    ),
    reported("nim-lang/langserver#35", {"rootUri": ""}, id="empty root"),
    reported(
        "AdaCore/ada_language_server#804",
        {
            "capabilities": {
                "textDocument": {"moniker": None, "synchronization": None},
                "workspace": None,
                "general": None,
            }
        },
        id="null capabilities",
    ),
    reported(
        "astral-sh/ruff#15901",
        {"capabilities": {"textDocument": {"documentSymbol": {"tagSupport": {}}}}},
        id="tags without values",
    ),
    reported(
        "jacobdufault/cquery#247",
        {
            "capabilities": {
                "experimental": None,
                "textDocument": {
                    "codeAction": None,
                    "completion": {
                        "completionItem": {"commitCharactersSupport": None, "snippetSupport": False},
                        "dynamicRegistration": None,
                    },
                    "rename": None,
                    "synchronization": None,
                },
                "workspace": None,
            },
            "rootUri": "file:///nowhere",
            "rootPath": "/nowhere",
        },
        id="LanguageClient-neovim",
    ),
    reported(
        "OmniSharp/csharp-language-server-protocol#141",
        {"capabilities": {}, "initializationOptions": None, "trace": "off", "processId": None},
        id="empty capabilities",
    ),
    reported(
        "typescript-language-server/typescript-language-server#900",
        {"rootPath": "file:///x", "workspaceFolders": {"uri": "file:///x", "name": "x"}, "trace": "on"},
        id="one folder that is no list",
    ),
    reported(
        "biomejs/biome#9557",
        {
            "capabilities": {
                "workspace": {
                    "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True}
                }
            },
            "rootUri": "file:///nowhere",
        },
        id="files are watched below a root",
    ),
    reported("eclipse-xtext/xtext#3391", {"rootPath": "/nowhere", "rootUri": None}, id="root path"),
]


@pytest.mark.parametrize("params", INITIALIZE)
async def test_a_client_with_little_to_say_is_served(tmp_path: Path, params: dict[str, Any]) -> None:
    async with serving(tmp_path) as server:
        result = await server.client.request("initialize", hello(**params))
        assert "textDocumentSync" in result["capabilities"]
        await server.client.notify("initialized", {})
        item = {"uri": "file:///nowhere/x.py", "languageId": "python", "version": 0, "text": "x\n"}
        await server.client.notify("textDocument/didOpen", {"textDocument": item})
        await lives(server)
        await server.client.shut_down()
        assert await server.exit_code() == 0


@pytest.mark.report("nim-lang/langserver#407", "zenc-lang/zenc#56")
async def test_answers_have_the_ids_of_their_requests_also_if_they_are_texts(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        for number in ("1", "8799aaa9-7ba9-4ffe", 0):
            method = "initialize" if number == "1" else "textDocument/codeAction"
            await server.client.send({"jsonrpc": "2.0", "id": number, "method": method, "params": hello()})
            answer = await server.client.wait_for(lambda it, number=number: it.get("id") == number)  # type: ignore[misc]
            assert type(answer["id"]) is type(number)
            if number == "1":
                await server.client.notify("initialized", {})


REFUSALS = [
    reported("MathWorks/MATLAB-language-server#72", "vscode"),
    reported("julia-vscode/LanguageServer.jl#616", "neovim"),
]


@pytest.mark.parametrize("editor", REFUSALS)
async def test_refused_requests_of_the_server_end_nothing(tmp_path: Path, editor: str) -> None:
    """The client of this test answers each request of the server with an error."""
    async with serving(tmp_path) as server:
        await server.client.initialize(editor, folder=tmp_path / "project")
        await lives(server)
        await server.client.notify("workspace/didChangeConfiguration", {"settings": {}})
        await lives(server)
        asked = [it["id"] for it in server.client.received if "method" in it and "id" in it]
        assert all(type(number) is int for number in asked)


@pytest.mark.report(
    "redhat-developer/yaml-language-server#377",
    "microsoft/vscode-languageserver-node#1281",
    "vim/vim#21114",
    "yegappan/lsp#635",
)
async def test_a_client_without_capabilities_is_asked_for_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.client.request("initialize", hello(rootUri=(tmp_path / "project").as_uri()))
        await server.client.notify("initialized", {})
        await lives(server)
        assert not [it for it in server.client.received if "method" in it and "id" in it]


URI = "file:///nowhere/a.py"
ODD_NOTICES = [
    reported("hudson-trading/slang-server#237", "textDocument/didSave", {"textDocument": {"uri": URI}},
        id="save without open"),
    reported("microsoft/language-server-protocol#1220", "textDocument/didChange",
        {"textDocument": {"uri": URI, "version": 2}, "contentChanges": [{"text": "x"}]}, id="change without open"),
    reported("tintoy/msbuild-project-tools-vscode#12", "textDocument/didClose", {"textDocument": {"uri": URI}},
        id="close without open"),
    reported("astral-sh/ruff#15392", "workspace/didChangeWorkspaceFolders",
        {"event": {"added": [{"uri": "untitled:x", "name": "x"}], "removed": []}}, id="folder that is no file"),
    reported("Myriad-Dreamin/tinymist#2167", "textDocument/didOpen",
        {"textDocument": {"uri": "buffer:115", "languageId": "typst", "version": 0, "text": "x"}}, id="buffer"),
    reported("elixir-lsp/elixir-ls#734", "textDocument/didOpen",
        {"textDocument": {"uri": "untitled:Untitled-1", "languageId": "", "version": 1, "text": "x"}}, id="untitled"),
    reported(
        "neovim/neovim#16523",
        "textDocument/didOpen",
        {
            "textDocument": {
                "uri": "fugitive:///r/.git//0/a",
                "languageId": "python",
                "version": 0,
                "text": "x",
            }
        },
        id="fugitive",
    ),
    reported(
        "julia-vscode/LanguageServer.jl#855",
        "textDocument/didSave",
        {"textDocument": {"uri": "file:///nowhere/b.py"}, "text": "x = 1\n"},
        id="saved unopened",
    ),
    reported(
        "microsoft/vscode-eslint#1560",
        "textDocument/didOpen",
        {
            "textDocument": {
                "uri": "file:///nowhere/new file.py",
                "languageId": "python",
                "version": 0,
                "text": "x",
            }
        },
        id="unwritten",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("method", "params"), ODD_NOTICES)
async def test_a_notice_about_an_unknown_document_harms_nothing(
    tmp_path: Path, method: str, params: dict[str, Any]
) -> None:
    async with serving(tmp_path) as server:
        await server.client.initialize("minimal", folder=tmp_path / "project")
        await server.client.notify(method, params)
        await lives(server)
        for uri in (URI, params.get("textDocument", {}).get("uri", URI)):
            where = {"textDocument": {"uri": uri}, "range": RANGE, "context": {"diagnostics": []}}
            await server.client.request("textDocument/codeAction", where)


RANGE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
NO_PLACE = {"start": {"line": None, "character": None}, "end": {"line": None, "character": None}}
NONE: dict[str, Any] = {"diagnostics": []}
ACTIONS = [
    reported(
        "microsoft/vscode-eslint#987",
        {"range": RANGE, "context": {"diagnostics": [{"range": NO_PLACE, "message": "Parsing error"}]}},
        id="null lines",
    ),
    reported(
        "ionide/FsAutoComplete#1186",
        {"range": RANGE, "context": {"diagnostics": [{"message": "no range"}]}},
        id="no range",
    ),
    reported(
        "typescript-language-server/typescript-language-server#844",
        {
            "range": {"start": {"line": 0, "character": 3}, "end": {"line": 0, "character": 1}},
            "context": {"diagnostics": []},
        },
        id="reversed",
    ),
    reported(
        "sublimelsp/LSP#969",
        {
            "range": {"start": {"line": 0, "character": 0}, "end": {"line": 60, "character": None}},
            "context": {"diagnostics": []},
        },
        id="null end",
    ),
]


@pytest.mark.parametrize(
    "params",
    [
        *ACTIONS,
        {"range": None, "context": None},
        {"range": RANGE, "context": {"diagnostics": None, "only": None}},
    ],
)
async def test_code_actions_are_offered_whatever_other_servers_report(
    tmp_path: Path, params: dict[str, Any]
) -> None:
    async with serving(tmp_path) as server:
        await server.client.initialize("minimal", folder=tmp_path / "project")
        uri = (tmp_path / "project" / "a.py").as_uri()
        item = {"uri": uri, "languageId": "python", "version": 1, "text": "é = 1\n"}
        await server.client.notify("textDocument/didOpen", {"textDocument": item})
        found = await server.client.request(
            "textDocument/codeAction", {"textDocument": {"uri": uri}, **params}
        )
        assert isinstance(found, list)
        await lives(server)
