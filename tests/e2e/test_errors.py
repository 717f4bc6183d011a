"""Provider failures with the real server: the editor gets each error once, with a clear message and the right state."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.framed_client import ServerProcess, server_process
from tests.support.loopback import (
    Answer,
    AnthropicServer,
    CutStream,
    DropConnection,
    ErrorReply,
    MidStreamError,
    OpenAIResponsesServer,
    Text,
    ToolCall,
)

SERVERS: dict[str, type[AnthropicServer | OpenAIResponsesServer]] = {
    "anthropic": AnthropicServer,
    "openai": OpenAIResponsesServer,
}
KEY = "sk-test-loopback"
SOON = {"retry-after-ms": "20"}


@dataclass(frozen=True)
class Case:
    """A provider failure and its effects. `errors` are the permitted error kinds ("" if no error is reported),
    `delays_ms` the delays of the retries.

    `closes`: the session is CLOSED afterwards, and IDLE after it is reopened.
    """

    name: str
    answers: Sequence[Answer]
    errors: tuple[str, ...] = ()
    closes: bool = False
    delays_ms: tuple[int, ...] = ()
    words: str = ""


CASES = (
    Case("wrong key", [ErrorReply(401)], ("authentication",), closes=True, words="key"),
    Case("no access", [ErrorReply(403)], ("access_denied",), closes=True),
    Case("unknown model", [ErrorReply(404)], ("not_found",), closes=True, words="model"),
    Case("429 for good", [ErrorReply(429, headers=SOON)] * 3, ("rate_limit",), delays_ms=(20, 20)),
    Case("429 once", [ErrorReply(429, headers={"retry-after": "0"}), "Here."], delays_ms=(0,)),
    Case(
        "429 for too long",
        [ErrorReply(429, headers={"retry-after": "3600"})],
        ("rate_limit",),
        words="60 minutes",
    ),
    Case("529 for good", [ErrorReply(529, headers=SOON)] * 3, ("overloaded", "server"), delays_ms=(20, 20)),
    Case("529 once", [ErrorReply(529, headers=SOON), "Here."], delays_ms=(20,)),
    Case("a cut stream", [[Text("Half a sen"), CutStream()]], ("stream_cut",)),
    Case("a lost connection", [[Text("Half a sen"), DropConnection()]], ("stream_cut",)),
    Case("an error in the stream", [[Text("Half a sen"), MidStreamError()]], ("overloaded", "server")),
    Case("arguments that are no JSON", [[ToolCall("read_file", '{"file_path": "a')], "Here."]),
)


@asynccontextmanager
async def editing(folder: Path, **urls: str) -> AsyncIterator[tuple[Editor, ServerProcess]]:
    """Run an editor with a server whose providers have these URLs; check that no output contains the key."""
    env = {f"{name.upper()}_BASE_URL": url for name, url in urls.items()}
    env |= {f"{name.upper()}_API_KEY": KEY for name in urls}
    async with server_process(env=env) as server:
        editor = Editor(server.client)
        await editor.start(folder)
        yield editor, server
        everything = server.log + json.dumps(server.client.received)
        assert KEY not in everything
        assert "Traceback" not in everything


def events_of(editor: Editor, session_id: str, kind: str) -> list[dict[str, Any]]:
    return [
        event["data"]
        for event in editor.client.events
        if event["sessionId"] == session_id and event["kind"] == kind
    ]


def _kind(message: dict[str, Any]) -> str:
    """Return the kind of an event; "" for other messages."""
    return str(message["params"]["kind"]) if message.get("method") == "agent/event" else ""


@pytest.mark.req("R1", "R5", "T1", "U8", "L3")
@pytest.mark.parametrize("name", SERVERS)
async def test_each_provider_failure_is_reported_once_and_leaves_the_specified_session_state(
    name: str, tmp_path: Path
) -> None:
    answers: list[Answer] = []
    for case in CASES:
        answers += [*case.answers, "Well again."]
    with SERVERS[name](answers) as provider:
        async with editing(tmp_path, **{name: provider.base_url}) as (editor, _):
            for case in CASES:
                try:
                    await check(editor, name, case)
                except AssertionError as error:
                    error.add_note(f"the case is {case.name!r} of {name}")
                    raise
        assert len(provider.requests) == len(answers)


async def check(editor: Editor, name: str, case: Case) -> None:
    session_id = await editor.new_session(provider=name)
    start = len(editor.client.received)
    reason = await editor.say(session_id, "Hello?")
    assert reason == ("error" if case.errors else "completed")
    errors = events_of(editor, session_id, "error")
    assert len(errors) == bool(case.errors), errors
    retries = events_of(editor, session_id, "retry")
    assert tuple(retry["delayMs"] for retry in retries) == case.delays_ms
    assert [retry["attempt"] for retry in retries] == list(range(1, len(retries) + 1))
    for error in errors:
        assert error["errorKind"] in case.errors
        assert error["message"] and error["hint"]
        assert error["retryable"] is not case.closes
        assert case.words in error["message"] + error["hint"]
    for result in events_of(editor, session_id, "tool_call_end"):  # only the model sees these errors
        assert (result["isError"], result["errorKind"]) == (True, "validation")
        assert "JSON" in result["output"]
    if case.closes:
        ended = await editor.client.wait_for(lambda m: _kind(m) == "session_end", after=start)
        assert ended["params"]["data"] == {"state": "CLOSED", "reason": "error"}
    states = [data["state"] for data in events_of(editor, session_id, "state")]
    assert states == ["PROCESSING", "CLOSED" if case.closes else "IDLE"]

    resumed = await editor.subscribe(session_id)
    assert resumed["session"]["state"] == "IDLE"
    assert not resumed["openParts"]
    assert await editor.say(session_id, "And now?") == "completed"
    assert events_of(editor, session_id, "assistant_text_end")[-1]["text"] == "Well again."
