"""A session of a program takes nothing from the account that it runs in, unless the program asks for it."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

import agent_ls
from agent_ls.library import opening
from agent_ls.services.settings.state_folder import state_folder
from tests.library.sessions import call
from tests.support.fake_provider import FakeProvider, text

pytestmark = pytest.mark.req("H13", "X1")

SKILL = "---\nname: {name}\ndescription: The skill {name}.\n---\nDo it.\n"
TOOLS = "tools:\n  - name: lint_all\n    description: Lints.\n    category: read\n    cmd: ls\n"


@pytest.fixture
def account() -> Path:
    """Return the home folder of a user who has set up everything that agent-ls reads."""
    home, state = Path.home(), state_folder()
    files = {
        home / ".claude/skills/foreign/SKILL.md": SKILL.format(name="foreign-skill"),
        home / ".agents/skills/shared/SKILL.md": SKILL.format(name="shared-skill"),
        state / "skills/own/SKILL.md": SKILL.format(name="own-skill"),
        state / "memory.md": "The user likes tabs.\n",
        state / "tools.yaml": TOOLS,
        state / "hooks.json": json.dumps(
            {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": f"touch {home}/hooked"}]}]}}
        ),
        state / "mcp.json": json.dumps({"mcpServers": {"mine": {"command": "false"}}}),
    }
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return home


async def seen_by_the_model(tmp_path: Path, **given: Any) -> str:
    """Return everything that the model of a session gets for one message."""
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    (project / "AGENTS.md").write_text("Our project.\n")
    model = FakeProvider([text("Done.")])
    async with agent_ls.open_session(
        project, provider="anthropic", adapters={"anthropic": model}, trusted=True, **given
    ) as session:
        await session.ask("go")
    (request,) = model.requests
    return str([request.messages, request.tools])


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for sessions that are not stored, which no other test uses."""
    folder = tmp_path / "memory"
    folder.mkdir()
    monkeypatch.setattr(opening, "MEMORY", folder)
    return folder


def stores(memory: Path) -> list[Path]:
    """Return the folders of sessions that are not stored."""
    return [path for path in memory.iterdir() if not path.is_symlink()]


async def wait_for_removals() -> None:
    """Wait for the threads that remove what killed processes have left."""
    for thread in threading.enumerate():
        if thread.name == f"remove {opening.LOG_PREFIX}*":
            await anyio.to_thread.run_sync(thread.join)


PERSONAL = ("foreign-skill", "shared-skill", "own-skill", "likes tabs", "lint_all")


@pytest.mark.report("anthropics/claude-code#45602")
async def test_a_session_has_nothing_personal_by_default(tmp_path: Path, account: Path) -> None:
    seen = await seen_by_the_model(tmp_path)
    assert [word for word in PERSONAL if word in seen] == []
    assert "Our project." in seen
    assert not (account / "hooked").exists()


async def test_a_personal_session_has_what_the_user_set_up(tmp_path: Path, account: Path) -> None:
    seen = await seen_by_the_model(tmp_path, personal=True)
    assert [word for word in PERSONAL if word not in seen] == []
    assert (account / "hooked").exists()


async def test_personal_files_in_a_state_folder_of_the_program_are_not_used_either(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "tools.yaml").write_text(TOOLS)
    assert "lint_all" not in await seen_by_the_model(tmp_path, state_dir=own)
    assert "lint_all" in await seen_by_the_model(tmp_path, state_dir=str(own), personal=True)


async def test_sessions_of_programs_are_not_among_those_of_the_user(tmp_path: Path) -> None:
    await seen_by_the_model(tmp_path)
    user, programs = state_folder() / "workspaces", state_folder() / "programs" / "workspaces"
    assert not user.exists() and len(list(programs.glob("*/sessions/*"))) == 1
    await seen_by_the_model(tmp_path, personal=True)
    assert len(list(user.glob("*/sessions/*"))) == 1


async def test_a_session_that_is_not_stored_leaves_nothing(tmp_path: Path, memory: Path) -> None:
    assert "go" in await seen_by_the_model(tmp_path, stored=False)
    assert stores(memory) == []
    assert not list(state_folder().glob("**/sessions/*"))


async def test_a_worktree_is_refused_where_its_changes_would_not_be_stored(tmp_path: Path) -> None:
    with pytest.raises(agent_ls.AppError) as caught:
        agent_ls.open_session(tmp_path, stored=False, worktree="head")
    assert "state_dir" in caught.value.hint


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
import agent_ls
from agent_ls.library import opening

async def main(memory, folder):
    opening.MEMORY = Path(memory)
    model = agent_ls.ScriptedModel("One.")
    session = await agent_ls.open_session(
        folder, provider="test", adapters={"test": model}, stored=False, trusted=True
    )
    await session.ask("go")
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.group("processes")
@pytest.mark.skipif(os.name == "nt", reason="on Windows nothing is locked, so nothing is removed")
async def test_what_a_killed_program_did_not_store_is_removed_by_the_next_session(
    tmp_path: Path, memory: Path
) -> None:
    project, other = tmp_path / "project", tmp_path / "other"
    for folder in (project, other / "deep"):
        folder.mkdir(parents=True)
    await anyio.run_process([sys.executable, "-c", KILLED, str(memory), str(project)], check=False)
    (left,) = stores(memory)
    assert list((left / "workspaces").rglob("log.jsonl"))
    (memory / f"{opening.LOG_PREFIX}link").symlink_to(other)

    model = FakeProvider([text("One."), text("Two.")])
    given: dict[str, Any] = {"provider": "anthropic", "adapters": {"anthropic": model}, "stored": False}
    async with agent_ls.open_session(tmp_path, **given) as first, agent_ls.open_session(tmp_path, **given):
        await wait_for_removals()
        assert len(stores(memory)) == 2
        assert await first.ask("go") == "One." and await first.calls() == ()
    assert not left.exists() and (other / "deep").exists()


async def test_the_log_of_a_session_that_is_not_stored_is_closed_to_other_users(
    tmp_path: Path, memory: Path
) -> None:
    model = FakeProvider([text("Done.")])
    given: dict[str, Any] = {"provider": "anthropic", "adapters": {"anthropic": model}, "stored": False}
    async with agent_ls.open_session(tmp_path, **given) as session:
        await session.ask("go")
        (store,) = stores(memory)
        assert stat.S_IMODE(store.stat().st_mode) == 0o700
        assert await session.calls() == ()
    assert not store.exists()


async def test_the_state_folder_of_the_user_stays_closed_to_the_agent(tmp_path: Path) -> None:
    state = state_folder()
    state.mkdir(parents=True)
    (state / "keys.json").write_text("secret-of-the-user")
    read = call("read_file", file_path=str(state / "keys.json"))
    for given in ({}, {"state_dir": tmp_path / "own"}, {"stored": False}):
        model = FakeProvider([read, text("Done.")])
        more: dict[str, Any] = given
        async with agent_ls.open_session(
            state.parent,
            provider="anthropic",
            adapters={"anthropic": model},
            trusted=True,
            mode="full",
            **more,
        ) as session:
            (end,) = [it async for it in session.run("go") if isinstance(it, agent_ls.ToolCallEnd)]
        assert end.is_error and "secret-of-the-user" not in str(model.requests)


async def test_an_unknown_session_says_how_to_open_one_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(agent_ls.AppError) as caught:
        await agent_ls.open_session(tmp_path, resume="s-0123456789abcdef")
    assert "personal=True" in caught.value.hint
