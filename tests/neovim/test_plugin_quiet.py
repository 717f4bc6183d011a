"""Users never get "Press ENTER" or a traceback, and they find help and health checks."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.neovim.conftest import PLUGIN, Panel, StartNvim
from tests.neovim.stand_in_server import StandIn
from tests.neovim.test_plugin_review import change
from tests.support.nvim_driver import Nvim

LONG = "something went wrong in a way that takes very many words to tell " * 5


@pytest.fixture
def prompting(start_nvim: StartNvim, server: StandIn) -> Nvim:
    """A small Neovim with a session that stops at "Press ENTER", as in users' configurations."""
    nvim = start_nvim("one.txt", columns=80, rows=20, hit_enter=True)
    nvim.keys(":AgentLs new<CR>")
    server.expect("agent/subscribe")
    nvim.wait_screen("○ idle", "What should change?")
    return nvim


def test_the_test_driver_detects_a_press_enter_prompt(prompting: Nvim) -> None:
    prompting.keys("<Esc>:echo 'a'|echo 'b'<CR>")

    prompting.wait_screen("Press ENTER")


@pytest.mark.req("H10", "H17")
def test_no_plugin_message_triggers_the_hit_enter_prompt(prompting: Nvim, server: StandIn) -> None:
    panel = Panel(prompting, server)
    prompting.keys("<Esc>:AgentLs close<CR>")
    prompting.wait_gone("What should change?")

    panel.ask(command=LONG)
    server.emit("error", {"message": f"{LONG}\nand more", "hint": LONG})
    server.emit("warning", {"message": f"{LONG}\nand more"})
    server.emit("processing_end", {"reason": "error"})
    server.notify("window/showMessage", {"type": 1, "message": f"{LONG}\n{LONG}"})
    server.notify("window/showMessage", {"type": 3, "message": f"{LONG}\n{LONG}"})
    server.refuse("agent/submit", LONG)
    prompting.keys(":AgentLs send x<CR>")
    server.expect("agent/submit")
    prompting.keys(":AgentLs nonsense<CR>")
    server.drop_connection()
    prompting.wait_screen("ended unexpectedly")

    assert not prompting.is_blocked()
    assert prompting.mode() == "n"


@pytest.mark.req("H10", "R5")
def test_invalid_events_from_the_server_do_not_stop_the_panel(prompting: Nvim, server: StandIn) -> None:
    for kind in (
        "tool_call_end",
        "file_change",
        "usage",
        "hunk_state",
        "approval_requested",
        "from_the_future",
    ):
        event = server.record("title", {"title": ""})
        server.notify("agent/event", event | {"kind": kind, "data": {"odd": [1, None, {"x": "y"}]}})
    server.notify("agent/event", {"sessionId": "s1", "kind": "assistant_text_delta", "data": {}})
    server.emit("user_input", {"text": "still here"})

    prompting.wait_screen("❯ still here")
    assert not prompting.is_blocked()


@pytest.mark.req("H10", "H17")
def test_an_edit_never_stops_at_press_enter(prompting: Nvim, server: StandIn, project: Path) -> None:
    uri = (project / "one.txt").as_uri()
    document = server.wait_open(uri)
    start = {"line": 0, "character": 0}
    text = "x\n" * 50
    change = {"textDocument": {"uri": uri, "version": document.version}}
    edit = {"range": {"start": start, "end": start}, "newText": text}

    params = {"label": LONG, "edit": {"documentChanges": [change | {"edits": [edit]}]}}
    assert server.request("workspace/applyEdit", params) == {"applied": True}

    server.wait_text(uri, text + "one\ntwo\nthree\nfour\nfive\n")
    assert not prompting.is_blocked()


@pytest.mark.req("H6", "H10")
def test_comment_menu_does_not_stop_at_press_enter(prompting: Nvim, server: StandIn, project: Path) -> None:
    prompting.keys("<Esc><C-w>h")
    uri = (project / "one.txt").as_uri()
    server.wait_open(uri)
    change(server, project)
    prompting.wait_screen("agent 1 of 2")
    prompting.keys("2G:AgentLs comment Shorter<CR>")
    prompting.wait_screen("3: Ask for another version")

    prompting.keys("3<CR>")

    server.expect("agent/submit")
    assert not prompting.is_blocked()


@pytest.mark.req("H10")
def test_invalid_options_are_reported_on_one_line(start_nvim: StartNvim) -> None:
    nvim = start_nvim("one.txt", columns=80, rows=20, hit_enter=True)

    nvim.keys(":lua require('agent_ls').setup({ nonsense = 1, width = 'x', keymaps = { fly = 'f' } })<CR>")

    nvim.wait_screen("agent-ls: setup(): ")
    assert not nvim.is_blocked()


