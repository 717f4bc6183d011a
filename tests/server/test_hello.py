"""The answer to `initialize`: announced capabilities are granted, all others are not, and invalid ones are ignored."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.server import protocol
from agent_ls.server.lsp import to_lsp
from agent_ls.server.lsp.capabilities import (
    PROTOCOL_VERSION,
    ClientAbilities,
    client_abilities,
    initialize_result,
)
from agent_ls.server.start import early_answer
from tests.support.framed_client import CAPABILITIES, CLIENT_INFO


def params(editor: str, **more: Any) -> dict[str, Any]:
    return {"processId": 7, "clientInfo": CLIENT_INFO[editor], "capabilities": CAPABILITIES[editor], **more}


@pytest.mark.req("H8")
@pytest.mark.parametrize(
    ("editor", "expected"),
    [
        (
            "vscode",
            ClientAbilities(
                "Visual Studio Code",
                7,
                "utf-16",
                events=True,
                review=True,
                approvals=True,
                apply_edit_announced=True,
                renames_files=True,
                deletes_files=True,
                save=True,
                configuration=True,
                work_done_progress=True,
            ),
        ),
        (
            "neovim",
            ClientAbilities(
                "Neovim",
                7,
                "utf-8",
                newline_only=True,
                prints_labels=True,
                events=True,
                review=True,
                approvals=True,
                apply_edit_announced=True,
                save=True,
                configuration=True,
            ),
        ),
        ("minimal", ClientAbilities("", 7)),
    ],
)
def test_the_announced_capabilities_of_each_editor_are_parsed(editor: str, expected: ClientAbilities) -> None:
    assert client_abilities(params(editor)) == expected


@pytest.mark.req("H8")
def test_initialize_returns_the_granted_capabilities_and_none_to_plugin_free_clients() -> None:
    rich = initialize_result(client_abilities(params("vscode")))["capabilities"]
    assert rich["experimental"]["agentLs"]["events"] is True
    assert rich["experimental"]["agentLs"]["terminal"] is False
    assert "experimental" not in initialize_result(client_abilities(params("minimal")))["capabilities"]


@pytest.mark.parametrize("wanted", [{"version": 2, "events": True}, {"version": "1"}, {"events": True}])
def test_a_client_of_another_version_is_treated_as_plugin_free_with_version_mismatch(
    wanted: dict[str, Any],
) -> None:
    client = client_abilities({"capabilities": {"experimental": {"agentLs": wanted}}})
    assert client.version_mismatch
    assert not client.is_rich


@pytest.mark.parametrize(
    ("offered", "expected"),
    [
        (["utf-32", "utf-8"], "utf-32"),
        (["utf-7", "utf-8"], "utf-8"),
        (["utf-7"], "utf-16"),
        ([7, None], "utf-16"),
        ("utf-8", "utf-16"),
        (None, "utf-16"),
    ],
)
def test_the_first_known_position_encoding_that_the_client_offers_is_selected(
    offered: object, expected: str
) -> None:
    assert (
        client_abilities({"capabilities": {"general": {"positionEncodings": offered}}}).encoding == expected
    )


@pytest.mark.req("R5")
@pytest.mark.parametrize(
    "nonsense",
    [
        {},
        {"capabilities": None},
        {"capabilities": {"general": 7, "workspace": [], "experimental": "x"}, "clientInfo": "me"},
        {"capabilities": {"experimental": {"agentLs": 1}}, "processId": "7"},
        {"capabilities": {}, "processId": True, "clientInfo": {"name": 7}},
    ],
)
def test_invalid_capabilities_count_as_missing(nonsense: dict[str, Any]) -> None:
    assert client_abilities(nonsense) == ClientAbilities()


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[" * 100_000,
        b"[]",
        b'{"jsonrpc":"2.0","method":"initialize","params":{}}',
        b'{"jsonrpc":"2.0","id":null,"method":"initialize","params":{}}',
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}',
        b'{"jsonrpc":"2.0","id":1,"method":"initialize"}',
        b'{"jsonrpc":"2.0","id":1,"method":"shutdown","params":{}}',
        b'{"id":1,"method":"initialize","params":{}}',
    ],
)
def test_only_a_well_formed_initialize_is_answered_early(body: bytes) -> None:
    assert early_answer(body) is None


def test_the_early_initialize_answer_equals_the_regular_initialize_answer() -> None:
    message = {"jsonrpc": "2.0", "id": "x", "method": "initialize", "params": params("neovim")}
    answer = json.loads(early_answer(json.dumps(message).encode()) or b"")
    assert answer == {
        "jsonrpc": "2.0",
        "id": "x",
        "result": initialize_result(client_abilities(params("neovim"))),
    }


def test_the_announced_protocol_version_is_the_version_of_the_protocol_module() -> None:
    assert PROTOCOL_VERSION == protocol.VERSION


@pytest.mark.req("H4")
@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (
            {"documentChanges": True, "resourceOperations": ["rename", "delete"], "failureHandling": "abort"},
            (True, True),
        ),
        ({"documentChanges": True, "resourceOperations": ["rename", "delete"]}, (True, False)),
        ({"resourceOperations": ["rename", "delete"], "failureHandling": "abort"}, (False, False)),
        (
            {"documentChanges": True, "resourceOperations": "rename", "failureHandling": "abort"},
            (False, False),
        ),
        ({"documentChanges": True, "resourceOperations": [1, None], "failureHandling": 5}, (False, False)),
        ({}, (False, False)),
    ],
)
def test_file_renames_require_versioned_edits_and_deletions_also_abort_on_failure(
    edit: dict[str, object], expected: tuple[bool, bool]
) -> None:
    client = client_abilities({"capabilities": {"workspace": {"workspaceEdit": edit}}})
    assert (client.renames_files, client.deletes_files) == expected


@pytest.mark.parametrize(
    ("edit", "is_plain"),
    [({"documentChanges": True}, False), ({"documentChanges": False}, True), ({}, False), (None, False)],
)
def test_clients_that_declare_no_versioned_edits_get_plain_ones(edit: object, is_plain: bool) -> None:
    workspace = {} if edit is None else {"workspaceEdit": edit}
    assert client_abilities({"capabilities": {"workspace": workspace}}).plain_edits is is_plain


@pytest.mark.report("natebosch/vim-lsc#105")
def test_plain_edit_has_changes_and_no_document_changes() -> None:
    edit = to_lsp.document_edit("file:///a", None, [], None).edit
    assert edit.changes == {"file:///a": []} and edit.document_changes is None
