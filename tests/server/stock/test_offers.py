"""What the marks of open hunks say: the user of an editor without a plugin sees the other text nowhere else."""

from __future__ import annotations

import pytest

from agent_ls.loop.events import Hunk, HunkState
from agent_ls.server.stock.offers import hunk_mark

pytestmark = pytest.mark.req("H8", "H6")


def mark(state: HunkState, base: tuple[str, ...], lines: tuple[str, ...]) -> str:
    hunk = Hunk("h-1", "s-1", "t-1", "c-1", "/a.py", "content", state, 0, len(base), 0, 1, base, lines)
    message: str = hunk_mark(hunk)["message"]
    return message


def test_the_mark_of_a_change_says_what_stood_there_before() -> None:
    assert mark("pending", ("    a = 1\r\n", "    b = 2\n"), ("c\n",)) == (
        "Changed by the agent (+1 \u22122). Keep or undo it by a code action.\nBefore:\n    a = 1\n    b = 2"
    )


def test_the_mark_of_a_proposal_says_what_would_stand_there() -> None:
    assert mark("proposed", ("old\n",), ("new\n",)).endswith("It would be:\nnew")
    assert mark("proposed", ("old\n",), ()).endswith("by a code action.")


def test_a_mark_is_not_longer_than_an_editor_can_show() -> None:
    told = mark("pending", tuple(f"{n}{'x' * 1_000}\n" for n in range(100)), ())
    assert told.endswith("\n\u2026 92 more")
    assert max(map(len, told.splitlines())) == 160 and len(told.splitlines()) == 11


def test_a_line_cannot_turn_a_mark_around_or_colour_it() -> None:
    assert mark("pending", ("a\x1b[31m\u202eb\n",), ()).endswith("Before:\na\ufffdb")
