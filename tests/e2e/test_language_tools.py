"""Language tools over a real connection: listed by capability and answered by the client. The server applies
renames.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.policy.named_places import IGNORE_FILE
from tests.e2e.language_client import Answer as ClientAnswer, answer_queries
from tests.support.editor import Editor
from tests.support.framed_client import CAPABILITIES, RICH, server_process
from tests.support.loopback import Answer, AnthropicServer, ToolCall

TOOLS = ["definition", "references", "symbols", "rename_symbol", "diagnostics"]
DETAILS = ["hover", "implementations", "call_hierarchy", "code_actions", "apply_code_action"]
A = "def total(rows):\n    return sum(rows)\n"
B = "from a import total\n\nprint('😀', total([1]), total([2]))\n"


def at(name: str, line: int, start: int, end: int, **more: Any) -> dict[str, Any]:
    return {"startLine": line, "startCharacter": start, "endLine": line, "endCharacter": end, **more}


@dataclass
class LanguageRig:
    """An editor with `a.py` open and `b.py` closed. Tests change the table `answers` of its answers to language
    queries.
    """

    editor: Editor
    folder: Path
    provider: AnthropicServer
    answers: dict[str, ClientAnswer] = field(default_factory=dict)
    asked: list[dict[str, Any]] = field(default_factory=list)

    @property
    def a(self) -> str:
        return (self.folder / "a.py").as_uri()

    @property
    def b(self) -> str:
        return (self.folder / "b.py").as_uri()

    def renamed(self, new_name: str) -> list[dict[str, Any]]:
        """Return a language server's answer to a rename. In columns of b.py, the emoji counts as two."""
        version = self.editor.documents[self.a].version
        there = [at("b.py", 0, 14, 19), at("b.py", 2, 12, 17), at("b.py", 2, 24, 29)]
        return [
            {
                "uri": self.a,
                "version": version,
                "edits": [at("a.py", 0, 4, 9, newText=new_name)],
            },
            {"uri": self.b, "edits": [{**place, "newText": new_name} for place in there]},
        ]

    def offered(self) -> list[str]:
        return [tool["name"] for tool in self.provider.requests[-1].body["tools"]]

    async def result(self, name: str) -> dict[str, Any]:
        ended = await self.editor.client.event("tool_call_end", name=name)
        data: dict[str, Any] = ended["data"]
        return data


@asynccontextmanager
async def language_rig(
    folder: Path, script: Sequence[Answer], abilities: Mapping[str, bool], **settings: Any
) -> AsyncIterator[LanguageRig]:
    (folder / "a.py").write_text(A)
    (folder / "b.py").write_text(B)
    capabilities = {**CAPABILITIES["vscode"], "experimental": {"agentLs": {**RICH, **abilities}}}
    with AnthropicServer(list(script)) as provider:
        env = {"ANTHROPIC_BASE_URL": provider.base_url, "ANTHROPIC_API_KEY": "sk-test-loopback"}
        async with server_process(env=env) as server, anyio.create_task_group() as tasks:
            editor = Editor(server.client)
            options = {"agentLs": {"mode": "edits", **settings}}
            await server.client.initialize(
                folder=folder, capabilities=capabilities, initializationOptions=options
            )
            await editor.open(folder / "a.py")
            found = LanguageRig(editor, folder, provider)
            tasks.start_soon(answer_queries, server.client, found.answers, found.asked)
            yield found
            tasks.cancel_scope.cancel()
            assert "Traceback" not in server.log


ALL = {"language": True, "diagnostics": True}


@pytest.mark.req("T14")
@pytest.mark.parametrize(
    ("abilities", "expected"),
    [
        (ALL, TOOLS),
        ({**ALL, "details": True}, TOOLS + DETAILS),
        ({"language": True}, TOOLS),
        ({"diagnostics": True}, ["diagnostics"]),
        ({"details": True}, []),
        ({}, []),
    ],
    ids=["all", "details", "only asked", "only told", "details alone", "none"],
)
async def test_the_model_is_offered_only_language_tools_that_the_client_supports(
    tmp_path: Path, abilities: dict[str, bool], expected: list[str]
) -> None:
    async with language_rig(tmp_path, ["Hm.", "Hm."], abilities) as found:
        session_id = await found.editor.new_session(provider="anthropic")
        await found.editor.say(session_id, "Go on.")
        assert [name for name in found.offered() if name in TOOLS + DETAILS] == expected
        await found.editor.say(session_id, "Go on.")
        first, second = (request.body["tools"] for request in found.provider.requests)
        assert first == second


