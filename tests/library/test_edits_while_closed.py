"""A person edits the agent's lines while no session is open: the resumed session has the same hunks as an open one."""

from __future__ import annotations

from pathlib import Path

import pytest

import agent_ls
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

pytestmark = pytest.mark.req("X10")


async def write(
    tmp_path: Path, begin: str = "one\ntwo\nthree\n", old: str = "one\n", new: str = "A\nB\nC\n"
) -> str:
    """Run a session that replaces a text of the file, close it, and return its id."""
    path = tmp_path / "project" / "a.txt"
    path.parent.mkdir()
    path.write_text(begin)
    edit = call("edit_file", file_path="a.txt", old_string=old, new_string=new)
    model = FakeProvider([call("read_file", file_path="a.txt"), edit, text("Done.")])
    async with agent_ls.open_session(**options(tmp_path, model, mode="full", trusted=True)) as session:
        await session.ask("go")
        return session.id


def forget_contents(tmp_path: Path) -> None:
    for blob in tmp_path.glob("state/**/blobs/*"):
        blob.unlink()


async def resume(tmp_path: Path, session_id: str) -> agent_ls.AgentSession:
    model = FakeProvider([text("Done.")])
    return await agent_ls.open_session(
        **options(tmp_path, model, mode="full", trusted=True, resume=session_id)
    )


def found(session: agent_ls.AgentSession) -> list[tuple[str, int, tuple[str, ...]]]:
    return [(hunk.state, hunk.start, hunk.lines) for hunks in session.hunks().values() for hunk in hunks]


@pytest.mark.parametrize(
    ("now", "hunk"),
    [
        pytest.param(
            "A\nmine\nC\ntwo\nthree\n", ("edited", 0, ("A\n", "mine\n", "C\n")), id="a line of the agent"
        ),
        pytest.param(
            "mine\ntop\ntwo\nthree\n", ("edited", 0, ("mine\n", "top\n")), id="all lines of the agent"
        ),
        pytest.param("top\nA\nB\nC\ntwo\n", ("pending", 1, ("A\n", "B\n", "C\n")), id="lines around"),
        pytest.param(
            "A\nB\nC\nA\nB\nC\ntwo\nthree\n", ("pending", 0, ("A\n", "B\n", "C\n")), id="a copy below"
        ),
    ],
)
async def test_a_hunk_that_was_edited_while_closed_is_still_open(
    tmp_path: Path, now: str, hunk: tuple[str, int, tuple[str, ...]]
) -> None:
    session_id = await write(tmp_path)
    path = tmp_path / "project" / "a.txt"
    path.write_text(now)
    async with await resume(tmp_path, session_id) as session:
        assert found(session) == [hunk]
        refused = await session.review("undo")
        assert len(refused) == (hunk[0] == "edited")
        assert await session.review("undo", confirm=True) == []
    assert "A" not in path.read_text().splitlines() or now.count("A") == 2


async def test_a_hunk_edited_twice_once_while_open_is_still_open(tmp_path: Path) -> None:
    session_id = await write(tmp_path)
    path = tmp_path / "project" / "a.txt"
    path.write_text("A\nmine\nC\ntwo\nthree\n")
    async with await resume(tmp_path, session_id) as session:
        assert [state for state, *_ in found(session)] == ["edited"]
    path.write_text("top\nA\nmine\nalso mine\ntwo\nthree\n")
    async with await resume(tmp_path, session_id) as session:
        assert found(session) == [("edited", 1, ("A\n", "mine\n", "also mine\n"))]
        assert await session.review("undo", confirm=True) == []
    assert path.read_text() == "top\none\ntwo\nthree\n"


async def test_a_text_in_another_encoding_is_related_too(tmp_path: Path) -> None:
    session_id = await write(tmp_path, begin="\ufeffone\nzwölf\n", new="A\nB\nC\n")
    path = tmp_path / "project" / "a.txt"
    path.write_text(path.read_text().replace("B", "mine"))
    async with await resume(tmp_path, session_id) as session:
        assert [state for state, *_ in found(session)] == ["edited"]


async def test_without_the_last_text_a_lost_hunk_closes_with_an_event(tmp_path: Path) -> None:
    session_id = await write(tmp_path)
    (tmp_path / "project" / "a.txt").write_text("A\nmine\nC\ntwo\nthree\n")
    forget_contents(tmp_path)
    async with await resume(tmp_path, session_id) as session:
        assert session.hunks() == {}
        session.abort()
        changed = [it async for it in session.events(since=0) if isinstance(it, agent_ls.HunkStateChanged)]
        assert [hunk.state for it in changed for hunk in it.hunks][-1:] == ["stale"]
