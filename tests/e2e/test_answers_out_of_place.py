"""Answers at a wrong time, for a wrong session or twice, and editors that disconnect during a question (X8).

The tests run over real stdio. Nothing runs without an approval by the user, whatever the client does.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.server.transport.framing import frame
from tests.support.editor import Editor, new_key
from tests.support.framed_client import ResponseError
from tests.support.loopback import Answer, AnthropicServer, ToolCall
from tests.support.served import Served, served

pytestmark = pytest.mark.req("H7", "X8")

Event = dict[str, Any]


def touching(*names: str) -> list[Answer]:
    return [*([ToolCall("shell", {"command": f"touch {name}"})] for name in names), "Done."]


async def asked(found: Served, session_id: str, count: int = 1) -> Event:
    """Return the session's approval request number `count`, counted from 1."""

    def is_last(message: dict[str, Any]) -> bool:
        seen = [event for event in found.client.events if event["kind"] == "approval_requested"]
        return len([event for event in seen if event["sessionId"] == session_id]) >= count

    await found.client.wait_for(is_last)
    events = [event for event in found.client.events if event["kind"] == "approval_requested"]
    return [event for event in events if event["sessionId"] == session_id][count - 1]


async def begun(editor: Editor) -> str:
    session_id = await editor.new_session(provider="anthropic", mode="ask")
    await editor.submit(session_id, "go")
    return session_id


def answer(event: Event, decision: str, **params: Any) -> dict[str, Any]:
    return {
        "sessionId": event["sessionId"], "requestId": event["data"]["requestId"], "clientKey": new_key(),
        "decision": decision, "scope": "once", **params,
    }  # fmt: skip


async def test_approval_answers_in_reverse_order_resolve_the_matching_requests(tmp_path: Path) -> None:
    with AnthropicServer([*touching("first")[:1], *touching("second"), "Done."]) as provider:
        async with served(tmp_path, provider=provider) as found:
            one = await begun(found.editor)
            first = await asked(found, one)
            other = await begun(found.editor)
            second = await asked(found, other)
            await found.client.request("agent/approve", answer(second, "deny"))
            await found.client.request("agent/approve", answer(first, "allow"))
            for session_id in (one, other):
                await found.editor.turn_end(session_id)
            names = [event["data"]["effect"]["command"].split()[1] for event in (first, second)]
            assert [(found.project / name).exists() for name in names] == [True, False]


async def test_approval_answer_for_another_session_is_refused_and_a_replayed_answer_has_no_effect(
    tmp_path: Path,
) -> None:
    with AnthropicServer(touching("made", "again")) as provider:
        async with served(tmp_path, provider=provider) as found:
            one = await begun(found.editor)
            first = await asked(found, one)
            other = await found.editor.new_session(provider="anthropic")
            with pytest.raises(ResponseError) as refused:
                await found.client.request("agent/approve", answer(first, "allow", sessionId=other))
            assert refused.value.data["kind"] == "unknown_approval" and refused.value.data["hint"]
            assert not (found.project / "made").exists()
            yes = answer(first, "allow")
            await found.client.request("agent/approve", yes)
            second = await asked(found, one, 2)
            for replayed in (yes, {**yes, "clientKey": new_key()}, {**yes, "decision": "deny"}):
                approved = await found.client.request("agent/approve", replayed)
                assert approved["decision"] == "allow"
            assert second["data"]["requestId"] != first["data"]["requestId"]
            assert not (found.project / "again").exists()
            waiting = (await found.editor.subscribe(one))["pending"]["approvals"]
            assert [each["requestId"] for each in waiting] == [second["data"]["requestId"]]


async def test_an_approval_that_times_out_is_denied_and_the_model_gets_the_reason(tmp_path: Path) -> None:
    with AnthropicServer(touching("made")) as provider:
        async with served(tmp_path, provider=provider, approvalTimeoutMs=300) as found:
            session_id = await begun(found.editor)
            request = await asked(found, session_id)
            resolved = await found.client.event("approval_resolved")
            assert (resolved["data"]["decision"], resolved["data"]["decidedBy"]) == ("deny", "timeout")
            await found.client.event("processing_end")
            late = await found.client.request("agent/approve", answer(request, "allow"))
            assert late == {"decision": "deny", "decidedBy": "timeout"}
        assert "within 0.3 s" in str(provider.requests[-1].body)
        assert not (found.project / "made").exists()


@pytest.mark.parametrize("stop", ["interrupt", "abort"])
async def test_an_approval_answer_after_a_stop_allows_nothing_and_returns_the_denial(
    tmp_path: Path, stop: str
) -> None:
    with AnthropicServer(touching("made")) as provider:
        async with served(tmp_path, provider=provider) as found:
            session_id = await begun(found.editor)
            event = await asked(found, session_id)
            stopping = {"sessionId": session_id, "clientKey": new_key()}
            requests = [(f"agent/{stop}", stopping), ("agent/approve", answer(event, "allow"))]
            both = [
                frame(json.dumps({"jsonrpc": "2.0", "id": at, "method": method, "params": params}).encode())
                for at, (method, params) in enumerate(requests, start=1000)
            ]
            await found.client.send_raw(b"".join(both))
            said = await found.client.result(1001)
            assert said == {"decision": "deny", "decidedBy": "interrupt"}
            resolved = await found.client.event("approval_resolved")
            assert (resolved["data"]["decision"], resolved["data"]["decidedBy"]) == ("deny", "interrupt")
            await found.client.event("processing_end", reason=f"{stop}ed")
            assert not (found.project / "made").exists()