@pytest.mark.req("T14")
async def test_definition_references_and_symbols_are_requested_from_the_client(tmp_path: Path) -> None:
    script: list[Answer] = [
        [
            ToolCall("definition", {"file_path": "b.py", "line": 3, "symbol": "total"}),
            ToolCall("references", {"file_path": "a.py", "line": 1, "symbol": "total"}),
            ToolCall("symbols", {"file_path": "a.py"}),
        ],
        "Done.",
    ]
    async with language_rig(tmp_path, script, ALL) as found:
        here = at("a.py", 0, 4, 9, uri=found.a)
        found.answers["definition"] = lambda params: {"locations": [here]}
        found.answers["references"] = lambda params: {
            "locations": [here, at("b.py", 2, 12, 17, uri=found.b), at("x", 4, 0, 5, uri="jdt://lib/X.class")]
        }
        found.answers["symbols"] = lambda params: {
            "symbols": [{**here, "name": "total", "kind": 12, "endLine": 1}]
        }
        session_id = await found.editor.new_session(provider="anthropic")
        await found.editor.say(session_id, "Go on.")

        places = {data["what"]: data["params"] for data in found.asked}
        assert places["definition"] == {"uri": found.b, "line": 2, "character": 12}
        assert places["references"] == {"uri": found.a, "line": 0, "character": 4}
        assert (await found.result("definition"))["output"] == "a.py:1: def total(rows):"
        assert (await found.result("references"))["output"].splitlines() == [
            "a.py:1: def total(rows):",
            "b.py:3: print('😀', total([1]), total([2]))",
            "jdt://lib/X.class:5 [no file: its text cannot be shown]",
        ]
        assert (await found.result("symbols"))["output"] == "a.py:\n  function total [1-2]"


RENAME: list[Answer] = [
    [ToolCall("rename_symbol", {"file_path": "a.py", "line": 1, "symbol": "total", "new_name": "sum_of"})],
    "Done.",
]


@pytest.mark.req("T14", "H6")
async def test_rename_symbol_edits_open_and_closed_files_and_creates_hunks_that_can_be_undone(
    tmp_path: Path,
) -> None:
    async with language_rig(tmp_path, RENAME, ALL, mode="ask") as found, anyio.create_task_group() as tasks:
        found.answers["rename"] = lambda params: {"documents": found.renamed(params["newName"])}
        session_id = await found.editor.new_session(provider="anthropic")
        tasks.start_soon(found.editor.approve_all)
        await found.editor.say(session_id, "Go on.")
        tasks.cancel_scope.cancel()

        asked = await found.editor.client.event("approval_requested", tool="rename_symbol")
        assert [write["action"] for write in asked["data"]["effect"]["files"]] == ["modify", "modify"]
        assert found.editor.documents[found.a].source == A.replace("total", "sum_of")
        assert (tmp_path / "a.py").read_text() == A  # the file is open: the change is in the editor, unsaved
        assert (tmp_path / "b.py").read_text() == B.replace("total", "sum_of")
        output = (await found.result("rename_symbol"))["output"]
        assert output.startswith("Renamed total to sum_of in 2 files:\n\na.py:1: def sum_of(rows):")
        hunks = (await found.editor.client.request("agent/hunks", {"sessionId": session_id}))["files"]
        assert {file["uri"]: len(file["hunks"]) for file in hunks} == {found.a: 1, found.b: 2}
        undo = {"clientKey": "k", "sessionId": session_id, "verdict": "undo"}
        await found.editor.client.request("agent/review", undo)
        assert found.editor.documents[found.a].source == A and (tmp_path / "b.py").read_text() == B


APPLY: list[Answer] = [
    [
        ToolCall("hover", {"file_path": "b.py", "line": 3, "symbol": "total"}),
        ToolCall("call_hierarchy", {"file_path": "a.py", "line": 1, "symbol": "total"}),
        ToolCall("code_actions", {"file_path": "a.py", "line": 2}),
    ],
    [ToolCall("apply_code_action", {"file_path": "a.py", "line": 2, "title": "Add types"})],
    "Done.",
]


@pytest.mark.req("T14", "H6")
async def test_details_are_asked_of_the_client_and_an_action_is_approved_and_undone_like_an_edit(
    tmp_path: Path,
) -> None:
    details = {**ALL, "details": True}
    async with (
        language_rig(tmp_path, APPLY, details, mode="ask") as found,
        anyio.create_task_group() as tasks,
    ):
        action = {"title": "Add types", "kind": "refactor"}
        edit = at("a.py", 0, 10, 14, newText="rows: list[int]")
        caller = {**at("b.py", 0, 0, 0, uri=found.b), "name": "b", "kind": 2, "lines": [2, 2]}
        found.answers["hover"] = lambda params: {"texts": ["def total(rows)", "Sums."]}
        found.answers["definition"] = lambda params: {"locations": [at("a.py", 0, 4, 9, uri=found.a)]}
        found.answers["calls"] = lambda params: {"calls": [caller]}
        found.answers["actions"] = lambda params: {"actions": [action]}
        found.answers["actionEdits"] = lambda params: {
            "documents": [
                {"uri": found.a, "version": found.editor.documents[found.a].version, "edits": [edit]}
            ],
            "command": "Format",
        }
        session_id = await found.editor.new_session(provider="anthropic")
        tasks.start_soon(found.editor.approve_all)
        await found.editor.say(session_id, "Go on.")
        tasks.cancel_scope.cancel()

        assert (await found.result("hover"))["output"] == "def total(rows)\n\nSums."
        assert (await found.result("call_hierarchy"))["output"] == "b.py:1: module b, called on line 3"
        assert (await found.result("code_actions"))["output"] == "a.py:2:\n  Add types [refactor]"
        (asked,) = [data["params"] for data in found.asked if data["what"] == "calls"]
        assert asked == {"uri": found.a, "line": 0, "character": 4, "direction": "incoming"}
        requested = await found.editor.client.event("approval_requested", tool="apply_code_action")
        assert [write["action"] for write in requested["data"]["effect"]["files"]] == ["modify"]
        assert found.editor.documents[found.a].source == A.replace("rows)", "rows: list[int])", 1)
        undo = {"clientKey": "k", "sessionId": session_id, "verdict": "undo"}
        await found.editor.client.request("agent/review", undo)
        assert found.editor.documents[found.a].source == A


