"""Diagnostics after an edit, in a real Neovim: final only if the language servers have checked that version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.neovim.conftest import Panel

pytestmark = pytest.mark.req("H12", "H10")

# A language server inside Neovim that reports only when the test makes it report.
CHECKER = """
local pulls, name = ...
local answers, last = {}, 0
_G.checkers = _G.checkers or {}
local function cmd(dispatchers)
  _G.checkers[name] = {
    tell = function(method, params) dispatchers.notification(method, params) end,
    answer = function()
      for id, answer in pairs(answers) do
        answers[id] = nil
        answer(id)
      end
    end,
    waiting = function() return vim.tbl_count(answers) end,
  }
  return {
    request = function(method, _, callback, on_reply)
      last = last + 1
      if method == 'textDocument/diagnostic' then
        answers[last] = function(id)
          on_reply(id)
          callback(nil, { kind = 'full', items = {} })
        end
      elseif method == 'initialize' then
        local pull = pulls and { interFileDependencies = false, workspaceDiagnostics = false } or nil
        callback(nil, { capabilities = { textDocumentSync = { openClose = true, change = 1 },
          diagnosticProvider = pull } })
      else
        callback(nil, vim.NIL)
      end
      return true, last
    end,
    notify = function() return true end,
    is_closing = function() return false end,
    terminate = function() end,
  }
end
vim.lsp.start({ name = name, cmd = cmd, root_dir = vim.fn.getcwd() }, { bufnr = vim.fn.bufnr('one.txt') })
"""


class Checked:
    def __init__(self, panel: Panel, project: Path) -> None:
        self.panel, self.uri = panel, (project / "one.txt").as_uri()
        panel.server.wait_open(self.uri)

    def start(self, name: str = "checker", *, pulls: bool = False) -> None:
        self.panel.nvim.lua(CHECKER, pulls, name)
        self.panel.nvim.wait_for(f"vim.lsp.get_clients({{ name = '{name}' }})[1].initialized")

    def edit(self) -> int:
        """Edit the buffer; return the version of its text."""
        start = {"line": 0, "character": 0}
        text = self.panel.server.documents[self.uri].text
        self.panel.server.apply_edit(self.uri, [{"range": {"start": start, "end": start}, "newText": "x\n"}])
        return self.panel.server.wait_text(self.uri, f"x\n{text}").version

    def publish(self, version: int | None, message: str = "odd", name: str = "checker") -> None:
        where = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
        params: dict[str, Any] = {"uri": self.uri, "diagnostics": [{"range": where, "message": message}]}
        if version is not None:
            params["version"] = version
        self.tell("textDocument/publishDiagnostics", params, name)

    def tell(self, method: str, params: dict[str, Any], name: str = "checker") -> None:
        self.panel.nvim.lua(
            "local name, method, params = ...\n_G.checkers[name].tell(method, params)", name, method, params
        )

    def next_report(self, message: str | None = None) -> dict[str, Any]:
        """Return the next report of diagnostics; with `message`, the next one that contains this problem."""
        while True:
            next_report = self.panel.server.expect("agent/diagnostics")
            if message is None or message in [item["message"] for item in next_report["items"]]:
                return next_report


@pytest.fixture
def checked(panel: Panel, project: Path) -> Checked:
    return Checked(panel, project)


def test_diagnostics_are_final_once_published_for_the_version_of_the_edit(checked: Checked) -> None:
    checked.start()
    before = checked.panel.server.documents[checked.uri].version
    checked.publish(before, "before")
    assert checked.next_report("before")["settled"] is True
    version = checked.edit()
    assert version > before

    next_report = checked.next_report()
    assert (next_report["version"], next_report["settled"]) == (version, False), (
        "however long nothing is said"
    )
    checked.publish(before, "late")
    assert checked.next_report("late")["settled"] is False, "it is about the text before"
    checked.publish(version, "new")
    assert checked.next_report("new")["settled"] is True


def test_diagnostics_without_a_version_are_never_final(checked: Checked) -> None:
    checked.start()
    checked.edit()
    checked.publish(None)
    assert checked.next_report("odd")["settled"] is False


def test_pull_diagnostics_are_final_after_the_response_of_the_language_server(checked: Checked) -> None:
    checked.start(pulls=True)
    nvim = checked.panel.nvim
    version = checked.edit()
    nvim.wait_for("_G.checkers.checker.waiting() == 1")
    assert checked.next_report()["settled"] is False
    nvim.lua("_G.checkers.checker.answer()")
    next_report = checked.next_report()
    assert (next_report["version"], next_report["settled"]) == (version, True)


def test_diagnostics_are_not_final_while_the_language_server_reports_work_in_progress(
    checked: Checked,
) -> None:
    checked.start()
    progress = {"token": "t", "value": {"kind": "begin", "title": "Indexing"}}
    checked.tell("$/progress", progress)
    checked.publish(checked.edit(), "first")
    assert checked.next_report("first")["settled"] is False
    checked.tell("$/progress", {"token": "t", "value": {"kind": "end"}})
    assert checked.next_report("first")["settled"] is True


def test_diagnostics_are_final_only_after_all_language_servers_have_published(checked: Checked) -> None:
    checked.start()
    checked.start("other")
    checked.publish(0, "theirs", "other")
    version = checked.edit()
    checked.publish(version, "mine")
    assert checked.next_report("mine")["settled"] is False
    checked.publish(version, "by now", "other")
    assert checked.next_report("by now")["settled"] is True


def test_empty_diagnostics_are_final_if_the_language_server_has_never_published(checked: Checked) -> None:
    checked.start()
    version = checked.edit()
    next_report = checked.next_report()
    assert (next_report["version"], next_report["settled"], next_report["items"]) == (version, True, [])
