"""Names of files, outcomes, findings and the next step are complete on a screen of 80 by 24."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest

from tests.neovim.conftest import Panel, StartNvim
from tests.neovim.stand_in_server import StandIn
from tests.support.nvim_driver import Nvim

pytestmark = pytest.mark.req("H9", "H10")

FOLDERS = "src/main/java/org/example/company/department/internal/services"


def calls_of_deep_files(panel: Panel) -> None:
    panel.call("r1", "read_file", f"{FOLDERS}/Invoices.java")
    panel.call_end("r1", "read_file", summary="1200 lines")
    panel.call("e1", "edit_file", "x", '{"file_path": "x"}')
    path = f"/w/{FOLDERS}/Customers.java"
    change = {"callId": "e1", "path": path, "uri": f"file://{path}", "action": "modify", "hunks": []}
    panel.server.emit("file_change", change | {"added": 12, "removed": 3, "diff": "@@ -1 +1 @@\n-a\n+b\n"})
    panel.call_end("e1", "edit_file", summary="1 replacement")


def subagents(panel: Panel) -> None:
    about = {"callId": "", "task": "Measure all the tests of the shop", "model": "m", "workingDir": "/w"}
    ended = {"status": "failed", "reason": "limit", "turnsUsed": 20}
    panel.server.emit("subagent", about | {"agentId": "agent_1"} | ended)
    panel.server.emit("subagent", about | {"agentId": "agent_2", "status": "running", "turnsUsed": 1})


def finding(panel: Panel) -> None:
    message = "Divides by zero when there are no prices, and no caller looks."
    given = {"file_path": "one.txt", "start_line": 2, "end_line": 2, "severity": "error", "message": message}
    panel.call("f1", "report_finding", "error one.txt:2", json.dumps(given))
    panel.call_end("f1", "report_finding", summary=message)


def another_owner(panel: Panel) -> None:
    owner = {"pid": 4711, "host": "ada", "program": "VS Code"}
    access = {"sessionId": "s1", "kind": "access", "data": {"access": "readOnly", "owner": owner}}
    panel.server.tell(access)


def a_wide_message_and_a_request(panel: Panel) -> None:
    panel.server.emit("user_input", {"text": "请检查这个文件的总金额计算是否正确并修复它"})
    panel.ask()


def a_question(panel: Panel) -> None:
    asked = {"questionId": "q1", "callId": "c1", "question": "Which?", "choices": ["this", "that"]}
    panel.server.emit("question_asked", asked)


def a_folder_to_trust(panel: Panel) -> None:
    data = {
        "requestId": "a1",
        "callId": "",
        "tool": "",
        "summary": "/w",
        "reason": "Until then it only reads.",
    }
    effect = {"folder": "/w"}
    panel.server.emit("approval_requested", data | {"effect": effect, "digest": "d", "rules": []})


STATES: dict[str, tuple[Callable[[Panel], None], Sequence[str]]] = {
    "names of deep files": (calls_of_deep_files, ("Invoices.java", "Customers.java +12 −3")),
    "outcomes of subagents": (subagents, ("reached its limit · 20 rounds", "at work · 1 round")),
    "a finding": (finding, ("✗ one.txt:2", "Divides by zero when there", "looks.")),
    "a session of another editor": (another_owner, ("read only  :AgentLs takeover",)),
    "a wide message": (a_wide_message_and_a_request, ("◆ waiting for you",)),
    "a folder to trust": (a_folder_to_trust, ("a trust it  d do not", "<M-a> trust it  <M-d> do not")),
    "keys of a question": (a_question, ("<CR> choose   a answer", "d leave it open")),
}


@pytest.mark.parametrize("name", STATES)
def test_what_decides_is_complete_on_a_small_screen(
    server: StandIn, start_nvim: StartNvim, name: str
) -> None:
    play, words = STATES[name]
    small = start_nvim("one.txt", columns=80, rows=24)
    panel = Panel(small, server)
    panel.open()
    small.keys("<Esc>")
    server.emit("user_input", {"text": "Go on."})

    play(panel)

    small.wait_screen(*words)


def test_a_key_on_a_finding_opens_its_line(panel: Panel, nvim: Nvim) -> None:
    finding(panel)
    nvim.wait_screen("one.txt:2")
    nvim.keys("<Esc>")
    nvim.lua(
        "vim.api.nvim_set_current_win(require('agent_ls.chat.view').window()) vim.fn.search('one.txt:2', 'w')"
    )

    nvim.keys("gf")

    nvim.wait_for("vim.fs.basename(vim.api.nvim_buf_get_name(0)) == 'one.txt' and vim.fn.line('.') == 2")


@pytest.mark.parametrize("columns", [80, 200])
def test_a_table_wider_than_the_panel_is_a_list_of_its_rows(
    columns: int, server: StandIn, start_nvim: StartNvim
) -> None:
    nvim = start_nvim("one.txt", columns=columns, rows=40)
    panel = Panel(nvim, server)
    panel.open()
    reason = "it is rounded too early " * (columns // 20)
    rows = f"| `a.py` | {reason}| yes |\n| a \\| b | second | |"
    panel.say(f"Found:\n\n| file | reason | fixed |\n|---|---|---|\n{rows}\n\nThat is all.")

    shot = nvim.wait_screen("That is all.", "fixed: yes", "a | b", "reason: second")

    assert "|---" not in shot and "fixed |" not in shot
    lines = nvim.lines(nvim.lua("return require('agent_ls.chat.transcript').buffer()"))
    assert [line for line in lines if line.strip()][-6:] == [
        "`a.py`",
        f"- reason: {reason.strip()}",
        "- fixed: yes",
        "**a | b**",
        "- reason: second",
        "That is all.",
    ]


def test_code_and_rules_of_tables_have_one_colour_each(panel: Panel, nvim: Nvim) -> None:
    panel.say("| case | before |\n| --- | --- |\n| three prices | 0 |\n\n```lua\nlocal total = 1\n```")
    nvim.wait_screen("local total", "three prices")

    rule = [look for text, look in row_with(nvim, "| ---") if text == "-"]
    assert len(rule) >= 6 and all(look == rule[0] for look in rule)
    header = row_with(nvim, "| case")
    assert header[0][1] == rule[0] and header[2][1].get("bold"), "bars are subtle, names are strong"
    subtle = nvim.lua("return vim.api.nvim_get_hl(0, { name = 'CursorLine', link = false }).bg")
    assert {look.get("background") for text, look in row_with(nvim, "local total") if text == "t"} == {subtle}


def row_with(nvim: Nvim, text: str) -> list[tuple[str, dict[str, object]]]:
    """Return the cells, from `text` on, of the row of the screen that contains it."""
    for row in nvim.cells():
        at = "".join(cell or " " for cell, _ in row).find(text)
        if at >= 0:
            return row[at:]
    raise AssertionError(f"not on screen: {text!r}")
