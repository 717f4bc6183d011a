"""Edits of open documents: an edit counts when the document contains it, whatever the editor answers, and no user
text is lost.
"""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import pytest

from agent_ls.environments.base import Attribution
from agent_ls.environments.editor_host import EditorHost, LineEdit, OpenDocument
from agent_ls.environments.errors import EditRefusedError, StaleFileError
from agent_ls.notebook.cell_alignment import EditorCell
from agent_ls.server.editor.host import MAX_DOCUMENT_CHARS, LspEditorHost
from tests.support.lying_editor import (
    EGLOT,
    HELIX,
    NEOVIM,
    UNCHECKED,
    VSCODE,
    LyingEditor,
    Manners,
    VirtualTime,
)

PATH = "/project/a.txt"
CALL = Attribution("s", "t", "c", "write a.txt")
ALL = {"vscode": VSCODE, "helix": HELIX, "neovim": NEOVIM, "eglot": EGLOT, "unchecked": UNCHECKED}
NO_CHANGE = {"range": {"start": {"line": -1, "character": 0}, "end": {"line": 0, "character": 0}}, "text": ""}
every_editor = pytest.mark.parametrize("manners", ALL.values(), ids=ALL)


class NoActions:
    def reload_files(self, paths: object) -> None: ...

    async def save(self, documents: object) -> bool:
        return True

    has_terminals = False
    edits_notebooks = False

    async def edit_notebook(self, params: object) -> str:
        return ""

    async def open_terminal(self, terminal: object) -> bool:
        return False

    def runs_in(self, terminal_id: str, call_id: str) -> None: ...


@dataclass
class FakeListener:
    """A DocumentListener that records its calls and checks that they are consistent."""

    texts: dict[str, str] = field(default_factory=dict)
    reports: list[tuple[str, str, str]] = field(default_factory=list)

    def document_opened(self, path: str, text: str) -> None:
        self.texts[path] = text

    def document_closed(self, path: str) -> None:
        del self.texts[path]

    def document_saved(self, path: str, text: str, *, is_asked: bool = False) -> None:
        assert text == self.texts[path]

    def notebook_saved(self, path: str, cells: Sequence[EditorCell]) -> None:
        raise AssertionError("it has none")

    def user_edit(self, path: str, text: str) -> None:
        self.reports.append(("user", self.texts[path], text))
        self.texts[path] = text

    def agent_edit(self, path: str, before: str | None, after: str | None, attribution: Attribution) -> None:
        assert before == self.texts[path], "the ledger would not know where the edit was made"
        assert before is not None and after is not None
        self.reports.append(("agent", before, after))
        self.texts[path] = after

    def undo_applied(self, path: str, before: str, after: str) -> None:
        assert before == self.texts[path]
        self.reports.append(("undo", before, after))
        self.texts[path] = after


class HostRig:
    """An editor with one open document, its host, and a listener."""

    def __init__(self, editor: LyingEditor) -> None:
        self.editor = editor
        self.host: LspEditorHost = editor.server.host
        self.listener = FakeListener()
        self.host.attach(self.listener, NoActions())

    async def edit(self, *edits: LineEdit, call: Attribution = CALL) -> OpenDocument:
        document = self.host.open_document(PATH)
        assert document
        return (await self.host.apply_edit(document, edits, call)).document


@asynccontextmanager
async def host_rig(manners: Manners, text: str = "one\ntwo\nthree\n") -> AsyncIterator[HostRig]:
    time = VirtualTime()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(time.run)
        found = HostRig(LyingEditor(tasks, manners, sleep=time.sleep))
        found.editor.open(text)
        yield found
        await found.editor.tell_all()
        assert found.listener.texts.get(PATH, found.editor.text) == found.editor.text
        tasks.cancel_scope.cancel()


async def test_the_server_host_implements_editor_host_and_lists_open_documents() -> None:
    async with host_rig(VSCODE) as found:
        host: EditorHost = found.host
        assert host.open_document("/project/other.txt") is None
        assert [document.path for document in host.open_documents()] == [PATH]


@pytest.mark.req("H4")
@every_editor
async def test_an_applied_edit_is_reported_as_an_agent_change_with_the_new_text_and_version(
    manners: Manners,
) -> None:
    async with host_rig(manners) as found:
        after = await found.edit(LineEdit(1, 2, "2\n"), LineEdit(3, 3, "four\n"))
        assert after.text == found.editor.text == "one\n2\nthree\nfour\n"
        assert after.version == found.editor.version
        assert found.listener.reports == [("agent", "one\ntwo\nthree\n", after.text)]
        (request,) = found.editor.requests
        # Neovim gets no label: it would print each label, and stop at "Press ENTER" after several.
        assert request["params"].get("label") == (None if manners is NEOVIM else "write a.txt")


