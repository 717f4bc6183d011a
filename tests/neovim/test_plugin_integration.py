"""The plugin together with others: user events, pickers, lualine, plugin managers, and questions at the cursor."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.neovim.conftest import PLUGIN, Panel
from tests.neovim.stand_in_server import StandIn
from tests.neovim.test_plugin_review import change, hunk, reviewed, state
from tests.support import REPOSITORY
from tests.support.nvim_driver import BLANK, Nvim, find_nvim, nvim_version

__all__ = ["reviewed"]

OTHERS = Path(os.environ.get("AGENT_LS_NVIM_PLUGINS", REPOSITORY / ".tools/neovim-plugins"))


def other_plugin(nvim: Nvim, *names: str) -> None:
    """Add third-party plugins to the runtime path, or skip the test if they are missing."""
    for name in names:
        if not (OTHERS / name / "lua").is_dir():
            pytest.skip(f"needs a checkout of {name} in .tools/neovim-plugins, or in $AGENT_LS_NVIM_PLUGINS")
        nvim.cmd(f"set runtimepath+={str(OTHERS / name).replace(' ', BLANK)}")


# -- events


@pytest.mark.req("H10")
def test_user_events_report_changes_of_the_session(
    panel: Panel, server: StandIn, nvim: Nvim, project: Path
) -> None:
    nvim.lua(
        "heard = {} vim.api.nvim_create_autocmd('User', { pattern = 'AgentLs*', callback = function(event)"
        " table.insert(heard, { event.match, event.data }) end })"
    )
    server.emit("user_input", {"text": "go"})
    panel.ask(command="make")
    server.emit(
        "approval_resolved", {"requestId": "a1", "decision": "allow", "scope": "once", "decidedBy": "user"}
    )
    change(server, project)
    state(server, project, hunk(project, "h1", "kept"))
    server.emit("processing_end", {"reason": "completed"})
    nvim.wait_for("#heard == 6")

    heard: list[list[Any]] = nvim.lua("return heard")
    own = {"session_id": "s1"}
    assert heard == [
        ["AgentLsTurnStart", own | {"text": "go"}],
        ["AgentLsApprovalWanted", own | {"request_id": "a1", "tool": "shell", "summary": "make"}],
        ["AgentLsApprovalAnswered", own | {"request_id": "a1", "decision": "allow"}],
        ["AgentLsHunksChanged", own | {"count": 2}],
        ["AgentLsHunksChanged", own | {"count": 1}],
        ["AgentLsTurnEnd", own | {"reason": "completed"}],
    ]


@pytest.mark.req("H10")
def test_an_error_in_a_users_autocommand_does_not_stop_the_panel(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    nvim.lua(
        "vim.api.nvim_create_autocmd('User', { pattern = 'AgentLsTurnStart', callback = function()"
        " error('a mistake') end })"
    )

    server.emit("user_input", {"text": "go"})
    panel.say("I go.")

    nvim.wait_screen("❯ go", "I go.")


# -- pickers


def choose_second(nvim: Nvim) -> None:
    """Open the list of changes and select the second one."""
    nvim.keys("gg:AgentLs hunks<CR>")
    nvim.wait_screen("one.txt:2", "+TWO")  # the entry and its preview
    nvim.keys("<C-n>")
    nvim.wait_screen("-four")
    nvim.keys("<CR>")
    nvim.wait_for("vim.fn.expand('%:t') == 'one.txt' and vim.fn.line('.') == 5")


@pytest.mark.req("H10")
@pytest.mark.parametrize(
    ("plugins", "setup"),
    [
        (["mini.nvim"], "require('mini.pick').setup({ options = { content_from_bottom = false } })"),
        (
            ["plenary.nvim", "telescope.nvim"],
            "require('telescope').setup({ defaults = { layout_config = { preview_cutoff = 1 } } })",
        ),
        (["snacks.nvim"], "require('snacks').setup({ picker = { enabled = true } })"),
        (["fzf-lua"], "require('fzf-lua').setup({})"),
    ],
    ids=["mini", "telescope", "snacks", "fzf-lua"],
)
def test_change_is_chosen_in_a_picker_with_preview(reviewed: Nvim, plugins: list[str], setup: str) -> None:
    if plugins == ["fzf-lua"] and not shutil.which("fzf"):
        pytest.skip("needs the program fzf")
    other_plugin(reviewed, *plugins)
    reviewed.cmd("AgentLs close")
    reviewed.lua(setup)
    if plugins == ["mini.nvim"]:  # mini.pick shows its preview only after a key
        reviewed.lua(
            "vim.api.nvim_create_autocmd('User', { pattern = 'MiniPickStart', callback ="
            " function() vim.schedule(function() vim.api.nvim_input('<Tab>') end) end })"
        )

    choose_second(reviewed)


@pytest.mark.req("H10")
def test_without_a_picker_plugin_changes_are_chosen_by_vim_ui_select(reviewed: Nvim) -> None:
    reviewed.lua(
        "vim.ui.select = function(items, options, done)"
        " vim.g.offered = vim.tbl_map(options.format_item, items) done(items[2]) end"
    )

    reviewed.keys("gg:AgentLs hunks<CR>")

    reviewed.wait_for("vim.fn.line('.') == 5")
    assert reviewed.lua("return vim.g.offered") == [
        "one.txt:2  +2 −1  pending",
        "one.txt:5  +0 −1  pending",
    ]


# -- statusline, icons, plugin managers


@pytest.mark.req("H10")
def test_lualine_displays_the_agent_ls_statusline_component(panel: Panel, nvim: Nvim) -> None:
    other_plugin(nvim, "lualine.nvim")

    nvim.lua("require('lualine').setup({ sections = { lualine_x = { 'agent_ls' } } })")
    nvim.keys("<Esc>")
    nvim.cmd("wincmd h")
    nvim.cmd("AgentLs close")

    nvim.wait_screen("agent-ls ○ idle")


@pytest.mark.req("H10")
def test_files_have_icons_where_mini_icons_is_set_up(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    other_plugin(nvim, "mini.nvim")
    nvim.lua("require('mini.icons').setup() require('agent_ls.icons').refresh()")
    icon = nvim.lua("return (require('mini.icons').get('file', 'cart.py'))")

    panel.call("c1", "read_file", "cart.py")
    panel.call_end("c1", "read_file")

    nvim.wait_screen(f"✓ Read {icon} cart.py")


@pytest.mark.req("H10")
def test_lazy_nvim_loads_the_plugin_with_the_spec_in_the_installation_docs(nvim: Nvim) -> None:
    other_plugin(nvim, "lazy.nvim")
    spec = (REPOSITORY / "docs/installation.md").read_text().partition("-- lazy.nvim\n")[2].partition("\n")[0]
    spec = spec.replace("/path/to/agent-ls/editors/nvim", str(PLUGIN))

    nvim.lua(
        f"require('lazy').setup({{ spec = {{ {spec} }}, root = vim.fn.tempname(),"
        " rocks = { enabled = false }, install = { missing = false }, change_detection = { enabled = false } })"
    )

    assert nvim.lua("return require('lazy.core.config').plugins['nvim'] ~= nil")
    assert nvim.lua("return require('agent_ls.config').options.provider") == "anthropic"


def commit_checkout(folder: Path) -> Path:
    """Create a git repository that has the plugin where the repository of agent-ls has it."""
    checkout = folder / "agent-ls"
    shutil.copytree(PLUGIN, checkout / "editors/nvim")
    git = ["git", "-C", str(checkout), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "all"], check=True)
    return checkout


@pytest.mark.req("H10")
def test_mini_deps_loads_the_plugin_with_the_lines_in_the_installation_docs(
    nvim: Nvim, tmp_path: Path
) -> None:
    other_plugin(nvim, "mini.nvim")
    checkout = commit_checkout(tmp_path)
    lines = (
        (REPOSITORY / "docs/installation.md").read_text().partition("-- mini.deps\n")[2].partition("\n\n")[0]
    )
    nvim.lua("require('mini.deps').setup({ path = { package = ... } })", str(tmp_path / "packages"))
    nvim.cmd(f"set runtimepath-={str(PLUGIN).replace(' ', BLANK)}")

    nvim.lua(
        lines.replace("/path/to/agent-ls", str(checkout)).replace(
            f"{checkout}/editors", "/path/to/agent-ls/editors"
        )
    )

    assert nvim.lua("return vim.api.nvim_get_runtime_file('lua/agent_ls/init.lua', false)") == [
        str(tmp_path / "packages/pack/deps/opt/agent-ls/editors/nvim/lua/agent_ls/init.lua")
    ]


@pytest.mark.req("H10")
@pytest.mark.skipif(nvim_version() < (0, 12), reason="vim.pack needs Neovim 0.12: set AGENT_LS_NVIM")
def test_vim_pack_installs_the_plugin_once_with_the_lines_in_the_installation_docs(tmp_path: Path) -> None:
    checkout = commit_checkout(tmp_path)
    page = (REPOSITORY / "docs/installation.md").read_text()
    lines = page.partition("-- vim.pack (Neovim 0.12)\n")[2].partition("```")[0]
    setup = page.partition("```lua\nvim.opt.runtimepath:prepend")[2].partition("\n")[2].partition("```")[0]
    find_command = ":echo 'exists' exists(':AgentLs')<CR>"

    # `Nvim` reads no init.lua, and is attached after the prompt. So the test runs another Neovim in its terminal.
    with Nvim(cwd=tmp_path) as terminal:
        init = terminal.home / "config/nvim/init.lua"
        init.parent.mkdir(parents=True, exist_ok=True)
        init.write_text(lines.replace("file:///path/to/agent-ls", checkout.as_uri()) + setup)
        terminal.lua("vim.fn.jobstart({ ... }, { term = true }) vim.cmd.startinsert()", find_nvim())
        terminal.wait_screen("will be installed:", f"from {checkout.as_uri()}", "Proceed? [Y]es")
        terminal.keys("y")
        terminal.wait_screen(
            "Installing plugins (1/1)", "type  :help"
        )  # keys pressed before the end of the start are lost
        terminal.keys(find_command)
        terminal.wait_screen("exists 2")
        terminal.keys(":qa<CR>")
        terminal.wait_screen("[Process exited 0]")

        checkout.rename(tmp_path / "moved")  # so that another clone would fail
        terminal.cmd("enew")
        terminal.lua("vim.fn.jobstart({ ... }, { term = true }) vim.cmd.startinsert()", find_nvim())
        terminal.wait_screen("[No Name]", "All")
        terminal.keys(find_command)
        shot = terminal.wait_screen("exists 2")

        assert "Error" not in shot and "Proceed?" not in shot
        installed = terminal.home / "data/nvim/site/pack/core/opt/agent-ls/editors/nvim/lua/agent_ls/init.lua"
        assert installed.is_file()


@pytest.mark.req("H10")
def test_render_markdown_renders_answers_if_it_is_configured_for_the_panel(panel: Panel, nvim: Nvim) -> None:
    other_plugin(nvim, "render-markdown.nvim")
    nvim.lua("require('render-markdown').setup({ file_types = { 'markdown', 'agent_ls_transcript' } })")

    panel.say("# Title\n\n- [ ] open\n")
    nvim.wait_screen("Title", "open")

    marks = nvim.lua(
        "local buf = require('agent_ls.chat.transcript').buffer()"
        " local ns = vim.api.nvim_get_namespaces().agent_ls_transcript"
        " return #vim.api.nvim_buf_get_extmarks(buf, ns, 0, -1, {})"
    )
    assert marks == 0, "two plugins would draw the same text"


# -- asking in place


@pytest.mark.req("H10")
def test_the_input_at_the_cursor_sends_a_message_with_the_selected_lines(
    start_nvim: Any, server: StandIn, project: Path
) -> None:
    nvim: Nvim = start_nvim("one.txt")
    nvim.keys("jVj:AgentLs<CR>")
    nvim.wait_screen("change one.txt:2-3", "<C-s> sends")

    nvim.keys("in capitals<C-s>")

    sent = server.expect("agent/submit")["input"]
    uri = (project / "one.txt").as_uri()
    lines = {"type": "selection", "uri": uri, "startLine": 1, "endLine": 3, "text": "two\nthree\n"}
    assert sent == [lines, {"type": "text", "text": "in capitals"}]
    server.emit("state", {"state": "PROCESSING"})
    nvim.wait_screen("● in capitals  Waiting for the model")
    start, end = {"line": 1, "character": 0}, {"line": 4, "character": 0}
    server.wait_open(uri)
    server.apply_edit(uri, [{"range": {"start": start, "end": end}, "newText": "TWO\n2b\nthree\n"}])
    change(server, project)
    server.emit("state", {"state": "IDLE"})
    nvim.wait_screen("agent 1 of 2")
    nvim.wait_gone("● in capitals")
    assert not nvim.lua("return require('agent_ls.chat.view').is_open()")
    assert nvim.lua("return vim.fn.expand('%:t')") == "one.txt"


@pytest.mark.req("H10")
def test_letters_typed_right_behind_the_key_go_into_the_input_and_not_into_the_file(
    start_nvim: Any, server: StandIn
) -> None:
    nvim: Nvim = start_nvim("one.txt")
    nvim.lua("vim.keymap.set('n', '<F2>', '<Cmd>AgentLs ask<CR>')")

    nvim.keys("<F2>use a constant, dd, not x")

    nvim.wait_screen("change one.txt:1-1", "use a constant, dd, not x")
    nvim.keys("<Esc>q")
    nvim.wait_gone("change one.txt")
    assert nvim.lines() == ["one", "two", "three", "four", "five"]


@pytest.mark.req("H10")
def test_leaving_the_input_at_the_cursor_sends_nothing(start_nvim: Any, server: StandIn) -> None:
    nvim: Nvim = start_nvim("one.txt")
    nvim.cmd("AgentLs ask")
    nvim.wait_screen("change one.txt:1-1")

    nvim.keys("no<Esc>q")
    nvim.wait_gone("change one.txt")

    assert "agent/submit" not in server.seen()
    assert nvim.lines() == ["one", "two", "three", "four", "five"]
