"""The tools definition, references and symbols: lookup by a name on a line; code only of files that may be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_ls.environments.effects import NoEffect, ReadEffect
from agent_ls.environments.language_host import FoundLocation, SourcePosition, Symbol
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.environments.wrappers.bounded import BoundedEnvironment
from agent_ls.policy.named_places import IGNORE_FILE
from agent_ls.services.permissions.paths import PathBounds, places_of
from agent_ls.tools.base import ToolContext
from agent_ls.tools.definition import definition
from agent_ls.tools.location_list import PAGE
from agent_ls.tools.references import references
from agent_ls.tools.symbols import symbols
from tests.support.language_host import KnownCode
from tests.support.tool_calls import ToolCalls

FILES = {
    "a.py": "import b\n\n\ndef total(rows):\n    return b.add(rows)\n",
    "b.py": "# 😀 add, added\nx = '😀'; add = sum\r\n",
}


def calls() -> ToolCalls:
    return ToolCalls(MemoryEnvironment(FILES))


def in_project(*places: tuple[str, int]) -> list[FoundLocation]:
    return [FoundLocation(f"/project/{name}", line) for name, line in places]


@pytest.mark.req("T14")
@pytest.mark.parametrize(
    ("file_path", "line", "symbol", "expected"),
    [
        ("a.py", 4, "total", SourcePosition("/project/a.py", 3, 4)),
        ("a.py", 5, "b.add", SourcePosition("/project/a.py", 4, 13)),
        ("a.py", 5, "add()", SourcePosition("/project/a.py", 4, 13)),
        ("a.py", 5, "other.add", SourcePosition("/project/a.py", 4, 13)),
        ("b.py", 1, "add", SourcePosition("/project/b.py", 0, 5)),
        ("b.py", 1, "added", SourcePosition("/project/b.py", 0, 10)),
        ("b.py", 2, "add", SourcePosition("/project/b.py", 1, 10)),
        ("a.py", 0, "rows", SourcePosition("/project/a.py", 3, 10)),
    ],
    ids=[
        "name",
        "dotted",
        "called",
        "owner elsewhere",
        "emoji before",
        "whole word",
        "emoji in line",
        "no line",
    ],
)
async def test_the_position_of_a_symbol_on_a_line_is_requested_in_utf_16_units(
    file_path: str, line: int, symbol: str, expected: SourcePosition
) -> None:
    host = KnownCode(in_project(("a.py", 3)))

    output = await calls().call(definition(host), file_path=file_path, line=line, symbol=symbol)

    assert host.asked == [expected]
    assert output.text == "a.py:4: def total(rows):"


@pytest.mark.req("T14")
@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"file_path": "a.py", "line": 4, "symbol": "add"}, "not_found", "It occurs at: 5."),
        ({"file_path": "a.py", "line": 4, "symbol": "nothing"}, "not_found", "Use grep for 'nothing'"),
        ({"file_path": "a.py", "symbol": "nothing"}, "not_found", "does not occur in a.py"),
        ({"file_path": "a.py", "line": 40, "symbol": "add"}, "validation", "has only 5 lines"),
        ({"file_path": "c.py", "line": 1, "symbol": "add"}, "file_not_found", "c.py"),
    ],
)
async def test_a_symbol_that_is_not_on_the_line_is_refused_with_a_next_step(
    arguments: dict[str, object], kind: str, words: str
) -> None:
    host = KnownCode()

    error = await calls().fails(references(host), **arguments)

    assert (error.kind, host.asked) == (kind, []) and words in str(error)


@pytest.mark.req("T14")
async def test_a_symbol_without_a_line_is_searched_by_name_and_must_be_unique() -> None:
    def symbol(name: str, file: str, line: int, container: str = "") -> Symbol:
        return Symbol(name, "function", FoundLocation(f"/project/{file}", line), line, container)

    one = KnownCode(in_project(("b.py", 1)), [symbol("add", "b.py", 1), symbol("added", "b.py", 0)])
    several = KnownCode((), [symbol("add", "a.py", 4, "Cart"), symbol("add", "b.py", 1)])

    assert "b.py:2: x = " in (await calls().call(references(one), symbol="add")).text
    assert one.asked == ["add", SourcePosition("/project/b.py", 1, 10)]
    error = await calls().fails(references(several), symbol="add")
    assert error.kind == "ambiguous" and "a.py:5: function in Cart\nb.py:2: function" in str(error)
    assert (await calls().call(definition(several), symbol="Cart.add")).text == "a.py:5: return b.add(rows)"
    none = await calls().fails(references(KnownCode()), symbol="gone")
    assert none.kind == "not_found" and "grep" in str(none)
    blind = KnownCode(offers=frozenset(["references"]))
    assert "file_path" in str(await calls().fails(references(blind), symbol="gone"))


@pytest.mark.req("T14")
async def test_a_missing_response_of_the_editor_is_an_error_that_suggests_grep() -> None:
    silent = KnownCode(None, None)

    for tool in (definition(silent), references(silent)):
        error = await calls().fails(tool, file_path="a.py", line=4, symbol="total")
        assert error.kind == "no_answer" and "grep for 'total'" in str(error)
    assert "grep" in str(await calls().fails(symbols(silent), query="tot"))
    nothing = await calls().call(definition(KnownCode()), file_path="a.py", line=4, symbol="total")
    assert not nothing.is_error and "grep" in nothing.text


@pytest.mark.req("T14")
async def test_many_references_are_listed_in_pages_with_each_line_once() -> None:
    count = PAGE + 7
    environment = MemoryEnvironment({"a.py": "".join(f"use({n})\n" for n in range(count))})
    many = KnownCode(
        [*in_project(*(("a.py", n) for n in reversed(range(count)))), FoundLocation("/project/a.py", 0, 9)]
    )
    tool, pages = references(many), ToolCalls(environment)

    first = await pages.call(tool, file_path="a.py", line=1, symbol="use")
    rest = await pages.call(tool, file_path="a.py", line=1, symbol="use", offset=PAGE + 1)

    assert first.text.splitlines()[0] == "a.py:1: use(0)"
    assert first.text.endswith(f"[1 to {PAGE} of {count}. Continue with offset={PAGE + 1}.]")
    assert rest.text.splitlines()[-3:] == [
        f"a.py:{count}: use({count - 1})",
        "",
        f"[{PAGE + 1} to {count} of {count}.]",
    ]
    past = await pages.fails(tool, file_path="a.py", line=1, symbol="use", offset=count + 1)
    assert f"there are {count} places" in str(past)
    many.is_cut = True
    assert "more results" in (await pages.call(tool, file_path="a.py", line=1, symbol="use")).text


async def bounded(folder: Path, places: Sequence[FoundLocation | Symbol]) -> tuple[ToolCalls, KnownCode]:
    """Return tool calls in a real folder with the path policy of a session."""
    found = ToolCalls()
    environment = BoundedEnvironment(LocalEnvironment(str(folder)), PathBounds(places_of(str(folder))))
    context = found.context
    found.context = ToolContext(environment, context.attribution, context.on_output, context.reads)
    symbols_of = [one for one in places if isinstance(one, Symbol)]
    return found, KnownCode([one for one in places if isinstance(one, FoundLocation)], symbols_of)


@pytest.mark.req("T14")
async def test_locations_in_unreadable_files_are_listed_without_their_text(tmp_path: Path) -> None:
    root, outside = tmp_path / "project", tmp_path / "lib.py"
    root.mkdir()
    (root / "a.py").write_text("key = 1\n")
    (root / ".env").write_text("key = 'of the user'\n")
    (root / "hidden.py").write_text("key = 'hidden'\n")
    (root / IGNORE_FILE).write_text("hidden.py\n")
    outside.write_text("key = 'far'\n")
    names = [str(root / "a.py"), str(root / ".env"), str(root / "hidden.py"), str(outside)]
    places = [
        *(FoundLocation(name, 0) for name in names),
        FoundLocation("jdt://x/Key.class", 3, is_file=False),
    ]
    tools, host = await bounded(root, places)

    output = (await tools.call(references(host), file_path="a.py", line=1, symbol="key")).text

    rows = dict(row.split(" ", 1) for row in output.splitlines())
    assert rows["a.py:1:"] == "key = 1"
    assert "file with secrets" in rows[".env:1"] and "policy" in rows["hidden.py:1"]
    assert rows[f"{outside}:1"] == "[text not shown: outside the workspace]"
    assert "no file" in rows["jdt://x/Key.class:4"]
    assert not any(word in output for word in ("of the user", "'hidden'", "far"))

    tools, host = await bounded(root, [Symbol("PASSWORD", "variable", FoundLocation(names[1], 0), 0)])
    output = (await tools.call(symbols(host), query="pass")).text
    assert output.startswith(".env:1: variable [name not shown:") and "PASSWORD" not in output


@pytest.mark.req("T14")
async def test_an_outline_shows_kinds_lines_and_depth() -> None:
    host = KnownCode(
        symbols=[
            Symbol("Cart\nx", "class", FoundLocation("/project/a.py", 0), 4),
            Symbol("total", "method", FoundLocation("/project/a.py", 3), 4, "Cart", 1),
            Symbol("x", "variable", FoundLocation("/project/a.py", 2), 2),
        ]
    )
    tool = symbols(host)

    outline = await calls().call(tool, file_path="a.py")

    assert outline.text.splitlines() == [
        "a.py:",
        "  class Cart x [1-5]",
        "    method total [4-5]",
        "  variable x [3]",
    ]
    assert outline.summary == "3 symbols"
    assert (await calls().call(tool, file_path="a.py", query="TOT")).text == "a.py:\n    method total [4-5]"
    assert "'none'" in (await calls().call(tool, file_path="a.py", query="none")).text
    assert (await calls().call(tool, query="tot")).text.splitlines()[1] == "a.py:4: method total in Cart"
    assert (await calls().fails(tool)).kind == "validation"


@pytest.mark.req("T14")
async def test_the_effect_names_the_file_of_the_lookup() -> None:
    host = KnownCode()
    for tool in (definition(host), references(host)):
        assert (await calls().prepare(tool, symbol="x")).effect == NoEffect()
        named = await calls().prepare(tool, symbol="x", file_path="../etc/x")
        assert named.effect == ReadEffect(("/etc/x",))
    assert (await calls().prepare(symbols(host), file_path="a.py")).effect == ReadEffect(("/project/a.py",))