@pytest.mark.req("T14", "H12")
async def test_the_diagnostics_tool_queries_the_client_or_uses_reported_diagnostics(tmp_path: Path) -> None:
    script: list[Answer] = [[ToolCall("diagnostics", {})], "Done."]
    diagnostic = {"startLine": 1, "endLine": 1, "message": "odd", "source": "lint"}
    async with language_rig(tmp_path, script, {"diagnostics": True}) as found:
        await found.editor.client.notify("agent/diagnostics", {"uri": found.b, "items": [diagnostic]})
        session_id = await found.editor.new_session(provider="anthropic")
        await found.editor.say(session_id, "Go on.")
        assert (await found.result("diagnostics"))["output"] == "b.py:2: error: odd (lint)"
        assert found.asked == []
    async with language_rig(tmp_path, script, ALL) as found:
        stale = {"uri": found.a, "items": [diagnostic]}
        await found.editor.client.notify("agent/diagnostics", stale)
        file = {"uri": found.b, "items": [{**diagnostic, "severity": 2, "code": 7}], "settled": False}
        found.answers["diagnostics"] = lambda params: {"files": [file]}
        session_id = await found.editor.new_session(provider="anthropic")
        await found.editor.say(session_id, "Go on.")
        assert (await found.result("diagnostics"))["output"].splitlines() == [
            "b.py:2: warning: odd (lint 7)",
            "[The editor's tools are still checking b.py: call this tool again later.]",
        ]


@pytest.mark.req("H12")
async def test_an_edit_requests_diagnostics_from_a_client_that_does_not_report_them(tmp_path: Path) -> None:
    script: list[Answer] = [
        [ToolCall("read_file", {"file_path": "a.py"})],
        [ToolCall("edit_file", {"file_path": "a.py", "old_string": "sum(rows)", "new_string": "sum(row)"})],
        "Done.",
    ]
    async with language_rig(tmp_path, script, {"language": True}, diagnosticsWaitMs=30_000) as found:

        def checked(params: dict[str, Any]) -> dict[str, Any]:
            problem = {"startLine": 1, "endLine": 1, "message": "no name row"}
            version = found.editor.documents[found.a].version
            return {"files": [{"uri": params["uri"], "version": version, "items": [problem]}]}

        found.answers["diagnostics"] = checked
        session_id = await found.editor.new_session(provider="anthropic")
        await found.editor.say(session_id, "Go on.")
        assert "a.py:2: error: no name row" in (await found.result("edit_file"))["output"]
        event = await found.editor.client.event("diagnostics")
        (file,) = event["data"]["files"]
        assert (file["uri"], file["problems"], file["isSettled"]) == (found.a, 1, True)
        assert "no name" not in json.dumps(event)


@pytest.mark.req("T14", "X6")
async def test_rename_symbol_changes_nothing_if_one_of_its_files_is_denied_or_ignored(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside.py"
    project.mkdir()
    for path in (outside, project / "hidden.py", project / ".env"):
        path.write_text("total\n")
    (project / IGNORE_FILE).write_text("hidden.py\n")
    async with language_rig(project, RENAME * 3, ALL) as found:
        editor = found.editor
        session_id = await editor.new_session(provider="anthropic")
        for number, path in enumerate((outside, project / ".env", project / "hidden.py")):
            there = {"uri": path.as_uri(), "edits": [at("", 0, 0, 5, newText="sum_of")]}
            found.answers["rename"] = lambda params, there=there: {  # type: ignore[misc]
                "documents": [*found.renamed("sum_of"), there]
            }
            start = len(editor.client.received)
            await editor.submit(session_id, "Go on.")
            if path.name != "hidden.py":  # files in the ignore file are not even queried
                event = await editor.client.wait_for(
                    lambda m: m.get("params", {}).get("kind") == "approval_requested", after=start
                )
                assert event["params"]["data"]["effect"]["paths"] == [str(path)]
                await editor.approve(event["params"], "deny")
            await editor.turn_end(session_id, start)
            ended = [event["data"] for event in editor.client.events if event["kind"] == "tool_call_end"]
            assert len(ended) == number + 1 and ended[-1]["isError"]
            assert path.read_text() == "total\n"
        assert editor.documents[found.a].source == A and (project / "b.py").read_text() == B
