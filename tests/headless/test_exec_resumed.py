"""`agent-ls exec --resume` of a session that an editor left with pending requests: each is decided, and none blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests.library.sessions import call, options
from tests.support.commands import command, environment, provider_variables, run
from tests.support.fake_provider import FakeProvider, text
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.pseudo_terminal import PseudoTerminal

PROMPT = "[n]o, or type the reason for denying: "
PROPOSED = call("write_file", file_path="made", content="x\n")
ASKED = call("shell", command="touch made")


@pytest.mark.req("H13", "H6", "R4")
@pytest.mark.parametrize(
    ("left", "review", "mode", "is_allowed"),
    [
        (PROPOSED, "before", "ask", False),
        (PROPOSED, "before", "edits", True),
        (ASKED, "after", "edits", False),
        (ASKED, "after", "full", True),
    ],
)
async def test_exec_resume_decides_what_waits_in_a_session_by_the_mode_of_the_run(
    left: Any, review: str, mode: str, is_allowed: bool, tmp_path: Path
) -> None:
    given = options(tmp_path, FakeProvider([left]), mode="edits", review=review, answers_later=True)
    async with agent_ls.open_session(**given) as session:
        async for event in session.run("go"):
            if event.kind in ("hunk_state", "approval_requested"):
                break
        kept = session.id
    with AnthropicServer(["Continued.", "Second."]) as server:
        environ = environment(tmp_path, **provider_variables(server))
        arguments = ("exec", "--mode", mode, "--resume", kept, "and now?")
        done = run(*arguments, cwd=tmp_path / "project", environ=environ)
    assert done.code == (0 if is_allowed else 3) and "Second." in done.out, done
    assert [path.name for path in (tmp_path / "project").iterdir()] == ["made"] * is_allowed


@pytest.mark.req("H13", "R4", "X8")
@pytest.mark.parametrize("flags", [(), ("--trust",)], ids=["kept", "trusted"])
async def test_exec_resume_trusts_the_folder_of_a_turn_that_waits_for_trust_only_by_its_option(
    flags: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TRUST_VARIABLE)
    async with agent_ls.open_session(**options(tmp_path, FakeProvider([]), answers_later=True)) as session:
        async for event in session.run("go"):
            if isinstance(event, agent_ls.ApprovalRequested):
                break
    write = ToolCall("write_file", {"file_path": "made", "content": "x"})
    with AnthropicServer([[write], "Continued.", "Second."]) as server:
        environ = environment(tmp_path, **provider_variables(server))
        environ.pop(TRUST_VARIABLE, None)
        arguments = ("exec", "--mode", "edits", *flags, "--resume", session.id, "and now?")
        done = run(*arguments, cwd=tmp_path / "project", environ=environ)
    assert "Second." in done.out, done
    assert [path.name for path in (tmp_path / "project").iterdir()] == ["made"] * bool(flags)


@pytest.mark.req("H7", "H13", "X8")
async def test_exec_resume_asks_nobody_about_a_waiting_call_that_the_mode_of_the_run_refuses(
    tmp_path: Path,
) -> None:
    given = options(tmp_path, FakeProvider([ASKED]), answers_later=True)
    async with agent_ls.open_session(**given) as session:
        async for event in session.run("go"):
            if event.kind == "approval_requested":
                break
    with AnthropicServer(["Continued.", "Second."]) as server:
        environ = environment(tmp_path, **provider_variables(server))
        argv = command("exec", "--ask", "--mode", "plan", "--resume", session.id, "and now?")
        with PseudoTerminal(argv, cwd=tmp_path / "project", environ=environ) as shown:
            assert shown.exit_code() == 3
            assert "Second." in shown.printed and PROMPT not in shown.printed
    assert not list((tmp_path / "project").iterdir())


@pytest.mark.req("H13")
async def test_exec_resume_of_a_session_whose_folder_was_deleted_is_refused(tmp_path: Path) -> None:
    given = options(tmp_path, FakeProvider([text("Hello.")]))
    async with agent_ls.open_session(**given) as session:
        await session.ask("go")
    (tmp_path / "project").rmdir()
    (tmp_path / "else").mkdir()
    write = ToolCall("write_file", {"file_path": "made", "content": "x"})
    with AnthropicServer([[write], "Done."]) as server:
        environ = environment(tmp_path, **provider_variables(server))
        arguments = ("exec", "--mode", "full", "--resume", session.id, "go on")
        done = run(*arguments, cwd=tmp_path / "else", environ=environ)
        assert server.requests == []
    assert done.code == 1 and "agent-ls sessions relink" in done.err, done
    assert not (tmp_path / "project").exists()
