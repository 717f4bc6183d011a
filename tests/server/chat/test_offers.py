"""Texts of the diagnostics on open hunks. A plugin-free editor shows the old or proposed lines only there."""

from __future__ import annotations

import pytest

from agent_ls.loop.events.types import Hunk, HunkState
from agent_ls.server.chat.code_actions import hunk_mark

pytestmark = pytest.mark.req("H8", "H6")


def mark(state: HunkState, base: tuple[str, ...], lines: tuple[str, ...]) -> str:
    hunk = Hunk("h-1", "s-1", "t-1", "c-1", "/a.py", "content", state, 0, len(base), 0, 1, base, lines)
    message: str = hunk_mark(hunk)["message"]
    return message


def test_the_diagnostic_of_a_change_has_the_old_text() -> None:
    assert mark("pending", ("    a = 1\r\n", "    b = 2\n"), ("c\n",)) == (
        "Changed by the agent (+1 \u22122). Keep or undo this change with a code action.\nBefore:\n    a = 1\n    b = 2"
    )


def test_the_diagnostic_of_a_proposal_has_the_proposed_text() -> None:
    assert mark("proposed", ("old\n",), ("new\n",)).endswith("It would be:\nnew")
    assert mark("proposed", ("old\n",), ()).endswith("with a code action.")


def test_a_diagnostic_is_not_longer_than_an_editor_can_display() -> None:
    found = mark("pending", tuple(f"{n}{'x' * 1_000}\n" for n in range(100)), ())
    assert found.endswith("\n\u2026 92 more")
    assert max(map(len, found.splitlines())) == 160 and len(found.splitlines()) == 11


def test_control_characters_of_a_line_are_escaped_in_a_diagnostic() -> None:
    assert mark("pending", ("a\x1b[31m\u202eb\n",), ()).endswith("Before:\na\ufffdb")
