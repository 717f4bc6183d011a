"""Reports about keeping, undoing and rolling back the changes of agents."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

pytestmark = pytest.mark.req("H13", "X10")

LINES = "one\ntwo\nthree\nfour\nfive\nsix\n"


def allow(request: agent_ls.ApprovalRequested) -> bool:
    return True


def read(path: Path) -> str | None:
    """Return the text of a file, None if there is none."""
    return path.read_text() if path.exists() else None


def make_repository(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)


def given(tmp_path: Path, *turns: list[Any]) -> dict[str, Any]:
    """Return the options of a session whose model makes these calls, in one turn each."""
    script = [step for calls in turns for step in (*calls, text("Done."))]
    return options(tmp_path, FakeProvider(script), mode="full", trusted=True, approve=allow)


async def turn(session: agent_ls.AgentSession) -> str:
    [turn_id] = [event.turn_id async for event in session.run("go") if event.kind == "user_input"]
    return turn_id


def edit(old: str, new: str) -> list[Any]:
    return [
        call("read_file", file_path="a.txt"),
        call("edit_file", file_path="a.txt", old_string=old, new_string=new),
    ]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "project" / "a.txt"
    found.parent.mkdir()
    found.write_text(LINES)
    return found


@pytest.mark.report("microsoft/vscode#292211")
async def test_keeping_in_one_session_leaves_the_changes_of_another(tmp_path: Path, path: Path) -> None:
    async with (
        agent_ls.open_session(**given(tmp_path, edit("one", "ONE"))) as first,
        agent_ls.open_session(**given(tmp_path, edit("six", "SIX"))) as second,
    ):
        await turn(first)
        await turn(second)
        assert await first.review("keep") == []
        assert read(path) == LINES.replace("one", "ONE").replace("six", "SIX")
        assert first.hunks() == {} and len(second.hunks()) == 1
        assert await second.review("undo") == []
        assert read(path) == LINES.replace("one", "ONE")


@pytest.mark.report("microsoft/vscode#264886")
@pytest.mark.parametrize("how", ["tool", "command"])
async def test_a_file_that_the_agent_removed_stays_removed_after_keep(
    how: str, tmp_path: Path, path: Path
) -> None:
    removal = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch"
    by_tool = [call("read_file", file_path="a.txt"), call("apply_patch", patch=removal)]
    calls = by_tool if how == "tool" else [call("shell", command="rm a.txt")]
    more = {"provider": "openai", "model": "gpt-5"} if how == "tool" else {}
    made = given(tmp_path, calls)
    made["adapters"]["openai"] = made["adapters"]["anthropic"]
    async with agent_ls.open_session(**made | more) as session:
        await turn(session)
        assert read(path) is None
        await session.review("keep")
    assert read(path) is None


@pytest.mark.report("zed-industries/zed#31617")
async def test_undoing_a_created_file_keeps_what_the_user_typed_in_it(tmp_path: Path) -> None:
    made = given(tmp_path, [call("write_file", file_path="new.txt", content="agent\n")])
    async with agent_ls.open_session(**made) as session:
        await turn(session)
        path = tmp_path / "project" / "new.txt"
        path.write_text("agent\nmine\n")
        await session.review("undo")
        assert (read(path) or "").endswith("mine\n")


@pytest.mark.report("NousResearch/hermes-agent#80751")
async def test_a_rollback_keeps_lines_changed_by_hand(tmp_path: Path, path: Path) -> None:
    async with agent_ls.open_session(**given(tmp_path, edit("one", "ONE"))) as session:
        turn_id = await turn(session)
        (tmp_path / "project" / "a.txt").write_text(LINES.replace("one", "ONE").replace("six", "mine"))
        await session.roll_back(turn_id)
    assert read(path) == LINES.replace("six", "mine")


@pytest.mark.report("entireio/cli#1408")
async def test_a_rollback_to_a_state_without_a_file_removes_the_file(tmp_path: Path, path: Path) -> None:
    again = [call("write_file", file_path="a.txt", content="back\n")]
    async with agent_ls.open_session(
        **given(tmp_path, [call("shell", command="rm a.txt")], again)
    ) as session:
        await turn(session)
        turn_id = await turn(session)
        assert read(path) == "back\n"
        await session.roll_back(turn_id)
        assert read(path) is None


@pytest.mark.report("cline/cline#12831")
@pytest.mark.report("juanandresgs/claude-ctrl#118")
@pytest.mark.parametrize("has_git", [True, False])
async def test_a_rollback_removes_files_that_a_command_made(
    has_git: bool, tmp_path: Path, path: Path
) -> None:
    if has_git:
        make_repository(path.parent)
    made = [call("shell", command="mkdir -p sub && echo x > made.txt && echo y > sub/made.txt")]
    async with agent_ls.open_session(**given(tmp_path, made)) as session:
        turn_id = await turn(session)
        (path.parent / "mine.txt").write_text("mine\n")
        assert (path.parent / "sub" / "made.txt").exists()
        await session.roll_back(turn_id)
    left = {it.name for it in path.parent.rglob("*.txt")}
    assert left == {"a.txt", "mine.txt"}
