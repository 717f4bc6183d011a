"""After a roll back, no change of the session has a line that only a person typed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import agent_ls
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, Piece, text

pytestmark = pytest.mark.req("X10")
BEGIN = ["o0", "o1", "o2", "o3", "o4", "o5"]


def body(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def edits(*contents: Sequence[str]) -> list[Piece | Sequence[Piece]]:
    """Return the script of one turn for each content, which reads and writes the file."""
    return [
        step
        for content in contents
        for step in (
            call("read_file", file_path="a.txt"),
            call("write_file", file_path="a.txt", content=body(content)),
            text("Done."),
        )
    ]


def changed(patch: str) -> list[str]:
    return [line for line in patch.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]


async def turn(session: agent_ls.AgentSession) -> str:
    [turn_id] = [event.turn_id async for event in session.run("go") if event.kind == "user_input"]
    return turn_id


@pytest.mark.parametrize(
    ("agent", "human", "left"),
    [
        pytest.param(["a1", *BEGIN], ["h1", "a1", *BEGIN], ["h1", *BEGIN], id="typed above"),
        pytest.param(
            ["o0", "o1", "o2", "a1", "o3", "o4", "o5"],
            ["o0", "o1", "h1", "a1", "o3", "o4", "o5"],
            ["o0", "o1", "h1", "o3", "o4", "o5"],
            id="a line beside the agent's replaced",
        ),
        pytest.param(
            ["o0", "o1", "a1", "o3", "a2", "o5"],
            ["o0", "a1", "o3", "a2", "h1", "o5"],
            ["o0", "o2", "o3", "o4", "h1", "o5"],
            id="a line removed and a line typed",
        ),
    ],
)
async def test_what_a_person_typed_stays_after_a_roll_back_of_the_whole_session(
    tmp_path: Path, agent: list[str], human: list[str], left: list[str]
) -> None:
    path = tmp_path / "project" / "a.txt"
    path.parent.mkdir()
    path.write_text(body(BEGIN))
    async with agent_ls.open_session(
        **options(tmp_path, FakeProvider(edits(agent)), mode="full", trusted=True)
    ) as session:
        turn_id = await turn(session)
        path.write_text(body(human))
        await session.roll_back(turn_id)
        assert path.read_text() == body(left)
        path.write_text(body([*left, "h2"]))
        assert (await session.patch(), await session.patch(turn_id), session.hunks()) == ("", "", {})
        await session.review("undo", confirm=True)
    assert path.read_text() == body([*left, "h2"])


async def test_a_roll_back_of_the_last_turn_leaves_the_change_of_the_first_as_the_agent_wrote_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "project" / "a.txt"
    path.parent.mkdir()
    path.write_text(body(BEGIN))
    script = edits(["a1", *BEGIN[1:]], ["a2", "a3", *BEGIN[1:]])
    async with agent_ls.open_session(
        **options(tmp_path, FakeProvider(script), mode="full", trusted=True)
    ) as session:
        first, last = await turn(session), await turn(session)
        path.write_text(body(["a2", "a3", *BEGIN[1:], "h1"]))
        undone = await session.roll_back(last)
        assert changed(await session.patch()) == ["-o0", "+a1"]
        assert changed(await session.patch(first)) == ["-o0", "+a1"]
        assert await session.patch(last) == ""
        assert [hunk.state for hunks in session.hunks().values() for hunk in hunks] == ["pending"]

        await session.roll_back(undone.revert_id)
        assert changed(await session.patch()) == ["-o0", "+a2", "+a3"]
        await session.roll_back(first)
        assert (await session.patch(), session.hunks()) == ("", {})
    assert path.read_text() == body([*BEGIN, "h1"])


async def test_a_line_typed_among_the_agents_lines_is_context_of_the_patch(tmp_path: Path) -> None:
    path = tmp_path / "project" / "a.txt"
    path.parent.mkdir()
    path.write_text(body(BEGIN))
    typed = ["a1", "h1", "a2", *BEGIN]
    script = edits(["a1", "a2", *BEGIN], [*typed, "a3"])
    async with agent_ls.open_session(
        **options(tmp_path, FakeProvider(script), mode="full", trusted=True)
    ) as session:
        await turn(session)
        path.write_text(body(typed))
        await turn(session)
        assert changed(await session.patch()) == ["+a1", "+a2", "+a3"]
