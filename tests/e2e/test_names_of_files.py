"""One file under many names, as editors write URIs and models write paths. No open document is changed on disk."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import anyio
import pytest
from lsprotocol import types as lsp

from agent_ls.server.lsp.documents import SyncedDocument
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.served import Served, served

pytestmark = pytest.mark.req("H4")

NAME = "größe (1) [x] +#%41 & 'a'.py"
TEXT = "one\ntwo\nthree\n"
TYPED = "# typed, not saved\n"


def _vscode(path: str) -> str:
    return "file://" + quote(path, safe="/")


def _lower_hex(path: str) -> str:
    """Return a URI as some Vim clients write it: %c3%b6 for %C3%B6."""
    return "".join(
        f"%{byte:02x}" if chr(byte) not in SAFE else chr(byte) for byte in b"file://" + path.encode()
    )


SAFE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/:"

STYLES: dict[str, Callable[[str], str]] = {
    "VS Code": _vscode,
    "Neovim": lambda path: "file://" + quote(path, safe="/!~*'()"),
    "Emacs": lambda path: "file://" + quote(path, safe="/!~*'();:@&=+$,"),
    "Kate": lambda path: "file://" + quote(path, safe="/!~*'();:@&=+$,ößä"),
    "hexadecimals in small letters": _lower_hex,
    "hardly encoded": lambda path: "file://" + path.replace("%", "%25").replace("#", "%23"),
    "with the machine": lambda path: "file://localhost" + quote(path),
    "one slash": lambda path: "file:" + quote(path),
    "two slashes within": lambda path: "file://" + quote(path).replace("/project/", "/project//"),
}


@dataclass(frozen=True)
class File:
    """`opened` is the URI of the open document, `reported` the URI in its changes; the model uses the path `named`."""

    path: Path
    opened: str
    reported: str
    named: str

    async def show(self, found: Served) -> None:
        """Open the file in the editor and type at its start."""
        document = SyncedDocument(self.opened, TEXT, 1, found.editor.abilities)
        found.editor.documents[self.opened] = document
        item = {"uri": self.opened, "languageId": "python", "version": 1, "text": TEXT}
        await found.client.notify("textDocument/didOpen", {"textDocument": item})
        start = lsp.Position(0, 0)
        document.apply_change(lsp.TextDocumentContentChangePartial(lsp.Range(start, start), TYPED))
        document.version = 2
        at = {"line": 0, "character": 0}
        change = {"range": {"start": at, "end": at}, "text": TYPED}
        params = {"textDocument": {"uri": self.reported, "version": 2}, "contentChanges": [change]}
        await found.client.notify("textDocument/didChange", params)

    @property
    def calls(self) -> tuple[ToolCall, ToolCall]:
        edit = {"file_path": self.named, "old_string": "two\n", "new_string": "TWO\n"}
        return ToolCall("read_file", {"file_path": self.named}), ToolCall("edit_file", edit)


async def check_edited(tmp_path: Path, files: Sequence[File]) -> None:
    """Let the model edit each file, and check that the edit is in the open document and not on disk.

    All approvals are allowed, because an edit of a file with several names needs one.
    """
    reads, edits = zip(*(file.calls for file in files), strict=True)
    with AnthropicServer([list(reads), list(edits), "Done."]) as provider:
        async with served(tmp_path, provider=provider) as found, anyio.create_task_group() as tasks:
            tasks.start_soon(found.editor.approve_all)
            session_id = await found.editor.new_session(provider="anthropic", mode="full")
            for file in files:
                await file.show(found)
            await found.editor.submit(session_id, "go")
            await found.client.event("processing_end", reason="completed")
            ends = [event["data"] for event in found.client.events if event["kind"] == "tool_call_end"]
            assert [end["output"] for end in ends if end["isError"]] == [] and len(ends) == 2 * len(files)
            for file in files:
                source = found.editor.documents[file.opened].source
                assert source == TYPED + TEXT.replace("two", "TWO"), file
                assert file.path.read_text() == TEXT, f"written behind the buffer: {file}"
            tasks.cancel_scope.cancel()


def made(tmp_path: Path, name: str) -> Path:
    path = tmp_path / "project" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize("is_opened_alike", [True, False])
async def test_an_open_document_is_found_for_each_uri_form_that_an_editor_sends(
    tmp_path: Path, is_opened_alike: bool
) -> None:
    """An editor may also use one form to open a document, and another one in its changes."""
    files = []
    for number, style in enumerate(STYLES.values()):
        path = made(tmp_path, f"{number} {NAME}")
        opened = style if is_opened_alike else _vscode
        files.append(File(path, opened(str(path)), style(str(path)), path.name))
    await check_edited(tmp_path, files)


def _linked(path: Path) -> str:
    (path.parent / "way").symlink_to(path.parent)
    return f"way/{path.name}"


def _other_case(path: Path) -> str:
    """Return the file's name in capitals. A hard link with it simulates a file system that ignores case."""
    os.link(path, path.with_name(path.name.upper()))
    return path.name.upper()


def _other_form(path: Path) -> str:
    other = unicodedata.normalize("NFD", path.name)
    os.link(path, path.with_name(other))
    return other


def _other_name(path: Path) -> str:
    os.link(path, path.with_name("another.py"))
    return "another.py"


NAMES: Sequence[Callable[[Path], str]] = (
    str,
    lambda path: f"./x/..//{path.name}",
    _linked,
    _other_case,
    _other_form,
    _other_name,
)


async def test_an_open_document_is_found_for_each_path_form_that_the_model_uses(tmp_path: Path) -> None:
    files = []
    for number, name in enumerate(NAMES):
        path = made(tmp_path, f"{number} {NAME}")
        files.append(File(path, _vscode(str(path)), _vscode(str(path)), name(path)))
    await check_edited(tmp_path, files)


async def test_an_open_document_is_found_in_a_workspace_opened_through_a_symbolic_link(
    tmp_path: Path,
) -> None:
    """The editor uses the path with the link; commands report the path without it to the model."""
    (tmp_path / "real").mkdir()
    real = made(tmp_path / "real", "a.py")
    (tmp_path / "project").symlink_to(real.parent)
    path = tmp_path / "project" / "a.py"
    other = made(tmp_path, "b.py")
    files = [
        File(path, path.as_uri(), path.as_uri(), str(real)),
        File(other, other.as_uri(), other.as_uri(), other.name),
    ]
    await check_edited(tmp_path, files)
