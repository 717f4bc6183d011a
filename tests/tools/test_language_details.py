"""The tools hover, implementations, call_hierarchy, code_actions and apply_code_action, with odd answers of editors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from agent_ls.environments.effects import ReadEffect, WriteEffect
from agent_ls.environments.errors import StaleFileError
from agent_ls.environments.language_host import (
    ActionChanges,
    FileChanges,
    FoundCall,
    FoundLocation,
    OfferedAction,
    SourcePosition,
    SourceSpan,
    Symbol,
    TextChange,
)
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.environments.wrappers.bounded import BoundedEnvironment
from agent_ls.services.permissions.paths import PathBounds, places_of
from agent_ls.tools.base import ToolContext
from agent_ls.tools.call_hierarchy import MAX_LINES, call_hierarchy
from agent_ls.tools.code_actions import apply_code_action, code_actions
from agent_ls.tools.hover import MAX_CHARS, hover
from agent_ls.tools.implementations import implementations
from agent_ls.tools.location_list import PAGE
from tests.support.language_host import KnownCode
from tests.support.tool_calls import ToolCalls

pytestmark = pytest.mark.req("T14")

FILES = {"a.py": "import os\nx = '😀'; y = join(os)\n", "b.py": "def join(part):\n    return part\n"}
JOIN = {"file_path": "a.py", "line": 2, "symbol": "join"}
SIGNATURE = "```python\n(function) def join(part: str) -> str\n```"


def calls() -> ToolCalls:
    return ToolCalls(MemoryEnvironment(FILES))


# -- hover


@pytest.mark.report("microsoft/language-server-protocol#773")  # fmt: skip
async def test_hover_returns_the_texts_of_all_language_servers_once_each() -> None:
    host = KnownCode(texts=[SIGNATURE, "Joins the part.", "  ", SIGNATURE, "\x1b[31mRed\x1b[0m"])

    output = await calls().call(hover(host), **JOIN)

    assert host.asked[0] == SourcePosition("/project/a.py", 1, 14)
    assert output.text == f"{SIGNATURE}\n\nJoins the part.\n\nRed"
    assert output.summary == "(function) def join(part: str) -> str"


@pytest.mark.parametrize("texts", [[], ["", " \n"]], ids=["nothing", "blank"])
@pytest.mark.report("microsoft/language-server-protocol#261")  # fmt: skip
async def test_a_hover_without_text_says_what_to_do_instead(texts: list[str]) -> None:
    output = await calls().call(hover(KnownCode(texts=texts)), **JOIN)

    assert "Use grep for 'join'" in output.text and not output.is_error


async def test_a_long_hover_is_cut() -> None:
    output = await calls().call(hover(KnownCode(texts=["x" * (MAX_CHARS + 7)])), **JOIN)

    assert output.text.startswith("x" * MAX_CHARS) and "7 characters" in output.text


async def test_the_hover_of_a_symbol_from_a_file_with_secrets_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(FILES["a.py"])
    (tmp_path / ".env").write_text("join=topsecret\n")
    place = FoundLocation(str(tmp_path / ".env"), 0)
    found = ToolCalls()
    environment = BoundedEnvironment(LocalEnvironment(str(tmp_path)), PathBounds(places_of(str(tmp_path))))
    found.context = ToolContext(
        environment, found.context.attribution, found.context.on_output, found.context.reads
    )

    output = await found.call(hover(KnownCode([place], texts=["join = topsecret"])), **JOIN)

    assert "topsecret" not in output.text


# -- implementations


@pytest.mark.report("folke/trouble.nvim#94")  # fmt: skip
async def test_implementations_are_listed_with_their_code() -> None:
    host = KnownCode([FoundLocation("/project/b.py", 0), FoundLocation("jdt://x/A.class", 3, is_file=False)])

    output = await calls().call(implementations(host), **JOIN)

    assert output.text.splitlines() == [
        "b.py:1: def join(part):",
        "jdt://x/A.class:4 [no file: its text cannot be shown]",
    ]


async def test_no_implementation_is_said_with_a_next_step() -> None:
    assert "Use grep for 'join'" in (await calls().call(implementations(KnownCode()), **JOIN)).text


# -- calls


def function(name: str, path: str, line: int, *lines: int, container: str = "") -> FoundCall:
    return FoundCall(Symbol(name, "function", FoundLocation(path, line), line + 3, container), lines)


async def test_callers_are_listed_with_the_lines_of_their_calls() -> None:
    found = [
        function("z", "/lib/z.py", 0),
        function("main", "/project/b.py", 0, 1, container="Shop"),
        function("load", "/project/a.py", 1, *range(30)),
    ]
    host = KnownCode(called=found)

    output = await calls().call(call_hierarchy(host), **JOIN, direction="outgoing")

    assert host.asked == [(SourcePosition("/project/a.py", 1, 14), "outgoing")]
    shown = ", ".join(map(str, range(1, MAX_LINES + 1)))
    assert output.text.splitlines()[:2] == [
        f"a.py:2: function load, called on lines {shown}, …",
        "b.py:1: function main in Shop, called on line 2",
    ]


@pytest.mark.report("isaacphi/mcp-language-server#38")  # fmt: skip
async def test_many_callers_come_in_pages() -> None:
    found = [function(f"f{number}", "/project/a.py", 0, number) for number in range(PAGE + 2)]

    output = await calls().call(call_hierarchy(KnownCode(called=found)), **JOIN)
    rest = await calls().call(call_hierarchy(KnownCode(called=found)), **JOIN, offset=PAGE + 1)

    assert f"Continue with offset={PAGE + 1}." in output.text
    assert rest.text.count("function f") == 2


@pytest.mark.report("anthropics/claude-code#75615")  # fmt: skip
@pytest.mark.parametrize("direction", ["incoming", "outgoing"])
async def test_an_empty_call_hierarchy_does_not_claim_that_nothing_calls_it(direction: str) -> None:
    output = await calls().call(call_hierarchy(KnownCode()), **JOIN, direction=direction)

    assert "or does not know it as a function" in output.text and "Use grep" in output.text


# -- code actions

LINE = {"file_path": "a.py", "line": 2}
WHOLE = SourceSpan("/project/a.py", 1, 0, 1, 22)
IMPORT = OfferedAction("Import join", "quickfix", is_preferred=True)
EXTRACT = OfferedAction("Extract", "refactor.extract", disabled="select an expression")
RUN = OfferedAction("Run tests")


def edits(
    *changes: TextChange, command: str = "", document: str | None = FILES["a.py"]
) -> Callable[[], ActionChanges]:
    return lambda: ActionChanges(
        (FileChanges("/project/a.py", changes, document),) if changes else (), command
    )


ADDED = TextChange(0, 0, 0, 0, "from os.path import join\n")


@pytest.mark.report("denoland/deno#11610")  # fmt: skip
async def test_code_actions_are_listed_with_preferred_ones_first_and_disabled_ones_last() -> None:
    host = KnownCode(offered=[EXTRACT, RUN, IMPORT, RUN])

    output = await calls().call(code_actions(host), **LINE)

    assert host.asked == [WHOLE]
    assert output.text.splitlines() == [
        "a.py:2:",
        "  Import join [quickfix, preferred]",
        "  Run tests",
        "  Extract [refactor.extract, cannot be applied: select an expression]",
    ]


@pytest.mark.parametrize(
    ("arguments", "span"),
    [
        ({"symbol": "join"}, SourceSpan("/project/a.py", 1, 14, 1, 18)),
        ({"line": 1, "end_line": 2}, SourceSpan("/project/a.py", 0, 0, 1, 22)),
        ({"line": 2, "end_line": 1}, WHOLE),
    ],
    ids=["name", "lines", "backwards"],
)
async def test_actions_are_requested_for_a_name_or_for_lines_in_utf_16_units(
    arguments: dict[str, object], span: SourceSpan
) -> None:
    host = KnownCode(offered=[])

    await calls().call(code_actions(host), **{**LINE, **arguments})

    assert host.asked == [span]


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"line": 9}, "validation"),
        ({"end_line": 9}, "validation"),
        ({"symbol": "nothing"}, "not_found"),
        ({"file_path": "c.py"}, "file_not_found"),
    ],
)
async def test_a_place_that_does_not_exist_is_refused(arguments: dict[str, object], kind: str) -> None:
    error = await calls().fails(code_actions(KnownCode()), **{**LINE, **arguments})

    assert error.kind == kind


async def test_an_action_is_planned_as_a_write_and_then_made() -> None:
    found, host = calls(), KnownCode(offered=[EXTRACT, IMPORT], edits=[edits(ADDED)])

    prepared = await found.prepare(apply_code_action(host), **LINE, title="Import join")
    assert isinstance(prepared.effect, WriteEffect)
    assert "+from os.path import join" in prepared.effect.files[0].diff
    assert found.text("a.py") == FILES["a.py"]
    output = await prepared.run()

    assert found.text("a.py").startswith("from os.path import join\nimport os\n")
    assert output.text.splitlines() == [
        "Applied 'Import join' in 1 file:",
        "",
        "a.py:1: from os.path import join",
    ]


@pytest.mark.report("microsoft/vscode#169507")  # fmt: skip
async def test_the_command_of_an_action_with_edits_is_named_and_not_run() -> None:
    host = KnownCode(offered=[IMPORT], edits=[edits(ADDED, command="Organize Imports")])

    output = await calls().call(apply_code_action(host), **LINE, title="Import join")

    assert output.text.startswith("Applied") and "'Organize Imports'" in output.text


@pytest.mark.parametrize("command", ["", "Run the tests"])
@pytest.mark.report("microsoft/vscode-languageserver-node#1216")  # fmt: skip
async def test_an_action_without_edits_is_refused(command: str) -> None:
    host = KnownCode(offered=[RUN], edits=[edits(command=command)])

    error = await calls().fails(apply_code_action(host), **LINE, title="Run tests")

    assert error.kind == "no_answer" and repr(command or "no text")[1:-1] in str(error)


@pytest.mark.parametrize(
    ("offered", "kind"),
    [([EXTRACT], "validation"), ([], "not_found"), ([IMPORT, RUN], "not_found")],
    ids=["disabled", "none", "others"],
)
@pytest.mark.report("emacs-lsp/lsp-mode#2402")  # fmt: skip
async def test_an_action_that_is_not_offered_or_disabled_changes_nothing(
    offered: Sequence[OfferedAction], kind: str
) -> None:
    found = calls()

    error = await found.fails(apply_code_action(KnownCode(offered=offered)), **LINE, title="Extract")

    assert error.kind == kind and found.text("a.py") == FILES["a.py"]
    assert all(one.title in str(error) for one in offered)


async def test_an_action_of_an_outdated_text_is_requested_again() -> None:
    def stale() -> ActionChanges:
        raise StaleFileError("/project/a.py")

    found, host = (
        calls(),
        KnownCode(offered=[IMPORT], edits=[edits(ADDED, document="older"), stale, edits(ADDED)]),
    )

    await found.call(apply_code_action(host), **LINE, title="Import join")

    assert found.text("a.py").startswith("from os.path import join\nimport os\n")


async def test_a_list_of_actions_reads_the_file() -> None:
    prepared = await calls().prepare(code_actions(KnownCode()), **LINE)

    assert prepared.effect == ReadEffect(("/project/a.py",))
