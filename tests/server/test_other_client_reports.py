"""Public reports of users of Emacs, Helix, Kate, Vim, JetBrains and Eclipse, each in its smallest form.

Long because each report has its own input.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from agent_ls.server.lsp.capabilities import ClientAbilities
from agent_ls.server.lsp.documents import Documents
from agent_ls.server.transport.framing import FrameParser
from tests.server.test_client_reports import hello, lives, serving
from tests.support.reports import reported

pytestmark = pytest.mark.req("H8", "R5")

URI = "file:///nowhere/a.py"


def _answers(number: int, message: dict[str, Any]) -> bool:
    return message.get("id") == number and "method" not in message


def item(uri: str = URI, text: str = "x\n", version: object = 1) -> dict[str, Any]:
    return {"textDocument": {"uri": uri, "languageId": "x", "version": version, "text": text}}


def is_answer(number: int, message: dict[str, Any]) -> bool:
    return message.get("id") == number and "method" not in message


OPENED = ("textDocument/didOpen", item())
NOTICES = [
    reported("julia-vscode/LanguageServer.jl#340",
        [OPENED, ("textDocument/willSave", {"reason": 1, "textDocument": {"uri": URI}})], id="willSave"),
    reported("julia-vscode/LanguageServer.jl#389",
        [OPENED, ("textDocument/didSave", {"textDocument": {"uri": URI}, "text": "y\n"})], id="save with text"),
    reported(
        "nim-lang/langserver#24",
        [
            ("workspace/didChangeConfiguration", {"settings": None}),
            ("workspace/didChangeConfiguration", {}),
            ("workspace/didChangeConfiguration", None),
            ("workspace/didChangeConfiguration", {"settings": []}),
        ],
        id="settings",
    ),
    reported("redhat-developer/lsp4ij#771",
        [("textDocument/didOpen", item("jar:file:///m/core-16.71.0.jar!/common_core/schema.cljc"))], id="archive"),
    reported(
        "apache/netbeans#6378",
        [
            (
                "textDocument/didOpen",
                item("nbjrt:file%3A/space/java/17/%21/modules/java.base/?CLASS#java.util.Collections"),
            )
        ],
        id="nested",
    ),
    reported("PowerShell/PowerShellEditorServices#312",
        [("textDocument/didOpen", {"uri": "private:/c%3A/x.ps1#preview", "text": "x"})], id="old form"),
    reported(
        "Sarrus1/sourcepawn-lsp#21",
        [
            ("textDocument/didOpen", item("untitled:Untitled-1")),
            ("textDocument/didClose", {"textDocument": {"uri": "untitled:Untitled-1"}}),
        ],
        id="untitled",
    ),
    reported("ballerina-platform/lsp4intellij#332",
        [("textDocument/didOpen", item("jrt:///java.base/java/lang/Object.class"))], id="class"),
    reported(
        "zigtools/zls#1460",
        [
            OPENED,
            ("textDocument/didChange", {"textDocument": {"uri": URI}, "contentChanges": [{"text": "z\n"}]}),
            ("textDocument/didChange", {"textDocument": {"uri": URI, "version": None}, "contentChanges": []}),
            ("textDocument/didChange", {"textDocument": {"uri": URI, "version": 3}, "contentChanges": None}),
            ("textDocument/didChange", {}),
        ],
        id="malformed change",
    ),
    reported(
        "palantir/python-language-server#720",
        [
            ("workspace/didChangeWorkspaceFolders", {"event": {"removed": [], "added": []}}),
            ("workspace/didChangeWorkspaceFolders", {"event": {"removed": None, "added": None}}),
            ("workspace/didChangeWorkspaceFolders", {"added": [], "removed": []}),
            (
                "workspace/didChangeWorkspaceFolders",
                {"event": {"removed": [{"uri": "file:///never/there", "name": "x"}], "added": []}},
            ),
        ],
        id="folders",
    ),
    reported(
        "microsoft/language-server-protocol#285",
        [
            OPENED,
            OPENED,
            ("textDocument/didClose", {"textDocument": {"uri": URI}}),
            ("textDocument/didClose", {"textDocument": {"uri": URI}}),
        ],
        id="twice",
    ),
    pytest.param(
        [
            (
                "workspace/didChangeWatchedFiles",
                {"changes": [{"uri": "untitled:x", "type": 9}, {"uri": "", "type": 1}]},
            ),
            ("workspace/didChangeWatchedFiles", {"changes": None}),
            ("$/setTrace", {"value": "messages"}),
            ("$/setTrace", {"value": "loud"}),
            ("window/workDoneProgress/cancel", {"token": "none"}),
            ("$/progress", {"token": 1, "value": None}),
        ],
        id="others",
    ),
]  # fmt: skip


@pytest.mark.parametrize("notices", NOTICES)
async def test_a_notice_in_an_odd_form_ends_nothing_and_is_not_answered(
    tmp_path: Path, notices: list[tuple[str, Any]]
) -> None:
    async with serving(tmp_path) as server:
        await server.client.initialize("minimal", folder=tmp_path / "project")
        for method, params in notices:
            await server.client.notify(method, params)
        await lives(server)
        assert not [it for it in server.client.received if "error" in it and it.get("id") is None]
        shown = [it for it in server.client.received if it.get("method") == "window/showMessage"]
        assert not [it for it in shown if it["params"]["type"] == 1], shown
        assert "Traceback" not in server.log


NO_PARAMS = [
    ("textDocument/codeAction", None),
    ("textDocument/codeAction", {}),
    ("textDocument/codeLens", None),
    ("textDocument/completion", None),
    ("textDocument/inlineCompletion", None),
    ("workspace/executeCommand", None),
    ("workspace/executeCommand", {"command": "agentLs.ask", "arguments": ["a", "b"]}),
    ("workspace/executeCommand", {"command": "agentLs.ask", "arguments": "a"}),
    ("workspace/symbol", None),
    ("codeAction/resolve", {}),
    ("codeLens/resolve", None),
    ("textDocument/hover", None),
    ("workspace/textDocumentContent", {"uri": 1}),
    ("agent/submit", None),
    ("agent/listSessions", None),
]


@pytest.mark.report("julia-vscode/LanguageServer.jl#339")
@pytest.mark.report("Automattic/harper#1100")
async def test_a_request_without_its_arguments_is_answered(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.client.initialize("vscode", folder=tmp_path / "project")
        for number, (method, params) in enumerate(NO_PARAMS, 1000):
            await server.client.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            answer = await server.client.wait_for(partial(_answers, number))
            answer = await server.client.wait_for(partial(is_answer, number))
            if "error" in answer:
                assert answer["error"]["code"] in (-32602, -32601, -32600, -32803), (method, params, answer)
        await lives(server)
        assert "Traceback" not in server.log


@pytest.mark.report("phpactor/phpactor#1304")
@pytest.mark.report("ansible/vscode-ansible#1156")
@pytest.mark.report("phpactor/phpactor#1951")
@pytest.mark.report("OmniSharp/csharp-language-server-protocol#20")
async def test_only_what_the_client_has_announced_is_asked_of_it(tmp_path: Path) -> None:
    capabilities = {
        "workspace": {
            "didChangeWatchedFiles": {"dynamicRegistration": False},
            "didChangeConfiguration": {"dynamicRegistration": False},
            "configuration": False,
            "workspaceFolders": False,
            "applyEdit": True,
        },
        "window": {"workDoneProgress": False},
        "textDocument": {"synchronization": {"dynamicRegistration": False}},
    }
    async with serving(tmp_path) as server:
        await server.client.initialize("minimal", folder=tmp_path / "project", capabilities=capabilities)
        await server.client.notify("workspace/didChangeConfiguration", {"settings": {}})
        await lives(server)
        asked = [it["method"] for it in server.client.received if "method" in it and "id" in it]
        assert not asked
        assert not [it for it in server.client.received if it.get("method") == "$/progress"]


SETTINGS = [
    reported("can1357/oh-my-pi#5745", lambda items: [{}] * len(items), id="objects"),
    reported("yegappan/lsp#425", lambda items: {}, id="object"),
    pytest.param(lambda items: [], id="nothing"),
    pytest.param(lambda items: None, id="null"),
    pytest.param(lambda items: ["x"] * 9, id="too many"),
]


@pytest.mark.parametrize("answer", SETTINGS)
async def test_settings_in_any_form_are_no_error(tmp_path: Path, answer: Any) -> None:
    async def settings(params: Any) -> Any:
        for it in params["items"]:
            assert it.get("scopeUri", "file:") is not None
        return answer(params["items"])

    async with serving(tmp_path) as server:
        server.client.handlers["workspace/configuration"] = settings
        await server.client.initialize("vscode", folder=tmp_path / "project")
        await lives(server)
        shown = [it for it in server.client.received if it.get("method") == "window/showMessage"]
        assert not [it for it in shown if it["params"]["type"] == 1]
        assert "Traceback" not in server.log


@pytest.mark.report("elixir-lsp/elixir-ls#7")
@pytest.mark.parametrize("settings", [None, [1], "x"])
async def test_settings_stay_if_the_client_sends_none_that_are_an_object(
    tmp_path: Path, settings: object
) -> None:
    chosen = {"agentLs": {"provider": "walkthrough", "mode": "plan"}}
    async with serving(tmp_path) as server:
        await server.client.initialize("minimal", folder=tmp_path / "project")
        await server.client.notify("workspace/didChangeConfiguration", {"settings": chosen})
        await server.client.notify("workspace/didChangeConfiguration", {"settings": settings})
        made = await server.client.request("agent/newSession", {"clientKey": "k"})
        assert made["session"]["mode"] == "plan" and "Traceback" not in server.log


@pytest.mark.report("open-policy-agent/regal#1671")
@pytest.mark.report("onlyati/quadlet-lsp#165")
async def test_a_single_file_without_a_folder_is_served(tmp_path: Path) -> None:
    alone = tmp_path / "alone.py"
    alone.write_text("x = 1\n")
    async with serving(tmp_path) as server:
        await server.client.request("initialize", hello())
        await server.client.notify("initialized", {})
        await server.client.notify("textDocument/didOpen", item(alone.as_uri(), "x = 1\n"))
        where = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
        asked = {"textDocument": {"uri": alone.as_uri()}, "range": where, "context": {"diagnostics": []}}
        assert isinstance(await server.client.request("textDocument/codeAction", asked), list)


BODY = b'{"a":1}'
HEADERS = [
    reported("rust-lang/rust-analyzer#15257", b"content-length: 7\r\n\r\n", id="small"),
    reported("rust-lang/rust-analyzer#15197", b"Content-Length:    7\r\n\r\n", id="blanks"),
    reported("rust-lang/rls#233", b"Content-length:7\r\n\r\n", id="none"),
    pytest.param(
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 7\r\n\r\n",
        id="type first",
    ),
    reported(
        "mtsmfm/language_server-protocol-ruby#148",
        b"X-Content-Length: 3\r\nContent-Length: 7\r\n\r\n",
        id="other header",
    ),
    pytest.param(b"Content-Length: 7 \r\n\r\n", id="blank behind"),
    pytest.param(b"\r\nContent-Length: 7\r\n\r\n", id="line before"),
    pytest.param(b"Content-Length: 0000000007\r\n\r\n", id="zeros"),
    pytest.param(b"Content-Length: 7\r\nContent-Type: application/vscode-jsonrpc\r\n\r\n", id="no charset"),
]


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_is_read_in_each_form_of_http(header: bytes) -> None:
    parser = FrameParser()
    parser.on_bad_header = lambda reason: None
    found = [body for at in range(len(header + BODY)) for body in parser.feed((header + BODY)[at : at + 1])]
    assert found == [BODY]
    assert list(parser.feed(header + BODY)) == [BODY]


ENDINGS = [
    reported(
        "jeapostrophe/racket-langserver#32", "a\r\nb\r\nc", [((1, 0), (1, 1), "B")], "a\r\nB\r\nc", id="crlf"
    ),
    reported(
        "MaskRay/ccls#292",
        "a\rb\nc\r\nd",
        [((1, 0), (1, 1), "B"), ((3, 0), (3, 1), "D")],
        "a\rB\nc\r\nD",
        id="mixed",
    ),
    reported("atusy/kakehashi#710", "hello\rworld", [((0, 5), (0, 999), "!")], "hello!\rworld", id="behind"),
    reported("tsz-org/tsz#3933", "x\ry\rz\r", [((1, 0), (1, 1), "Y")], "x\rY\rz\r", id="cr"),
    reported(
        "arduino/arduino-language-server#85",
        "a\n",
        [((1, 0), (1, 0), "\r\n"), ((2, 0), (2, 0), "\r\n")],
        "a\n\r\n\r\n",
        id="new lines",
    ),
    pytest.param("a\r\nb", [((0, 1), (1, 0), "")], "ab", id="joined"),
    pytest.param("a\nb", [((0, 1), (0, 1), "\r")], "a\r\nb", id="cr before lf"),
    pytest.param("", [((0, 0), (5, 9), "x")], "x", id="empty"),
]


@pytest.mark.parametrize(("text", "changes", "expected"), ENDINGS)
def test_changes_count_each_kind_of_line_end(text: str, changes: list[Any], expected: str) -> None:
    documents = Documents(ClientAbilities(), None, ())
    documents.put_text_document(lsp.TextDocumentItem(uri="file:///a", language_id="", version=1, text=text))
    for start, end, new in changes:
        where = lsp.Range(lsp.Position(*start), lsp.Position(*end))
        change = lsp.TextDocumentContentChangePartial(range=where, text=new)
        documents.update_text_document(
            lsp.VersionedTextDocumentIdentifier(version=2, uri="file:///a"), change
        )
    found = documents.maybe_open("file:///a")
    assert found and found.source == expected


REOPENED = [
    reported("fox0430/moe#2997", [("open", 7, "old\n"), ("open", 0, "new\n")], id="opened again"),
    reported(
        "julia-vscode/LanguageServer.jl#480",
        [("open", 7, "old\n"), ("change", 3, "new\n")],
        id="smaller version",
    ),
    reported("microsoft/vscode#79252", [("open", 1, "new\n"), ("change", 2, "new\n")], id="same text"),
    reported("oraios/serena#2009", [("open", 1, "old\n"), ("change", 1, "new\n")], id="same version"),
    pytest.param([("open", None, "new\n")], id="no version"),
    pytest.param([("open", 1, "old\n"), ("change", None, "new\n")], id="change without version"),
]


@pytest.mark.parametrize("steps", REOPENED)
async def test_the_last_text_of_the_client_counts_whatever_its_version(
    tmp_path: Path, steps: list[tuple[str, Any, str]]
) -> None:
    path = tmp_path / "project" / "a.py"
    async with serving(tmp_path) as server:
        await server.client.initialize("vscode", folder=tmp_path / "project")
        for step, version, text in steps:
            if step == "open":
                await server.client.notify("textDocument/didOpen", item(path.as_uri(), text, version))
            else:
                params = {
                    "textDocument": {"uri": path.as_uri(), "version": version},
                    "contentChanges": [{"text": text}],
                }
                await server.client.notify("textDocument/didChange", params)
        result = await server.client.request(
            "agent/newSession", {"clientKey": "k", "provider": "walkthrough"}
        )
        assert result["session"]["id"]
        shown = [it for it in server.client.received if it.get("method") == "window/showMessage"]
        assert not [it for it in shown if it["params"]["type"] == 1], shown
