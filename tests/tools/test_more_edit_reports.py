"""More reports of users about edits and patches: white space that models get wrong, and what must be refused."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.patch.errors import PatchError
from agent_ls.tools.base import ToolError
from agent_ls.tools.edit_file import EDIT_FILE
from agent_ls.tools.read_file import READ_FILE
from tests.patch.applying import applied, update
from tests.support.tool_calls import ToolCalls

EDITS: list[Any] = [
    pytest.param(
        b"import a\r\nimport b\r\nimport c\r\n",
        "import a\nimport b",
        "import a\nimport x\nimport b",
        b"import a\r\nimport x\r\nimport b\r\nimport c\r\n",
        marks=pytest.mark.report("devoxx/DevoxxGenieIDEAPlugin#1144"),
        id="CRLF, several lines"
    ),
    pytest.param(
        b'\t\tif (!fp) {\r\n\t\t\tthrow std::runtime_error(\r\n\t\t\t\t"no file");\r\n',
        '\t\tif (!fp) {\n\t\t\tthrow std::runtime_error(\n\t\t\t\t"no file");',
        "\t\tcheck(fp);",
        b"\t\tcheck(fp);\r\n",
        marks=pytest.mark.report("anthropics/claude-code#28831"),
        id="CRLF and tabs"
    ),
    pytest.param(
        b"func f() {\n\tif x {\n\t\treturn 1\n\t}\n}\n",
        "    if x {\n        return 1\n    }",
        "    if x {\n        return 2\n    }",
        b"func f() {\n\tif x {\n\t\treturn 2\n\t}\n}\n",
        marks=pytest.mark.report("langchain-ai/deepagents#403"),
        id="spaces for tabs"
    ),
    pytest.param(
        b"a = 1  \nb = 2\t\nc = 3\n",
        "a = 1\nb = 2",
        "a = 9\nb = 2",
        b"a = 9\nb = 2\t\nc = 3\n",
        marks=pytest.mark.report("esengine/DeepSeek-Reasonix#5503"),
        id="blanks at line ends"
    ),
    pytest.param(
        b"x:\n\ta\ny:\n\tb\n",
        "\tb",
        "\tc",
        b"x:\n\ta\ny:\n\tc\n",
        marks=pytest.mark.report("strands-agents/harness-sdk#3175"),
        id="tabs elsewhere stay"
    ),
    pytest.param(
        b"one\r\ntwo\nthree\r\nfour\n",
        "three",
        "3",
        b"one\r\ntwo\n3\r\nfour\n",
        marks=pytest.mark.report("open-octo/octo-agent#1224"),
        id="mixed line ends"
    ),
    pytest.param(
        b"class A:\n    def f(self):\n        return 1\n",
        "def f(self):\n    return 1",
        "def f(self):\n    return 2",
        b"class A:\n    def f(self):\n        return 2\n",
        marks=pytest.mark.report("Stack-Cairn/LiveAgent#171"),
        id="one level less"
    ),
    pytest.param(
        b"last line",
        "last line\n",
        "last line\nmore\n",
        b"last line\nmore\n",
        marks=pytest.mark.report("kdeps/kdeps#794"),
        id="no last newline"
    ),
    pytest.param(b"a\n\tlast", "    last\n", "    last\n    more\n", b"a\n\tlast\n\tmore", id="no last newline, tab"),
    pytest.param(b"a\nit\xe2\x80\x99s", "it's\n", "it's\nmore\n", b"a\nit\xe2\x80\x99s\nmore", id="quote"),
    pytest.param(b"a\r\nlast", "last\n", "last\nmore\n", b"a\r\nlast\r\nmore", id="no last newline, CRLF"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "old", "new", "after"), EDITS)
async def test_an_edit_finds_the_text_that_can_only_be_meant(
    before: bytes, old: str, new: str, after: bytes
) -> None:
    calls = ToolCalls(MemoryEnvironment({"f": before}))
    await calls.call(READ_FILE, file_path="f")
    await calls.call(EDIT_FILE, file_path="f", old_string=old, new_string=new)
    assert calls.bytes("f").removesuffix(b"\n") == after.removesuffix(b"\n")


@pytest.mark.report("langchain-ai/deepagents#403")
async def test_line_numbers_of_a_listing_are_no_part_of_the_text() -> None:
    calls = ToolCalls(MemoryEnvironment({"f": b"a\nb\nc\n"}))
    shown = (await calls.call(READ_FILE, file_path="f")).text
    lines = [line for line in shown.splitlines() if line.strip().endswith(("a", "b"))]
    await calls.call(EDIT_FILE, file_path="f", old_string="\n".join(lines), new_string="x\ny")
    assert calls.bytes("f") == b"x\ny\nc\n"


@pytest.mark.report("open-octo/octo-agent#1224")
async def test_a_text_that_occurs_twice_is_refused_with_its_lines() -> None:
    calls = ToolCalls(MemoryEnvironment({"f": b"x = 1\ny = 2\nx = 1\n"}))
    await calls.call(READ_FILE, file_path="f")
    with pytest.raises(ToolError) as refused:
        await calls.call(EDIT_FILE, file_path="f", old_string="x = 1", new_string="x = 2")
    assert "1" in str(refused.value) and "3" in str(refused.value)
    assert calls.bytes("f") == b"x = 1\ny = 2\nx = 1\n"


@pytest.mark.report("openai/codex#2578")
def test_a_patch_finds_a_method_by_two_context_lines() -> None:
    first, second = "class A:\n    def f(self):\n        old\n", "class B:\n    def f(self):\n        old\n"
    body = "@@ class B:\n@@     def f(self):\n-        old\n+        new"
    assert applied(update(body), {"f": first + second})["f"] == first + second.replace("old", "new")


@pytest.mark.report("BaseIntelligence/bounty-challenge#5977")
def test_a_patch_whose_context_is_not_in_the_file_is_refused() -> None:
    with pytest.raises(PatchError):
        applied(update("@@\n alpha\n-beta\n+x"), {"f": "one\ntwo\nthree\n"})


@pytest.mark.report("holon-run/holon#2741")
def test_the_refusal_of_a_long_chunk_names_the_line_that_differs() -> None:
    lines = [f"line {number}" for number in range(30)]
    said = [*lines[:20], "line twenty", *lines[21:]]
    body = "\n".join(["@@", *(f" {line}" for line in said), "+more"])
    with pytest.raises(PatchError) as refused:
        applied(update(body), {"f": "\n".join(lines) + "\n"})
    said_now = str(refused.value).replace("·", " ")
    assert "patch: line twenty" in said_now and "file : line 20" in said_now
