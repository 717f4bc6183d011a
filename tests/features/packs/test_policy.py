"""The policy decides about calls of pack tools by category and command; no argument becomes an option."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from agent_ls.environments.base import Attribution
from agent_ls.environments.effects import CallEffect
from agent_ls.environments.local import LocalEnvironment
from agent_ls.features.packs.catalog import PACKS
from agent_ls.features.packs.load import pack_tools
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.situation import Allow, Ask, Mode, Situation
from agent_ls.tools.base import ToolContext, ToolError
from agent_ls.tools.cli_tool import CliTool, cli_tool
from tests.features.packs.examples import EXAMPLES
from tests.support.tool_calls import Reads

pytestmark = pytest.mark.req("T8", "X8")

DEFINED = {
    tool.name: tool.definition
    for pack in PACKS
    for tool in pack_tools(pack)
    if isinstance(tool.definition, CliTool)
}
TEXTS = [
    (name, parameter)
    for name, definition in DEFINED.items()
    for parameter, about in definition.parameters.items()
    if about.type == "string" and not about.enum
]
FILLED = {"{url}/page": "http://127.0.0.1/page", "{pid}": 77}


def arguments_of(name: str) -> dict[str, object]:
    given = EXAMPLES[name].arguments
    return {
        key: FILLED.get(value, value) if isinstance(value, str) else value for key, value in given.items()
    }


async def effect_of(name: str, arguments: Mapping[str, object], folder: Path) -> CallEffect:
    tool = cli_tool(DEFINED[name], lambda variable: None)
    context = ToolContext(
        LocalEnvironment(str(folder)), Attribution("s", "t", "c"), lambda stream, text: None, Reads()
    )
    effect = (await tool.prepare(tool.arguments.model_validate(arguments), context)).effect
    assert isinstance(effect, CallEffect)
    return effect


def situation(mode: Mode, folder: Path, name: str) -> Situation:
    return Situation(mode, Places((str(folder),), "/home/u"), category=DEFINED[name].category)


async def test_the_category_of_a_tool_decides_whether_a_call_needs_approval(tmp_path: Path) -> None:
    for name, definition in DEFINED.items():
        effect = await effect_of(name, arguments_of(name), tmp_path)
        in_ask, in_full = (judge(effect, situation(mode, tmp_path, name)) for mode in ("ask", "full"))
        if definition.category == "read":
            assert isinstance(in_ask, Allow) and in_ask.is_confined, f"{name} is not known as read-only"
            continue
        assert isinstance(in_ask, Ask), name
        if definition.category == "admin":
            assert isinstance(in_full, Ask) and in_full.needs_approval_in_every_mode, name


@pytest.mark.parametrize(("name", "parameter"), [it for it in TEXTS if it[1] == "path"])
async def test_a_path_outside_the_workspace_needs_approval_in_every_mode(
    name: str, parameter: str, tmp_path: Path
) -> None:
    end = {"page_screenshot": ".png", "page_pdf": ".pdf"}.get(name, "")
    arguments = {**arguments_of(name), parameter: f"/etc/hosts{end}"}
    judged = judge(await effect_of(name, arguments, tmp_path), situation("full", tmp_path, name))
    assert isinstance(judged, Ask) and judged.needs_approval_in_every_mode


@pytest.mark.parametrize("value", ["-x", "--help", "--output=/etc/passwd", "-"])
async def test_a_value_with_a_leading_dash_is_not_an_option(value: str, tmp_path: Path) -> None:
    for name, parameter in TEXTS:
        try:
            effect = await effect_of(name, {**arguments_of(name), parameter: value}, tmp_path)
        except (ToolError, ValueError):
            continue  # refused
        at = [index for index, word in enumerate(effect.argv) if word == value]
        assert all("--" in effect.argv[:index] for index in at), (name, effect.argv)


@pytest.mark.parametrize("value", ["a; touch b", "$(touch b)", "`touch b`", "a\nb", "'", '"', "a b"])
async def test_value_with_shell_syntax_stays_one_argument(value: str, tmp_path: Path) -> None:
    for name, parameter in TEXTS:
        given = arguments_of(name)
        plain = await effect_of(name, given, tmp_path)
        try:
            effect = await effect_of(name, {**given, parameter: value}, tmp_path)
        except ValueError:
            continue  # its pattern refuses it
        added = 0 if parameter in given else len(DEFINED[name].optional_args[parameter])
        assert len(effect.argv) == len(plain.argv) + added, (name, parameter)
        assert any(value in word for word in effect.argv), (name, parameter)


def test_tools_that_run_project_code_are_not_in_category_read() -> None:
    reading = {name for name, definition in DEFINED.items() if definition.category == "read"}
    assert {DEFINED[name].cmd for name in reading} == {
        "tree", "du", "find", "rg", "git", "ps", "free", "jq", "pip", "node",
    }  # fmt: skip
    assert [DEFINED[name].args[0] for name in reading if DEFINED[name].cmd == "node"] == ["--check"]
