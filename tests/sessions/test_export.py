"""Export to Markdown: text from users, models and tools cannot break out of its quotes and code fences (H2, X)."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from agent_ls.loop.events.items import (
    AskedApproval,
    Body,
    ChangedFile,
    FileSum,
    Item,
    Notice,
    RetriedCall,
    SaidItem,
    SteerMessage,
    ToolUse,
    TurnEnd,
    UserMessage,
)
from agent_ls.loop.events.types import ApprovalRequested, FileChange, ToolCallEnd
from agent_ls.sessions.export.markdown import code, format_quote, markdown
from agent_ls.text import format_code_block

HOSTILE = "```\n# Not a heading\n</details><!-- \n~~~~\n````js\n\r> deeper"


def exported(*bodies: Body) -> str:
    items = [Item(n, "t", "2026-01-01T00:00:00.000Z", body) for n, body in enumerate(bodies, start=1)]
    return markdown("Fix [it](http://x)\n# now", [("Folder", "/w/`a`")], items)


def test_an_exported_transcript_has_every_kind_of_item_as_markdown_in_order() -> None:
    end = ToolCallEnd("c", "shell", "out\n", "exit 0", False, "", 5, 4)
    page = exported(
        UserMessage("Fix it."),
        SaidItem("reasoning", "r", "Hm."),
        ToolUse("c", "shell", "ls", '{"command":"ls"}', "done", end),
        ChangedFile(FileChange("c", "/w/a.py", "modify", 1, 2, "-a\n+b\n")),
        SteerMessage("s", "Faster", "injected"),
        RetriedCall(1, 100, "Busy."),
        Notice("warn", "Careful.", "Slow down."),
        AskedApproval(ApprovalRequested("a", "c", "shell", "ls", "", {}, ""), "deny", "not now"),
        SaidItem("text", "p", "Done.", interrupted=True),
        TurnEnd("completed", (FileSum("/w/a.py", "modify", 1, 2),)),
    )

    assert page.startswith("# Fix \\[it\\](http://x) \\# now\n\n- Folder: `` /w/`a` ``\n\n## You, ")
    pieces = (
        "\n\n> Fix it.\n",
        "### Reasoning\n\n> Hm.\n",
        '### Tool `shell`: `ls` (done)\n\n```json\n{"command":"ls"}\n```\n\n```\nout\n```\n',
        "### Changed: `/w/a.py` (modify, +1 -2)\n\n```diff\n-a\n+b\n```\n",
        "### You, during the turn (injected)\n\n> Faster\n",
        "*Tried again (1):* Busy.\n",
        "**Warn:** Careful. (Slow down.)\n",
        "*Approval:* `ls` **deny**: not now\n",
        "### Agent (interrupted)\n\n> Done.\n",
        "*End of the turn:* completed\n\n- `/w/a.py` (modify, +1 -2)\n",
    )
    places = [page.find(piece) for piece in pieces]
    assert -1 not in places and places == sorted(places)


@pytest.mark.parametrize("text", [HOSTILE, "`" * 50, "\n\n", ""])
def test_a_code_fence_is_longer_than_fences_in_its_text_and_a_quote_prefixes_every_line(text: str) -> None:
    fence, *inside, last = format_code_block(text).split("\n")
    assert fence == last and set(fence) == {"`"} and not any(fence in line for line in inside)
    assert all(line.startswith(">") for line in format_quote(text))


@given(st.text(alphabet="`a \n\r~>#", max_size=30))
def test_every_line_of_an_exported_message_is_inside_its_markdown_quote(text: str) -> None:
    page = exported(UserMessage(text), SaidItem("text", "p", text), Notice("error", text, text))
    body = page.split("\n\n", 2)[2]
    for line in body.split("\n"):
        assert not line or line.startswith((">", "## You, ", "### Agent", "**Error:** ")), line
    assert "\n" not in code(text)
