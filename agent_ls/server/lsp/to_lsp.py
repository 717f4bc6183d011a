"""Convert our lines, offsets and paths for the editor. Every position that is sent is converted here."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from urllib.parse import quote

from lsprotocol import types as lsp

from agent_ls.environments.editor_host import LineEdit
from agent_ls.server.lsp.capabilities import Encoding
from agent_ls.server.lsp.from_lsp import document_lines
from agent_ls.text import TextLines, has_lone_cr, line_ending, split_lines


def character(content: str, offset: int, encoding: Encoding) -> int:
    """Return the number of encoding units before the code point `offset` of a line."""
    before = content[:offset]
    if encoding == "utf-32" or before.isascii():
        return len(before)
    if encoding == "utf-8":
        return len(before.encode("utf-8", "surrogatepass"))
    return len(before.encode("utf-16-le", "surrogatepass")) // 2


def text_edits(
    text: str, edits: Sequence[LineEdit], encoding: Encoding, *, newline_only: bool = False
) -> list[lsp.TextEdit]:
    """Convert line edits to range edits of `text`, in the same order."""
    if newline_only and has_lone_cr(text):
        return _edits_of_other_lines(text, edits, encoding)
    lines = TextLines(text)
    endings = ("\n",) if newline_only else ("\n", "\r")

    def start_of(line: int) -> lsp.Position:
        if lines[line : line + 1]:
            return lsp.Position(line=line, character=0)
        # The end of the document: an empty line after a final line ending, else the end of the last line.
        last = lines[-1] if text else ""
        if not last or last.endswith(endings):
            return lsp.Position(line=line, character=0)
        return lsp.Position(line=line - 1, character=character(last, len(last), encoding))

    def text_edit(edit: LineEdit) -> lsp.TextEdit:
        is_at_end = edit.start == edit.end and not lines[edit.start : edit.start + 1]
        if text and is_at_end and (ending := _shared_ending(lines[-1], edit.text)):
            # An insertion after the last line is sent as an insertion at the end of the last line, because
            # Neovim adds an empty line if the position's line does not exist. "a\n" + "b\n" is the same text
            # as "a" + "\nb" + "\n".
            last = lines[-1]
            at = lsp.Position(edit.start - 1, character(last, len(last) - len(ending), encoding))
            return lsp.TextEdit(lsp.Range(at, at), ending + edit.text.removesuffix(ending))
        return lsp.TextEdit(lsp.Range(start_of(edit.start), start_of(edit.end)), edit.text)

    return [text_edit(edit) for edit in edits]


def _edits_of_other_lines(text: str, edits: Sequence[LineEdit], encoding: Encoding) -> list[lsp.TextEdit]:
    """Convert line edits for an editor in which a lone CR does not end a line."""
    ours, theirs = split_lines(text), document_lines(text, newline_only=True)
    starts, offsets = ([0, *accumulate(map(len, lines))] for lines in (theirs, ours))

    def text_edit(edit: LineEdit) -> lsp.TextEdit:
        start, end, new_text = offsets[edit.start], offsets[edit.end], edit.text
        if edit.start == edit.end == len(ours) and (ending := _shared_ending(ours[-1], new_text)):
            start = end = start - len(ending)
            new_text = ending + new_text.removesuffix(ending)
        places = (_position(theirs, starts, offset, encoding) for offset in (start, end))
        return lsp.TextEdit(range=lsp.Range(*places), new_text=new_text)

    return [text_edit(edit) for edit in edits]


def _shared_ending(last_line: str, text: str) -> str:
    ending = line_ending(last_line)
    return ending if text.endswith(ending) and line_ending(text) == ending else ""


def _position(lines: Sequence[str], starts: Sequence[int], offset: int, encoding: Encoding) -> lsp.Position:
    line = bisect_right(starts, offset) - 1
    if line < len(lines):
        return lsp.Position(line=line, character=character(lines[line], offset - starts[line], encoding))
    # The end of the document: an empty line after a final line ending, else the end of the last line.
    if not lines or lines[-1].endswith("\n"):
        return lsp.Position(line=len(lines), character=0)
    return lsp.Position(line=len(lines) - 1, character=character(lines[-1], len(lines[-1]), encoding))


def document_edit(
    uri: str, version: int | None, edits: Sequence[lsp.TextEdit], label: str | None
) -> lsp.ApplyWorkspaceEditParams:
    """Return one edit of one document. `version` None: in the form without a version."""
    if version is None:
        return lsp.ApplyWorkspaceEditParams(edit=lsp.WorkspaceEdit(changes={uri: list(edits)}), label=label)
    document = lsp.OptionalVersionedTextDocumentIdentifier(uri=uri, version=version)
    change = lsp.TextDocumentEdit(text_document=document, edits=list(edits))
    return lsp.ApplyWorkspaceEditParams(edit=lsp.WorkspaceEdit(document_changes=[change]), label=label)


def file_operation(
    document_uri: str, version: int, operation: lsp.RenameFile | lsp.DeleteFile, label: str | None
) -> lsp.ApplyWorkspaceEditParams:
    """Return an operation on an open document's file. An empty text edit with the document's version precedes
    the operation, so that the editor refuses both if the user has typed.
    """
    document = lsp.OptionalVersionedTextDocumentIdentifier(uri=document_uri, version=version)
    guard = lsp.TextDocumentEdit(text_document=document, edits=[])
    return lsp.ApplyWorkspaceEditParams(
        edit=lsp.WorkspaceEdit(document_changes=[guard, operation]), label=label
    )


@lru_cache(maxsize=4096)
def uri(path: str) -> str:
    """Return the `file:` URI of an absolute path, percent-encoded in the way that editors use."""
    if path[1:2] == ":":  # a drive of Windows
        return f"file:///{path[:2]}" + quote(path[2:].replace("\\", "/"), errors="surrogateescape")
    return "file://" + quote(path, errors="surrogateescape")
