"""The check of messages against the LSP meta model accepts valid messages and finds errors in invalid ones.

FramedClient runs this check on each message that it receives in any test.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tests.support.lsp_model import error_in_message

pytestmark = pytest.mark.req("H1", "H8")

RANGE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 3}}
DIAGNOSTICS = {
    "jsonrpc": "2.0",
    "method": "textDocument/publishDiagnostics",
    "params": {
        "uri": "file:///a.txt",
        "version": 3,
        "diagnostics": [{"range": RANGE, "severity": 3, "message": "m", "data": {"any": [None]}}],
    },
}
EDIT = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "workspace/applyEdit",
    "params": {
        "edit": {
            "documentChanges": [
                {
                    "textDocument": {"uri": "file:///a.txt", "version": None},
                    "edits": [{"range": RANGE, "newText": "x"}],
                },
                {"kind": "rename", "oldUri": "file:///a.txt", "newUri": "file:///b.txt"},
            ]
        }
    },
}
PROGRESS = {
    "jsonrpc": "2.0",
    "method": "$/progress",
    "params": {"token": "t", "value": {"kind": "begin", "title": "Turn", "cancellable": True}},
}
REFRESH = {"jsonrpc": "2.0", "id": 2, "method": "workspace/codeLens/refresh"}
ACTIONS = {
    "jsonrpc": "2.0",
    "id": 3,
    "result": [{"title": "Keep", "kind": "quickfix", "command": {"title": "Keep", "command": "keep"}}],
}
REMOVED = object()


def changed(message: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy of `message` with `value` at `path` (members and indexes, separated by dots)."""
    copy = deepcopy(message)
    *parents, last = path.split(".")
    part: Any = copy
    for name in parents:
        part = part[int(name) if name.isdigit() else name]
    if value is REMOVED:
        del part[last]
    else:
        part[last] = value
    return copy


@pytest.mark.parametrize("message", [DIAGNOSTICS, EDIT, PROGRESS, REFRESH])
def test_no_error_is_found_in_a_message_that_conforms_to_the_lsp_meta_model(message: dict[str, Any]) -> None:
    assert error_in_message(message, "") == ""


def test_no_error_is_found_in_a_response_that_conforms_to_the_lsp_meta_model() -> None:
    assert error_in_message(ACTIONS, "textDocument/codeAction") == ""
    assert error_in_message({"jsonrpc": "2.0", "id": 1, "result": None}, "shutdown") == ""
    error = {"code": -32601, "message": "unknown", "data": [1]}
    assert error_in_message({"jsonrpc": "2.0", "id": 1, "error": error}, "textDocument/hover") == ""


@pytest.mark.parametrize(
    ("message", "path", "value"),
    [
        (DIAGNOSTICS, "jsonrpc", REMOVED),
        (DIAGNOSTICS, "id", 1),
        (DIAGNOSTICS, "params.uri", REMOVED),
        (DIAGNOSTICS, "params.extra", 1),
        (DIAGNOSTICS, "params.version", None),
        (DIAGNOSTICS, "params.version", True),
        (DIAGNOSTICS, "params.diagnostics", {}),
        (DIAGNOSTICS, "params.diagnostics.0.severity", 9),
        (DIAGNOSTICS, "params.diagnostics.0.range.end", REMOVED),
        (DIAGNOSTICS, "params.diagnostics.0.related_information", []),
        (EDIT, "id", REMOVED),
        (EDIT, "params.edit.documentChanges.0.textDocument.version", REMOVED),
        (EDIT, "params.edit.documentChanges.0.edits.0.newText", 7),
        (EDIT, "params.edit.documentChanges.1.kind", "move"),
        (PROGRESS, "params.value.title", REMOVED),
        (PROGRESS, "params.value.percent", 10),
        (REFRESH, "params", None),
    ],
)
def test_an_error_is_found_in_an_invalid_lsp_message(message: dict[str, Any], path: str, value: Any) -> None:
    assert error_in_message(changed(message, path, value), "")


@pytest.mark.parametrize(
    ("path", "value"),
    [("result.0.title", REMOVED), ("result.0.sort", 1), ("result.0.command.title", None), ("result", "no")],
)
def test_an_error_is_found_in_an_invalid_lsp_response(path: str, value: Any) -> None:
    assert error_in_message(changed(ACTIONS, path, value), "textDocument/codeAction")