@pytest.mark.req("H10")
def test_an_unused_plugin_defines_its_command_and_loads_no_lua_modules(
    start_nvim: StartNvim, project: Path
) -> None:
    with Nvim(runtime_path=[PLUGIN], cwd=project) as nvim:
        assert nvim.lua("return vim.fn.exists(':AgentLs')") == 2
        loaded = nvim.lua(
            "return vim.tbl_filter(function(n) return n:match('^agent_ls') end, vim.tbl_keys(package.loaded))"
        )
        assert loaded == []


@pytest.mark.req("H10")
def test_help_is_found_by_its_tags(start_nvim: StartNvim, project: Path, tmp_path: Path) -> None:
    copy = tmp_path / "plugin"
    shutil.copytree(PLUGIN, copy)
    with Nvim(runtime_path=[copy], cwd=project) as nvim:
        nvim.cmd(f"helptags {copy}/doc")
        for tag in ("agent-ls", "agent-ls-commands", "agent-ls-config", "agent-ls-keys", ":AgentLs"):
            nvim.cmd(f"help {tag}")
            assert nvim.lua("return vim.fn.expand('%:t')") == "agent-ls.txt"


@pytest.mark.req("H10")
def test_help_names_every_subcommand_option_and_key(nvim: Nvim) -> None:
    text = (PLUGIN / "doc/agent-ls.txt").read_text()
    commands = nvim.lua("return vim.tbl_keys(require('agent_ls.commands').commands)")
    keys = nvim.lua("return vim.tbl_keys(require('agent_ls.config').options.keymaps)")

    for name in commands:
        assert f"AgentLs {name}" in text, name
    for name in [
        *keys,
        "cmd",
        "autostart",
        "provider",
        "model",
        "effort",
        "mode",
        "review",
        "width",
        "notify",
        "hints",
    ]:
        assert f"`{name}`" in text, name


@pytest.mark.req("H10")
def test_the_health_check_reports_the_installation(panel: Panel, nvim: Nvim) -> None:
    nvim.keys("<Esc>")
    nvim.cmd("checkhealth agent_ls")

    report = "\n".join(nvim.lines())

    assert "Neovim 0.1" in report
    assert "server program" in report
    assert "server running, 1 files attached" in report
    assert "protocol version 1, server stand-in" in report
    assert "agent-ls.nvim.log" in report
    assert "ERROR" not in report


@pytest.mark.req("H10")
def test_the_health_check_without_the_program_has_a_hint(start_nvim: StartNvim) -> None:
    nvim = start_nvim(command=["no-such-agent-ls"])
    nvim.cmd("checkhealth agent_ls")

    report = "\n".join(nvim.lines())

    assert 'the program "no-such-agent-ls" is not found' in report
    assert "make demo" in report


@pytest.mark.req("H10")
def test_the_health_check_names_the_configured_program_when_doctor_fails(
    start_nvim: StartNvim, tmp_path: Path
) -> None:
    """The program is often not on PATH, so its full path is what the user can run."""
    program = tmp_path / "agent-ls"
    program.write_text("#!/bin/sh\n[ $1 = doctor ] || echo agent-ls 1.0\n")
    program.chmod(0o755)
    nvim = start_nvim(command=[str(program), "serve", "--stdio"])
    nvim.cmd("checkhealth agent_ls")

    assert f"`{program} doctor` gave no answer" in "\n".join(nvim.lines())


@pytest.mark.req("H10")
@pytest.mark.parametrize(("hangs", "report"), [("doctor", "`{} doctor`"), ("--version", "{} --version")])
def test_the_health_check_says_that_a_program_gives_no_answer(
    start_nvim: StartNvim, tmp_path: Path, hangs: str, report: str
) -> None:
    program = tmp_path / "agent-ls"
    program.write_text(f"#!/bin/sh\n[ $1 = {hangs} ] && exec sleep 600\necho agent-ls 1.0\n")
    program.chmod(0o755)
    nvim = start_nvim(command=[str(program), "serve", "--stdio"])
    nvim.cmd("lua require('agent_ls.health').wait_ms = 1000")
    nvim.cmd("checkhealth agent_ls")

    assert f"{report.format(program)} gave no answer within 1 s" in "\n".join(nvim.lines())


@pytest.mark.req("H10", "H16")
def test_the_health_check_reports_a_missing_key(start_nvim: StartNvim) -> None:
    program = str(Path(sys.executable).with_name("agent-ls"))
    nvim = start_nvim(command=[program, "serve", "--stdio"])
    nvim.cmd("checkhealth agent_ls")

    report = "\n".join(nvim.lines())

    assert "keys: no API key" in report
    assert ":AgentLs key" in report


@pytest.mark.req("H10")
def test_the_key_help_opens_and_closes_as_a_floating_window(panel: Panel, nvim: Nvim) -> None:
    nvim.keys("<Esc>g?")
    nvim.wait_screen("agent-ls keys", "deny, with a reason", "next change")
    nvim.keys("q")
    nvim.wait_gone("agent-ls keys")
