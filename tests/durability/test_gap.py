"""Kills between a write and the event that reports it: the log has announced the write, so its hunk is restored."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from agent_ls.environments.local.environment import LocalEnvironment
from agent_ls.loop.events.types import FileChange, ToolCallEnd, Warning
from agent_ls.services.clock import SystemClock
from agent_ls.services.review.decision_request import Selection
from agent_ls.services.review.restore import UNSETTLED, find, gather
from agent_ls.services.review.state import ReviewState
from agent_ls.sessions.new_session import SessionSpec
from agent_ls.sessions.session_log import PREIMAGE_MAX_BYTES
from agent_ls.store.sessions import SessionStore
from tests.durability.manager_rig import DyingHost, all_events, pending, running_manager, turn, words
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.loopback import Answer, AnthropicServer, OpenAIResponsesServer, ToolCall

pytestmark = pytest.mark.req("R3", "H6")

TEXT = "one\ntwo\nthree\nfour\n"


def edit(old: str, new: str, name: str = "a.txt") -> ToolCall:
    return ToolCall("edit_file", {"file_path": name, "old_string": old, "new_string": new})


def read(name: str = "a.txt") -> ToolCall:
    return ToolCall("read_file", {"file_path": name})


def patch(*lines: str) -> ToolCall:
    return ToolCall("apply_patch", {"patch": "\n".join(("*** Begin Patch", *lines, "*** End Patch", ""))})


class Crash:
    """A session in `project` whose process dies at one moment. Only the files that `host` copied then are left."""

    def __init__(self, tmp_path: Path, when: str, *calls: ToolCall, shown: str | None = None) -> None:
        self.project = tmp_path / "project"
        self.project.mkdir()
        self.file = self.project / "a.txt"
        self.file.write_text(TEXT)
        texts = {} if shown is None else {str(self.file): shown}
        self.host = DyingHost(tmp_path / "state", when, texts)
        self.session_id = ""
        self._state = tmp_path / "state"
        self._calls = calls

    async def happen(self) -> None:
        """Run the session until its death, and restore the files of that moment."""
        at_death: dict[Path, bytes] = {}

        def look() -> None:
            at_death.clear()
            at_death.update({path: path.read_bytes() for path in self.project.iterdir()})

        self.host.on_death = look
        answers: list[Answer] = [*([call] for call in self._calls), "Done."]
        wire = OpenAIResponsesServer if self._calls[-1].name == "apply_patch" else AnthropicServer
        with wire(answers) as provider:
            async with running_manager(self._state, provider, self.host) as manager:
                live = await manager.new_session(SessionSpec(workspace_folder=str(self.project)))
                self.session_id = live.session.id
                await turn(live, "Go.")
        assert self.host.left.is_dir(), "the moment never came"
        for path in self.project.iterdir():
            path.unlink()
        for path, data in at_death.items():
            path.write_bytes(data)


def changes(events: Sequence[object]) -> list[FileChange]:
    return [event for event in events if isinstance(event, FileChange)]


def unsettled(events: Sequence[object]) -> list[str]:
    return [event.message for event in events if isinstance(event, Warning) and event.code == UNSETTLED]


CHANGES = [
    pytest.param(
        [read(), edit("two\n", "TWO\n")], "modify", {"a.txt": ["pending: two| > TWO|"]}, id="modified"
    ),
    pytest.param([read(), edit("two\n", "")], "modify", {"a.txt": ["pending: two| > "]}, id="line deleted"),
    pytest.param(
        [ToolCall("write_file", {"file_path": "b.txt", "content": "new\n"})],
        "create",
        {"b.txt": ["pending:  > new|"]},
        id="created",
    ),
    pytest.param(
        [read(), patch("*** Delete File: a.txt")],
        "delete",
        {"a.txt": ["pending: one|two|three|four| > "]},
        id="deleted",
    ),
    pytest.param(
        [read(), edit("two\n", "TWO\n"), edit("four\n", "FOUR\n")],
        "modify",
        {"a.txt": ["pending: two| > TWO|", "pending: four| > FOUR|"]},
        id="a second edit beside a first",
    ),
    pytest.param(
        [read(), edit("two\n", ""), edit("one\n", "0\n0.5\n1\n")],
        "modify",
        {"a.txt": ["pending: one| > 0|0.5|1|", "pending: two| > "]},
        id="a first edit moved by a second",
    ),
]


@pytest.mark.parametrize(("calls", "action", "hunks"), CHANGES)
async def test_an_unreported_write_is_recorded_when_the_session_is_reopened(
    calls: list[ToolCall], action: str, hunks: dict[str, list[str]], tmp_path: Path
) -> None:
    crash = Crash(tmp_path, "written", *calls)
    await crash.happen()
    with AnthropicServer([]) as provider:
        async with running_manager(crash.host.left, provider) as manager:
            live = await manager.open_session(crash.session_id)
            events = all_events(live)
            last = changes(events)[-1]
            assert last.action == action
            assert [event.call_id for event in changes(events)].count(last.call_id) == 1
            ends = [event.call_id for event in events if isinstance(event, ToolCallEnd)]
            assert events.index(last) < len(events) - len(ends)
            assert last.call_id == ends[-1]
            for name, expected in hunks.items():
                assert words(pending(manager, crash.project / name)) == expected
            assert unsettled(events) == []
        async with running_manager(crash.host.left, provider) as manager:
            live = await manager.open_session(crash.session_id)
            assert len(changes(all_events(live))) == len(changes(events))
            _, refused = await manager.review.review("undo", Selection(session_id=crash.session_id))
            assert refused == []
    assert {path.name: path.read_text() for path in crash.project.iterdir()} == {"a.txt": TEXT}


@pytest.mark.parametrize("when", ["planned", "written"])
async def test_a_planned_write_that_did_not_happen_before_a_kill_is_dropped(
    when: str, tmp_path: Path
) -> None:
    crash = Crash(tmp_path, when, read(), edit("two\n", "TWO\n"))
    await crash.happen()
    crash.file.write_text(TEXT)  # the process was killed before the write, or the user has reverted it
    with AnthropicServer([]) as provider:
        async with running_manager(crash.host.left, provider) as manager:
            events = all_events(await manager.open_session(crash.session_id))
            assert (changes(events), unsettled(events)) == ([], [])
            assert pending(manager, crash.file) == []
    assert crash.file.read_text() == TEXT


async def test_a_file_with_neither_the_old_nor_the_planned_content_is_reported_and_not_changed(
    tmp_path: Path,
) -> None:
    crash = Crash(tmp_path, "written", read(), edit("two\n", "TWO\n"))
    await crash.happen()
    crash.file.write_text("one\nTWO\nthree, by hand\nfour\n")
    with AnthropicServer([]) as provider:
        for _ in range(2):
            async with running_manager(crash.host.left, provider) as manager:
                events = all_events(await manager.open_session(crash.session_id))
                (warning,) = unsettled(events)
                assert str(crash.file) in warning
                assert (changes(events), pending(manager, crash.file)) == ([], [])
    assert crash.file.read_text() == "one\nTWO\nthree, by hand\nfour\n"


@pytest.mark.parametrize(
    ("before", "call"),
    [
        pytest.param(TEXT.encode() + b"x" * PREIMAGE_MAX_BYTES, edit("two\n", "TWO\n"), id="large"),
        pytest.param(b"\0\1", patch("*** Delete File: a.txt"), id="binary"),
    ],
)
async def test_a_written_file_without_stored_old_text_is_reported_and_gets_no_hunk(
    before: bytes, call: ToolCall, tmp_path: Path
) -> None:
    crash = Crash(tmp_path, "written", read(), call)
    crash.file.write_bytes(before)
    await crash.happen()
    with AnthropicServer([]) as provider:
        async with running_manager(crash.host.left, provider) as manager:
            events = all_events(await manager.open_session(crash.session_id))
            (warning,) = unsettled(events)
            assert str(crash.file) in warning
            assert "content is unknown" in warning
            assert changes(events) == []


@pytest.mark.req("H4")
@pytest.mark.parametrize("is_still_open", [True, False])
async def test_an_edit_without_an_event_is_recorded_on_resume_if_the_document_is_still_open(
    is_still_open: bool, tmp_path: Path
) -> None:
    shown = f"unsaved\n{TEXT}"
    crash = Crash(tmp_path, "applied", read(), edit("two\n", "TWO\n"), shown=shown)
    await crash.happen()
    edited = shown.replace("two", "TWO")
    assert crash.host.text(str(crash.file)) == edited
    survivor = FakeEditorHost({str(crash.file): edited} if is_still_open else {})
    with AnthropicServer([]) as provider:
        async with running_manager(crash.host.left, provider, survivor) as manager:
            events = all_events(await manager.open_session(crash.session_id))
            assert len(changes(events)) == is_still_open
            assert words(pending(manager, crash.file)) == ["pending: two| > TWO|"] * is_still_open
            # The document was closed without saving, so the file on disk has its old text, which differs from the text
            # before the call. The difference looks like a change by another program.
            assert len(unsettled(events)) == (not is_still_open)
    assert crash.file.read_text() == TEXT


async def test_the_write_of_a_completed_tool_call_is_not_recorded_again_on_resume(tmp_path: Path) -> None:
    crash = Crash(tmp_path, "planned", read(), edit("two\n", "TWO\n"), edit("three\n", "3\n"))
    await crash.happen()
    with AnthropicServer([]) as provider:
        async with running_manager(crash.host.left, provider) as manager:
            events = all_events(await manager.open_session(crash.session_id))
            assert len(changes(events)) == 1
            assert words(pending(manager, crash.file)) == ["pending: two| > TWO|"]
            assert unsettled(events) == []


async def test_temporary_files_of_a_killed_process_are_removed_and_nothing_else(tmp_path: Path) -> None:
    crash = Crash(tmp_path, "planned", read(), edit("two\n", "TWO\n"))
    await crash.happen()
    dead = await anyio.run_process([sys.executable, "-c", "import os; print(os.getpid())"])
    pid = int(dead.stdout)
    log = next(crash.host.left.glob("workspaces/*/sessions/*/log.jsonl"))
    log.write_bytes(log.read_bytes().replace(b'"pid":%d' % os.getpid(), b'"pid":%d' % pid))
    kept = {f".agent-ls-{os.getpid()}-0.tmp", ".agent-ls-0.tmp", f"agent-ls-{pid}-0.tmp"}
    for name in {*kept, f".agent-ls-{pid}-0.tmp"}:
        (crash.project / name).write_text("half")
    with AnthropicServer([]) as provider:
        async with running_manager(crash.host.left, provider) as manager:
            await manager.open_session(crash.session_id)
    assert {path.name for path in crash.project.iterdir()} == {*kept, "a.txt"}


@pytest.mark.parametrize("names", [1, 2])
async def test_a_planned_write_to_a_hard_linked_file_is_reported_after_a_take_over(
    names: int, tmp_path: Path
) -> None:
    """The replaced owner can no longer rename its temporary file, but it may still write in place when it continues."""
    crash = Crash(tmp_path, "planned", read(), edit("two\n", "TWO\n"))
    await crash.happen()
    if names == 2:
        (crash.project / "b.txt").hardlink_to(crash.file)
    store = SessionStore(crash.host.left, on_failure=fail)
    opened = await anyio.to_thread.run_sync(store.open, crash.session_id)
    try:
        assert opened.stored
        put_out = replace(opened, put_out=opened.lock.owner)  # as if this process had announced the write
        evidence = await gather(put_out, opened.stored, LocalEnvironment(str(crash.project)))
        state = ReviewState(lambda session_id: None, clock=SystemClock(), start=lambda work: None)
        warnings = unsettled(find(state, opened.stored, evidence).events)
        assert len(warnings) == names - 1
        for words in warnings:
            assert str(crash.file) in words and f"process {os.getpid()}" in words
    finally:
        opened.close()


def fail(session_id: str, error: OSError) -> None:
    raise error
