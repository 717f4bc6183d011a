"""Synced documents: after any edit the server has the editor's text, in every position encoding."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from lsprotocol import types as lsp

from agent_ls.environments.editor_host import LineEdit
from agent_ls.server.lsp import from_lsp, to_lsp
from agent_ls.server.lsp.capabilities import ClientAbilities, Encoding
from agent_ls.server.lsp.documents import Documents, SyncedDocument
from agent_ls.text import split_lines

ENCODINGS: tuple[Encoding, ...] = ("utf-8", "utf-16", "utf-32")
PIECES = ["a", "é", "€", "😋", "\n", "\r", "\r\n", "\x0c", "\u2028", " "]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def document(text: str, encoding: Encoding = "utf-16", *, newline_only: bool = False) -> SyncedDocument:
    client = ClientAbilities(encoding=encoding, newline_only=newline_only)
    return SyncedDocument("file:///a.txt", text, 1, client)


def change(document: SyncedDocument, start: tuple[int, int], end: tuple[int, int], text: str) -> str:
    where = lsp.Range(start=lsp.Position(*start), end=lsp.Position(*end))
    document.apply_change(lsp.TextDocumentContentChangePartial(range=where, text=text))
    return document.source


def position(text: str, offset: int, encoding: Encoding, *, newline_only: bool) -> tuple[int, int]:
    """Compute the protocol position of a character in the simplest way, as the reference."""
    lines = from_lsp.document_lines(text[:offset], newline_only=newline_only)
    ends = ("\n",) if newline_only else ("\n", "\r")
    line = lines.pop() if lines and not lines[-1].endswith(ends) else ""
    units = {"utf-8": len(line.encode()), "utf-16": len(line.encode("utf-16-le")) // 2, "utf-32": len(line)}
    return len(lines), units[encoding]


@pytest.mark.req("H4")
@given(TEXTS, TEXTS, st.sampled_from(ENCODINGS), st.booleans(), st.data())
def test_after_an_editor_change_at_any_position_the_synced_text_equals_the_editor_text(
    text: str, new: str, encoding: Encoding, newline_only: bool, data: st.DataObject
) -> None:
    # If CR and LF end a line together, no position lies between them.
    inside = {i for i in range(1, len(text)) if not newline_only and text[i - 1 : i + 1] == "\r\n"}
    places = st.sampled_from([i for i in range(len(text) + 1) if i not in inside])
    start, end = sorted((data.draw(places), data.draw(places)))
    synced = document(text, encoding, newline_only=newline_only)
    where = [position(text, offset, encoding, newline_only=newline_only) for offset in (start, end)]
    expected = text[:start] + new + text[end:]
    assert change(synced, where[0], where[1], new) == expected
    assert list(synced.lines) == from_lsp.document_lines(expected, newline_only=newline_only)


@pytest.mark.req("H4")
@given(TEXTS, st.lists(TEXTS, min_size=2, max_size=2), st.sampled_from(ENCODINGS), st.booleans(), st.data())
def test_line_edits_converted_to_lsp_edits_produce_the_intended_text(
    text: str, new: list[str], encoding: Encoding, newline_only: bool, data: st.DataObject
) -> None:
    lines = split_lines(text)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(lines)), min_size=4, max_size=4)))
    edits = [LineEdit(cuts[0], cuts[1], new[0]), LineEdit(cuts[2], cuts[3], new[1])]
    if cuts[1] == cuts[2]:
        edits.pop()
    expected = list(lines)
    for edit in reversed(edits):
        expected[edit.start : edit.end] = [edit.text]
    synced = document(text, encoding, newline_only=newline_only)
    for sent in reversed(to_lsp.text_edits(text, edits, encoding, newline_only=newline_only)):
        synced.apply_change(lsp.TextDocumentContentChangePartial(range=sent.range, text=sent.new_text))
    assert synced.source == "".join(expected)


@pytest.mark.parametrize(
    ("text", "start", "end", "new", "expected"),
    [
        ("abc", (0, 3), (0, 99), "d", "abcd"),
        ("abc\n", (9, 9), (9, 9), "d", "abc\nd"),
        ("abc", (1, 0), (1, 0), "d", "abcd"),
        ("😋b", (0, 2), (0, 3), "c", "😋c"),
        ("😋b", (0, 1), (0, 1), "c", "c😋b"),
        ("a\x0cb\nc", (1, 0), (1, 1), "d", "a\x0cb\nd"),
        ("a\u2028b\nc", (1, 0), (1, 1), "d", "a\u2028b\nd"),
        ("a\rb\n", (1, 0), (1, 1), "", "a\r\n"),
        ("a\r\nb", (0, 5), (0, 5), "x", "ax\r\nb"),
        ("", (0, 0), (0, 0), "x", "x"),
        ("ab", (0, 2), (0, 0), "x", "x"),
        ("ab", (0, 1), (0, 1), "\ud83d", "a\ufffdb"),
    ],
)
def test_a_position_beyond_the_text_is_moved_to_the_last_valid_one(
    text: str, start: tuple[int, int], end: tuple[int, int], new: str, expected: str
) -> None:
    assert change(document(text), start, end, new) == expected


def test_with_lf_only_line_endings_a_carriage_return_counts_as_a_character() -> None:
    synced = document("a\r\nb\n", "utf-8", newline_only=True)
    assert change(synced, (0, 0), (0, 2), "x\r") == "x\r\nb\n"


def test_an_insertion_after_the_last_line_uses_a_position_that_exists_in_the_document() -> None:
    (edit,) = to_lsp.text_edits("a\n", [LineEdit(1, 1, "b\n")], "utf-16")
    assert (edit.range.start, edit.new_text) == (lsp.Position(line=0, character=1), "\nb")


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b%20c.py", "/a/b c.py"),
        ("file:///a/../b.py", "/b.py"),
        ("file://localhost/a", "/a"),
        ("file:///%F0%9F%98%8B", "/😋"),
        ("file:///%FF", "/\udcff"),
        ("file:///a%00b", None),
        ("file:///\ud83d", None),
        ("untitled:Untitled-1", None),
        ("agent-ls:/x", None),
        ("file://host/share", None),
        ("file://[", None),
        ("", None),
    ],
)
def test_only_uris_of_local_files_are_converted_to_paths(uri: str, path: str | None) -> None:
    assert from_lsp.maybe_path(uri) == path


@given(st.text(alphabet="aé😋 %#?\udcff", min_size=1, max_size=9))
def test_a_path_converted_to_a_uri_and_back_is_unchanged(name: str) -> None:
    assert from_lsp.maybe_path(to_lsp.uri(f"/{name}")) == f"/{name}"


@pytest.mark.req("H4")
@pytest.mark.parametrize(
    "uri", ["file:///a/b%20c", "file:///a/b c", "file:/a/b%20c", "file://localhost/a//x/../b%20c"]
)
def test_equivalent_uris_change_and_close_the_same_document(uri: str) -> None:
    documents = Documents(ClientAbilities(), None, ())
    item = lsp.TextDocumentItem(uri="file:///a/b%20c", language_id="python", version=3, text="x\n")
    documents.put_text_document(item)
    whole = lsp.TextDocumentContentChangeWholeDocument(text="y\n")
    documents.update_text_document(lsp.VersionedTextDocumentIdentifier(version=4, uri=uri), whole)
    found = documents.maybe_open("file:///a/b%20c")
    assert found and (found.source, found.version) == ("y\n", 4)
    assert documents.get_text_document(uri) is found
    documents.remove_text_document(uri)
    assert documents.maybe_open("file:///a/b%20c") is None


@pytest.mark.req("H4")
def test_uris_of_different_files_or_cells_are_different_documents() -> None:
    uris = [
        "file:///%FF",
        "file:///%FE",
        "file:///n.ipynb",
        "file:///n.ipynb#a",
        "file:///n.ipynb#b",
        "file:///a%2541",
    ]
    uris += ["file:///aA", "untitled:1", "vscode-notebook-cell:/n.ipynb#a"]
    documents = Documents(ClientAbilities(), None, ())
    for uri in uris:
        documents.put_text_document(lsp.TextDocumentItem(uri=uri, language_id="", version=1, text=uri))
    assert [found.source for uri in uris if (found := documents.maybe_open(uri))] == uris


@pytest.mark.req("H4")
def test_different_names_of_one_file_are_recognised_as_the_same_file(tmp_path: Path) -> None:
    """Hard links simulate a file system that ignores case or Unicode normalisation."""
    path, other = tmp_path / "Größe.py", tmp_path / "other.py"
    path.touch()
    other.touch()
    for name in ("GRÖSSE.PY", "Gro\u0308ße.py", "another.py"):
        (tmp_path / name).hardlink_to(path)
        assert from_lsp.maybe_same(str(tmp_path / name), {str(other), str(path)}) == str(path), name
    assert from_lsp.maybe_same(str(other), {str(path)}) is None
    assert from_lsp.maybe_same(str(tmp_path / "none.py"), {str(path)}) is None
    assert from_lsp.maybe_same(str(tmp_path / "none.py"), {str(tmp_path / "none.py")}) is not None
    assert from_lsp.maybe_same(str(path), ()) is None
    alike = tmp_path / "OTHER.py"
    alike.touch()  # a different file here, because the file system is case-sensitive
    assert from_lsp.maybe_same(str(alike), {str(other)}) is None


def test_uris_that_differ_in_percent_encoding_are_one_document() -> None:
    documents = Documents(ClientAbilities(), None, ())
    item = lsp.TextDocumentItem(uri="file:///a%40b.py", language_id="python", version=3, text="x\n")
    documents.put_text_document(item)
    found = documents.maybe_open("file:///a@b.py")
    assert found and (found.source, found.version) == ("x\n", 3)
    assert documents.maybe_open("file:///other.py") is None
