"""Put a known key into every input: no output contains it (R6, X5).

Outputs are each message to the client except document texts, stderr, and each file of the state folder (log, title,
draft, outputs, recording, figures). The user's own files stay unchanged, and so do their copies for a roll back
(blobs). The model gets the user's text unchanged.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.loop.calls.redaction import MARK
from tests.support.commands import environment, provider_variables, run
from tests.support.editor import Editor, new_key
from tests.support.framed_client import ResponseError, server_process
from tests.support.loopback import Answer, AnthropicServer, ErrorReply, Text, ToolCall

pytestmark = pytest.mark.req("R6", "X5", "H16")

KEY = (
    "of-no-known-form/0123456789"  # matches no known key format, so only the redaction of known keys finds it
)
AWS = "AKIAABCDEFGHIJKLMNOP"  # matches a known key format; not a real key


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    (made / "keys.txt").write_text(f"mine: {KEY}\nnot ours: {AWS}\n")
    (made / "long.txt").write_text("x" * 90_000)
    (made / "AGENTS.md").write_text(f"Use {KEY}.\n")
    return made


def leaks(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


LONG = "cat long.txt keys.txt"
ANSWERS: list[Answer] = [
    [Text(f"I heard {KEY}."), ToolCall("read_file", {"file_path": "keys.txt"})],
    [ToolCall("shell", {"command": "cat keys.txt"}), ToolCall("shell", {"command": LONG})],
    [ToolCall("write_file", {"file_path": "made.txt", "content": f"{KEY}\n"})],
    [ToolCall("shell", {"command": f"echo {KEY} >&2; exit 3"})],
    [ToolCall("grep", {"pattern": KEY})],
    [ToolCall("nothing_of_ours", {"what": KEY})],
    [ToolCall("ask_user", {"question": f"Is it {KEY}?"})],
    ErrorReply(400, message=f"I do not like {KEY}"),
]


async def test_an_api_key_from_any_input_appears_in_no_output(folder: Path) -> None:
    with AnthropicServer(ANSWERS, key=KEY) as provider:
        state = folder.parent / "state"
        env = {"ANTHROPIC_BASE_URL": provider.base_url, "AGENT_LS_STATE_DIR": str(state)}
        async with server_process(env=env) as server:
            editor = Editor(server.client)
            await editor.start(folder, record=True, mode="full")
            await editor.client.request(
                "agent/setCredential", {"provider": "anthropic", "secret": KEY, "clientKey": new_key()}
            )
            session_id = await editor.new_session(provider="anthropic", title=f"about {KEY}")
            await everything_is_said(editor, session_id, folder)
            answers = await everything_is_asked(editor, session_id)
            received, log = editor.client.received, server.log
        sent = [message for message in received if message.get("method") != "workspace/applyEdit"]
        everything = json.dumps([answers, sent], ensure_ascii=False)
        assert KEY not in everything and MARK in everything
        assert KEY not in log and "Traceback" not in log
        assert [place for place in leaks(state) if "/blobs/" not in place] == []
        assert (folder / "made.txt").read_text() == f"{KEY}\n", "files are not altered"
        asked = json.dumps([request.body for request in provider.requests])
        assert f"my own word {KEY}" in asked, "the user's own words are not altered"
        assert f"selected {KEY}" not in asked and f"wrong: {KEY}" not in asked and AWS not in asked
        recordings = list((state / "recordings").iterdir())
        check_exports(state, folder, session_id, recordings[0])


async def everything_is_said(editor: Editor, session_id: str, folder: Path) -> None:
    uri = (folder / "keys.txt").as_uri()
    place = {"startLine": 0, "endLine": 1}
    await editor.open(folder / "keys.txt")
    await editor.client.notify(
        "agent/diagnostics",
        {"uri": uri, "version": 1, "items": [{**place, "message": f"wrong: {KEY}", "severity": 1}]},
    )
    selection = {
        "type": "selection",
        "uri": uri,
        "startLine": 0,
        "endLine": 1,
        "text": f"selected {KEY} {AWS}",
    }
    parts: list[dict[str, Any]] = [
        {"type": "text", "text": f"my own word {KEY}"}, selection, {"type": "diagnostics"}
    ]  # fmt: skip
    await editor.client.notify(
        "agent/draft", {"sessionId": session_id, "text": f"draft {KEY}", "attachments": []}
    )
    start = len(editor.client.received)
    await editor.client.request(
        "agent/submit",
        {"sessionId": session_id, "clientKey": new_key(), "input": parts, "whenBusy": "queue"},
    )
    asked = await editor.client.wait_for(
        lambda m: m.get("params", {}).get("kind") == "question_asked", after=start
    )
    question = asked["params"]["data"]["questionId"]
    await editor.client.request(
        "agent/answer",
        {
            "sessionId": session_id,
            "clientKey": new_key(),
            "questionId": question,
            "answers": [f"It is {KEY}"],
        },
    )
    await editor.turn_end(session_id, start)


async def everything_is_asked(editor: Editor, session_id: str) -> list[Any]:
    ask = editor.client.request
    named = {"sessionId": session_id}
    answers = [
        await editor.subscribe(session_id),
        await ask("agent/sessions", {}),
        await ask("agent/history", {**named, "limit": 100}),
        await ask("agent/export", {**named, "format": "markdown"}),
        await ask("agent/export", {**named, "format": "jsonl"}),
        await ask("agent/export", {**named, "format": "html"}),
        await ask("agent/hunks", named),
        await ask("agent/rules", named),
        await ask("agent/rename", {**named, "clientKey": new_key(), "title": f"now {KEY}"}),
    ]
    ends = [event["data"] for event in editor.client.events if event["kind"] == "tool_call_end"]
    refs = [end["outputRef"] for end in ends if end.get("outputRef")]
    assert refs, "one output is so long that it is kept beside the log"
    part = {**named, "offset": 90_000, "limit": 500}
    answers += [await ask("agent/output", {**part, "outputRef": ref}) for ref in refs]
    with pytest.raises(ResponseError) as refused:
        await ask("agent/setCredential", {"provider": KEY, "secret": f"{KEY} {KEY}", "clientKey": new_key()})
    return [*answers, str(refused.value), refused.value.data]


def check_exports(state: Path, folder: Path, session_id: str, recording: Path) -> None:
    """Export text that was written before the key was known. The test puts the key into the log for this."""
    (log,) = state.rglob("log.jsonl")
    log.write_text(log.read_text().replace(MARK, KEY))
    recording.write_text(recording.read_text().replace(MARK, KEY))
    environ = environment(folder.parent / "home", ANTHROPIC_API_KEY=KEY, AGENT_LS_STATE_DIR=str(state))
    for words in (
        ["sessions", "export", session_id],
        ["sessions", "export", session_id, "--format", "jsonl"],
        ["sessions", "export", session_id, "--format", "html"],
        ["sessions", "show", session_id],
        ["export", str(recording), "--redact"],
    ):
        done = run(*words, cwd=folder, environ=environ)
        assert done.code == 0 and done.out, done
        assert KEY not in done.out + done.err, words


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_an_api_key_appears_in_no_output_of_a_headless_run(folder: Path, arguments: list[str]) -> None:
    script: list[Answer] = [
        [Text(f"I heard {KEY}."), ToolCall("shell", {"command": "cat keys.txt"})],
        [ToolCall("shell", {"command": f"touch {KEY.replace('/', '-')}; echo {KEY}"})],
        f"It was {KEY}.",
    ]
    with AnthropicServer(script, key=KEY) as server:
        home = folder.parent / "home"
        environ = environment(home, **provider_variables(server, KEY))
        done = run("exec", "--mode", "edits", *arguments, f"say {KEY}", cwd=folder, environ=environ)
        assert server.requests, done
    assert KEY not in done.out + done.err
    assert MARK in done.out
    assert leaks(home) == []
