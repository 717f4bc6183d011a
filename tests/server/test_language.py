"""A client's answers about code are parsed: positions, kinds and versions. An invalid answer counts as none."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.environments.editor_host import OpenDocument
from agent_ls.environments.errors import NoAnswerError, StaleFileError
from agent_ls.environments.language_host import (
    CodeProblem,
    FileChanges,
    FileProblems,
    FoundLocation,
    SourcePosition,
    Symbol,
    TextChange,
)
from agent_ls.server.editor.client_requests import NotDoneError
from agent_ls.server.editor.diagnostics import MAX_FILES, EditorDiagnostics
from agent_ls.server.editor.language import DEADLINE_MS, EditorLanguage
from agent_ls.server.lsp.capabilities import ClientAbilities
from agent_ls.server.protocol import Diagnostic

RICH = ClientAbilities(events=True, language=True, diagnostics=True)
SPOT = SourcePosition("/p/a b.py", 3, 7)
OPEN = OpenDocument("/p/a.py", 4, "one\n")
EDIT = {"startLine": 0, "endLine": 0, "endCharacter": 3, "newText": "two"}


class Client:
    """Answers with `answer`, or with an error if `answer` is a string."""

    def __init__(self, answer: Any = None, abilities: ClientAbilities = RICH) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, Any], int | None]] = []
        self.known = EditorDiagnostics(self.document, pull=lambda: self.language.diagnostics_request())
        self.language: EditorLanguage = EditorLanguage(lambda: abilities, self.document, self.known)
        self.language.set_sender(self)

    def document(self, path: str) -> OpenDocument | None:
        return OPEN if path == OPEN.path else None

    async def ask(self, what: str, params: dict[str, Any], deadline_ms: int | None = None) -> dict[str, Any]:
        self.asked.append((what, params, deadline_ms))
        if isinstance(self.answer, str):
            raise NotDoneError(self.answer)
        answer: dict[str, Any] = self.answer
        return answer


@pytest.mark.req("T14")
async def test_a_references_request_sends_a_uri_and_file_uris_in_the_response_become_paths() -> None:
    here = {"uri": "file:///p/a%20b.py", "startLine": 1, "startCharacter": 2, "endLine": 1}
    client = Client({"locations": [here, {**here, "uri": "jdt://x/A.class"}], "truncated": True})

    found = await client.language.references(SPOT)

    assert client.asked == [
        ("references", {"uri": "file:///p/a%20b.py", "line": 3, "character": 7}, DEADLINE_MS)
    ]
    assert found.places == (
        FoundLocation("/p/a b.py", 1, 2),
        FoundLocation("jdt://x/A.class", 1, 2, is_file=False),
    )
    assert found.is_cut


@pytest.mark.req("T14")
@pytest.mark.report("ansible/ansible-language-server#555")  # fmt: skip
async def test_a_path_in_place_of_a_uri_names_the_file() -> None:
    client = Client({"locations": [{"uri": "/usr/lib/user.py", "startLine": 10, "endLine": 288}]})

    found = await client.language.definition(SPOT)

    assert found.places == (FoundLocation("/usr/lib/user.py", 10),)


@pytest.mark.req("T14")
async def test_symbol_kinds_are_converted_to_names_and_unknown_kinds_to_symbol() -> None:
    one = {"uri": "file:///p/a.py", "startLine": 1, "endLine": 3, "name": "f", "kind": 12}
    client = Client({"symbols": [{**one, "container": "C", "depth": 1}, {**one, "kind": 99}]})
    place = FoundLocation("/p/a.py", 1)

    assert (await client.language.symbols_named("f")).symbols == (
        Symbol("f", "function", place, 3, "C", 1),
        Symbol("f", "symbol", place, 3),
    )
    await client.language.symbols_of("/p/a.py")
    assert [params for _, params, _ in client.asked] == [{"query": "f"}, {"uri": "file:///p/a.py"}]


@pytest.mark.req("T14")
async def test_rename_edits_for_another_version_of_an_open_document_raise_stale_file_error() -> None:
    def answered(version: int | None) -> Client:
        closed = {"uri": "file:///p/c.py", "edits": [EDIT]}
        empty = {"uri": "file:///p/e.py", "edits": []}
        return Client(
            {"documents": [{"uri": "file:///p/a.py", "version": version, "edits": [EDIT]}, closed, empty]}
        )

    change = TextChange(0, 0, 0, 3, "two")
    assert await answered(4).language.rename(SPOT, "two") == [
        FileChanges("/p/a.py", (change,), "one\n"),
        FileChanges("/p/c.py", (change,)),
    ]
    assert (await answered(None).language.rename(SPOT, "two"))[0].document is None
    for version in (3, 5):
        with pytest.raises(StaleFileError):
            await answered(version).language.rename(SPOT, "two")


@pytest.mark.report("autozimu/LanguageClient-neovim#1055")
@pytest.mark.parametrize("versions", [(None, None), (4, 4), (4, None), (None, 4)])
async def test_a_file_that_is_listed_several_times_has_all_its_edits(
    versions: tuple[int | None, ...],
) -> None:
    edits = [{**EDIT, "startCharacter": at, "endCharacter": at + 1, "newText": ""} for at in (1, 0)]
    listed = [
        {"uri": uri, "version": version, "edits": [edit]}
        for version, edit in zip(versions, edits, strict=True)
        for uri in ("file:///p/a.py", "file:///p/b.py")
    ]
    found = await Client({"documents": listed}).language.rename(SPOT, "two")
    changes = (TextChange(0, 1, 0, 2, ""), TextChange(0, 0, 0, 1, ""))
    opened = FileChanges("/p/a.py", changes, "one\n" if any(versions) else None)
    assert found == [opened, FileChanges("/p/b.py", changes)]


@pytest.mark.req("T14", "R5")
@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"locations": None},
        {"locations": "x"},
        {"locations": [[]]},
        {"locations": [{"uri": "", "startLine": 0, "endLine": 0}]},
        {"locations": [{"uri": "file:///a", "startLine": -1, "endLine": 0}]},
        {"locations": [{"uri": "file:///a", "startLine": 1.5, "endLine": 0}]},
        {"locations": [{"uri": "file:///a", "startLine": 10**30, "endLine": 0}]},
        {"locations": [{"uri": "file:///a", "startLine": 0, "endLine": 0}] * 5_001},
        "x\n[User:] " + "y" * 5_000,
    ],
    ids=["empty", "null", "text", "list", "no uri", "negative", "half", "huge", "many", "error"],
)
async def test_an_invalid_client_response_raises_no_answer_error_with_a_short_reason(answer: Any) -> None:
    with pytest.raises(NoAnswerError) as error:
        await Client(answer).language.definition(SPOT)

    assert len(str(error.value)) < 400 and "\n" not in str(error.value)


@pytest.mark.req("T14")
async def test_a_client_gets_only_language_requests_that_the_client_announced_support_for() -> None:
    for abilities in (ClientAbilities(), ClientAbilities(events=True)):
        assert Client({}, abilities).language.supported_queries() == frozenset()
    client = Client({}, ClientAbilities(events=True, diagnostics=True))
    assert client.language.supported_queries() == {"diagnostics"}
    with pytest.raises(NoAnswerError, match="No editor"):
        await client.language.definition(SPOT)
    client.known.publish(
        "file:///p/a.py", 4, [Diagnostic(start_line=0, end_line=0, message="odd")], settled=True
    )
    assert await client.language.problems("") == [FileProblems("/p/a.py", (CodeProblem(0, "error", "odd"),))]
    assert client.asked == []


@pytest.mark.req("T14", "H12")
async def test_pulled_diagnostics_replace_reported_ones() -> None:
    client = Client({"files": [{"uri": "file:///p/c.py", "items": [], "settled": False}]})
    problem = Diagnostic(start_line=0, end_line=0, severity=2, message="odd", source="lint", code=7)
    client.known.publish("file:///p/a.py", 4, [problem], settled=True)
    expected = FileProblems("/p/a.py", (CodeProblem(0, "warning", "odd", "lint 7"),))

    assert await client.language.problems("/p/c.py") == [FileProblems("/p/c.py", (), is_settled=False)]
    client.answer = "gone"
    assert await client.language.problems("") == [expected]
    client.answer = {"files": []}
    assert await client.language.problems("") == []
    asked = Client("gone", ClientAbilities(events=True, language=True))
    with pytest.raises(NoAnswerError, match="gone"):
        await asked.language.problems("")


@pytest.mark.req("H12")
async def test_an_edit_waits_only_until_the_request_for_diagnostics_is_answered() -> None:
    for answer, words in (
        (
            {"files": [{"uri": "file:///p/a.py", "version": 4, "items": [{**EDIT, "message": "odd"}]}]},
            "a.py:1: error: odd",
        ),
        ("gone", "has not finished checking"),
        ({"files": "x"}, "has not finished checking"),
    ):
        client = Client(answer, ClientAbilities(events=True, language=True))
        client.known.limit_ms = 60_000
        news = await client.known.watch(["/p/a.py"], str)()
        assert words in news.text
        assert [what for what, _, _ in client.asked] == ["diagnostics"]


@pytest.mark.req("R5")
def test_diagnostics_of_very_many_files_are_limited() -> None:
    known = Client().known
    item = Diagnostic(start_line=0, end_line=0, message="x")
    for number in range(MAX_FILES + 10):
        known.publish(f"file:///p/{number}.py", None, [item], settled=True)
    assert known.counts == (MAX_FILES, MAX_FILES)
