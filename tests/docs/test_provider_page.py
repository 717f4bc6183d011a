"""The example codec of docs/adding-a-provider.md passes its own tests, and imports no module that does I/O."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from agent_ls.llm.client import _CODECS
from agent_ls.llm.credentials import VARIABLES
from agent_ls.llm.requests import ToolDefinition
from agent_ls.profiles.create import NATIVE, PROFILES, create_profile, family_tools
from agent_ls.profiles.options import ProfileOptions
from agent_ls.tools.edit_notebook import EDIT_NOTEBOOK
from agent_ls.tools.registry import ToolRegistry
from agent_ls.tools.web_fetch import web_fetch
from agent_ls.tools.web_search import web_search
from tests.docs.examples import run_tests, write_programs
from tests.docs.pages import code_words, read, table
from tests.test_layers import BANNED_IN_NO_IO, imports

PAGE = "docs/adding-a-provider.md"
NO_WEB: Any = None
"""Nothing is fetched or searched here."""


def test_the_tests_of_the_codec_skeleton_on_the_page_pass(tmp_path: Path) -> None:
    programs = write_programs(PAGE, tmp_path)

    done = run_tests(programs["test_plain_codec.py"], folder=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "7 passed" in done.stdout


def test_the_codec_skeleton_on_the_page_imports_no_io_modules(tmp_path: Path) -> None:
    program = write_programs(PAGE, tmp_path)["plain_codec.py"]

    assert not {name.split(".")[0] for name, _ in imports(program)} & BANNED_IN_NO_IO
    assert "PlainCodec" in {
        node.name for node in ast.parse(program.read_text()).body if isinstance(node, ast.ClassDef)
    }


def test_the_files_listed_on_the_page_exist_in_the_codec_packages() -> None:
    documented = {row[0].strip("`") for row in table(read(PAGE), "file")}

    for provider in ("anthropic", "openai_responses"):
        folder = Path(__file__).parents[2] / "agent_ls" / "llm" / "providers" / provider
        assert documented <= {path.name for path in folder.iterdir()}


def test_every_codec_has_environment_variables_and_a_profile() -> None:
    assert set(_CODECS) <= set(VARIABLES)
    assert set(_CODECS) <= set(PROFILES)


def tools_of(family: str, *, native: bool) -> ToolRegistry:
    registry = create_profile(family, options=ProfileOptions(native_names=native)).registry
    for tool in (EDIT_NOTEBOOK, web_fetch(NO_WEB), web_search(NO_WEB)):
        for shaped in family_tools(tool, family, native_names=native):
            registry.register(shaped)
    return registry


def parameters_of(tool: ToolDefinition) -> list[str]:
    schema: Any = tool.parameters
    return list(schema["properties"])


@pytest.mark.req("P7")
@pytest.mark.parametrize("family", NATIVE)
def test_the_tool_table_of_each_model_family_on_the_page_matches_the_code(family: str) -> None:
    ours, theirs = tools_of(family, native=False), tools_of(family, native=True)
    parameters = {tool.name: parameters_of(tool) for tool in theirs.definitions()}
    expected: list[tuple[list[str], list[str], list[str]]] = []
    for tool in ours.definitions():
        own, native = parameters_of(tool), list[str]()
        for name in theirs.names():
            if (found := theirs.lookup(name)) and found.kind == tool.name:
                native += [name, *parameters[name]] if parameters[name] != own else [name]
        expected.append(([tool.name], own, [] if native == [tool.name] else native))
    kinds = {row[0][0] for row in expected}
    expected += [
        ([], [], [name, *parameters[name]])
        for name in theirs.names()
        if (found := theirs.lookup(name)) and found.kind not in kinds
    ]
    rows = table(read("docs/providers.md"), f"tool of `{family}`")
    assert [tuple(code_words(cell) for cell in row) for row in rows] == expected
