"""Pending hunks after a restart: there again where the file allows it, gone or stale where not, never guessed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_ls.loop.events import HunkStateChanged
from tests.durability.bench import content, pending, put, told, turn, words, workbench
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
    """A session that has changed the file, of a server that has ended in good order."""
    with AnthropicServer(edits(*calls)) as provider:
        async with workbench(state, provider, host) as bench:
            live = await bench.new_session(workspace_folder=str(file.parent))
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
    """How often the last request says it."""
    return json.dumps(provider.requests[-1].body).count(words)


@pytest.mark.parametrize("how", ["ended", "killed"])
async def test_hunks_that_could_not_be_found_by_their_lines_keep_their_place_in_an_unchanged_file(
    how: str, file: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    with AnthropicServer(edits(edit("to go\n", ""), edit("last\n", "same\nlast\n"))) as provider:
        async with workbench(state, provider) as bench:
            live = await bench.new_session(workspace_folder=str(file.parent))
            await turn(live, "Go.")
            if how == "killed":
                state = shutil.copytree(state, tmp_path / "killed")
        async with workbench(state, provider) as bench:
            live = await bench.open_session(live.session.id)
            hunks = pending(bench, file)
            assert words(hunks) == ["pending: to go| > ", "pending:  > same|"]
            assert states(told(live)) == []
            (kept,), _ = await bench.review.review(verdict="keep", hunk_ids=[hunks[0].id])
            assert kept.state == "kept"
            (undone,), _ = await bench.review.review(verdict="undo", hunk_ids=[hunks[1].id])
            assert undone.state == "undone"
    assert content(file) == "same\nsame\nbetween\nlast\n"


async def test_hunks_that_moved_with_the_users_typing_keep_their_place(file: Path, tmp_path: Path) -> None:
    with AnthropicServer(edits(edit("to go\n", ""))) as provider:
        async with workbench(tmp_path / "state", provider) as bench:
            live = await bench.new_session(workspace_folder=str(file.parent))
            await turn(live, "Go.")
            put(file, f"mine\n{content(file)}mine too\n")
            bench.review.user_edit(str(file), content(file))
        async with workbench(tmp_path / "state", provider) as bench:
            await bench.open_session(live.session.id)
            assert words(pending(bench, file)) == ["pending: to go| > "]
            await bench.review.review(verdict="undo", session_id=live.session.id)
    assert content(file) == f"mine\n{TEXT}mine too\n"


OUTSIDE = [
    pytest.param(TEXT, ["gone by editor"], [], id="a checkout"),
    pytest.param(None, ["gone by editor"], [], id="deleted"),
    pytest.param("top\n" + TEXT.replace("last", "LAST"), [], ["pending: last| > LAST|"], id="a line above"),
    pytest.param("same\nsame\nto go\nLAST, by hand\n", ["stale by editor"], [], id="edited by hand"),
    pytest.param("LAST\nsame\nto go\nLAST\n", ["stale by editor"], [], id="found twice"),
    pytest.param("last\nlast\n", ["stale by editor"], [], id="base found twice"),
]


@pytest.mark.parametrize(("text", "events", "hunks"), OUTSIDE)
async def test_a_file_changed_while_no_server_ran_is_searched_and_never_guessed_at(
    text: str | None, events: list[str], hunks: list[str], file: Path, tmp_path: Path
) -> None:
    session_id = await edited(tmp_path / "state", file, edit("last\n", "LAST\n"))
    put(file, text)
    with AnthropicServer([]) as provider:
        for _ in range(2):  # what has been told is not told again
            async with workbench(tmp_path / "state", provider) as bench:
                live = await bench.open_session(session_id)
                assert states(told(live)) == events
                assert words(pending(bench, file)) == hunks
        async with workbench(tmp_path / "state", provider) as bench:
            await bench.open_session(session_id)
            await bench.review.review(verdict="undo", session_id=session_id)
    assert content(file) == (text if text is None or not hunks else text.replace("LAST", "last"))


async def test_what_was_only_in_a_buffer_is_gone_with_the_editor_and_the_model_is_told_once(
    file: Path, tmp_path: Path
) -> None:
    state, host = tmp_path / "state", FakeEditorHost({str(file): TEXT})
    session_id = await edited(state, file, edit("last\n", "LAST\n"), host=host)
    assert host.text(str(file)).endswith("LAST\n")
    with AnthropicServer(["So be it.", "Fine."]) as provider:
        async with workbench(state, provider, FakeEditorHost()) as bench:
            live = await bench.open_session(session_id)
            assert states(told(live)) == ["gone by editor"]
            assert pending(bench, file) == []
        # Ended before the model could be told: it is told when it is next asked.
        async with workbench(state, provider, FakeEditorHost()) as bench:
            await turn(await bench.open_session(session_id), "Go on.")
            assert sent(provider, "not in the file any more") == 1
        async with workbench(state, provider, FakeEditorHost()) as bench:
            await turn(await bench.open_session(session_id), "And on.")
            assert sent(provider, "not in the file any more") == 1
    assert content(file) == TEXT


async def test_a_hunk_in_a_buffer_that_the_editor_shows_again_is_pending_again(
    file: Path, tmp_path: Path
) -> None:
    state, host = tmp_path / "state", FakeEditorHost({str(file): TEXT})
    session_id = await edited(state, file, edit("last\n", "LAST\n"), host=host)
    with AnthropicServer([]) as provider:
        async with workbench(state, provider, host) as bench:
            await bench.open_session(session_id)
            assert words(pending(bench, file)) == ["pending: last| > LAST|"]
            await bench.review.review(verdict="undo", session_id=session_id)
    assert host.text(str(file)) == TEXT


async def test_a_verdict_that_the_model_was_not_told_before_the_end_is_told_after_it(
    file: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    with AnthropicServer([*edits(edit("last\n", "LAST\n")), "I see.", "Yes."]) as provider:
        async with workbench(state, provider) as bench:
            live = await bench.new_session(workspace_folder=str(file.parent))
            await turn(live, "Go.")
            await bench.review.review(verdict="undo", session_id=live.session.id, comment="not like that")
        for _ in range(2):
            async with workbench(state, provider) as bench:
                await turn(await bench.open_session(live.session.id), "Next.")
                assert sent(provider, "not like that") == 1


async def test_two_sessions_in_one_file_each_get_their_hunks_back(file: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with AnthropicServer([*edits(edit("to go\n", "")), *edits(edit("last\n", "LAST\n"))]) as provider:
        async with workbench(state, provider) as bench:
            lives = [await bench.new_session(workspace_folder=str(file.parent)) for _ in range(2)]
            for live in lives:
                await turn(live, "Go.")
            first, second = (live.session.id for live in lives)
        async with workbench(state, provider) as bench:
            await bench.open_session(second)
            assert words(pending(bench, file)) == ["pending: last| > LAST|"]
            live = await bench.open_session(first)
            assert [hunk.session_id for hunk in pending(bench, file)] == [first, second]
            assert states(told(live)) == []
            await bench.review.review(verdict="undo", session_id=first)
            assert content(file) == TEXT.replace("last", "LAST")
            await bench.review.review(verdict="undo", session_id=second)
    assert content(file) == TEXT


async def test_a_session_opened_again_in_the_same_process_has_the_hunks_as_they_are(
    file: Path, tmp_path: Path
) -> None:
    with AnthropicServer(edits(edit("last\n", "LAST\n"))) as provider:
        async with workbench(tmp_path / "state", provider) as bench:
            live = await bench.new_session(workspace_folder=str(file.parent))
            await turn(live, "Go.")
            live.session.abort()
            await live.ended.wait()
            put(file, TEXT.replace("last", "LAST, by hand"))
            bench.review.user_edit(str(file), content(file))
            again = await bench.open_session(live.session.id)
            assert states(told(again)) == ["edited by editor"]
            assert words(pending(bench, file)) == ["edited: last| > LAST, by hand|"]
