"""Mentions, images and fixes in the plugin: highlighted mentions, the clipboard, terminals, diagnostics."""

from __future__ import annotations

import base64
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.neovim.conftest import Panel
from tests.neovim.stand_in_server import StandIn
from tests.support.nvim_driver import Nvim

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def clipboard(nvim: Nvim, folder: Path, data: bytes) -> None:
    """Put a fake wl-paste on PATH that prints `data` if it is asked for an image."""
    (folder / "data").write_bytes(data)
    program = folder / "wl-paste"
    program.write_text(f'#!/bin/sh\n[ "$*" = "--type image/png" ] && cat "{folder}/data"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    nvim.lua("vim.env.PATH = ... .. ':' .. vim.env.PATH vim.env.WAYLAND_DISPLAY = 'wayland-0'", str(folder))


@pytest.mark.req("H24")
def test_mentions_of_git_and_pages_are_highlighted_and_sent_as_parts(panel: Panel) -> None:
    panel.nvim.keys("check @diff and @commit:HEAD~2, see @https://example.org/a. not me@diff<Esc>")
    panel.nvim.wait_screen("@diff and @commit:HEAD~2, see")
    panel.nvim.wait_screen("not me@diff")
    group = panel.nvim.highlight_at
    panel.nvim.wait_until(
        lambda: group("@commit:HEAD~2") == group("@diff and") != group("not me@diff"), "words drawn as chips"
    )

    panel.nvim.keys("<CR>")

    text = "check @diff and @commit:HEAD~2, see @https://example.org/a. not me@diff"
    assert panel.server.expect("agent/submit")["input"] == [
        {"type": "diff", "staged": False},
        {"type": "commit", "revision": "HEAD~2"},
        {"type": "page", "url": "https://example.org/a"},
        {"type": "text", "text": text},
    ]


@pytest.mark.req("H24")
def test_an_attachment_in_a_sent_message_is_displayed_as_one_line(panel: Panel) -> None:
    panel.server.emit("user_input", {"text": "Git diff:\n```\n+ new line\n```\n\nIs it right?"})

    panel.nvim.wait_screen("▸ Git diff", "❯ Is it right?")
    assert "+ new line" not in panel.nvim.screen()


@pytest.mark.req("H24")
def test_image_of_the_clipboard_becomes_a_chip_that_can_be_deleted(panel: Panel, tmp_path: Path) -> None:
    clipboard(panel.nvim, tmp_path, PNG)
    panel.nvim.keys("see <M-v>")
    panel.nvim.wait_screen("see @image:1")
    panel.nvim.keys("<M-v>")
    panel.nvim.wait_screen("see @image:1 @image:2")

    panel.nvim.keys("<BS><C-w><C-w><C-w>it<C-s>")

    sent = panel.server.expect("agent/submit")["input"]
    image = {"type": "image", "mediaType": "image/png", "data": base64.b64encode(PNG).decode("ascii")}
    assert sent[0] == image and sent[-1]["type"] == "text" and len(sent) == 2


@pytest.mark.req("H24")
def test_pasting_without_an_image_in_the_clipboard_shows_a_message(panel: Panel, tmp_path: Path) -> None:
    clipboard(panel.nvim, tmp_path, b"text")
    panel.nvim.keys("<M-v>")
    panel.nvim.wait_screen("The clipboard has no image.")

    panel.nvim.lua("vim.env.WAYLAND_DISPLAY = nil vim.env.DISPLAY = nil")
    panel.nvim.cmd("AgentLs image")
    panel.nvim.wait_screen("Pasting an image needs wl-paste")


@pytest.mark.req("H24")
def test_a_message_with_an_image_pasted_in_an_earlier_neovim_is_refused_with_a_message(panel: Panel) -> None:
    panel.nvim.keys("see @image:7<C-s>")

    panel.nvim.wait_screen("@image:7 was pasted in an earlier Neovim", "see @image:7")
    assert "agent/submit" not in panel.server.seen()


@pytest.mark.req("H24")
def test_a_terminal_mention_is_completed_and_sent_with_the_terminal_text(panel: Panel) -> None:
    panel.nvim.lua(
        "vim.cmd.new() vim.fn.jobstart({ 'sh', '-c', 'echo 2 failed; sleep 60' }, { term = true })"
    )
    buffer = panel.nvim.lua("return vim.api.nvim_get_current_buf()")
    panel.nvim.wait_screen("2 failed")
    panel.server.replies["agent/complete"] = {"items": []}
    panel.nvim.keys("<C-\\><C-n>:AgentLs open<CR>")
    panel.nvim.wait_mode("i")
    panel.nvim.keys("why @term")
    panel.nvim.wait_screen(f"@terminal:buffer-{buffer}")

    panel.nvim.keys("<C-n><C-y><C-s>")

    part, text = panel.server.expect("agent/submit")["input"]
    assert part["type"] == "terminal" and part["text"] == "2 failed"
    assert text["text"] == f"why @terminal:buffer-{buffer}"


@pytest.mark.req("H20")
def test_the_fix_command_sends_the_selected_lines_of_a_terminal(panel: Panel) -> None:
    panel.nvim.lua(
        "vim.cmd.new() vim.fn.jobstart({ 'sh', '-c', 'echo one; echo 2 failed; sleep 60' }, { term = true })"
    )
    panel.nvim.wait_screen("2 failed")

    panel.nvim.keys("<Esc><C-\\><C-n>ggjV:AgentLs fix<CR>")

    part, text = panel.server.expect("agent/submit")["input"]
    assert part["text"] == "2 failed" and part["type"] == "terminal"
    assert text["text"] == "/fix \nwhat this terminal shows"


@pytest.mark.req("H20")
def test_fix_and_explain_take_the_diagnostics_or_the_symbol_at_the_cursor(
    start_nvim: Any, server: StandIn, project: Path
) -> None:
    nvim: Nvim = start_nvim("other.py")
    nvim.lua(
        "vim.diagnostic.set(vim.api.nvim_create_namespace('t'), 0, {"
        "{ lnum = 1, col = 4, message = 'wrong\\ntype', source = 'checker' } })"
    )
    nvim.keys("jw:AgentLs fix quickly<CR>")
    lines, text = server.expect("agent/submit")["input"]
    uri = (project / "other.py").as_uri()
    assert lines == {"type": "selection", "uri": uri, "startLine": 1, "endLine": 2, "text": "    return 1\n"}
    assert text["text"] == "/fix quickly\nline 2: checker: wrong type"

    nvim.keys("gg0w:AgentLs explain<CR>")
    lines, text = server.expect("agent/submit")["input"]
    assert lines["startLine"] == 0 and text["text"] == "/explain \n`f` in line 1"


@pytest.mark.req("H24")
def test_mentions_are_completed_in_the_input_at_the_cursor(start_nvim: Any, server: StandIn) -> None:
    nvim: Nvim = start_nvim("one.txt")
    nvim.keys("Vj:AgentLs<CR>")
    nvim.wait_screen("change one.txt:1-2")
    nvim.keys("as in @diff")
    nvim.wait_screen("as in @diff")

    nvim.keys("<C-s>")

    kinds = [part["type"] for part in server.expect("agent/submit")["input"]]
    assert kinds == ["selection", "diff", "text"]


@pytest.mark.req("H20")
def test_commit_message_completes_the_draft_and_is_undone_by_one_key(
    start_nvim: Any, server: StandIn, project: Path
) -> None:
    (project / "COMMIT_EDITMSG").write_text("shop: \n\n# Please enter the message\n")
    nvim: Nvim = start_nvim("COMMIT_EDITMSG")
    server.replies["agent/commitMessage"] = {"message": "shop: round prices\n\nBecause.", "staged": True}

    nvim.keys(":AgentLs commit<CR>")

    assert server.expect("agent/commitMessage") == {"folder": project.as_uri(), "draft": "shop:"}
    message = ["shop: round prices", "", "Because.", "", "# Please enter the message"]
    nvim.wait_lines(message)
    nvim.keys("u")
    nvim.wait_lines(["shop: ", "", "# Please enter the message"])


@pytest.mark.req("H20")
def test_a_failed_commit_message_request_displays_the_reason(
    start_nvim: Any, server: StandIn, project: Path
) -> None:
    (project / "COMMIT_EDITMSG").write_text("# Please enter the message\n")
    nvim: Nvim = start_nvim("one.txt")
    nvim.keys(":AgentLs commit<CR>")
    nvim.wait_screen("Run this command in the buffer of a commit message")
    server.refuse("agent/commitMessage", "there is nothing to commit", kind="app", hint="Change a file")

    nvim.keys(":e COMMIT_EDITMSG<CR>:AgentLs commit<CR>")

    nvim.wait_screen("there is nothing to commit. Change a file")
    assert nvim.lines() == ["# Please enter the message"]
