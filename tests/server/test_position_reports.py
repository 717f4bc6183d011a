"""Reports of users of Emacs, Sublime, Kakoune, Helix, vim-lsc and JetBrains: positions, addresses, greeting and end."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from agent_ls.server.lsp.capabilities import ClientAbilities
from agent_ls.server.lsp.documents import Documents
from tests.server.test_client_reports import hello, lives, serving
from tests.server.test_other_client_reports import is_answer, item
from tests.support.framed_client import ResponseError
from tests.support.reports import reported

pytestmark = pytest.mark.req("H8", "R5")


def changed(text: str, *changes: tuple[Any, str, int | None], encoding: Any = "utf-16") -> str:
    """Return the text of a document after the changes of a client. A change has its range, text and rangeLength."""
    documents = Documents(ClientAbilities(encoding=encoding), None, ())
    documents.put_text_document(lsp.TextDocumentItem(uri="file:///a", language_id="", version=1, text=text))
    for version, ((start, end), new, length) in enumerate(changes, 2):
        where = lsp.Range(lsp.Position(*start), lsp.Position(*end))
        change = lsp.TextDocumentContentChangePartial(range=where, text=new, range_length=length)
        documents.update_text_document(
            lsp.VersionedTextDocumentIdentifier(version=version, uri="file:///a"), change
        )
    found = documents.maybe_open("file:///a")
    assert found
    return str(found.source)


CHANGES: list[Any] = [
    reported("kakoune-lsp/kakoune-lsp#300", "a\nb\n", [(((0, 0), (9999, 9999)), "new\n", None)], "utf-16", "new\n",
        id="a range far behind the end"),
    reported("clice-io/clice#512", "ab\ncd", [(((0, 0), (99999, 0)), "", None), (((0, 0), (0, 0)), "ab\ncd\n", None),
        (((0, 9), (0, 9)), "x", None), (((9, 0), (9, 0)), "z", None), (((1, 0), (1, 99)), "", None)], "utf-16",
        "abx\n\nz", id="all of it, and behind the ends"),
    reported("Jacob411/Ollama-Copilot#10", "a\nb", [(((7, 3), (7, 3)), "c", None)], "utf-16", "a\nbc",
        id="a line that is not there"),
    reported("rust-lang/rust-analyzer#11081", "fn a() {\n}\n",
        [(((0, 0), (3, 0)), "", 12), (((0, 0), (0, 0)), "fn b() {}", 0)], "utf-16", "fn b() {}",
        id="one line too many"),
    reported("sublimelsp/LSP#1209", "x🙂y\n", [(((0, 1), (0, 3)), "", 1)], "utf-16", "xy\n",
        id="a wrong length"),
    reported("sublimehq/sublime_text#3017", "🙂🙂a\n", [(((0, 2), (0, 2)), "-", None)], "utf-32", "🙂🙂-a\n",
        id="utf-32"),
    reported("helix-editor/helix#5894", "é🙂a\n", [(((0, 2), (0, 6)), "-", None)], "utf-8", "é-a\n", id="utf-8"),
    reported("helix-editor/helix#7469", "日本a\nb\n", [(((0, 6), (1, 0)), "", None)], "utf-8", "日本b\n",
        id="utf-8 over lines"),
    reported("helix-editor/helix#13034", '[\n"🇺🇸",\n"🎄"\n]\n',
        [(((2, 4), (3, 0)), "\n  ", None), (((0, 1), (1, 0)), "\n  ", None)], "utf-16",
        '[\n  "🇺🇸",\n"🎄"\n  ]\n', id="several, from the end"),
    reported("julia-vscode/LanguageServer.jl#1388", "ab\ncd\n", [(((0, 3), (0, 9)), "x", 6)], "utf-16", "abx\ncd\n",
        id="behind the end of a line"),
    reported("helix-editor/helix#6512", "abcdef\ngh\n", [(((0, 4), (0, 1)), "", None), (((1, 1), (0, 2)), "-", None)],
        "utf-16", "ae-h\n", id="the end before the start"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "changes", "encoding", "expected"), CHANGES)
def test_a_change_is_applied_where_the_client_means_it(
    text: str, changes: list[Any], encoding: str, expected: str
) -> None:
    assert changed(text, *changes, encoding=encoding) == expected


URIS: list[Any] = [
    reported("sublimelsp/LSP#1966", "a:b.py", "a:b.py", "a%3Ab.py", id="colon"),
    reported("dylan-lang/lsp-dylan#49", "a b.py", "a%20b.py", "a%20b.py", id="blank"),
    reported("sourcegraph/javascript-typescript-langserver#422", "%test.js", "%25test.js", "%25test.js", id="percent"),
    reported("microsoft/language-server-protocol#1330", "a%20b.py", "a%2520b.py", "a%2520b.py", id="escape in a name"),
    reported("denoland/deno#30945", "é+@.py", "%C3%A9+@.py", "%c3%a9%2B%40.py", id="case of escapes"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "opened", "renamed"), URIS)
async def test_an_unsaved_file_is_read_whatever_the_spelling_of_its_address(
    tmp_path: Path, name: str, opened: str, renamed: str
) -> None:
    (tmp_path / "project").mkdir()
    path = tmp_path / "project" / name
    path.write_text("old\n")
    folder = (tmp_path / "project").as_uri()
    documents = Documents(ClientAbilities(), None, ())
    documents.put_text_document(
        lsp.TextDocumentItem(uri=f"{folder}/{opened}", language_id="", version=1, text="open\n")
    )
    found = documents.maybe_open(f"{folder}/{renamed}")
    assert found and found.source == "open\n"
    assert found.path == str(path)


EGLOT: dict[str, Any] = {
    "workspace": {
        "applyEdit": True,
        "executeCommand": {"dynamicRegistration": False},
        "workspaceEdit": {"documentChanges": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "symbol": {"dynamicRegistration": False},
        "configuration": True,
        "workspaceFolders": True,
    },
    "textDocument": {
        "synchronization": {
            "dynamicRegistration": False,
            "willSave": True,
            "willSaveWaitUntil": True,
            "didSave": True,
        },
        "codeAction": {
            "dynamicRegistration": False,
            "resolveSupport": {"properties": ["edit", "command"]},
            "dataSupport": True,
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix"]}},
        },
    },
    "window": {"showDocument": {"support": True}, "workDoneProgress": True},
    "general": {"positionEncodings": ["utf-32", "utf-8", "utf-16"]},
    "experimental": {},
}


@pytest.mark.report("joaotavora/eglot#526")
@pytest.mark.report("joaotavora/eglot#1443")
@pytest.mark.report("hudson-trading/slang-server#454")
@pytest.mark.report("eclipse-lsp4e/lsp4e#617")
@pytest.mark.report("non-Jedi/eglot-jl#3")
async def test_emacs_is_greeted_first_and_asked_only_for_what_it_can_do(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:

        async def nothing(params: dict[str, Any]) -> None:
            return None

        server.client.handlers["workspace/configuration"] = nothing
        folder = (tmp_path / "project").as_uri()
        given = hello(
            capabilities=EGLOT,
            rootUri=folder,
            initializationOptions={},
            clientInfo={"name": "Eglot", "version": "1.17"},
            workspaceFolders=[{"uri": folder, "name": "~/project/"}],
        )
        result = await server.client.request("initialize", given)
        first = next(it for it in server.client.received if "method" in it or "result" in it)
        assert "result" in first
        assert result["capabilities"].get("positionEncoding", "utf-16") in ("utf-32", "utf-8", "utf-16")
        await server.client.notify("initialized", {})
        await server.client.notify("textDocument/didOpen", item(f"{folder}/a.py", "é = 1\n"))
        await lives(server)
        registered = {
            entry["method"]
            for it in server.client.received
            if it.get("method") == "client/registerCapability"
            for entry in it["params"]["registrations"]
        }
        assert registered <= {"workspace/didChangeWatchedFiles", "workspace/didChangeConfiguration"}
        shown = [it for it in server.client.received if it.get("method") == "window/showMessage"]
        assert not [it for it in shown if it["params"]["type"] == 1], shown


@pytest.mark.report("pappasam/jedi-language-server#42")
@pytest.mark.parametrize("position", [(0, 36), (5, 0), (99, 99)])
async def test_actions_behind_the_end_of_a_line_are_answered(
    tmp_path: Path, position: tuple[int, int]
) -> None:
    uri = (tmp_path / "project/a.py").as_uri()
    async with serving(tmp_path) as server:
        await server.client.initialize("minimal", folder=tmp_path / "project")
        await server.client.notify("textDocument/didOpen", item(uri, "from x import a, f\n"))
        at = {"line": position[0], "character": position[1]}
        asked = {
            "textDocument": {"uri": uri},
            "range": {"start": at, "end": at},
            "context": {"diagnostics": []},
        }
        assert isinstance(await server.client.request("textDocument/codeAction", asked), list)


ENDS: list[Any] = [
    reported("jacobdufault/cquery#265", {"params": {}}, id="an object"),
    reported("ivov/lisette#1001", {"params": None}, id="null"),
    reported("georgewfraser/java-language-server#83", {}, id="nothing"),
]  # fmt: skip


@pytest.mark.parametrize("params", ENDS)
async def test_shutdown_is_answered_with_null_and_exit_ends_with_0(
    tmp_path: Path, params: dict[str, Any]
) -> None:
    async with serving(tmp_path) as server:
        await server.client.initialize("minimal", folder=tmp_path / "project")
        await server.client.send({"jsonrpc": "2.0", "id": 900, "method": "shutdown", **params})
        answer = await server.client.wait_for(partial(is_answer, 900))
        assert "error" not in answer and answer["result"] is None
        await server.client.notify("exit")
        assert await server.exit_code() == 0


async def test_a_request_after_shutdown_is_invalid(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.client.initialize("minimal", folder=tmp_path / "project")
        await server.client.request("shutdown")
        with pytest.raises(ResponseError) as refused:
            await server.client.request("agent/listSessions", {})
        assert refused.value.code == -32600
        await server.client.notify("exit")
        assert await server.exit_code() == 0


@pytest.mark.report("microsoft/language-server-protocol#1226")
async def test_exit_directly_behind_shutdown_ends_well(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.client.initialize("minimal", folder=tmp_path / "project")
        messages = ({"id": 900, "method": "shutdown"}, {"method": "exit"})
        bodies = [json.dumps({"jsonrpc": "2.0", **it}).encode() for it in messages]
        await server.client.send_raw(
            b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(it), it) for it in bodies)
        )
        assert await server.exit_code() == 0


@pytest.mark.report("laravel-ls/laravel-ls#9")
@pytest.mark.parametrize("number", [12345, "no-such-id", None])
async def test_cancelling_a_request_that_does_not_exist_is_no_fault(tmp_path: Path, number: Any) -> None:
    async with serving(tmp_path) as server:
        await server.client.initialize("minimal", folder=tmp_path / "project")
        await server.client.notify("$/cancelRequest", {"id": number})
        await lives(server)
        shown = [it for it in server.client.received if it.get("method") == "window/showMessage"]
        assert not shown and "Traceback" not in server.log
