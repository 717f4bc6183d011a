"""Reports of edits that guessed: quotes, escapes, indentation and blanks that differ, and patches of unusual form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.local import LocalEnvironment
from agent_ls.tools.apply_patch import APPLY_PATCH
from agent_ls.tools.base import ToolError
from agent_ls.tools.edit_file import EDIT_FILE
from agent_ls.tools.read_file import READ_FILE
from tests.patch.applying import patch
from tests.support.reports import reported
from tests.support.tool_calls import ToolCalls

pytestmark = pytest.mark.req("T3")


@pytest.fixture
def calls(tmp_path: Path) -> ToolCalls:
    real: Any = LocalEnvironment(str(tmp_path))
    return ToolCalls(real)


EDITED: list[Any] = [
    reported(
        "anthropics/claude-code#26141",
        "She said, “Hello.”\n\nHe replied, “Goodbye.”\n",
        ('She said, "Hello."', 'She said, "Hi there."'),
        "She said, “Hi there.”\n\nHe replied, “Goodbye.”\n",
        id="curly quotes in the file",
    ),
    reported(
        "github/copilot-cli#3254",
        "Do not ask “what repo to change” each time.\n",
        ('ask "what repo to change" each time', 'ask "what repo to change" each session'),
        "Do not ask “what repo to change” each session.\n",
        id="curly quotes that stay",
    ),
    reported(
        "earendil-works/pi#3554",
        'a = "Hello";\n// “smart” — style\nname = "Alice";\n// non\u00a0breaking   \ndone\n',
        ("name = “Alice”;", 'name = "Bob";'),
        'a = "Hello";\n// “smart” — style\nname = "Bob";\n// non\u00a0breaking   \ndone\n',
        id="only the matched line",
    ),
    reported(
        "anthropics/claude-code#52813",
        "const key = s.replace(/\\u00A0/g, ' ');\n",
        ("s.replace(/\\u00A0/g, ' ')", "s.replace(/[\\u00A0\\u202F]/g, ' ')"),
        "const key = s.replace(/[\\u00A0\\u202F]/g, ' ');\n",
        id="an escape in the file",
    ),
    reported(
        "anthropics/claude-code#29869",
        "the task list in\u00a0current\nend\n",
        ("the task list in current", "the task list in current view"),
        "the task list in\u00a0current view\nend\n",
        id="a no-break space in the middle",
    ),
    reported(
        "open-octo/octo-agent#317",
        "a  \nb\n",
        ("b", "c  "),
        "a  \nc  \n",
        id="blanks at the end are meant",
    ),
    reported(
        "MayDay-wpf/snow-app#110",
        "class Foo:\n    def bar(self):\n        return 1\n",
        ("def bar(self):\n        return 1", "def bar(self):\n        return 2"),
        "class Foo:\n    def bar(self):\n        return 2\n",
        id="the first line without its indentation",
    ),
    reported(
        "Gitlawb/openclaude#1561",
        "if ok:\n  foo()\n  bar()\n",
        ("    foo()\n", "    baz()\n"),
        "if ok:\n  baz()\n  bar()\n",
        id="the next line keeps its indentation",
    ),
    reported(
        "NousResearch/hermes-agent#88283",
        "class A:\r\n    def f(self):\r\n        return 1\r\n",
        ("def f(self):\n        return 1", "def f(self):\n        return 2"),
        "class A:\r\n    def f(self):\r\n        return 2\r\n",
        id="the first line without indentation",
    ),
    reported(
        "tontinton/maki#848",
        "func f() {\n\tif x {\n\t\treturn\n\t}\n}\n",
        ("    if x {\n        return\n    }", "    if x {\n        return 1\n    }"),
        "func f() {\n\tif x {\n\t\treturn 1\n\t}\n}\n",
        id="tabs and one level too deep",
    ),
    reported(
        "open-octo/octo-agent#596",
        "func f() {\n\tif a {\n\t\treturn 1\n\t}\n}\n",
        ("    if a {\n        return 1\n    }", "    if a {\n        return 2\n    }"),
        "func f() {\n\tif a {\n\t\treturn 2\n\t}\n}\n",
        id="spaces for tabs",
    ),
    reported(
        "charmbracelet/crush#3452",
        "a:\n  b:\n    c: 1\n",
        ("\tb:\n\t\tc: 1", "\tb:\n\t\tc: 2\n\t\td: 3"),
        "a:\n  b:\n    c: 2\n    d: 3\n",
        id="tabs for spaces",
    ),
    reported(
        "anthropics/claude-code#26996",
        "func f() int {\n\tfor {\n\t\treturn x\n\t}\n}\n",
        ("        return x\n", "        if y {\n            return x\n        }\n"),
        "func f() int {\n\tfor {\n\t\tif y {\n\t\t\treturn x\n\t\t}\n\t}\n}\n",
        id="one line becomes a block",
    ),
    reported(
        "anomalyco/opencode#24549",
        "try:\n        a()\n        # more\nfinally:\n    b()\n",
        ("        a()\n        # more", "        a()\n        c()\n        # more"),
        "try:\n        a()\n        c()\n        # more\nfinally:\n    b()\n",
        id="the indentation stays",
    ),
    reported(
        "anthropics/claude-code#37403",
        "\t\t\t<A>\n\t\t\t\t<div\n\t\t\t\t\tx={`a ${b ? 'c' : \"d\"}`}\n",
        ("\t\t\t<A>\n\t\t\t\t<div\n\t\t\t\t\tx={`a ${b ? 'c' : \"d\"}`}", "\t\t\t<B />"),
        "\t\t\t<B />\n",
        id="exact tabs",
    ),
]


@pytest.mark.parametrize(("before", "change", "after"), EDITED)
async def test_an_edit_finds_its_text_and_changes_nothing_else(
    calls: ToolCalls, tmp_path: Path, before: str, change: tuple[str, str], after: str
) -> None:
    path = tmp_path / "f"
    path.write_bytes(before.encode())
    await calls.call(READ_FILE, file_path="f")
    await calls.call(EDIT_FILE, file_path="f", old_string=change[0], new_string=change[1])
    assert path.read_bytes() == after.encode()


@pytest.mark.report("modelcontextprotocol/servers#4516")
async def test_an_edit_reaches_all_names_of_a_file(calls: ToolCalls, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "b.txt").hardlink_to(tmp_path / "a.txt")
    await calls.call(READ_FILE, file_path="a.txt")
    await calls.call(EDIT_FILE, file_path="a.txt", old_string="one", new_string="two")
    assert (tmp_path / "b.txt").read_text() == "two\n"


@pytest.mark.report("unarbos/arbos#742")
@pytest.mark.parametrize(
    ("before", "after"),
    [(b"a\r\nbar\r\nc\r\n", b"a\r\nqux\r\nquux\r\nc\r\n"), (b"caf\xe9\nbar\n", b"caf\xe9\nqux\nquux\n")],
)
async def test_a_patch_keeps_endings_and_encoding(
    calls: ToolCalls, tmp_path: Path, before: bytes, after: bytes
) -> None:
    (tmp_path / "a.txt").write_bytes(before)
    await calls.call(READ_FILE, file_path="a.txt")
    await calls.call(APPLY_PATCH, input=patch("*** Update File: a.txt", "@@", "-bar", "+qux", "+quux"))
    assert (tmp_path / "a.txt").read_bytes() == after


@pytest.mark.report("zhayujie/CowAgent#2942")
async def test_other_blanks_within_a_line_change_no_other_line(calls: ToolCalls, tmp_path: Path) -> None:
    before = "def foo():\n    x = 1\n    y = 2\n    return x + y\n"
    (tmp_path / "f").write_text(before)
    await calls.call(READ_FILE, file_path="f")
    try:
        await calls.call(EDIT_FILE, file_path="f", old_string="    x  =  1", new_string="    x = 100")
    except ToolError:
        assert (tmp_path / "f").read_text() == before
    else:
        assert (tmp_path / "f").read_text() == before.replace("x = 1", "x = 100")


@pytest.mark.report("NousResearch/hermes-agent#92132")
async def test_inexact_matches_that_overlap_lose_nothing(calls: ToolCalls, tmp_path: Path) -> None:
    before = "x)\n x)\n x)\n"
    (tmp_path / "f").write_text(before)
    await calls.call(READ_FILE, file_path="f")
    try:
        await calls.call(EDIT_FILE, file_path="f", old_string="x)\nx)", new_string="y", replace_all=True)
    except ToolError:
        assert (tmp_path / "f").read_text() == before
    else:
        assert (tmp_path / "f").read_text() == "y\n x)\n"


@pytest.mark.report("coder/coder#23480")
async def test_all_inexact_matches_are_replaced(calls: ToolCalls, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("foo()  \nbar\n\nfoo() \nbar\nend\n")
    await calls.call(READ_FILE, file_path="f")
    await calls.call(
        EDIT_FILE, file_path="f", old_string="foo()\nbar", new_string="baz()\nqux", replace_all=True
    )
    lines = [line.rstrip() for line in (tmp_path / "f").read_text().split("\n")]
    assert lines == ["baz()", "qux", "", "baz()", "qux", "end", ""]


@pytest.mark.parametrize(("before", "old", "shown"), [
    reported("earendil-works/pi#4198", "a = 1\nmsg = 'it\\u2019s fine'\n", "msg = 'it\u2019s fine'",
        "msg·=·'it\\u2019s·fine'"),
    reported("jin-bo/agentao#159", "import os\nprint（\"你好\"）；\nx\n", 'print("你好");', 'print（"你好"）；'),
])  # fmt: skip
async def test_a_line_of_the_file_is_shown_to_the_model_that_wrote_other_characters(
    calls: ToolCalls, tmp_path: Path, before: str, old: str, shown: str
) -> None:
    (tmp_path / "f").write_text(before)
    await calls.call(READ_FILE, file_path="f")
    with pytest.raises(ToolError) as refused:
        await calls.call(EDIT_FILE, file_path="f", old_string=old, new_string="other()")
    assert shown in str(refused.value)
    assert (tmp_path / "f").read_text() == before


TABLES = 'PRIMARY = {\n    "a": 1,\n\n    "b": 2,\n}\nBACKUP = {\n    "a": 1,\n    "b": 2,\n}\n'
PATCHED: list[Any] = [
    reported(
        "use-agent-os/agent-os#1577",
        "foo\n\nbar\n",
        ("@@ -1,3 +1,3 @@", " foo", "", "-bar", "+baz"),
        "foo\n\nbaz\n",
        id="an empty context line",
    ),
    reported(
        "NousResearch/hermes-agent#89664",
        TABLES,
        ("@@ PRIMARY = { @@", '     "a": 1,', "", '-    "b": 2,', '+    "b": 99,'),
        TABLES.replace('"b": 2', '"b": 99', 1),
        id="an empty line tells two places apart",
    ),
    reported(
        "NousResearch/hermes-agent#3081",
        "def f():\n    return 1\ndef g():\n    return 2\n",
        ("@@ def g():", "+    x = 1"),
        "def f():\n    return 1\ndef g():\n    x = 1\n    return 2\n",
        id="only added lines",
    ),
    reported(
        "deer-flow/llm-space#174",
        "one\ntwo\n",
        ("@@", " one", "-two", "+TWO", "", "*** Update File: g", "@@", "-x", "+X", ""),
        "one\nTWO\n",
        id="empty lines between files",
    ),
]


@pytest.mark.parametrize(("before", "lines", "after"), PATCHED)
async def test_a_patch_with_empty_lines_or_a_place_only_is_applied(
    calls: ToolCalls, tmp_path: Path, before: str, lines: tuple[str, ...], after: str
) -> None:
    (tmp_path / "f").write_text(before)
    (tmp_path / "g").write_text("x\n")
    await calls.call(APPLY_PATCH, patch=patch("*** Update File: f", *lines))
    assert (tmp_path / "f").read_text() == after
    assert (tmp_path / "g").read_text() == ("X\n" if "-x" in lines else "x\n")


@pytest.mark.report("use-agent-os/agent-os#2837")
@pytest.mark.parametrize("lines", [(), ("",), ("@@",), ("@@ zzz not there", "+x")])
async def test_a_patch_that_names_no_change_or_no_place_is_refused(
    calls: ToolCalls, tmp_path: Path, lines: tuple[str, ...]
) -> None:
    (tmp_path / "f").write_text("a\n")
    with pytest.raises(ToolError):
        await calls.call(APPLY_PATCH, patch=patch("*** Update File: f", *lines))
    assert (tmp_path / "f").read_text() == "a\n"
