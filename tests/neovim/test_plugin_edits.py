"""Edits by the server in real buffers: versions, undo steps, cursors, modes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.neovim.conftest import Panel, StartNvim
from tests.neovim.stand_in_server import StandIn
from tests.support.nvim_driver import Nvim

ONE = ["one", "two", "three", "four", "five"]


def lines_edit(first: int, last: int, text: str) -> dict[str, Any]:
    start, end = {"line": first, "character": 0}, {"line": last, "character": 0}
    return {"range": {"start": start, "end": end}, "newText": text}


@pytest.fixture
def uri(project: Path) -> str:
    return (project / "one.txt").as_uri()


@pytest.fixture
def opened(panel: Panel, server: StandIn, uri: str) -> Nvim:
    """Open the file in Neovim and wait until the server has received it."""
    panel.nvim.keys("<Esc>")
    panel.nvim.cmd("wincmd h")
    server.wait_open(uri)
    return panel.nvim


@pytest.mark.req("H4", "H10")
def test_undo_reverts_typing_and_a_server_edit_made_during_the_typing_as_separate_steps(
    opened: Nvim, server: StandIn, uri: str
) -> None:
    opened.keys("jA mine")
    server.wait_text(uri, "one\ntwo mine\nthree\nfour\nfive\n")

    assert server.apply_edit(uri, [lines_edit(3, 4, "FOUR\n4b\n")]) == {"applied": True}
    assert opened.mode() == "i"
    opened.keys(" too<Esc>")
    opened.wait_lines(["one", "two mine too", "three", "FOUR", "4b", "five"])

    opened.keys("u")
    opened.wait_lines(["one", "two mine", "three", "FOUR", "4b", "five"])
    opened.keys("u")
    opened.wait_lines(["one", "two mine", "three", "four", "five"])
    opened.keys("u")
    opened.wait_lines(ONE)
    opened.keys("3<C-r>")
    opened.wait_lines(["one", "two mine too", "three", "FOUR", "4b", "five"])


@pytest.mark.req("H4")
def test_undo_of_a_server_edit_to_the_line_being_typed_keeps_the_typed_text(
    opened: Nvim, server: StandIn, uri: str
) -> None:
    opened.keys("jA mine")
    server.wait_text(uri, "one\ntwo mine\nthree\nfour\nfive\n")
    edit = {
        "range": {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 3}},
        "newText": "TWO!",
    }

    server.apply_edit(uri, [edit])
    opened.keys(" too<Esc>")
    opened.wait_lines(["one", "TWO! mine too", "three", "four", "five"])

    opened.keys("uu")
    opened.wait_lines(["one", "two mine", "three", "four", "five"])


@pytest.mark.req("H4")
def test_undo_after_edits_of_two_calls_reverts_only_the_last_one(
    opened: Nvim, server: StandIn, uri: str
) -> None:
    two_places = [lines_edit(0, 1, "ONE\n"), lines_edit(4, 5, "FIVE\n")]
    server.apply_edit(uri, two_places)
    server.wait_text(uri, "ONE\ntwo\nthree\nfour\nFIVE\n")
    server.apply_edit(uri, [lines_edit(2, 3, "THREE\n")])
    opened.wait_lines(["ONE", "two", "THREE", "four", "FIVE"])

    opened.keys("u")
    opened.wait_lines(["ONE", "two", "three", "four", "FIVE"])
    opened.keys("u")
    opened.wait_lines(ONE)
    opened.keys("<C-r>")
    opened.wait_lines(["ONE", "two", "three", "four", "FIVE"])


@pytest.mark.req("H4")
def test_an_edit_for_an_old_version_is_answered_stale_and_changes_nothing(
    opened: Nvim, server: StandIn, uri: str
) -> None:
    version = server.documents[uri].version
    opened.keys("Ox<Esc>")
    server.wait_text(uri, "x\none\ntwo\nthree\nfour\nfive\n")

    answer = server.apply_edit(uri, [lines_edit(0, 1, "lost\n")], version=version)

    assert answer == {"applied": False, "failureReason": "stale", "failedChange": 0}
    assert opened.lines() == ["x", *ONE]


@pytest.mark.req("H4")
def test_the_did_change_notification_of_an_edit_precedes_the_apply_edit_response(
    opened: Nvim, server: StandIn, uri: str
) -> None:
    before = server.documents[uri].version

    server.apply_edit(uri, [lines_edit(0, 1, "ONE\n")])

    assert server.documents[uri].text == "ONE\ntwo\nthree\nfour\nfive\n"
    assert server.documents[uri].version > before


def test_typing_is_reported_to_the_server_at_once(opened: Nvim, server: StandIn, uri: str) -> None:
    assert opened.lua("return vim.lsp.get_clients({name='agent-ls'})[1].flags.debounce_text_changes") == 0

    opened.keys("ihey")

    server.wait_text(uri, "heyone\ntwo\nthree\nfour\nfive\n")


@pytest.mark.req("H4", "H17")
def test_an_edit_above_the_cursor_keeps_the_cursor_on_its_text_and_screen_row(
    start_nvim: StartNvim, server: StandIn, project: Path
) -> None:
    long = project / "long.txt"
    long.write_text("".join(f"line {n}\n" for n in range(1, 201)))
    nvim = start_nvim("long.txt")
    panel = Panel(nvim, server)
    panel.open()
    nvim.keys("<Esc>")
    nvim.cmd("wincmd h")
    nvim.keys("100Gzt4j$")
    nvim.wait_for("vim.fn.line('.') == 104")

    server.apply_edit(long.as_uri(), [lines_edit(10, 12, "a\nb\nc\nd\ne\n"), lines_edit(150, 151, "")])

    assert nvim.lua("return {vim.fn.line('.'), vim.fn.col('.'), vim.fn.line('w0')}") == [107, 8, 103]
    assert nvim.lua("return vim.api.nvim_get_current_line()") == "line 104"


@pytest.mark.req("H4")
def test_an_edit_of_a_hidden_buffer_is_applied_without_displaying_it(
    opened: Nvim, server: StandIn, uri: str, project: Path
) -> None:
    opened.cmd("edit other.py")
    window = opened.lua("return vim.api.nvim_get_current_win()")

    assert server.apply_edit(uri, [lines_edit(1, 2, "TWO\n")]) == {"applied": True}

    assert opened.lua("return vim.api.nvim_get_current_win()") == window
    assert opened.lua("return vim.fn.expand('%:t')") == "other.py"
    hidden = opened.lua("return vim.fn.bufnr('one.txt')")
    assert opened.lines(hidden) == ["one", "TWO", "three", "four", "five"]
    opened.lua("vim.api.nvim_buf_call(..., function() vim.cmd('silent undo') end)", hidden)
    assert opened.lines(hidden) == ONE
    assert (project / "one.txt").read_text() == "one\ntwo\nthree\nfour\nfive\n"


@pytest.mark.req("H4")
def test_an_edit_while_a_block_is_selected_keeps_the_selection(
    opened: Nvim, server: StandIn, uri: str
) -> None:
    opened.keys("3GVj")
    opened.wait_mode("V")

    server.apply_edit(uri, [lines_edit(0, 1, "a\nb\n")])

    assert opened.mode() == "V"
    opened.keys("d")
    opened.wait_lines(["a", "b", "two", "five"])


@pytest.mark.req("H4", "H10")
def test_files_of_any_filetype_are_opened_on_the_server(
    start_nvim: StartNvim, server: StandIn, project: Path
) -> None:
    (project / "noext").write_text("x\n")
    nvim = start_nvim("one.txt", "noext")
    Panel(nvim, server).open()
    server.wait_open((project / "one.txt").as_uri())

    nvim.keys("<Esc>")
    nvim.cmd("wincmd h | next")
    server.wait_open((project / "noext").as_uri())
    nvim.cmd("edit new.file")
    server.wait_open((project / "new.file").as_uri())

    assert all(not uri.startswith("agent-ls:") for uri in server.documents)


@pytest.mark.req("H4")
def test_changes_of_a_buffer_that_is_not_synced_with_the_server_are_reported(
    opened: Nvim, server: StandIn, project: Path
) -> None:
    # Simulates a buffer of another plugin: its file exists, but our plugin must not attach to it.
    opened.cmd("edit other.py")
    server.wait_open((project / "other.py").as_uri())
    while server.expect("agent/editorState").get("activeUri") != (project / "other.py").as_uri():
        pass

    opened.lua("vim.bo.buftype = 'acwrite'; vim.lsp.buf_detach_client(0, vim.lsp.get_clients()[1].id)")
    opened.keys("ox<Esc>")

    # The previous cursor position may be reported once more before this report.
    while server.expect("agent/editorState")["unsynced"] != [(project / "other.py").as_uri()]:
        pass


@pytest.mark.req("H4")
def test_a_save_request_writes_only_buffers_of_the_requested_version(
    opened: Nvim, server: StandIn, uri: str, project: Path
) -> None:
    server.apply_edit(uri, [lines_edit(0, 1, "ONE\n")])
    version = server.documents[uri].version
    asked = {"requestId": "r1", "clientId": "c1", "what": "save", "deadlineMs": 5000}
    document = {"uri": uri, "version": version - 1}

    event = {"sessionId": "s1", "kind": "client_request", "timestamp": "", "data": asked}
    server.tell(event | {"data": asked | {"params": {"documents": [document]}}})
    refused = server.expect("agent/clientAnswer")
    server.tell(event | {"data": asked | {"params": {"documents": [document | {"version": version}]}}})
    saved = server.expect("textDocument/didSave")
    done = server.expect("agent/clientAnswer")

    assert refused["result"] == {
        "saved": [],
        "failed": [{"uri": uri, "reason": "the document was changed in the meantime"}],
    }
    assert done["sessionId"] == "s1"
    assert done["requestId"] == "r1"
    assert done["result"] == {"saved": [uri], "failed": []}
    assert (project / "one.txt").read_text() == "ONE\ntwo\nthree\nfour\nfive\n"
    assert saved["textDocument"]["uri"] == uri


@pytest.mark.req("H4")
def test_a_check_time_request_reloads_only_unchanged_buffers(
    start_nvim: StartNvim, server: StandIn, project: Path
) -> None:
    nvim = start_nvim("one.txt", hit_enter=True)
    nvim.keys(":AgentLs new<CR>")
    server.expect("agent/subscribe")
    one, other = project / "one.txt", project / "other.py"
    nvim.keys("<Esc><C-w>h:edit other.py<CR>ggOmine<Esc>")
    server.wait_text(other.as_uri(), "mine\ndef f():\n    return 1\n")
    one.write_text("written by a command\n")
    other.write_text("written too\n")
    params = {"uris": [one.as_uri(), other.as_uri(), "file:///nowhere"]}
    asked = {"requestId": "r1", "clientId": "c1", "what": "checkTime", "params": params, "deadlineMs": 5000}

    server.tell({"sessionId": "s1", "kind": "client_request", "timestamp": "", "data": asked})

    assert server.expect("agent/clientAnswer")["result"] == {}
    server.wait_text(one.as_uri(), "written by a command\n")
    assert server.documents[other.as_uri()].text == "mine\ndef f():\n    return 1\n"
    assert not nvim.is_blocked()


def test_an_unsupported_request_is_answered_with_an_error(panel: Panel, server: StandIn) -> None:
    asked = {"requestId": "r1", "clientId": "c1", "what": "makeCoffee", "params": {}, "deadlineMs": 5000}

    server.tell({"sessionId": "s1", "kind": "client_request", "timestamp": "", "data": asked})

    answer = server.expect("agent/clientAnswer")
    assert answer["error"] == 'this editor does not support the request "makeCoffee"'
    assert "result" not in answer


@pytest.mark.req("H4", "H10")
def test_the_plugin_announces_the_expected_client_capabilities(panel: Panel, server: StandIn) -> None:
    announced = server.initialize["capabilities"]["experimental"]["agentLs"]

    assert announced == {
        "version": 1,
        "events": True,
        "review": True,
        "approvals": True,
        "terminal": True,
        "save": True,
        "diagnostics": True,
        "language": True,
        "details": True,
    }
