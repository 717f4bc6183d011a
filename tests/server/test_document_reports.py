"""Public reports of documents and positions that other servers read wrongly, each in its smallest form."""

from __future__ import annotations

from typing import Any

import pytest
from lsprotocol import types as lsp

from agent_ls.server.lsp.capabilities import ClientAbilities
from agent_ls.server.lsp.documents import Documents
from tests.support.reports import reported

pytestmark = pytest.mark.req("H4", "H8")

URIS = [
    reported(
        "microsoft/vscode-languageserver-node#1280",
        "file:///c%3A/Dev/Test%20Projects/a.py",
        "file:///c:/Dev/Test%20Projects/a.py",
        id="encoded colon",
    ),
    reported("marimo-team/marimo-lsp#441", "file:///c%3A/p/a.ipynb", "file:///c:/p/a.ipynb", id="notebook"),
    reported(
        "nickbattle/vdmj#54",
        "file:/p/a%20b.py",
        "file:///p/a b.py",
        id="one slash",
    ),
    reported("mattn/efm-langserver#312", "file:///p/%C3%A9.py", "file:///p/é.py", id="other encoding"),
]


@pytest.mark.parametrize(("one", "other"), URIS)
def test_forms_of_one_uri_name_one_document(one: str, other: str) -> None:
    documents = Documents(ClientAbilities(), None, ())
    documents.put_text_document(lsp.TextDocumentItem(uri=one, language_id="python", version=3, text="x"))
    found = documents.maybe_open(other)
    assert found and found.source == "x"


SYNCS = [
    reported("NousResearch/hermes-agent#116094", 'const face = "😀";', [((0, 0), (0, 18), 'const next = "🚀";')],
        'const next = "🚀";', id="surrogates"),
    reported("rust-lang/rust-analyzer#4153", "", [((0, 0), (0, 0), "\n\n\n"), ((3, 0), (3, 0), "hello")],
        "\n\n\nhello", id="two changes"),
    reported("sublimelsp/LSP#932", "a",
        [((0, 1), (0, 1), "B"), ((0, 2), (0, 2), "\n"), ((1, 0), (1, 0), "🙂"), ((1, 2), (1, 2), "D")], "aB\n🙂D",
        id="sublime"),
    reported("Leathong/openscad-LSP#11", "x\n", [(None, None, "\nfunction bar(x) = x * x;\n")],
        "\nfunction bar(x) = x * x;\n", id="whole text"),
    reported("dart-lang/sdk#37011", "one\ntwo", [((103, 0), (103, 0), "  ")], "one\ntwo  ", id="behind the end"),
    reported("neovim/neovim#36653", "one\nlast\n", [((1, 0), (2, 0), "new")], "one\nnew", id="last line"),
    reported("hudson-trading/slang-server#511", "const a = 'é日本';\n", [((0, 14), (0, 14), "!")],
        "const a = 'é日本!';\n", id="units"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "changes", "expected"), SYNCS)
def test_changes_of_other_editors_give_their_text(
    text: str, changes: list[tuple[Any, Any, str]], expected: str
) -> None:
    documents = Documents(ClientAbilities(), None, ())
    documents.put_text_document(lsp.TextDocumentItem(uri="file:///a", language_id="", version=1, text=text))
    for start, end, new in changes:
        change: lsp.TextDocumentContentChangeEvent = lsp.TextDocumentContentChangeWholeDocument(text=new)
        if start is not None:
            where = lsp.Range(lsp.Position(*start), lsp.Position(*end))
            change = lsp.TextDocumentContentChangePartial(range=where, text=new)
        documents.update_text_document(
            lsp.VersionedTextDocumentIdentifier(version=2, uri="file:///a"), change
        )
    found = documents.maybe_open("file:///a")
    assert found and found.source == expected


@pytest.mark.parametrize(
    ("encoding", "character"),
    [
        reported("helix-editor/helix#6921", "utf-8", 10),
        reported("aviatesk/JETLS.jl#306", "utf-8", 10, id="bytes"),
        reported("helix-editor/helix#5711", "utf-32", 6),
        reported("almide/almide#927", "utf-16", 7),
    ],
)
def test_positions_are_counted_in_the_agreed_encoding(encoding: Any, character: int) -> None:
    documents = Documents(ClientAbilities(encoding=encoding), None, ())
    documents.put_text_document(
        lsp.TextDocumentItem(uri="file:///a", language_id="", version=1, text="é = 😋b\n")
    )
    where = lsp.Range(lsp.Position(0, character - 1), lsp.Position(0, character))
    change = lsp.TextDocumentContentChangePartial(range=where, text="c")
    documents.update_text_document(lsp.VersionedTextDocumentIdentifier(version=2, uri="file:///a"), change)
    found = documents.maybe_open("file:///a")
    assert found and found.source == "é = 😋c\n"
