"""Management of stored sessions in the plugin: rename, fork, export, resume (H10)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.neovim.conftest import Panel, StartNvim
from tests.neovim.stand_in_server import StandIn
from tests.support.nvim_driver import Nvim


@pytest.mark.req("H10")
def test_rename_sends_the_given_title(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    nvim.cmd("AgentLs rename Fix the totals")

    sent = server.expect("agent/rename")
    assert (sent["sessionId"], sent["title"]) == ("s1", "Fix the totals")


@pytest.mark.req("H10")
def test_fork_switches_to_the_new_session(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    nvim.cmd("AgentLs fork")

    assert server.expect("agent/fork")["sessionId"] == "s1"
    assert server.expect("agent/subscribe")["sessionId"] == "s2"


@pytest.mark.req("H10")
def test_export_opens_the_transcript_in_a_separate_window(panel: Panel, server: StandIn, nvim: Nvim) -> None:
    nvim.cmd("AgentLs export")

    nvim.wait_screen("# Totals")
    assert server.expect("agent/export")["format"] == "markdown"


@pytest.mark.req("H10")
def test_export_html_redacted_sends_its_options_and_unknown_formats_are_refused(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    nvim.cmd("AgentLs export pdf")
    assert "Use markdown, html, or html redacted" in nvim.lua("return vim.fn.execute('messages')")
    nvim.cmd("AgentLs export html redacted")

    nvim.wait_screen("# Totals")
    asked = server.expect("agent/export")
    assert (asked["format"], asked["redact"]) == ("html", True)
    assert nvim.lua("return vim.bo.filetype") == "html"


@pytest.mark.req("H2", "H10")
def test_message_right_after_resume_goes_to_the_resumed_session(
    server: StandIn, nvim: Nvim, project: Path
) -> None:
    server.session("s-old", title="yesterday", workspaceFolder=project.as_uri())

    nvim.lua("vim.cmd('AgentLs resume'); require('agent_ls').send('raced')")

    assert server.expect("agent/submit")["sessionId"] == "s-old"
    assert "agent/newSession" not in server.seen()


@pytest.mark.req("H2", "H10")
def test_a_message_during_the_opening_of_another_session_goes_to_that_session(
    panel: Panel, server: StandIn, nvim: Nvim
) -> None:
    server.session("s-other", title="the other")

    nvim.lua("require('agent_ls.session').open('s-other'); require('agent_ls').send('for the other')")

    assert server.expect("agent/submit")["sessionId"] == "s-other"


@pytest.mark.req("H2", "H10")
def test_a_message_after_a_failed_resume_is_restored_to_the_prompt(
    server: StandIn, nvim: Nvim, project: Path
) -> None:
    server.session("s-old", title="yesterday", workspaceFolder=project.as_uri())
    server.refuse("agent/subscribe", "its log cannot be read")

    nvim.lua("vim.cmd('AgentLs resume'); require('agent_ls').send('keep me')")

    nvim.wait_screen("its log cannot be read", "keep me")
    assert "agent/submit" not in server.seen()


@pytest.mark.req("H10", "H17")
def test_a_message_sent_while_the_server_starts_is_displayed_as_being_sent(start_nvim: StartNvim) -> None:
    nvim = start_nvim("one.txt", command=["sh", "-c", "cat > /dev/null"])  # the server never answers

    nvim.lua("require('agent_ls').open(); require('agent_ls').send('Fix the totals')")

    nvim.wait_screen("starting", "Sending: Fix the totals")


@pytest.mark.req("H2", "H10")
def test_the_memory_of_the_project_is_opened_from_the_prompt(
    panel: Panel, server: StandIn, nvim: Nvim, project: Path
) -> None:
    uris = {name: (project / ".agent-ls" / f"{name}.md").as_uri() for name in ("memory", "user")}
    server.replies["agent/memory"] = {"project": uris["memory"], "user": uris["user"]}
    nvim.keys("<Esc>")
    nvim.cmd("AgentLs memory")
    nvim.wait_screen("There is no memory yet")
    (project / ".agent-ls").mkdir()
    (project / ".agent-ls" / "memory.md").write_text("- Prices are in cents.\n")
    nvim.lua("require('agent_ls.chat.input').set_text('/memory'); require('agent_ls.chat.input').send()")

    nvim.wait_screen("- Prices are in cents.")
    assert "agent/submit" not in server.seen()
