"""Compaction over real stdio: it is requested, reported in events, and kept across a restart of the server (L13,
O6).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import new_key
from tests.support.loopback import AnthropicServer
from tests.support.served import Served, served, served_session


def list_events(found: Served, session_id: str, kind: str) -> list[dict[str, Any]]:
    return [event["data"] for event in found.recorded(session_id) if event["kind"] == kind]


@pytest.mark.req("L13", "E1", "H2")
async def test_a_requested_compaction_is_kept_in_the_next_process(
    tmp_path: Path,
) -> None:
    answers = [f"answer {number}" for number in range(6)]
    with AnthropicServer([*answers, "## Goal\nMend the cart.", "on it", "and on"]) as provider:
        async with served_session(tmp_path, provider) as (found, session_id):
            await found.work_off(session_id, "message 0")
            refused = await found.refused("compact", session_id)
            assert (refused.code, refused.data["kind"]) == (1041, "nothing_to_compact")
            for number in range(1, 6):
                await found.work_off(session_id, f"message {number}")
            key, seen = new_key(), len(found.client.received)
            answer = await found.ask("compact", session_id, clientKey=key, instructions="the tests")
            assert await found.ask("compact", session_id, clientKey=key) == answer
            await found.editor.turn_end(session_id, seen)
            begun, done = list_events(found, session_id, "compaction")
            assert (begun["status"], begun["trigger"], begun["clientKey"]) == ("started", "request", key)
            assert (done["status"], done["summary"]) == ("done", "## Goal\nMend the cart.")
            assert begun["compactionId"] == done["compactionId"] == answer["compactionId"]
            usage = list_events(found, session_id, "usage")[-1]
            assert sum(usage["context"].values()) == usage["contextTokens"]
            assert usage["context"]["system"] > 0 and usage["context"]["tools"] > 0
            await found.work_off(session_id, "go on")
            first = provider.requests[-1].body
        async with served(tmp_path, provider=provider) as found:
            await found.editor.subscribe(session_id)
            await found.work_off(session_id, "go on again")
            second = provider.requests[-1].body
            page = await found.ask("history", session_id, limit=50)
        assert [first["system"], first["tools"]] == [second["system"], second["tools"]]
        assert "Mend the cart." in str(first["messages"][0]) == str(second["messages"][0])
        notices = [item["text"] for item in page["items"] if item["kind"] == "notice"]
        assert any("became a summary" in words for words in notices)
        assert "message 0" in str([item for item in page["items"] if item["kind"] == "user"])