@pytest.mark.req("H4")
@every_editor
async def test_text_typed_while_an_edit_is_applied_is_kept_and_reported_as_a_user_change(
    manners: Manners,
) -> None:
    async with host_rig(manners) as found:
        found.editor.on_request = lambda: found.editor.type(0, "X")
        try:
            await found.edit(LineEdit(2, 3, "3\n"))
        except StaleFileError:
            assert found.editor.text == "Xone\ntwo\nthree\n"
            found.editor.on_request = lambda: None
            await found.edit(LineEdit(2, 3, "3\n"))
        assert found.editor.text == "Xone\ntwo\n3\n"
        assert [who for who, _, _ in found.listener.reports].count("agent") == 1
        assert "".join(after for who, _, after in found.listener.reports if who == "user").count("X") >= 1


@pytest.mark.req("H4")
async def test_an_edit_based_on_an_outdated_text_is_not_sent_to_the_editor() -> None:
    async with host_rig(VSCODE) as found:
        document = found.host.open_document(PATH)
        assert document
        found.editor.type(0, "X")
        with pytest.raises(StaleFileError):
            await found.host.apply_edit(document, [LineEdit(0, 1, "")], CALL)
        assert found.editor.requests == []


@pytest.mark.req("H4")
async def test_an_edit_that_the_editor_drops_but_confirms_as_applied_raises_stale_file_error() -> None:
    async with host_rig(NEOVIM) as found:
        found.editor.on_request = lambda: found.editor.type(0, "X")
        with pytest.raises(StaleFileError):
            await found.edit(LineEdit(1, 2, ""))
        assert found.editor.text == "Xone\ntwo\nthree\n"


@pytest.mark.req("H4")
async def test_a_dropped_edit_is_not_resent_to_an_editor_that_has_reused_a_document_version() -> None:
    """The editor cannot see that the edit is for an older text, so it may still apply it."""
    repeating = Manners(stale="lie", counts=False)
    async with host_rig(repeating) as found:
        found.editor.type(0, "x")  # a second text with version 1
        found.editor.manners = replace(repeating, counts=True)
        found.editor.on_request = lambda: found.editor.type(0, "X")
        with pytest.raises(EditRefusedError, match="not at all"):
            await found.edit(LineEdit(1, 2, ""))
        assert len(found.editor.requests) == 1


@pytest.mark.req("H4")
@pytest.mark.parametrize(
    "manners",
    [Manners(answers=False, stale="refuse"), Manners(stale="error"), Manners(stale="refuse")],
    ids=["silent", "error", "refusal"],
)
async def test_an_edit_that_never_appears_in_the_document_fails_with_an_error_naming_the_file(
    manners: Manners,
) -> None:
    async with host_rig(manners) as found:
        found.editor.version += 1  # the editor treats each edit as stale, and has no change to report
        with pytest.raises(EditRefusedError, match=r"a\.txt"):
            await found.edit(LineEdit(1, 2, ""))
        assert found.listener.reports == []
        found.editor.version -= 1


async def test_an_edit_is_refused_if_the_document_is_closed_before_the_edit_is_applied() -> None:
    async with host_rig(NEOVIM) as found:
        found.editor.on_request = found.editor.close_document
        with pytest.raises(EditRefusedError, match="closed"):
            await found.edit(LineEdit(1, 2, ""))
        assert found.listener.texts == {}
        document = OpenDocument(PATH, 1, "")
        with pytest.raises(EditRefusedError, match="closed"):
            await found.host.apply_edit(document, [], CALL)


async def test_an_edit_that_changes_nothing_is_not_sent() -> None:
    async with host_rig(VSCODE) as found:
        assert (await found.edit(LineEdit(0, 1, "one\n"))).version == 1
        assert found.editor.requests == []


async def test_two_edits_of_one_document_run_one_after_the_other() -> None:
    async with host_rig(NEOVIM, "1\n2\n3\n4\n") as found:

        async def change(line: int) -> None:
            while True:
                try:
                    await found.edit(LineEdit(line, line + 1, f"{line} by the agent\n"))
                    return
                except StaleFileError:
                    continue

        async with anyio.create_task_group() as tasks:
            for line in range(4):
                tasks.start_soon(change, line)
        assert found.editor.text == "".join(f"{line} by the agent\n" for line in range(4))


