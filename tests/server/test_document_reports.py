"""Public reports of documents and positions that other servers read wrongly, each in its smallest form."""

from __future__ import annotations

from typing import Any

import pytest
from lsprotocol import types as lsp

from agent_ls.server.lsp.capabilities import ClientAbilities
from agent_ls.server.lsp.documents import Documents

pytestmark = pytest.mark.req("H4", "H8")

URIS = [
    pytest.param(
        "file:///c%3A/Dev/Test%20Projects/a.py",
        "file:///c:/Dev/Test%20Projects/a.py",
        marks=pytest.mark.report("microsoft/vscode-languageserver-node#1280"),
        id="encoded colon",
    ),
    pytest.param(
        "file:///c%3A/p/a.ipynb",
        "file:///c:/p/a.ipynb",
        marks=pytest.mark.report("marimo-team/marimo-lsp#441"),
        id="notebook",
    ),
    pytest.param(
        "file:///p/%C3%A9.py",
        "file:///p/é.py",
        marks=pytest.mark.report("mattn/efm-langserver#312"),
        id="other encoding",
    ),
]


@pytest.mark.parametrize(("one", "other"), URIS)
def test_forms_of_one_uri_name_one_document(one: str, other: str) -> None:
    documents = Documents(ClientAbilities(), None, ())
    documents.put_text_document(lsp.TextDocumentItem(uri=one, language_id="python", version=3, text="x"))
    found = documents.maybe_open(other)
    assert found and found.source == "x"


SYNCS = [
    pytest.param(
        'const face = "😀";',
        [((0, 0), (0, 18), 'const next = "🚀";')],
        'const next = "🚀";',
        marks=pytest.mark.report("NousResearch/hermes-agent#116094"),
        id="surrogates",
    ),
    pytest.param(
        "",
        [((0, 0), (0, 0), "\n\n\n"), ((3, 0), (3, 0), "hello")],
        "\n\n\nhello",
        marks=pytest.mark.report("rust-lang/rust-analyzer#4153"),
        id="two changes",
    ),
    pytest.param(
        "a",
        [((0, 1), (0, 1), "B"), ((0, 2), (0, 2), "\n"), ((1, 0), (1, 0), "🙂"), ((1, 2), (1, 2), "D")],
        "aB\n🙂D",
        marks=pytest.mark.report("sublimelsp/LSP#932"),
        id="sublime",
    ),
    pytest.param(
        "x\n",
        [(None, None, "\nfunction bar(x) = x * x;\n")],
        "\nfunction bar(x) = x * x;\n",
        marks=pytest.mark.report("Leathong/openscad-LSP#11"),
        id="whole text",
    ),
    pytest.param(
        "one\ntwo",
        [((103, 0), (103, 0), "  ")],
        "one\ntwo  ",
        marks=pytest.mark.report("dart-lang/sdk#37011"),
        id="behind the end",
    ),
    pytest.param(
        "one\nlast\n",
        [((1, 0), (2, 0), "new")],
        "one\nnew",
        marks=pytest.mark.report("neovim/neovim#36653"),
        id="last line",
    ),
    pytest.param(
        "const a = 'é日本';\n",
        [((0, 14), (0, 14), "!")],
        "const a = 'é日本!';\n",
        marks=pytest.mark.report("hudson-trading/slang-server#511"),
        id="units",
    ),
]


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
        pytest.param("utf-8", 10, marks=pytest.mark.report("helix-editor/helix#6921")),
        pytest.param("utf-8", 10, marks=pytest.mark.report("aviatesk/JETLS.jl#306"), id="bytes"),
        pytest.param("utf-32", 6, marks=pytest.mark.report("helix-editor/helix#5711")),
        pytest.param("utf-16", 7, marks=pytest.mark.report("almide/almide#927")),
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
