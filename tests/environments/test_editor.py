"""The editor environment: unsaved text counts as the file's content, edits are rebased, and a commit is all or
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import anyio
import pytest

from agent_ls.environments.base import Attribution, CommandOptions, ExecResult, FileState, FileWrite
from agent_ls.environments.editor import MAX_TRIES, EditorEnvironment
from agent_ls.environments.editor_host import LineEdit
from agent_ls.environments.errors import (
    CommitError,
    EditRefusedError,
    EnvError,
    FileTooLargeError,
    PathNotFoundError,
    StaleFileError,
)
from agent_ls.environments.memory import MemoryEnvironment
from tests.support.fake_editor_host import FakeEditorHost

A, B = "/project/a.py", "/project/b.py"
WHO = Attribution("s1", "t1", "c1", "edit a.py")
ABC = "a\nb\nc\n"


def make(
    disk: Mapping[str, str | bytes], unsaved: Mapping[str, str] | None = None
) -> tuple[EditorEnvironment, FakeEditorHost, MemoryEnvironment]:
    inner, host = MemoryEnvironment(disk), FakeEditorHost(unsaved)
    return EditorEnvironment(inner, host), host, inner


def on_disk(inner: MemoryEnvironment) -> dict[str, bytes]:
    return {path: file.content for path, file in inner.files.items()}


def write(path: str, content: str | None, base: str | None) -> FileWrite:
    return FileWrite(
        path, None if content is None else content.encode(), None if base is None else base.encode()
    )


# --- reading


@pytest.mark.req("H4")
@pytest.mark.parametrize("spelling", ["a.py", "./a.py", A, "x/../a.py"])
async def test_reading_an_open_document_gives_its_unsaved_text(spelling: str) -> None:
    environment, _, _ = make({A: "saved\n"}, {A: "typed é\n"})
    assert await environment.read_bytes(spelling) == "typed é\n".encode()


async def test_reading_a_file_that_is_not_open_gives_the_text_on_disk() -> None:
    environment, _, _ = make({A: "saved\n"}, {B: "typed\n"})
    assert await environment.read_bytes(A) == b"saved\n"


async def test_reading_an_open_document_over_the_size_limit_is_refused() -> None:
    environment, _, _ = make({A: "x"}, {A: "éé"})
    with pytest.raises(FileTooLargeError, match="has 4 bytes"):
        await environment.read_bytes(A, 3)


async def test_a_file_that_is_open_in_the_editor_but_not_on_disk_exists() -> None:
    environment, _, _ = make({}, {A: ""})
    assert await environment.file_exists("a.py")
    assert not await environment.file_exists("b.py")
    assert not await environment.file_exists("a\0.py")


# --- writing


@pytest.mark.req("H4")
async def test_a_write_to_an_open_document_is_sent_as_line_edits_and_does_not_write_the_disk() -> None:
    environment, host, inner = make({A: "old\n"}, {A: "a\nb\nc\nd\ne\n"})
    states = await environment.commit([write(A, "a\nB\nc\ne\nf\n", "a\nb\nc\nd\ne\n")], WHO)
    assert states == [FileState(A, b"a\nb\nc\nd\ne\n", b"a\nB\nc\ne\nf\n")]
    assert host.applied[0].edits == (LineEdit(1, 2, "B\n"), LineEdit(3, 4, ""), LineEdit(5, 5, "f\n"))
    assert host.applied[0].attribution == WHO
    assert on_disk(inner) == {A: b"old\n"}
    assert host.reported_changes == []


@pytest.mark.req("H4")
async def test_a_write_computed_before_the_user_typed_is_rebased_over_the_typing() -> None:
    environment, host, _ = make({A: ABC}, {A: "typed\na\nb\nc\n"})
    (state,) = await environment.commit([write(A, "a\nb\nC\n", ABC)], WHO)
    assert host.text(A) == "typed\na\nb\nC\n"
    assert state == FileState(A, b"typed\na\nb\nc\n", b"typed\na\nb\nC\n")


@pytest.mark.req("H4", "X9")
async def test_a_write_over_lines_that_the_user_changed_is_stale_and_changes_nothing() -> None:
    environment, host, inner = make({A: ABC, B: "1\n"}, {A: "a\nb\ntyped\n"})
    with pytest.raises(StaleFileError, match="lines 3-3"):
        await environment.commit([write(B, "2\n", "1\n"), write(A, "a\nb\nC\n", ABC)], WHO)
    assert host.text(A) == "a\nb\ntyped\n"
    assert on_disk(inner)[B] == b"1\n"


@pytest.mark.req("H4")
async def test_typing_while_an_edit_is_sent_is_kept() -> None:
    environment, host, _ = make({A: ABC}, {A: ABC})
    host.typing[A] = [lambda text: "one\n" + text, lambda text: text + "two\n"]
    (state,) = await environment.commit([write(A, "a\nB\nc\n", ABC)], WHO)
    assert host.text(A) == "one\na\nB\nc\ntwo\n"
    assert state.before == b"one\na\nb\nc\ntwo\n"


async def test_a_write_during_continuous_typing_fails_as_stale_and_overwrites_nothing() -> None:
    environment, host, _ = make({A: ABC}, {A: ABC})
    host.typing[A] = [lambda text: text + "x\n"] * MAX_TRIES
    with pytest.raises(StaleFileError, match="each of 8 tries"):
        await environment.commit([write(A, "a\nB\nc\n", ABC)], WHO)
    assert host.text(A) == ABC + "x\n" * MAX_TRIES


async def test_a_change_that_the_user_has_already_made_is_not_repeated() -> None:
    environment, host, _ = make({A: ABC}, {A: "a\nnew\nb\nc\n"})
    (state,) = await environment.commit([write(A, "a\nnew\nb\nc\n", ABC)], WHO)
    assert host.applied == []
    assert state.before == state.after == b"a\nnew\nb\nc\n"


async def test_a_bom_on_disk_is_not_written_into_the_document() -> None:
    environment, host, _ = make({A: b"\xef\xbb\xbfa\nb\n"}, {A: "a\nb\n"})
    # computed before the file was opened in the editor
    change = FileWrite(A, b"\xef\xbb\xbfa\nB\n", b"\xef\xbb\xbfa\nb\n")
    await environment.commit([change], WHO)
    assert host.text(A) == "a\nB\n"


@pytest.mark.req("T2", "H4")
async def test_a_write_in_the_declared_file_encoding_is_decoded_for_the_open_document() -> None:
    head = "# coding: latin-1\n"
    environment, host, _ = make({A: head}, {A: head})
    await environment.commit([FileWrite(A, (head + "é\n").encode("latin-1"), head.encode())], WHO)
    assert host.text(A) == head + "é\n"


@pytest.mark.parametrize("content", [b"\xff\x01\n", b"a\n\x00\xff"])
async def test_undecodable_bytes_are_not_written_into_a_document(content: bytes) -> None:
    environment, host, _ = make({A: "a\n"}, {A: "a\n"})
    with pytest.raises(EditRefusedError, match="is not text"):
        await environment.commit([FileWrite(A, content, b"a\n")], WHO)
    assert host.text(A) == "a\n"


@pytest.mark.req("R5")
async def test_a_lone_surrogate_in_a_document_survives_an_edit_of_another_line() -> None:
    environment, host, _ = make({}, {A: "a\ud800\nb\n"})
    before = await environment.read_bytes(A)
    await environment.commit([FileWrite(A, before.replace(b"b", b"B"), before)], WHO)
    assert host.text(A) == "a\ud800\nB\n"


@pytest.mark.parametrize(
    ("disk", "unsaved", "change", "error", "says"),
    [
        ({A: "x\n"}, {}, write(A, "y\n", "x\n"), EditRefusedError, "swap file"),
        ({}, {A: "typed\n"}, write(A, "y\n", None), StaleFileError, "exists already"),
        ({A: ""}, {A: ""}, write(A, "y\n", None), StaleFileError, "exists already"),
        ({A: "x\n"}, {A: "typed\n"}, write(A, None, "x\n"), StaleFileError, "changed since"),
        ({A: "x\n"}, {A: "typed\n"}, write(A, None, "typed\n"), EditRefusedError, "unsaved changes"),
        ({}, {A: "typed\n"}, write(A, None, "typed\n"), EditRefusedError, "never saved"),
    ],
    ids=[
        "locked",
        "create over text",
        "create over a file",
        "delete unseen text",
        "delete dirty",
        "delete unsaved",
    ],
)
async def test_a_write_that_would_lose_user_text_is_refused_before_any_write(
    disk: Mapping[str, str], unsaved: Mapping[str, str], change: FileWrite, error: type[EnvError], says: str
) -> None:
    environment, host, inner = make({**disk, B: "1\n"}, {**unsaved, "/project/c.py": "c\n"})
    if not unsaved:
        host.blocks[A] = "it has a swap file"
    others = [write("/project/c.py", "C\n", "c\n"), write(B, "2\n", "1\n")]
    with pytest.raises(error, match=says):
        await environment.commit([*others, change], WHO)
    assert host.applied == []
    assert on_disk(inner)[B] == b"1\n"


async def test_a_write_to_a_new_file_with_an_empty_open_document_edits_only_the_document() -> None:
    environment, host, inner = make({}, {A: ""})
    assert await environment.commit([write(A, "new\n", None)], WHO) == [FileState(A, b"", b"new\n")]
    assert host.text(A) == "new\n"
    assert on_disk(inner) == {}


async def test_a_saved_open_file_is_deleted_on_disk_and_the_editor_informed() -> None:
    environment, host, inner = make({A: b"\xef\xbb\xbfa\n"}, {A: "a\n"})
    assert await environment.commit([write(A, None, "a\n")], WHO) == [FileState(A, b"\xef\xbb\xbfa\n", None)]
    assert on_disk(inner) == {}
    assert host.reported_changes == [A]


# --- several files


@pytest.mark.req("H4")
async def test_one_commit_writes_open_and_closed_files_in_the_requested_order() -> None:
    environment, host, inner = make({A: "1\n", B: "1\n"}, {B: "b\n"})
    changes = [write("a.py", "2\n", "1\n"), write("b.py", "B\n", "b\n"), write("c.py", "new\n", None)]
    states = await environment.commit(changes, WHO)
    assert [state.path for state in states] == [A, B, "/project/c.py"]
    assert (on_disk(inner)[A], host.text(B), on_disk(inner)["/project/c.py"]) == (b"2\n", "B\n", b"new\n")
    assert host.reported_changes == [A, "/project/c.py"]


@pytest.mark.req("X9")
async def test_a_stale_closed_file_fails_the_commit_before_any_document_is_edited() -> None:
    environment, host, _ = make({A: "other\n", B: "b\n"}, {B: "b\n"})
    with pytest.raises(StaleFileError):
        await environment.commit([write(B, "B\n", "b\n"), write(A, "2\n", "1\n")], WHO)
    assert host.applied == []


async def test_documents_are_restored_when_a_later_document_is_refused() -> None:
    environment, host, _ = make({}, {A: ABC, B: "b\n"})
    host.refusals[B] = "it is read-only"
    host.typing[A] = [lambda text: text, lambda text: text + "typed\n"]
    with pytest.raises(EditRefusedError, match="read-only"):
        await environment.commit([write(A, "a\nB\nc\n", ABC), write(B, "B\n", "b\n")], WHO)
    assert host.text(A) == ABC + "typed\n"


async def test_documents_are_restored_when_a_write_to_disk_fails() -> None:
    environment, host, inner = make({A: ABC}, {A: ABC})
    inner.put("b.py", "1\n", mode=0o444)
    with pytest.raises(EnvError, match="read-only"):
        await environment.commit([write(A, "a\nB\nc\n", ABC), write(B, "2\n", "1\n")], WHO)
    assert host.text(A) == ABC


async def test_the_commit_error_names_a_document_that_cannot_be_restored() -> None:
    environment, host, _ = make({}, {A: ABC, B: "b\n"})
    host.refusals[B] = "it is read-only"
    host.typing[A] = [lambda text: text, lambda text: text.replace("B", "typed")]
    with pytest.raises(CommitError, match=r"Could not restore: /project/a\.py") as caught:
        await environment.commit([write(A, "a\nB\nc\n", ABC), write(B, "B\n", "b\n")], WHO)
    assert caught.value.unrestored == (A,)
    assert host.text(A) == "a\ntyped\nc\n"


async def test_a_commit_that_names_one_file_twice_is_an_error() -> None:
    environment, host, _ = make({A: "a\n"}, {A: "a\n"})
    with pytest.raises(CommitError, match="twice"):
        await environment.commit([write(A, "1\n", "a\n"), write("./a.py", "2\n", "a\n")], WHO)
    assert host.text(A) == "a\n"


async def test_a_commit_cancelled_during_its_writes_is_completed() -> None:
    environment, host, inner = make({B: "1\n"}, {A: ABC})
    with anyio.CancelScope() as scope:

        def cancel(text: str) -> str:
            scope.cancel()
            return text + "typed\n"

        host.typing[A] = [cancel]
        await environment.commit([write(A, "a\nB\nc\n", ABC), write(B, "2\n", "1\n")], WHO)
    assert host.text(A) == "a\nB\nc\ntyped\n"
    assert on_disk(inner)[B] == b"2\n"


# --- commands


async def ran(command: str, note: str = "") -> ExecResult:
    return ExecResult(command, "", command, 0, timed_out=False, duration_ms=1, note=note)


async def test_a_command_runs_after_saving_and_its_result_names_unsaved_documents() -> None:
    inner = MemoryEnvironment(run_command=lambda command, _options, _sink: ran(command, "Cut."))
    host = FakeEditorHost()
    host.save_note = "a.py was not saved."
    result = await EditorEnvironment(inner, host).exec_command("make", CommandOptions())
    assert (host.saves, result.output, result.note) == (1, "make", "Cut. a.py was not saved.")


async def test_open_files_that_a_command_changed_are_reported_to_the_editor() -> None:
    async def format_files(command: str, _options: CommandOptions, _sink: object) -> ExecResult:
        inner.put("a.py", "formatted\n")
        inner.put("not_open.py", "formatted\n")
        return await ran(command)

    inner = MemoryEnvironment({A: "x\n", B: "y\n"}, run_command=format_files)
    host = FakeEditorHost({A: "x\n", B: "y\n", "/project/only_here.py": ""})
    await EditorEnvironment(inner, host).exec_command("fmt", CommandOptions())
    assert host.reported_changes == [A]


async def test_a_background_command_is_started_after_saving() -> None:
    environment, host, _ = make({})
    with pytest.raises(EnvError, match="cannot be started"):
        await environment.start_process("serve", CommandOptions())
    assert host.saves == 1


async def test_reading_a_missing_file_is_an_error() -> None:
    environment, _, _ = make({}, {A: ""})
    with pytest.raises(PathNotFoundError):
        await environment.read_bytes(B)
