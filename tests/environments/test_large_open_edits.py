"""An edit of one line in a large open document does not create all its lines."""

from __future__ import annotations

import pytest

from agent_ls.environments.base import Attribution, FileWrite
from agent_ls.environments.editor import EditorEnvironment
from agent_ls.environments.editor_host import LineEdit, apply_edits
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.server.lsp import to_lsp
from tests.services.counting import CountingProvider
from tests.support.fake_editor_host import FakeEditorHost

A = "/project/a.txt"
TEXT = "".join(f"line {number}: words of an ordinary length\n" for number in range(20_000))
CHANGED = TEXT.replace("line 9000: words", "line 9000: other words")
EDIT = LineEdit(9_000, 9_001, "line 9000: other words of an ordinary length\n")


@pytest.mark.req("L5", "X9")
async def test_an_edit_of_one_line_does_not_split_a_large_open_document_into_lines() -> None:
    host = FakeEditorHost({A: TEXT})
    environment = EditorEnvironment(MemoryEnvironment({A: TEXT}), host)
    counter = CountingProvider([], {("text.py", "split_lines"): "text", ("text.py", "count_lines"): "text"})
    with counter.counting():
        (state,) = await environment.commit([FileWrite(A, CHANGED.encode(), TEXT.encode())], Attribution())
        (sent,) = to_lsp.text_edits(TEXT, [EDIT], "utf-16")
        applied = apply_edits(TEXT, [EDIT])
    assert host.applied[0].edits == (EDIT,)
    assert (state.after, applied) == (CHANGED.encode(), CHANGED)
    assert (sent.range.start.line, sent.range.end.line, sent.new_text) == (9_000, 9_001, EDIT.text)
    assert counter.count["count_lines"], "nothing was counted"
    assert not counter.count["split_lines"]