@pytest.mark.req("L16")
async def test_a_cancelled_edit_is_completed_and_reported_before_the_cancellation_takes_effect() -> None:
    async with host_rig(NEOVIM) as found:
        with anyio.CancelScope() as scope:
            found.editor.on_request = scope.cancel
            await found.edit(LineEdit(1, 2, "2\n"))
        assert found.listener.reports == [("agent", "one\ntwo\nthree\n", "one\n2\nthree\n")]


@pytest.mark.req("H6")
async def test_an_edit_without_a_tool_call_is_reported_as_a_review_decision() -> None:
    async with host_rig(VSCODE) as found:
        await found.edit(LineEdit(1, 2, ""), call=Attribution("s", label="undo"))
        assert [who for who, _, _ in found.listener.reports] == ["undo"]


SEEDS = 40 if os.environ.get("AGENT_LS_SWEEPS") == "whole" else 8


@pytest.mark.req("H4")
@pytest.mark.sweep
@every_editor
@pytest.mark.parametrize("seed", range(SEEDS))
async def test_no_typed_text_is_lost_while_the_agent_edits(manners: Manners, seed: int) -> None:
    chance = random.Random(seed)
    async with host_rig(manners, "".join(f"line {number} 😋\n" for number in range(12))) as found:
        typed: list[str] = []
        applied: list[str] = []

        async def user() -> None:
            for number in range(25):
                await found.editor._sleep(chance.choice([0.0, 0.005, 0.05, 0.2, 0.6]))
                mark = chr(0x4E00 + number)
                # not inside the agent's text, because typing there would change its mark
                places = [0, *(at + 1 for at, char in enumerate(found.editor.text) if char in "\n😋")]
                found.editor.type(chance.choice(places), mark + chance.choice(["", "\n"]))
                typed.append(mark)

        async def agent() -> None:
            for number in range(10):
                await found.editor._sleep(chance.choice([0.0, 0.01, 0.3]))
                document = found.host.open_document(PATH)
                assert document
                line = chance.randrange(document.text.count("\n") + 1)
                mark = f"<agent {number}>"
                try:
                    after = await found.host.apply_edit(document, [LineEdit(line, line, mark + "\n")], CALL)
                except (StaleFileError, EditRefusedError):
                    continue
                assert mark in after.document.text
                applied.append(mark)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(user)
            tasks.start_soon(agent)
        await found.editor.tell_all()
        text = found.editor.text
        assert [mark for mark in typed if text.count(mark) != 1] == []
        assert [mark for mark in applied if text.count(mark) != 1] == []
        agents = "".join(after for who, _, after in found.listener.reports if who == "agent")
        assert all(mark in agents for mark in applied)


@pytest.mark.report("microsoft/pylance-release#5039")
@pytest.mark.req("H4")
async def test_a_document_opened_through_a_symlink_is_found_by_both_paths_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    async with anyio.create_task_group() as tasks:
        editor = LyingEditor(tasks, VSCODE, uri=(tmp_path / "link" / "a.txt").as_uri())
        editor.open("text\n")
        for name in ("link", "real"):
            assert editor.server.host.open_document(str(tmp_path / name / "a.txt"))


@pytest.mark.req("H4", "R5")
async def test_a_file_opened_through_two_symlinks_is_found_until_both_documents_are_closed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.txt"
    (tmp_path / "first").symlink_to(path)
    (tmp_path / "second").symlink_to(path)
    async with anyio.create_task_group() as tasks:
        editor = LyingEditor(tasks, VSCODE, uri=(tmp_path / "first").as_uri())
        editor.open("unsaved in the first\n")
        editor.uri = (tmp_path / "second").as_uri()
        editor.open("unsaved in the second\n")
        found = editor.server.host.open_document(str(path))
        assert found and found.text == "unsaved in the second\n"
        editor.close_document()
        found = editor.server.host.open_document(str(path))
        assert found and found.text == "unsaved in the first\n", "else it would be written behind a buffer"
        editor.uri = (tmp_path / "first").as_uri()
        editor.close_document()
        assert editor.server.host.open_document(str(path)) is None


@pytest.mark.req("H4", "R5")
async def test_an_edit_of_an_outdated_text_is_not_sent_to_an_editor_without_document_versions() -> None:
    async with host_rig(Manners(counts=False)) as found:
        document = found.host.open_document(PATH)
        assert document
        found.editor.type(0, "zero\n")
        with pytest.raises(StaleFileError):
            await found.host.apply_edit(document, [LineEdit(1, 2, "2\n")], CALL)
        assert not found.editor.requests
        assert (await found.edit(LineEdit(2, 3, "2\n"))).text == "zero\none\n2\nthree\n"


