"""Stored sessions that a program reads and searches without opening them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import agent_ls
from agent_ls.services.errors import UnreadableSessionError
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

pytestmark = pytest.mark.req("H13", "R4")


async def stored(tmp_path: Path, said: str, answer: str) -> str:
    model = FakeProvider([call("list_dir", path="."), text(answer)])
    async with agent_ls.open_session(**options(tmp_path, model), trusted=True) as session:
        await session.ask(said)
    return session.id


async def test_a_stored_session_is_read_and_stays_as_it_is(tmp_path: Path) -> None:
    session_id = await stored(tmp_path, "Look.", "Done.")
    place = tmp_path / "state"
    (before,) = await agent_ls.list_sessions(state_dir=place)
    read = await agent_ls.read_session(session_id, state_dir=place)
    assert [before] == await agent_ls.list_sessions(state_dir=place) == [read.session]
    assert [it.text for it in read.events if isinstance(it, agent_ls.AssistantTextEnd)] == ["Done."]
    assert isinstance(read.events[-1], agent_ls.SessionEnd)
    assert {it.session_id for it in read.events} == {session_id}
    assert [it.name for it in read.calls] == ["list_dir"]


async def test_the_patch_of_a_stored_session_is_read_also_after_its_folder_was_deleted(
    tmp_path: Path,
) -> None:
    model = FakeProvider(
        [step for name in "ab" for step in (call("write_file", file_path=name, content="x\n"), text("Done."))]
    )
    place = tmp_path / "state"
    async with agent_ls.open_session(**options(tmp_path, model), trusted=True, mode="full") as session:
        turns = [[event async for event in session.run(name)][-1].turn_id for name in "ab"]
        whole, second = await session.patch(), await session.patch(turns[1])
        assert await agent_ls.read_patch(session.id, state_dir=place) == whole
    shutil.rmtree(tmp_path / "project")
    assert "b" in second and second != whole
    assert await agent_ls.read_patch(session.id, state_dir=place) == whole
    assert await agent_ls.read_patch(session.id, turns[1], state_dir=place) == second
    with pytest.raises(agent_ls.BadChoiceError):
        await agent_ls.read_patch(session.id, "t-none", state_dir=place)
    with pytest.raises(agent_ls.AppError):
        await agent_ls.read_patch("s-none", state_dir=place)


async def test_an_open_session_can_be_read(tmp_path: Path) -> None:
    async with agent_ls.open_session(**options(tmp_path, FakeProvider([text("Hi.")]))) as session:
        await session.ask("go")
        read = await agent_ls.read_session(session.id, state_dir=tmp_path / "state")
    assert any(isinstance(it, agent_ls.ProcessingEnd) for it in read.events)


async def test_a_session_that_does_not_exist_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(agent_ls.AppError):
        await agent_ls.read_session("s-none", state_dir=tmp_path)


async def test_sessions_are_found_by_what_was_said(tmp_path: Path) -> None:
    one = await stored(tmp_path, "Mend the Parser.", "It works.")
    two = await stored(tmp_path, "Write a poem.", 'A "parser" dreams.')
    place = tmp_path / "state"
    found = await agent_ls.search_sessions("PARSER", state_dir=place)
    said = [(match.session.id, [it.text for it in match.events]) for match in found]
    assert sorted(said) == sorted([(one, ["Mend the Parser."]), (two, ['A "parser" dreams.'])])
    assert await agent_ls.search_sessions("list_dir", state_dir=place) == []
    assert await agent_ls.search_sessions("parser", tmp_path, state_dir=place) == []
    assert len(await agent_ls.search_sessions("poem", tmp_path / "project", state_dir=place)) == 1
    with pytest.raises(agent_ls.AppError):
        await agent_ls.search_sessions(" ", state_dir=place)


@pytest.mark.parametrize("damage", [b"", b"\0\1\xff", b'{"format": 999}\n', None], ids=repr)
async def test_a_session_whose_log_is_damaged_is_in_no_list_and_reading_it_says_what_to_do(
    tmp_path: Path, damage: bytes | None
) -> None:
    session_id = await stored(tmp_path, "Look.", "Done.")
    place = tmp_path / "state"
    (log,) = place.rglob("log.jsonl")
    if damage is None:
        log.unlink()
    else:
        log.write_bytes(damage)
    assert await agent_ls.list_sessions(state_dir=place) == []
    assert await agent_ls.search_sessions("Look", state_dir=place) == []
    with pytest.raises(UnreadableSessionError) as raised:
        await agent_ls.read_session(session_id, state_dir=place)
    assert "state_dir" not in raised.value.hint and raised.value.hint
    with pytest.raises(UnreadableSessionError):
        await agent_ls.open_session(**options(tmp_path, FakeProvider([])), resume=session_id)
    await agent_ls.delete_session(session_id, state_dir=place)
