"""Arbitrary text is edited exactly at the right position, or refused without a change."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from hypothesis import assume, given, settings, strategies as st

from agent_ls.environments.base import sha256
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.text import BOM, split_lines, strip_ending
from agent_ls.tools.apply_patch import APPLY_PATCH
from agent_ls.tools.base import Tool, ToolError
from agent_ls.tools.edit_file import EDIT_FILE
from agent_ls.tools.write_file import WRITE_FILE
from tests.support.tool_calls import ToolCalls

pytestmark = pytest.mark.req("T3", "T4", "R5")

PIECES = st.sampled_from(
    [
        "a",
        "b",
        " ",
        "\t",
        "\n",
        "\r\n",
        "\r",
        "\u2028",
        "\x85",
        "\x0c",
        "\0",
        "\ufeff",
        "😋",
        "é",
        "e\u0301",
        "\\n",
    ]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)


def edited(text: str, tool: Tool[Any], **arguments: object) -> str | None:
    """Return the text after the call; None if it was refused, which must not change the text."""
    calls = ToolCalls(MemoryEnvironment({"f": text.encode()}))
    calls.reads.record(f"{calls.environment.working_directory()}/f", sha256(text.encode()))
    try:
        anyio.run(lambda: calls.call(tool, **arguments))
    except ToolError:
        assert calls.bytes("f") == text.encode()
        return None
    return calls.text("f")


@settings(deadline=None)
@given(text=TEXTS, new=TEXTS, data=st.data())
def test_replacement_in_any_text_changes_exactly_the_old_string_or_nothing(
    text: str, new: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    # A CRLF cannot be split: a range that ends inside of it would include both characters.
    assume(not any(text[at - 1 : at + 1] == "\r\n" for at in (start, end) if at))
    old = text[start:end]
    after = edited(text, EDIT_FILE, file_path="f", old_string=old, new_string=new)
    if after is None:
        return
    if not old:
        assert text in ("", BOM) and after == text + new
        return
    mark = BOM if text.startswith(BOM) else ""
    if text.count(old) != 1:  # the mark at the beginning of a file is not part of its text
        assert text.removeprefix(mark).count(old) == 1
        start = text.index(old, len(mark))
        end = start + len(old)
    head, tail = text[:start], text[end:]
    assert after.startswith(head)
    # Deleting whole lines also deletes the line ending that would leave a blank line.
    tails = [tail, *_without_first_ending(tail, new)]
    assert any(
        after.endswith(left) and _folded(after[len(head) : len(after) - len(left)]) == _folded(new)
        for left in tails
    )


def _folded(text: str) -> str:
    """Return the text with LF line endings, because new lines get the endings of the file."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _without_first_ending(tail: str, new: str) -> set[str]:
    return {tail.removeprefix(ending) for ending in ("\r\n", "\r", "\n")} if not new else set()


@settings(deadline=None)
@given(text=TEXTS, new=st.lists(PIECES, max_size=4).map("".join), data=st.data())
def test_a_patch_of_any_text_replaces_exactly_one_line_or_nothing(
    text: str, new: str, data: st.DataObject
) -> None:
    lines = split_lines(text)
    if not lines or "\n" in new:
        return
    line = strip_ending(data.draw(st.sampled_from(lines)))
    patch = f"*** Begin Patch\n*** Update File: f\n@@\n-{line}\n+{new}\n*** End Patch"
    after = edited(text, APPLY_PATCH, patch=patch)
    if after is None or after == text:
        return
    found = [
        at
        for at in range(len(lines))
        if after.startswith("".join(lines[:at])) and after.endswith("".join(lines[at + 1 :]))
    ]
    assert found, "every other line is as it was"


@settings(deadline=None)
@given(text=TEXTS)
def test_a_written_file_contains_exactly_the_given_text(text: str) -> None:
    after = edited("old\n", WRITE_FILE, file_path="f", content=text)
    assert after in (None, text)


@pytest.mark.parametrize("tool", ["replacement", "patch"])
def test_edit_of_a_file_with_a_very_long_line_changes_only_the_target_text(tool: str) -> None:
    long = "x" * 2_000_000
    text = f"one\n{long}\ntwo"
    if tool == "patch":
        patch = "*** Begin Patch\n*** Update File: f\n@@\n-one\n+ONE\n*** End Patch"
        assert edited(text, APPLY_PATCH, patch=patch) == f"ONE\n{long}\ntwo"
        return
    after = edited(text, EDIT_FILE, file_path="f", old_string="\ntwo", new_string="y\nTWO")
    assert after == f"one\n{long}y\nTWO"