@pytest.mark.req("H4", "R5")
@pytest.mark.parametrize("change", [{"text": None}, {"text": 5}, {}, None, "text"])
async def test_a_change_notification_without_valid_changes_blocks_edits_of_the_document(
    tmp_path: Path, change: object
) -> None:
    path = tmp_path / "a.txt"
    async with anyio.create_task_group() as tasks:
        editor = LyingEditor(tasks, VSCODE, uri=path.as_uri())
        editor.open("text\n")
        editor.tell(change)
        assert editor.server.host.open_document(str(path)) is None
        assert "open it again" in editor.server.host.blocked(str(path))


@pytest.mark.req("H4", "R5")
async def test_after_an_invalid_change_a_document_is_not_edited_until_the_full_text_is_received(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.txt"
    async with anyio.create_task_group() as tasks:
        editor = LyingEditor(tasks, VSCODE, uri=path.as_uri())
        host = editor.server.host
        editor.tell(NO_CHANGE)  # the text of a document that is not open is unknown anyway
        assert host.blocked(str(path)) == ""
        editor.open("text\n")
        document = host.open_document(str(path))
        assert document and host.blocked(str(path)) == ""
        editor.tell(NO_CHANGE)
        with pytest.raises(EditRefusedError):
            await host.apply_edit(document, [LineEdit(0, 1, "new\n")], CALL)
        assert host.open_document(str(path)) is None
        assert "open it again" in host.blocked(str(path)), "and not behind its back either"
        editor.tell({"range": _range(0, 2), "text": "more "})
        assert host.open_document(str(path)) is None
        editor.type(0, "all ")
        known = host.open_document(str(path))
        assert known and known.text == editor.text and host.blocked(str(path)) == ""
        editor.tell(NO_CHANGE)
        editor.close_document()
        assert host.blocked(str(path)) == ""
        editor.open("text\n")
        editor.tell(NO_CHANGE)
        editor.open("known again\n")
        found = host.open_document(str(path))
        assert found and found.text == "known again\n" and host.blocked(str(path)) == ""
    assert not editor.requests


def _range(end_line: int, end_character: int) -> dict[str, dict[str, int]]:
    return {"start": {"line": 0, "character": 2}, "end": {"line": end_line, "character": end_character}}


@pytest.mark.req("H4", "R5")
@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"range": None, "rangeLength": None, "text": "all of it"}, "all of it"),
        ({"range": _range(0, 3), "rangeLength": None, "text": "!"}, "on!\ntwo\n"),
        ({"range": _range(2**32 - 1, 2**32 - 1), "text": ""}, "on"),
        ({"range": _range(0, 2**63), "text": "ce"}, "once\ntwo\n"),
    ],
)
async def test_a_change_with_null_fields_or_positions_beyond_the_text_is_applied_as_intended(
    tmp_path: Path, change: object, text: str
) -> None:
    path = tmp_path / "a.txt"
    async with anyio.create_task_group() as tasks:
        editor = LyingEditor(tasks, VSCODE, uri=path.as_uri())
        editor.open("one\ntwo\n")
        editor.tell(change)
        found = editor.server.host.open_document(str(path))
        assert found and (found.text, found.version) == (text, editor.version)


async def test_a_file_with_unsaved_changes_that_the_editor_does_not_sync_is_not_edited(
    tmp_path: Path,
) -> None:
    path = tmp_path / "big.txt"
    path.write_text("x")
    async with anyio.create_task_group() as tasks:
        host = LyingEditor(tasks, VSCODE).server.host
        assert host.blocked(str(path)) == ""
        host.editor_state([path.as_uri(), "untitled:1"])
        assert "unsaved" in host.blocked(str(path))
        host.editor_state([])
        assert host.blocked(str(path)) == ""


@pytest.mark.req("H4", "R5")
async def test_a_document_that_is_too_large_is_not_edited_and_the_server_continues(tmp_path: Path) -> None:
    path = tmp_path / "big.txt"
    async with anyio.create_task_group() as tasks:
        editor = LyingEditor(tasks, VSCODE, uri=path.as_uri())
        host = editor.server.host
        editor.open("x" * MAX_DOCUMENT_CHARS)
        assert host.open_document(str(path)) and host.blocked(str(path)) == ""
        editor.type(0, "y")
        assert host.open_document(str(path)) is None
        assert "50 MiB" in host.blocked(str(path))
        editor.type(0, "", 2)
        found = host.open_document(str(path))
        assert found and len(found.text) == MAX_DOCUMENT_CHARS - 1 and host.blocked(str(path)) == ""
        editor.close_document()
        assert host.open_document(str(path)) is None and host.blocked(str(path)) == ""
