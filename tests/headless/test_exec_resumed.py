"""`agent-ls exec --resume` of a session that an editor left with pending requests: each is decided, and none blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

import agent_ls
from tests.library.sessions import call, options
from tests.support.commands import environment, provider_variables, run
from tests.support.fake_provider import FakeProvider
from tests.support.loopback import AnthropicServer


@pytest.mark.req("H13", "H6", "R4")
@pytest.mark.parametrize(("mode", "code", "files"), [("ask", 3, []), ("edits", 0, ["new.txt"])])
async def test_exec_resume_decides_hunks_proposed_in_an_editor_by_the_mode(
    mode: str, code: int, files: list[str], tmp_path: Path
) -> None:
    model = FakeProvider([call("write_file", file_path="new.txt", content="x\n")])
    given = options(tmp_path, model, mode="edits", review="before", answers_later=True)
    async with agent_ls.open_session(**given) as session:
        async for event in session.run("go"):
            if event.kind == "hunk_state":
                break
        kept = session.id
    with AnthropicServer(["Continued.", "Second."]) as server:
        environ = environment(tmp_path, **provider_variables(server))
        done = run(
            "exec",
            "--mode",
            mode,
            "--resume",
            kept,
            "and now?",
            cwd=tmp_path / "project",
            environ=environ,
        )
    assert done.code == code and "Second." in done.out, done
    assert [path.name for path in (tmp_path / "project").iterdir()] == files


@pytest.mark.req("H13", "H6", "R4")
@pytest.mark.parametrize(("mode", "code", "files"), [("edits", 3, []), ("full", 0, ["made"])])
async def test_exec_resume_decides_about_a_command_that_waits_by_the_mode_of_the_run(
    mode: str, code: int, files: list[str], tmp_path: Path
) -> None:
    model = FakeProvider([call("shell", command="touch made")])
    given = options(tmp_path, model, mode="edits", answers_later=True)
    async with agent_ls.open_session(**given) as session:
        async for event in session.run("go"):
            if event.kind == "approval_requested":
                break
        kept = session.id
    with AnthropicServer(["Continued.", "Second."]) as server:
        environ = environment(tmp_path, **provider_variables(server))
        arguments = ("exec", "--mode", mode, "--resume", kept, "and now?")
        done = run(*arguments, cwd=tmp_path / "project", environ=environ)
    assert done.code == code and "Second." in done.out, done
    assert [path.name for path in (tmp_path / "project").iterdir()] == files
