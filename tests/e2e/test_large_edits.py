"""Sizes of messages to an editor: for a large document only the changed range is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.loopback.script import Answer
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.served import served

LINES = 100_000
CHANGED = 75_001

MAX_BYTES = 2_000
"""Limit for a request with its range, names and label; the document has four million bytes."""

PATCH = (
    f"*** Begin Patch\n*** Update File: large.py\n@@\n-value = {CHANGED}  # a line of the text\n+value = 0\n"
    "*** End Patch"
)


@pytest.mark.req("H4", "T4")
@pytest.mark.parametrize("review", ["after", "before"])
async def test_an_edit_of_one_line_in_a_large_document_sends_only_the_changed_range(
    review: str, tmp_path: Path
) -> None:
    text = "".join(f"value = {at}  # a line of the text\n" for at in range(LINES))
    replacement = {"file_path": "large.py", "old_string": f"= {CHANGED + 9}  ", "new_string": "= 1  "}
    script: list[Answer] = [
        [ToolCall("shell", {"command": f"apply_patch <<'EOF'\n{PATCH}\nEOF"})],
        [ToolCall("read_file", {"file_path": "large.py", "offset": CHANGED, "limit": 20})],
        [ToolCall("edit_file", replacement)],
        "done",
    ]
    with AnthropicServer(script) as provider:
        async with served(tmp_path, provider=provider) as found:
            path = found.project / "large.py"
            path.write_text(text)
            document = await found.editor.open(path, text)
            session_id = await found.editor.new_session(provider="anthropic", mode="edits", review=review)
            await found.editor.submit(session_id, "go")
            if review == "before":
                seen = 0
                for _ in range(2):
                    proposed = await found.client.wait_for(_is_proposed, after=seen)
                    seen = found.client.received.index(proposed) + 1
                    await found.change("review", session_id, verdict="keep")
            await found.client.event("processing_end")
            asked = [m["params"] for m in found.client.received if m.get("method") == "workspace/applyEdit"]
            assert len(asked) == 2
            for params in asked:
                assert len(json.dumps(params)) < MAX_BYTES
                (change,) = params["edit"]["documentChanges"]
                (edit,) = change["edits"]
                assert edit["range"]["end"]["line"] - edit["range"]["start"]["line"] <= 1
            lines = document.source.splitlines()
            assert (lines[CHANGED], lines[CHANGED + 9]) == ("value = 0", "value = 1  # a line of the text")
            assert len(lines) == LINES


def _is_proposed(message: dict[str, Any]) -> bool:
    event = message.get("params") or {}
    return event.get("kind") == "hunk_state" and event["data"]["hunks"][0]["state"] == "proposed"
