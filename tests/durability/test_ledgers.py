"""Pending hunks after a restart: restored if the file permits it, otherwise gone or stale, but never at a guessed
position.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_ls.loop.events.types import HunkStateChanged
from agent_ls.services.review.decision_request import Selection
from agent_ls.sessions.new_session import SessionSpec
from tests.durability.manager_rig import all_events, content, pending, put, running_manager, turn, words
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.loopback import Answer, AnthropicServer, LoopbackProvider, ToolCall

pytestmark = pytest.mark.req("R3", "H6")

TEXT = "same\nsame\nto go\nbetween\nlast\n"


def edit(old: str, new: str) -> ToolCall:
    return ToolCall("edit_file", {"file_path": "a.txt", "old_string": old, "new_string": new})


def edits(*calls: ToolCall) -> list[Answer]:
    return [[ToolCall("read_file", {"file_path": "a.txt"})], *([call] for call in calls), "Done."]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "project" / "a.txt"
    file.parent.mkdir()
    file.write_text(TEXT)
    return file


async def edited(state: Path, file: Path, *calls: ToolCall, host: FakeEditorHost | None = None) -> str:
    """Change a file in a session of a server that shuts down in an orderly way; return the session id."""
    with AnthropicServer(edits(*calls)) as provider:
        async with running_manager(state, provider, host) as manager:
            live = await manager.new_session(SessionSpec(workspace_folder=str(file.parent)))
            await turn(live, "Go.")
            return live.session.id


def states(events: Sequence[object]) -> list[str]:
    return [
        f"{hunk.state} by {event.by}"
        for event in events
        if isinstance(event, HunkStateChanged)
        for hunk in event.hunks
    ]


def sent(provider: LoopbackProvider, words: str) -> int:
    """Return the number of occurrences in the last request."""
    return json.dumps(provider.requests[-1].body).count(words)


@pytest.mark.parametrize("how", ["ended", "killed"])
async def test_hunk_positions_survive_a_restart_in_an_unchanged_file_with_repeated_lines(
    how: str, file: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    with AnthropicServer(edits(edit("to go\n", ""), edit("last\n", "same\nlast\n"))) as provider:
        async with running_manager(state, provider) as manager:
            live = await manager.new_session(SessionSpec(workspace_folder=str(file.parent)))
            await turn(live, "Go.")
            if how == "killed":
                state = shutil.copytree(state, tmp_path / "killed")
        async with running_manager(state, provider) as manager:
            live = await manager.open_session(live.session.id)
            hunks = pending(manager, file)
            assert words(hunks) == ["pending: to go| > ", "pending:  > same|"]
            assert states(all_events(live)) == []
            (kept,), _ = await manager.review.review("keep", Selection(hunk_ids=[hunks[0].id]))
            assert kept.state == "kept"
            (undone,), _ = await manager.review.review("undo", Selection(hunk_ids=[hunks[1].id]))
            assert undone.state == "undone"
    assert content(file) == "same\nsame\nbetween\nlast\n"


async def test_positions_of_hunks_moved_by_typing_survive_a_restart(file: Path, tmp_path: Path) -> None:
    with AnthropicServer(edits(edit("to go\n", ""))) as provider:
        async with running_manager(tmp_path / "state", provider) as manager:
            live = await manager.new_session(SessionSpec(workspace_folder=str(file.parent)))
            await turn(live, "Go.")
            put(file, f"mine\n{content(file)}mine too\n")
            manager.review.user_edit(str(file), content(file))
        async with running_manager(tmp_path / "state", provider) as manager:
            await manager.open_session(live.session.id)
            assert words(pending(manager, file)) == ["pending: to go| > "]
            await manager.review.review("undo", Selection(session_id=live.session.id))
    assert content(file) == f"mine\n{TEXT}mine too\n"


OUTSIDE = [
    pytest.param(TEXT, ["gone by editor"], [], id="a checkout"),
    pytest.param(None, ["gone by editor"], [], id="deleted"),
    pytest.param("top\n" + TEXT.replace("last", "LAST"), [], ["pending: last| > LAST|"], id="a line above"),
    pytest.param(
        "same\nsame\nto go\nLAST, by hand\n",
        ["edited by editor"],
        ["edited: between|last| > LAST, by hand|"],
        id="edited by hand",
    ),
    pytest.param("LAST\nsame\nto go\nLAST\n", [], ["pending: last| > LAST|"], id="found twice"),
]


@pytest.mark.parametrize(("text", "events", "hunks"), OUTSIDE)
async def test_a_file_changed_during_a_restart_has_the_hunks_as_after_an_edit_by_the_user(
    text: str | None, events: list[str], hunks: list[str], file: Path, tmp_path: Path
) -> None:
    session_id = await edited(tmp_path / "state", file, edit("last\n", "LAST\n"))
    put(file, text)
    with AnthropicServer([]) as provider:
        for _ in range(2):  # each notice is sent once
            async with running_manager(tmp_path / "state", provider) as manager:
                live = await manager.open_session(session_id)
                assert states(all_events(live)) == events
                assert words(pending(manager, file)) == hunks
        async with running_manager(tmp_path / "state", provider) as manager:
            await manager.open_session(session_id)
            await manager.review.review("undo", Selection(session_id=session_id))
    is_undone = text is not None and any(hunk.startswith("pending") for hunk in hunks)
    assert content(file) == (text.removesuffix("LAST\n") + "last\n" if text and is_undone else text)


async def test_hunks_of_an_unsaved_buffer_are_gone_after_an_editor_restart_and_reported_once(
    file: Path, tmp_path: Path
) -> None:
    state, host = tmp_path / "state", FakeEditorHost({str(file): TEXT})
    session_id = await edited(state, file, edit("last\n", "LAST\n"), host=host)
    assert host.text(str(file)).endswith("LAST\n")
    with AnthropicServer(["So be it.", "Fine."]) as provider:
        async with running_manager(state, provider, FakeEditorHost()) as manager:
            live = await manager.open_session(session_id)
            assert states(all_events(live)) == ["gone by editor"]
            assert pending(manager, file) == []
        # The session ended before the model got the notice: it is sent with the next request.
        async with running_manager(state, provider, FakeEditorHost()) as manager:
            await turn(await manager.open_session(session_id), "Go on.")
            assert sent(provider, "no longer in the file") == 1
        async with running_manager(state, provider, FakeEditorHost()) as manager:
            await turn(await manager.open_session(session_id), "And on.")
            assert sent(provider, "no longer in the file") == 1
    assert content(file) == TEXT


async def test_a_hunk_in_a_restored_buffer_is_pending_again(file: Path, tmp_path: Path) -> None:
    state, host = tmp_path / "state", FakeEditorHost({str(file): TEXT})
    session_id = await edited(state, file, edit("last\n", "LAST\n"), host=host)
    with AnthropicServer([]) as provider:
        async with running_manager(state, provider, host) as manager:
            await manager.open_session(session_id)
            assert words(pending(manager, file)) == ["pending: last| > LAST|"]
            await manager.review.review("undo", Selection(session_id=session_id))
    assert host.text(str(file)) == TEXT


async def test_two_sessions_in_one_file_each_restore_their_hunks(file: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with AnthropicServer([*edits(edit("to go\n", "")), *edits(edit("last\n", "LAST\n"))]) as provider:
        async with running_manager(state, provider) as manager:
            lives = [
                await manager.new_session(SessionSpec(workspace_folder=str(file.parent))) for _ in range(2)
            ]
            for live in lives:
                await turn(live, "Go.")
            first, second = (live.session.id for live in lives)
        async with running_manager(state, provider) as manager:
            await manager.open_session(second)
            assert words(pending(manager, file)) == ["pending: last| > LAST|"]
            live = await manager.open_session(first)
            assert [hunk.session_id for hunk in pending(manager, file)] == [first, second]
            assert states(all_events(live)) == []
            await manager.review.review("undo", Selection(session_id=first))
            assert content(file) == TEXT.replace("last", "LAST")
            await manager.review.review("undo", Selection(session_id=second))
    assert content(file) == TEXT


async def test_a_session_reopened_in_the_same_process_has_the_current_hunks(
    file: Path, tmp_path: Path
) -> None:
    with AnthropicServer(edits(edit("last\n", "LAST\n"))) as provider:
        async with running_manager(tmp_path / "state", provider) as manager:
            live = await manager.new_session(SessionSpec(workspace_folder=str(file.parent)))
            await turn(live, "Go.")
            live.session.abort()
            await live.ended.wait()
            put(file, TEXT.replace("last", "LAST, by hand"))
            manager.review.user_edit(str(file), content(file))
            again = await manager.open_session(live.session.id)
            assert states(all_events(again)) == ["edited by editor"]
            assert words(pending(manager, file)) == ["edited: last| > LAST, by hand|"]
